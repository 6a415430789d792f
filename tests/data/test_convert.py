"""Conversion: nothing is lost between formats, nothing half-done is left, nothing is overwritten unasked."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from everylabel.cli.app import app
from everylabel.data import BadRows, convert, detect_format, load_dataset, sample
from everylabel.data.dataset import Dataset
from everylabel.errors import ConfigError, DataError

Make = Callable[..., Path]


def same_pairs(one: Dataset, other: Dataset) -> bool:
    return bool(np.array_equal(one.required_pairs.toarray(), other.required_pairs.toarray()))


@pytest.mark.parametrize("gz", [False, True])
@pytest.mark.parametrize("to", ["native", "csv", "parquet"])
def test_formats_that_hold_everything(make: Make, tmp_path: Path, to: str, gz: bool) -> None:
    source = make("native")
    done = convert(source, tmp_path / "out", to, gzip=gz)
    assert done.n_docs == {"train": 3, "test": 1}
    assert done.n_labels == 3
    assert detect_format(tmp_path / "out") == to
    for split in ("train", "test"):
        before, after = load_dataset(source, split), load_dataset(tmp_path / "out", split)
        assert after.documents == before.documents
        assert after.labels == before.labels
        assert same_pairs(before, after)


@pytest.mark.parametrize("gz", [False, True])
@pytest.mark.parametrize("to", ["xmc-raw", "pecos", "attentionxml", "libmultilabel", "annif"])
def test_formats_that_hold_texts_and_pairs(make: Make, tmp_path: Path, to: str, gz: bool) -> None:
    source = make("native")
    convert(source, tmp_path / "out", to, gzip=gz)
    assert detect_format(tmp_path / "out") == to
    for split in ("train", "test"):
        before, after = load_dataset(source, split), load_dataset(tmp_path / "out", split)
        words = [" ".join(text.split()) for text in before.documents.full_texts]
        assert [" ".join(text.split()) for text in after.documents.full_texts] == words
        assert after.labels.names == before.labels.names
        assert same_pairs(before, after)


def test_bag_of_words_from_the_split_layout(make: Make, tmp_path: Path) -> None:
    source = make("xmc_split")
    convert(source, tmp_path / "out", "xmc-bow")
    before, after = load_dataset(source), load_dataset(tmp_path / "out")
    assert before.documents.features is not None
    assert after.documents.features is not None
    np.testing.assert_array_equal(before.documents.features.toarray(), after.documents.features.toarray())
    assert after.labels == before.labels
    assert same_pairs(before, after)


def test_numbers_do_not_become_texts(make: Make, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"train\.txt:2: xmc-bow data hold numbers in place of texts"):
        convert(make("bow"), tmp_path / "out")
    with pytest.raises(DataError, match=r"train\.jsonl:1: a bag of words has only features"):
        convert(make("native"), tmp_path / "out", "xmc-bow")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bow", "native"]


def test_a_file_gets_one_split_and_its_suffix_says_how(make: Make, tmp_path: Path) -> None:
    source = make("native")
    convert(source, tmp_path / "test.csv.gz", split="test")
    assert gzip.decompress((tmp_path / "test.csv.gz").read_bytes()).decode() == (
        "id,title,text,labels\r\n4,,grüne Äpfel,a\r\n"
    )
    with pytest.raises(DataError, match="one file holds one split, and there are train, test"):
        convert(source, tmp_path / "out.jsonl")
    with pytest.raises(ConfigError, match="xmc-raw data are a folder"):
        convert(source, tmp_path / "out.jsonl", "xmc-raw", split="test")
    with pytest.raises(ConfigError, match="can be read, not written"):
        convert(source, tmp_path / "out", "annif-folder")


def test_the_same_input_gives_the_same_bytes(make: Make, tmp_path: Path) -> None:
    source = make("native")
    for name in ("one", "two"):
        convert(source, tmp_path / name, gzip=True)
    for file in ("labels.jsonl.gz", "train.jsonl.gz"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_an_error_leaves_nothing_behind(make: Make, tmp_path: Path) -> None:
    source = make("native")
    with (source / "train.jsonl").open("a") as out:
        out.write('{"text": "x", "labels": ["q9"]}\n')
    for target in ("out", "out.csv"):
        with pytest.raises(DataError, match="q9"):
            convert(source, tmp_path / target, split="train")
    assert [file.name for file in tmp_path.iterdir()] == ["native"]
    bad = BadRows("skip")
    assert convert(source, tmp_path / "out", bad_rows=bad).n_docs["train"] == 3
    assert bad.count == 1


def test_nothing_is_overwritten_unasked(make: Make, tmp_path: Path) -> None:
    source, target = make("native"), tmp_path / "out"
    convert(source, target)
    (target / "dev.jsonl").write_text('{"text": "stale"}\n')
    with pytest.raises(DataError, match="exists already"):
        convert(source, target)
    convert(source, target, overwrite=True)
    assert sorted(file.name for file in target.iterdir()) == ["labels.jsonl", "test.jsonl", "train.jsonl"]
    with pytest.raises(DataError, match="holds the source"):
        convert(source, source, overwrite=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.doc").write_text("dear")
    with pytest.raises(DataError, match="not a data set"):
        convert(source, tmp_path / "mine", overwrite=True)


def test_labels_with_spaces_need_another_format(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "x", "labels": ["two words"]}\n')
    with pytest.raises(DataError, match=r"x\.jsonl:1: libmultilabel separates labels by spaces.*'two words'"):
        convert(tmp_path / "x.jsonl", tmp_path / "out", "libmultilabel")


def test_the_sample_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make) -> None:
    package = tmp_path / "package"
    package.mkdir()
    make("native").rename(package / "sample")
    (package / "sample" / "dev.jsonl").write_text("")
    monkeypatch.setattr("everylabel.data.write.files", lambda _: package)
    folder = sample(tmp_path / "new" / "corpus")
    assert len(load_dataset(folder)) == 3
    with pytest.raises(DataError, match="exists already"):
        sample(folder)


FORMULAS = ["=1+1", "+49 30 1234", "-2", "@SUM(A1)", "\t=1", "\r=1", " =cmd|' /C calc'!A0", "\uff1d1"]


def test_no_cell_is_a_formula_if_that_is_asked_for(tmp_path: Path) -> None:
    """By an apostrophe, as spreadsheets know it; else cells are what they are."""
    source = tmp_path / "in.jsonl"
    rows = [{"id": text, "title": text, "text": text, "labels": [text.strip()]} for text in [*FORMULAS, "a = b"]]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for safe, expected in ((False, FORMULAS), (True, [f"'{text}" for text in FORMULAS])):
        convert(source, tmp_path / "out.csv", safe_cells=safe, overwrite=True)
        with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
            cells = list(csv.DictReader(file))
        for column in ("id", "title", "text"):
            assert [row[column] for row in cells] == [*expected, "a = b"]
        assert all(row["labels"].startswith("'") == safe for row in cells[:-1])
    assert CliRunner().invoke(app, ["convert", str(source), str(tmp_path / "b.csv"), "--safe-cells"]).exit_code == 0
    assert (tmp_path / "b.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
    with pytest.raises(ConfigError, match="safe cells are for spreadsheets, and native data are none"):
        convert(source, tmp_path / "out.jsonl", safe_cells=True)
