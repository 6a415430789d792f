"""EPUB as text, by the standard library: the chapters in their order. Called from `reading.py`, in its process.

A book is a zip file: `META-INF/container.xml` names the package (.opf), whose spine lists the chapters (XHTML).
"""

from __future__ import annotations

import posixpath
import zipfile
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from everylabel.data.formats.html_page import page
from everylabel.data.formats.packed import check_size, parsed

CONTAINER, LOCKS = "META-INF/container.xml", "META-INF/encryption.xml"
PAGES = ("application/xhtml+xml", "text/html")
MOST_CHAPTERS = 20_000


def content(file: Path) -> tuple[str, str]:
    """Title and text, chapter by chapter. ValueError says what is wrong."""
    try:
        with zipfile.ZipFile(file) as packed:
            check_size(packed)
            title, text = _book(packed, file)
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError, NotImplementedError, RuntimeError) as error:
        raise ValueError(f"it cannot be read as EPUB ({error}); save or fetch it again") from None
    if not text and not title:
        raise ValueError("it has no text; check that it is the right file")
    return title, text


def _book(packed: zipfile.ZipFile, file: Path) -> tuple[str, str]:
    named = parsed(packed.read(CONTAINER), file).find(".//{*}rootfile")
    opf = "" if named is None else named.get("full-path", "")
    if not opf:
        raise ValueError("it names no package of a book; save or fetch it again")
    package = parsed(packed.read(opf), file)
    title = " ".join((package.findtext(".//{*}metadata/{*}title") or "").split())
    chapters = _chapters(package, posixpath.dirname(opf))
    if locked := _locked(packed, file) & set(chapters):
        raise ValueError(f"it is locked, so that {len(locked):,} chapters cannot be read; use a copy without a lock")
    names = set(packed.namelist())
    texts = [page(packed.read(name))[1] for name in chapters[:MOST_CHAPTERS] if name in names]
    return title, "\n".join(text for text in texts if text)


def _chapters(package: ElementTree.Element, folder: str) -> list[str]:
    """Names inside the zip file, in the order of the spine, each once."""
    listed = {
        item.get("id"): item.get("href", "")
        for item in package.iterfind(".//{*}manifest/{*}item")
        if item.get("media-type") in PAGES
    }
    places = [listed.get(one.get("idref"), "") for one in package.iterfind(".//{*}spine/{*}itemref")]
    named = (posixpath.normpath(posixpath.join(folder, unquote(one.partition("#")[0]))) for one in places if one)
    return list(dict.fromkeys(named))


def _locked(packed: zipfile.ZipFile, file: Path) -> set[str]:
    """What can only be read with a shop's key; fonts often are."""
    if LOCKS not in packed.namelist():
        return set()
    locks = parsed(packed.read(LOCKS), file)
    return {unquote(one.get("URI", "")) for one in locks.iterfind(".//{*}CipherReference")}
