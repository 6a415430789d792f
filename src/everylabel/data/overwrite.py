"""What may be written where data are: nothing is lost that is not replaced by data, and nothing is mixed with them."""

from __future__ import annotations

import re
from pathlib import Path

from everylabel.atomic import check_writable
from everylabel.data.formats import files, vocabulary
from everylabel.data.formats.registry import Writable, detect_format, format_named
from everylabel.data.formats.rows import SPLIT_NAMES, split_of, suffix_of
from everylabel.errors import DataError

_SPLIT = "|".join(name for names in SPLIT_NAMES.values() for name in names)
_WRITTEN = re.compile(  # what the writers of all formats call their files
    rf"((labels|{_SPLIT})\.jsonl|({_SPLIT})\.(csv|tsv|txt|json)|({_SPLIT})_(texts|labels)\.txt|lbl\.json|Yf\.txt)(\.gz)?"
    rf"|vocabulary\.tsv|({_SPLIT})\.parquet|X\.({_SPLIT})\.txt|Y\.({_SPLIT})\.npz|output-items\.txt"
)
_READ = {*vocabulary.SUFFIXES, ".json", ".key", ".npz", ".parquet", ".txt"}  # what readers look at in a folder


def is_written(name: str, is_folder: bool) -> bool:
    """Is it a name that a data set of ours has, whatever its format? Those are replaced, all others stay."""
    return not is_folder and _WRITTEN.fullmatch(name) is not None


def check_target(target: Path, source: Path | None, overwrite: bool, *, as_file: bool = False) -> None:
    """Refuses what would lose something: an existing target, the source itself, a folder that is no data.

    Also a place where nothing can be written, which is tried.
    """
    if target.exists():
        if not overwrite:
            raise DataError(f"{target}: the target exists already; choose another name, or pass --overwrite")
        if source is not None and source.resolve().is_relative_to(target.resolve()):
            raise DataError(f"{target}: the target holds the source {source}; choose another name")
        if as_file == target.is_dir():
            there, wanted = ("folder", "file") if as_file else ("file", "folder")
            raise DataError(f"{target}: is a {there}, and a {wanted} is to be written; choose another name")
        if not as_file and any(target.iterdir()):
            _check_folder(target)
    check_writable(target, is_written)


def _check_folder(target: Path) -> None:
    """What is no data (`.git`, a README) comes along into the new folder; other data would be read with the new."""
    refused = DataError(f"{target}: this folder is not a data set, so it is not overwritten; remove it first")
    try:
        known = format_named(detect_format(target))
    except DataError:
        raise refused from None
    if known.NAME == files.NAME:  # any folder with a text is data to read
        raise refused
    for file in sorted(target.iterdir()):
        documents = file.is_dir() and split_of(file.name) is not None
        if documents or (not file.is_dir() and suffix_of(file) in _READ and not is_written(file.name, False)):
            raise DataError(
                f"{file}: may be data, and is none of the files that are written; nothing was changed: move it away, "
                "or choose another name"
            )
    if not isinstance(known, Writable):
        raise refused
