"""Reading reports to the run that it is given, whatever the format, and to nobody else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.listening import Recorder

from everylabel.data import (
    convert,
    load_dataset,
    load_documents,
    load_filter,
    load_labelled,
    load_labels,
    stream_documents,
)
from everylabel.data.inspect import inspect
from everylabel.errors import DataError
from everylabel.run import Run

Make = Callable[..., Path]
FILES = {  # of each format: the files that are read line by line for the training documents and their labels
    "native": ["labels.jsonl", "train.jsonl"],
    "bow": ["train.txt"],
    "xmc_split": ["Y.txt", "trn_X_Xf.txt", "trn_X_Y.txt"],
    "xmc_raw": ["lbl.json", "trn.json"],
    "text2text": ["output-items.txt", "train.txt"],
    "attentionxml": ["test_labels.txt", "test_texts.txt", "train_labels.txt", "train_texts.txt"],
    "libmultilabel": ["test.txt", "train.txt"],
    "annif_tsv": ["train.tsv", "vocabulary.tsv"],
    "annif_csv": ["train.csv", "vocab.csv"],
    "annif_jsonl": ["train.jsonl", "vocabulary.tsv", "vocabulary.tsv"],  # once more, to find labels by their names
    "csv": ["test.csv", "train.csv"],
}


def read(recorder: Recorder) -> list[str]:
    assert recorder.all_finished
    return sorted(name.removeprefix("reading ").removesuffix(" (kB)") for name in recorder.started)


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_reported(make: Make, name: str) -> None:
    recorder = Recorder()
    load_dataset(make(name), run=Run(reporter=recorder))
    assert read(recorder) == FILES[name]


def test_every_way_in_reports(make: Make, tmp_path: Path) -> None:
    path = make("native")
    labels = load_labels(path)
    ways: dict[str, Callable[[Run], object]] = {
        "load_labels": lambda run: load_labels(path / "labels.jsonl", run=run),
        "load_labelled": lambda run: load_labelled(path / "train.jsonl", labels, run=run),
        "load_documents": lambda run: load_documents(path, "train", run=run),
        "stream_documents": lambda run: list(stream_documents(path, "train", run=run)),
        "load_filter": lambda run: load_filter(make("xmc_raw"), "train", 2, 3, run=run),
        "inspect": lambda run: inspect(path, run=run),
        "convert": lambda run: convert(path, tmp_path / "out", run=run),
    }
    for name, way in ways.items():
        recorder = Recorder()
        way(Run(reporter=recorder))
        assert read(recorder), name


def test_skipped_rows_are_told(make: Make) -> None:
    good = b'{"id": "1", "text": "x", "labels": ["a"]}\n'
    recorder = Recorder()
    path = make("data", {"labels.jsonl": b'{"id": "a", "name": "apples"}\n', "train.jsonl": good + b"{\n" * 7})
    load_dataset(path, on_bad_row="skip", run=Run(reporter=recorder))
    assert recorder.said[0].startswith("skipped 7 bad rows:\n  train.jsonl:2: ")
    assert recorder.said[0].endswith("and 2 more")


def test_a_file_that_cannot_be_read_ends_its_report(make: Make) -> None:
    path = make("native")
    (path / "train.jsonl").write_bytes(b'{"text": 7}\n')
    recorder = Recorder()
    with pytest.raises(DataError):
        load_dataset(path, run=Run(reporter=recorder))
    assert read(recorder) == ["labels.jsonl", "train.jsonl"]


def test_labelled_documents_in_a_given_vocabulary(make: Make) -> None:
    """Ids that it has not come after its own; the vocabulary beside the documents is not looked at."""
    path = make("native")
    labels = load_labels(path).subset([1, 0])
    found = load_labelled(path, labels)
    assert found.labels.ids == ["b", "a", "c"]
    assert found.required_pairs.toarray().tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0]]
