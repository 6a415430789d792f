"""Data that are overwritten: those that were there go, whatever their format; what is no data stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from everylabel.data import convert, load_dataset, sample
from everylabel.data.formats.registry import FORMATS, Writable
from everylabel.data.overwrite import is_written
from everylabel.errors import DataError, EverylabelError

Make = Callable[..., Path]
TEXT_FORMATS = [name for name, module in FORMATS.items() if isinstance(module, Writable) and name != "xmc-bow"]


def add_notes(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("main")
    (folder / "README.md").write_text("a card")
    (folder / "model").mkdir()
    (folder / "model" / "manifest.json").write_text("{}")


def has_notes(folder: Path) -> bool:
    notes = [(folder / name).read_text() for name in (".git/HEAD", "README.md", "model/manifest.json")]
    return notes == ["main", "a card", "{}"]


@pytest.mark.parametrize("gz", [False, True])
@pytest.mark.parametrize("to", TEXT_FORMATS)
def test_every_file_that_is_written_is_known_as_such(make: Make, tmp_path: Path, to: str, gz: bool) -> None:
    """Or it would stay when other data are written over them."""
    source, target = make("native"), tmp_path / "out"
    (source / "dev.jsonl").write_bytes((source / "test.jsonl").read_bytes())
    convert(source, target, to, gzip=gz)
    assert len(list(target.iterdir())) >= 4
    assert all(is_written(file.name, False) for file in target.iterdir())
    add_notes(target)
    convert(source, target, overwrite=True)
    assert has_notes(target)
    data = {"labels.jsonl", "train.jsonl", "dev.jsonl", "test.jsonl"}
    assert {path.name for path in target.iterdir()} == data | {".git", "README.md", "model"}
    assert load_dataset(target).documents == load_dataset(source).documents


def test_bags_of_words_too(make: Make, tmp_path: Path) -> None:
    convert(make("bow"), tmp_path / "out", "xmc-bow")
    assert all(is_written(file.name, False) for file in (tmp_path / "out").iterdir())


def test_the_sample_keeps_what_is_no_data(tmp_path: Path) -> None:
    folder = sample(tmp_path / "data")
    add_notes(folder)
    (folder / "train.jsonl").write_text('{"text": "another", "labels": []}\n')
    folder.chmod(0o750)
    sample(folder, overwrite=True)
    assert has_notes(folder)
    assert len(load_dataset(folder)) == 252
    assert folder.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("name", ["thesaurus.ttl", "vocab.csv", "notes.txt", "trn_X_Xf.txt.gz", "train/a.txt"])
def test_other_data_are_neither_lost_nor_mixed_with_the_new(tmp_path: Path, name: str) -> None:
    folder = sample(tmp_path / "data")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("mine")
    (folder / "train.jsonl").write_text('{"text": "another", "labels": []}\n')
    with pytest.raises(DataError, match=f"{name.split('/', maxsplit=1)[0]}: may be data.*nothing was changed: move it"):
        sample(folder, overwrite=True)
    assert (folder / name).read_text() == "mine"
    assert len(load_dataset(folder, format="native")) == 1


def test_a_file_and_a_folder_do_not_replace_each_other(make: Make, tmp_path: Path) -> None:
    source, file, folder = make("native"), tmp_path / "out", tmp_path / "out.csv"
    file.write_text("mine")
    folder.mkdir()
    with pytest.raises(DataError, match="is a file, and a folder is to be written"):
        convert(source, file, overwrite=True)
    with pytest.raises(DataError, match="is a folder, and a file is to be written"):
        convert(source, folder, split="test", overwrite=True)
    assert file.read_text() == "mine"


def test_a_place_where_nothing_can_be_written_is_found_first(make: Make, unwritable: Path) -> None:
    source = make("native")
    (source / "labels.jsonl").write_text("no JSON\n")  # would be found later
    for work in (lambda: convert(source, unwritable / "out"), lambda: sample(unwritable / "out")):
        with pytest.raises(EverylabelError, match=f"^{unwritable / 'out'}: cannot be written"):
            work()
