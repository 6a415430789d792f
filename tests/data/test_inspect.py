"""Inspection: the numbers are right, and everything suspicious is found and shown by file and line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from everylabel.data.enough import too_few
from everylabel.data.inspect import inspect

Make = Callable[..., Path]
FILES = {
    "labels.jsonl": b'{"id": "a", "name": "x"}\n{"id": "b"}\n{"id": "c", "name": "crops"}\n{"id": "a", "name": "y"}\n',
    "train.jsonl": (
        b'{"id": "x1", "text": "one two three", "labels": ["a", "a"]}\n'
        b'{"id": "x1", "title": "four", "text": "five", "labels": ["a", "b", "q"]}\n'
        b'{"id": "x2", "text": " "}\n'
        b"{broken\n"
        b'{"id": "x3", "text": "\xff"}\n'
    ),
    "test.jsonl": b'{"id": "x2", "text": "six", "labels": ["c", "a"]}\n{"id": "x4", "text": "x", "labels": ["b"]}\n',
}


def test_numbers(make: Make) -> None:
    found = inspect(make("data", FILES))
    train, test = found.splits["train"], found.splits["test"]
    assert (train.n_docs, train.n_labelled, train.n_pairs, train.n_labels_used) == (3, 2, 4, 3)
    assert (test.n_docs, test.n_unseen_labels, test.n_docs_with_unseen) == (2, 1, 1)
    assert found.n_labels == 3
    assert found.n_unseen_labels == 1
    assert found.bands == {"head": 0, "middle": 0, "tail": 2, "unseen": 1}
    assert train.words_per_doc["max"] == 3
    assert train.labels_per_doc["mean"] == 2
    assert found.pairs_per_label["max"] == 2


def test_suspicious_rows(make: Make) -> None:
    found = inspect(make("data", FILES))
    examples = {key: finding.examples for key, finding in found.suspicious.items()}
    assert examples.pop("unreadable")[0].startswith("train.jsonl:4: expected one JSON object")
    assert examples == {
        "empty_text": ["train.jsonl:3: 'x2'"],
        "duplicate_id": ["train.jsonl:2: 'x1', as in train.jsonl:1"],
        "id_in_two_splits": ["test.jsonl:1: 'x2', as in train.jsonl:3"],
        "unknown_label": ["train.jsonl:2: 'q'"],
        "duplicate_label": ["labels.jsonl:4: 'a'"],
        "nameless_label": ["labels.jsonl:2: 'b'"],
        "unlabelled": ["train.jsonl:3: 'x2'"],
        "small_split": [
            too_few("train", 2),
            "test has 2 labelled documents: one more or less that is right is 50 points of P@1",
        ],
    }
    assert found.findings["unreadable"].count == 2


def test_texts_that_splits_share_and_empty_label_ids(make: Make) -> None:
    shared = {
        "labels.jsonl": b'{"id": "a", "name": "x"}\n{"id": " ", "name": "blank"}\n',
        "train.jsonl": b'{"id": "1", "text": "One  two"}\n{"id": "2", "title": "One", "text": "two", "labels": [""]}\n',
        "test.jsonl": b'{"id": "9", "text": "one two", "labels": ["a"]}\n{"id": "8", "text": "else"}\n',
    }
    found = inspect(make("data", shared)).suspicious
    assert found["text_in_two_splits"].examples == ["test.jsonl:1: '9', as in train.jsonl:1"]
    assert found["duplicate_text"].examples == ["train.jsonl:2: '2', as in train.jsonl:1"]
    assert found["empty_label_id"].examples == ["labels.jsonl:2: 'blank'", "train.jsonl:2: a label of '2'"]
    assert "id_in_two_splits" not in found


def test_it_is_json_and_works_for_every_format(make: Make, folders: dict[str, tuple[str, dict[str, bytes]]]) -> None:
    for name, (kind, _) in folders.items():
        found = json.loads(json.dumps(inspect(make(name)).to_json()))
        assert found["format"] == kind
        assert sum(split["n_docs"] for split in found["splits"].values()) > 0
        assert found["findings"]["unreadable"]["count"] == 0
        assert found["findings"]["duplicate_id"]["count"] == 0


def test_data_without_training_documents(make: Make) -> None:
    found = inspect(make("data", {"labels.jsonl": FILES["labels.jsonl"], "test.jsonl": FILES["test.jsonl"]}))
    assert found.training == "test"
    empty = inspect(make("empty", {"labels.jsonl": b'{"id": "a", "name": "x"}\n'}))
    assert empty.n_unseen_labels == 1
    assert empty.splits == {}
