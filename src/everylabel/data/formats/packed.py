"""What is read out of zip files that hold documents: no more than a book has, and XML without entities that do harm."""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.etree import ElementTree

from everylabel.data.formats.entities import check_entities
from everylabel.errors import DataError

MOST_BYTES = 300_000_000  # unpacked: far more than a book, far less than a bomb


def check_size(packed: zipfile.ZipFile) -> None:
    """By the directory, before anything is unpacked: no part is read beyond what it says there."""
    size = sum(part.file_size for part in packed.infolist())
    if size > MOST_BYTES:
        raise ValueError(f"it unpacks to {size:,} bytes, more than {MOST_BYTES:,}; it is likely no text")


def check_xml(content: bytes, file: Path) -> None:
    try:
        check_entities(content, file)
    except DataError:
        raise ValueError("it has XML entities that can take all memory; save it again with another program") from None


def parsed(content: bytes, file: Path) -> ElementTree.Element:
    check_xml(content, file)
    return ElementTree.fromstring(content)
