"""The sample corpus keeps what it promises: a long-tailed, clean and varied catalogue."""

import json
import re
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any

import pytest

from everylabel.sample import FILES

Record = dict[str, Any]

SPLITS = ("train", "dev", "test")
SHINGLE = 8


@cache
def lines(name: str) -> tuple[str, ...]:
    text = (files("everylabel.sample") / name).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return tuple(text.removesuffix("\n").split("\n"))


def records(name: str) -> list[Record]:
    return [json.loads(line) for line in lines(name)]


def labels() -> list[Record]:
    return records("labels.jsonl")


def documents(*splits: str) -> list[Record]:
    return [record for split in splits for record in records(f"{split}.jsonl")]


def frequencies(split: str) -> Counter[str]:
    return Counter(label for document in documents(split) for label in document["labels"])


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_files_are_listed_and_present() -> None:
    assert FILES == ("labels.jsonl", "train.jsonl", "dev.jsonl", "test.jsonl")
    assert all((files("everylabel.sample") / name).is_file() for name in FILES)


def test_label_records() -> None:
    assert 115 <= len(labels()) <= 130
    for label in labels():
        assert set(label) == {"id", "name", "description", "alternatives", "parents"}
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", label["id"])
        assert label["name"].strip() == label["name"] != ""
        assert label["description"].endswith(".")
        assert label["description"].count(".") == 1
        assert 1 <= len(label["alternatives"]) <= 3
        assert len(set(label["alternatives"])) == len(label["alternatives"])
        assert label["name"] not in label["alternatives"]


@pytest.mark.parametrize("field", ["id", "name", "description"])
def test_label_fields_are_unique(field: str) -> None:
    values = [label[field].lower() for label in labels()]
    assert len(set(values)) == len(values)


def test_hierarchy_is_shallow_and_acyclic() -> None:
    parents: dict[str, list[str]] = {label["id"]: label["parents"] for label in labels()}
    assert all(parent in parents for above in parents.values() for parent in above)
    assert all(len(set(above)) == len(above) for above in parents.values())

    def depth(label: str, below: tuple[str, ...] = ()) -> int:
        assert label not in below, f"cycle through {label}"
        return 1 + max((depth(parent, (*below, label)) for parent in parents[label]), default=0)

    depths = Counter(depth(label) for label in parents)
    assert set(depths) == {1, 2, 3}


def test_split_sizes() -> None:
    sizes = {split: len(documents(split)) for split in SPLITS}
    assert sum(sizes.values()) >= 330
    assert sizes["train"] >= 240
    assert sizes["dev"] >= 30
    assert sizes["test"] >= 60


def test_document_records() -> None:
    known = {label["id"] for label in labels()}
    for document in documents(*SPLITS):
        assert set(document) == {"id", "title", "text", "labels"}
        assert document["title"].strip() == document["title"] != ""
        assert 40 <= len(document["text"].split()) <= 120, document["id"]
        assert 2 <= len(document["labels"]) <= 5, document["id"]
        assert len(set(document["labels"])) == len(document["labels"]), document["id"]
        assert known.issuperset(document["labels"]), document["id"]


@pytest.mark.parametrize("field", ["id", "title", "text"])
def test_document_fields_are_unique_over_all_splits(field: str) -> None:
    values = [document[field] for document in documents(*SPLITS)]
    assert len(set(values)) == len(values)


def test_no_two_texts_share_a_long_word_sequence() -> None:
    owner: dict[tuple[str, ...], str] = {}
    for document in documents(*SPLITS):
        sequence = words(document["text"])
        for start in range(len(sequence) - SHINGLE + 1):
            shingle = tuple(sequence[start : start + SHINGLE])
            assert owner.setdefault(shingle, document["id"]) == document["id"], " ".join(shingle)


def test_texts_do_not_open_alike() -> None:
    openings = Counter(" ".join(words(document["text"])[:4]) for document in documents(*SPLITS))
    assert max(openings.values()) == 1


def test_training_labels_are_long_tailed() -> None:
    counts = frequencies("train")
    every = [counts[label["id"]] for label in labels()]
    assert sum(count >= 100 for count in every) >= 2
    assert sum(count >= 25 for count in every) >= 4
    assert sum(10 <= count < 100 for count in every) >= 25
    assert sum(1 <= count < 10 for count in every) > len(every) / 2
    assert sum(count == 0 for count in every) >= 18


def test_unseen_labels_are_met_in_test_and_dev() -> None:
    seen = set(frequencies("train"))
    assert len(set(frequencies("test")) - seen) >= 15
    assert len(set(frequencies("dev")) - seen) >= 3


def test_every_label_is_used() -> None:
    assert {label["id"] for label in labels()} == {label for split in SPLITS for label in frequencies(split)}


def test_unseen_labels_can_be_recognised_from_their_words() -> None:
    """A document with an unseen label usually, though not always, uses a word of what is known about that label."""
    seen = set(frequencies("train"))
    known = {
        label["id"]: {
            word[:5]
            for word in words(" ".join([label["name"], label["description"], *label["alternatives"]]))
            if len(word) > 3
        }
        for label in labels()
    }
    pairs = [(d, label) for d in documents("dev", "test") for label in d["labels"] if label not in seen]
    hits = [
        not known[label].isdisjoint(word[:5] for word in words(f"{document['title']} {document['text']}"))
        for document, label in pairs
    ]
    assert sum(hits) >= 0.8 * len(hits)
