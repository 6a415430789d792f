"""`everylabel tag`: every kind of input, one line of JSON a document, best first."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import TEST, Run

BEST = {"id": "sea", "name": "Seafaring", "score": 0.75}
DOCUMENTS = b'{"id": "x", "title": "A title", "text": "a boat"}\n\n{"text": "a train"}\n'


def lines(result: Any) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_plain_text_from_a_pipe(run: Run, model: Path, arguments: list[str]) -> None:
    found = lines(run("tag", model, *arguments, "--k", 2, input="one text\n\nanother text\r\n"))
    assert [document["id"] for document in found] == ["0", "2"]
    assert [list(document) for document in found] == [["id", "labels"]] * 2
    assert found[0]["labels"][0] == BEST
    assert all(len(document["labels"]) == 2 for document in found)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("from_file", [False, True])
def test_json_lines(run: Run, model: Path, tmp_path: Path, packed: bool, from_file: bool) -> None:
    content = gzip.compress(DOCUMENTS) if packed else DOCUMENTS
    if from_file:
        (tmp_path / "documents").write_bytes(content)
        result = run("tag", model, tmp_path / "documents")
    else:
        result = run("tag", model, input=content)
    assert [document["id"] for document in lines(result)] == ["x", "2"]


def test_scores_come_best_first_and_unused_labels_never(run: Run, model: Path) -> None:
    (found,) = lines(run("tag", model, "--json", input="a text"))
    scores = [label["score"] for label in found["labels"]]
    assert scores == sorted(scores, reverse=True)
    assert "new" not in {label["id"] for label in found["labels"]}


def test_a_data_folder_s_split(run: Run, model: Path, data: Path) -> None:
    assert len(lines(run("tag", model, data))) == len(TEST)
    assert lines(run("tag", model, data, "--split", "train"))[0]["id"] == "train0"


def test_a_whole_file_as_one_text(run: Run, model: Path) -> None:
    assert len(lines(run("tag", model, "--whole", input="first line\nsecond line\n"))) == 1


@pytest.mark.parametrize("content", ["", "\n\n", b"\xef\xbb\xbf"])
def test_nothing_in_nothing_out(run: Run, model: Path, content: str | bytes) -> None:
    assert lines(run("tag", model, input=content)) == []


def test_many_batches_keep_their_order(run: Run, model: Path) -> None:
    found = lines(run("tag", model, "--k", 1, input="".join(f"text {i}\n" for i in range(600))))
    assert [document["id"] for document in found] == [str(i) for i in range(600)]


@pytest.mark.parametrize("content", ['{"text": "fine"}\nnot json\n', b"fine\n\xff\xfe\xfd\n"])
def test_bad_rows(run: Run, model: Path, content: str | bytes) -> None:
    stopped = run("tag", model, input=content)
    assert stopped.exit_code == 3
    assert "<stdin>:2" in stopped.stderr
    skipped = run("tag", model, "--on-bad-row", "skip", input=content)
    assert len(lines(skipped)) == 1
    assert "skipped 1 bad row" in skipped.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["no-such-file.txt"], 3),
        (["--k", "0"], 2),
        (["--split", "test"], 2),
    ],
)
def test_mistakes(run: Run, model: Path, arguments: list[str], code: int) -> None:
    result = run("tag", model, *arguments, input="text")
    assert result.exit_code == code
    assert result.stdout == ""


def test_what_is_no_model(run: Run, data: Path) -> None:
    result = run("tag", data, input="text")
    assert result.exit_code == 5
    assert result.stderr.startswith("everylabel: ")
    assert len(result.stderr.splitlines()) == 1


LIGHT = "The lighthouse keepers of Hollin Head and the ships they watched over"


@pytest.mark.parametrize(("threshold", "expected"), [(0, ["sea", "rail", "sky"]), (0.5, ["sea"]), (0.9, [])])
def test_a_threshold(run: Run, model: Path, threshold: float, expected: list[str]) -> None:
    """Of any method: sea has a score of 0.75, the others of 0.25."""
    result = run("tag", model, "--threshold", threshold, input="one text\n")
    (found,) = lines(result)
    assert [label["id"] for label in found["labels"]] == expected
    assert f"{model} is not calibrated" in result.stderr
    assert run("tag", model, "--threshold", threshold, "--quiet", input="one text\n").stderr == ""


def test_the_best_cut(run: Run, model: Path) -> None:
    """One label: 2 / 2.5 x 0.75 is more than what a second one of 0.25 adds."""
    (found,) = lines(run("tag", model, "--best", input="one text\n"))
    assert [label["id"] for label in found["labels"]] == ["sea"]


def test_k_is_the_most_there_is(run: Run, fitted_tagger: Path) -> None:
    for arguments in (["--best"], ["--threshold", "0"], ["--best", "--threshold", "0", "--explain"]):
        result = run("tag", fitted_tagger, "--k", 1, *arguments, input=LIGHT)
        assert [label["id"] for label in lines(result)[0]["labels"]] == ["lighthouses"]
        assert result.stderr == ""


def test_more_labels_than_there_are(run: Run, model: Path) -> None:
    """As many ranks as are asked for here would be 745 GiB."""
    for arguments in ([], ["--best"], ["--threshold", "0.1"]):
        (found,) = lines(run("tag", model, "-k", 99_999_999_999, *arguments, "--quiet", input="one text\n"))
        assert found["labels"][0] == BEST


def test_a_tagger_without_explanation_gives_what_every_method_gives(run: Run, fitted_tagger: Path) -> None:
    (found,) = lines(run("tag", fitted_tagger, "--k", 3, input=LIGHT))
    assert [list(label) for label in found["labels"]] == [["id", "name", "score"]] * 3


def test_the_evidence(run: Run, fitted_tagger: Path) -> None:
    (plain,) = lines(run("tag", fitted_tagger, "--k", 3, input=LIGHT))
    (found,) = lines(run("tag", fitted_tagger, "--k", 3, "--explain", input=LIGHT))
    for label, same in zip(found["labels"], plain["labels"], strict=True):
        assert {key: label[key] for key in same} == same
        assert list(label) == ["id", "name", "score", "probability", "band", "evidence"]
        assert label["probability"] == label["score"]
    first = found["labels"][0]
    assert (first["id"], first["band"]) == ("lighthouses", "tail")
    assert {(item["kind"], item["text"], item["source"]) for item in first["evidence"]} >= {
        ("words", "lighthouse", "tfidf"),
        ("document", "The Light on Hollin Head", "knn"),
    }
    assert all(0 < item["weight"] <= 1 for item in first["evidence"])


def test_the_evidence_on_a_terminal(run: Run, fitted_tagger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everylabel.cli.tag.is_terminal", lambda: True)
    result = run("tag", fitted_tagger, "--k", 2, "--explain", input=LIGHT)
    assert result.exit_code == 0, result.output
    table, _, evidence = result.stdout.partition("\nLighthouses (tail)\n")
    assert table.splitlines()[1].split() == ["label", "id", "score"]
    words, _, documents = evidence.splitlines()[:3]
    assert words == "  words: keepers; lighthouse [tfidf]"
    assert documents.startswith("  document: The Light on Hollin Head; ")
    assert documents.endswith(" [knn]")


def test_new_labels_are_a_group_of_their_own(run: Run, fitted_tagger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels that nobody has used: beside those that are likely, each with its own probability, and none of them."""
    text = "Whaling, bats in caves and the fog of the coast"
    (found,) = lines(run("tag", fitted_tagger, "--k", 2, input=text))
    assert [len(found["labels"]), list(found)] == [2, ["id", "labels", "new_labels"]]
    new = {label["id"]: label["score"] for label in found["new_labels"]}
    assert not new.keys() & {label["id"] for label in found["labels"]}
    assert list(new.values()) == sorted(new.values(), reverse=True)
    (without,) = lines(run("tag", fitted_tagger, "--k", 2, "--new-labels", "none", input=text))
    assert without == {key: found[key] for key in ("id", "labels")}
    (between,) = lines(run("tag", fitted_tagger, "--k", 20, "--new-labels", "interleave", input=text))
    assert list(between) == ["id", "labels"]
    scores = {label["id"]: label["score"] for label in between["labels"]}
    assert scores.items() >= new.items()  # a probability does not depend on its place
    assert list(scores.values()) != sorted(scores.values(), reverse=True)
    monkeypatch.setattr("everylabel.cli.tag.is_terminal", lambda: True)
    shown = run("tag", fitted_tagger, "--k", 2, input=text).stdout
    first, heading, second = shown.partition("\nnew labels (not used yet)")
    assert heading
    assert [len(part.strip().splitlines()) for part in (first, second)] == [4, 1 + len(new)]


def test_only_a_tagger_interleaves(run: Run, model: Path) -> None:
    result = run("tag", model, "--new-labels", "interleave", input="text")
    assert (result.exit_code, result.stdout) == (4, "")
    assert "method 'popularity' has one order; leave out --new-labels" in result.stderr


def test_only_a_tagger_says_why(run: Run, model: Path) -> None:
    result = run("tag", model, "--explain", input="text")
    assert (result.exit_code, result.stdout) == (4, "")
    assert f"{model}: method 'popularity' cannot say why; leave out --explain" in result.stderr


@pytest.mark.parametrize("threshold", ["1.5", "-1", "x"])
def test_a_threshold_that_is_none(run: Run, model: Path, threshold: str) -> None:
    assert run("tag", model, "--threshold", threshold, input="text").exit_code == 2
