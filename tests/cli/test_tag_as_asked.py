"""`everylabel tag` with some labels alone, in a language, with broader ones, of a part of the text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run, write_lines

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.data.label import Translation
from everylabel.tagger.tagger import Tagger

LABELS = LabelSet.of(
    [
        Label("animals", "Animals", schemes=("urn:topics",), types=("urn:topic",)),
        Label("cats", "Cats", parents=("animals",), schemes=("urn:topics",), types=("urn:topic",)),
        Label(
            "tigers",
            "Tigers",
            parents=("cats",),
            notation="599.7",
            uri="https://example.org/tigers",
            schemes=("urn:topics",),
            types=("urn:topic",),
            translations=(Translation("fi", "tiikerit", "name"),),
        ),
        Label("india", "India", schemes=("urn:places",), types=("urn:place",)),
    ]
)
TEXTS = ["tigers of the jungle", "cats at home", "animals of the farm", "india and its rivers", "tigers in india"]
PAIRS = [[2], [1], [0], [3], [2, 3]]
TEXT = "Tigers, cats and other animals in India"


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("zoo") / "model"
    data = Dataset(Documents.of(TEXTS * 4), LABELS, pairs_from_lists(PAIRS * 4, len(LABELS)))
    Tagger(experts=("tfidf", "knn")).fit(data).save(path)
    return path


def labels(result: Any) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout.splitlines()[0])["labels"]
    return found


def ids(result: Any) -> set[str]:
    return {label["id"] for label in labels(result)}


def test_some_labels_alone(run: Run, zoo: Path, tmp_path: Path) -> None:
    everything = {label["id"]: label["score"] for label in labels(run("tag", zoo, "--quiet", input=TEXT))}
    assert set(everything) == set(LABELS.ids)
    (tmp_path / "ids.txt").write_text("cats\n\n  india \n", encoding="utf-8")
    for arguments, expected in (
        (["--only", "cats", "--only", "india"], {"cats", "india"}),
        (["--only", f"@{tmp_path / 'ids.txt'}"], {"cats", "india"}),
        (["--exclude", "cats"], {"animals", "tigers", "india"}),
        (["--scheme", "urn:places"], {"india"}),
        (["--exclude-scheme", "urn:places"], {"animals", "cats", "tigers"}),
        (["--type", "urn:place"], {"india"}),
        (["--exclude-type", "urn:topic"], {"india"}),
        (["--below", "cats"], {"cats", "tigers"}),
        (["--exclude-below", "cats"], {"animals", "india"}),
        (["--below", "animals", "--exclude", "animals"], {"cats", "tigers"}),
    ):
        found = labels(run("tag", zoo, *arguments, "--quiet", input=TEXT))
        assert {label["id"] for label in found} == expected
        assert {label["id"]: label["score"] for label in found}.items() <= everything.items()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "cat"], "did you mean 'cats'?"),
        (["--scheme", "urn:topic"], "did you mean 'urn:topics'?"),
        (["--only", "cats", "--below", "india"], "no label of the vocabulary is left"),
        (["--only", "@/nowhere/at/all"], "cannot be read"),
        (["--lang", "sv"], "no label has a name in 'sv'; names are in: fi"),
        (["--transform", "first=x"], "first needs a number"),
    ],
)
def test_what_cannot_be_done_is_said_before_a_text_is_read(
    run: Run, zoo: Path, arguments: list[str], message: str
) -> None:
    result = run("tag", zoo, *arguments, input="")
    assert result.exit_code != 0
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_labels_as_librarians_want_them(run: Run, zoo: Path) -> None:
    found = {label["id"]: label for label in labels(run("tag", zoo, "--lang", "fi", "--quiet", input=TEXT))}
    assert (found["tigers"]["name"], found["cats"]["name"]) == ("tiikerit", "Cats")
    assert (found["tigers"]["notation"], found["tigers"]["uri"]) == ("599.7", "https://example.org/tigers")
    assert set(found["cats"]) == {"id", "name", "score"}


def test_evidence_stands_in_the_text(run: Run, zoo: Path) -> None:
    line = json.dumps({"title": "A tiger", "text": "Two tigers: TIGERS."})
    found = {label["id"]: label for label in labels(run("tag", zoo, "--explain", "--quiet", input=line))}
    (words,) = (item for item in found["tigers"]["evidence"] if item["kind"] == "words")
    assert words["field"] == "text"
    assert words["spans"] == [[4, 10], [12, 18]]
    assert words["other_fields"] == {"title": [[2, 7]]}


@pytest.mark.parametrize("as_file", [True, False])
def test_chosen_fields_of_documents(run: Run, zoo: Path, tmp_path: Path, as_file: bool) -> None:
    rows = [{"id": "a", "title": "Cats", "abstract": "Two tigers", "notes": "india"}, {"id": "b", "abstract": "cats"}]
    write_lines(tmp_path / "texts.jsonl", rows)
    source = [tmp_path / "texts.jsonl"] if as_file else []
    given = None if as_file else (tmp_path / "texts.jsonl").read_bytes()
    result = run("tag", zoo, *source, "--transform", "fields=abstract", "--explain", "--quiet", input=given)
    assert result.exit_code == 0, result.output
    first, second = (json.loads(line) for line in result.stdout.splitlines())
    evidence = [item for label in first["labels"] for item in label["evidence"] if "spans" in item]
    assert {item["field"] for item in evidence} == {"abstract"}
    assert [4, 10] in [span for item in evidence for span in item["spans"]]
    assert (first["labels"][0]["id"], second["labels"][0]["id"]) == ("tigers", "cats")
    result = run("tag", zoo, *source, "--transform", "fields=sumary", "--quiet", input=given)
    assert result.exit_code == 3


def test_broader_labels_on_a_terminal(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = LabelSet.of(
        [Label("c", "Cats"), *(Label(name, name, parents=("c",)) for name in ("tiger", "lion", "lynx"))]
    )
    texts = ["a whisker and stripes", "a whisker and a mane", "a whisker and ears"] * 4 + ["something else"] * 30
    pairs = pairs_from_lists([[1], [2], [3]] * 4 + [[]] * 30, len(known))
    everylabel.method("knn").fit(Dataset(Documents.of(texts), known, pairs)).save(tmp_path / "model")
    monkeypatch.setattr("everylabel.cli.tag.is_terminal", lambda: True)
    result = run("tag", tmp_path / "model", "--broader", "--quiet", input="whisker")
    assert result.exit_code == 0, result.output
    assert "Cats (for tiger, lion, lynx)" in result.stdout
