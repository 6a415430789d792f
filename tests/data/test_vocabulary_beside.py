"""Vocabularies: alone, and beside data that they may have nothing to do with."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.data.conftest import ANNIF_SKOS, SKOS
from tests.listening import Recorder

from everylabel.data import available_splits, convert, detect_format, load_dataset, load_labels
from everylabel.data.inspect import inspect
from everylabel.errors import DataError
from everylabel.run import Run

Make = Callable[..., Path]


@pytest.mark.parametrize(
    ("name", "content", "ids"),
    [
        ("thesaurus.ttl", SKOS, ["http://x/a", "http://x/b", "http://x/c"]),
        ("thesaurus.ttl.gz", SKOS, ["http://x/a", "http://x/b", "http://x/c"]),
        ("subjects.tsv", "<http://x/a>\tapples\n", ["http://x/a"]),
        ("some.csv", "uri,notation,label_en\nhttp://x/a,1,apples\n", ["http://x/a"]),
        ("some.csv", "id,name\na,apples\n", ["a"]),
        ("labels.jsonl", '{"id": "a", "name": "apples"}\n', ["a"]),
        ("some.jsonl", '{"id": "a", "name": "apples"}\n', ["a"]),
    ],
)
def test_a_vocabulary_s_file_is_data_without_documents(tmp_path: Path, name: str, content: str, ids: list[str]) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    assert detect_format(file) == "vocabulary"
    assert available_splits(file) == []
    assert load_labels(file).ids == ids
    assert (inspect(file).n_labels, inspect(file).splits) == (len(ids), {})
    with pytest.raises(DataError, match="expected documents, got a vocabulary alone"):
        load_dataset(file)
    assert convert(file, tmp_path / "out").n_labels == len(ids)


def test_a_folder_with_nothing_but_a_vocabulary(tmp_path: Path) -> None:
    (tmp_path / "thesaurus.ttl").write_text(SKOS)
    assert detect_format(tmp_path) == "vocabulary"
    assert load_labels(tmp_path, language="fi").names == ["omenat", "bears", "crops"]
    (tmp_path / "train.csv").write_text("text,labels\nx,http://x/a\n")
    assert detect_format(tmp_path) == "csv"


@pytest.mark.parametrize("content", ["id,text,labels\n1,x,a\n", "id,description,label\n1,x,a\n", "name\nx\n"])
def test_documents_are_no_vocabulary(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.csv").write_text(content)
    assert detect_format(tmp_path / "x.csv") == "csv"


@pytest.mark.parametrize("name", ["docs.csv", "docs.jsonl"])
def test_a_file_leaves_out_an_unrelated_vocabulary_beside_it_and_says_so(tmp_path: Path, name: str) -> None:
    file, recorder = tmp_path / name, Recorder()
    file.write_text("text,labels\nx,own\n" if name == "docs.csv" else '{"text": "x", "labels": ["own"]}\n')
    beside = tmp_path / ("unrelated.ttl" if name == "docs.csv" else "labels.jsonl")
    beside.write_text(SKOS if name == "docs.csv" else '{"id": "a", "name": "apples"}\n')
    assert load_dataset(file, run=Run(reporter=recorder)).labels.ids == ["own"]
    (line,) = recorder.said
    assert line.startswith(f"{beside} lies beside the data, and none of the documents' labels is in it")
    assert line.endswith("--vocabulary FILE")
    assert inspect(file).n_labels == 1
    with pytest.raises(DataError, match="label 'own' is not in"):
        load_dataset(file, vocabulary=beside)  # what is named is taken


def test_a_file_takes_a_vocabulary_that_fits_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "docs.csv").write_text("text,labels\nx,http://x/a\n")
    (tmp_path / "thesaurus.ttl").write_text(SKOS)
    recorder = Recorder()
    assert load_dataset(tmp_path / "docs.csv", run=Run(reporter=recorder)).labels.names == ["apples", "bears", "crops"]
    (line,) = recorder.said
    assert line.startswith(f"taking the 3 labels of {tmp_path / 'thesaurus.ttl'}")


def test_documents_without_labels_take_what_lies_beside_them(tmp_path: Path) -> None:
    (tmp_path / "docs.csv").write_text("text\nx\n")
    (tmp_path / "thesaurus.ttl").write_text(SKOS)
    assert load_dataset(tmp_path / "docs.csv").labels.names == ["apples", "bears", "crops"]


def test_a_damaged_thesaurus_beside_a_file_is_not_its_business(tmp_path: Path) -> None:
    (tmp_path / "docs.csv").write_text("text,labels\nx,own\n")
    (tmp_path / "unrelated.ttl").write_text("<a")
    recorder = Recorder()
    assert load_dataset(tmp_path / "docs.csv", run=Run(reporter=recorder)).labels.ids == ["own"]
    assert "unrelated.ttl lies beside the data, and is left out" in recorder.said[0]


def test_a_folder_s_own_thesaurus_is_taken_and_said(make: Make) -> None:
    recorder = Recorder()
    labels = load_dataset(make("annif_skos"), run=Run(reporter=recorder)).labels
    assert labels.names == ["apples", "bears", "crops"]
    assert "thesaurus.ttl" in recorder.said[0]
    other = dict(ANNIF_SKOS, **{"train.tsv": "red apples\t<http://y/z>\n"})
    assert load_dataset(make("other", other)).labels.ids == ["http://y/z"]
