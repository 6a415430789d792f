"""OpenDocument texts (.odt) as text, by odfpy, imported on use. Only called from `reading.py`, in its process."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from everylabel.data.formats.packed import check_size, check_xml

READ = ("content.xml", "meta.xml", "styles.xml", "settings.xml", "META-INF/manifest.xml")
LEFT_OUT = {"text:tracked-changes", "office:annotation", "text:note-citation", "text:ruby-text"}
PARAGRAPHS = {"text:p", "text:h"}


def content(file: Path) -> tuple[str, str]:
    """Title and text: paragraphs, headings and cells, in their order. ValueError says what is wrong."""
    from xml.sax import SAXException

    from odf.opendocument import load

    try:
        with zipfile.ZipFile(file) as packed:
            check_size(packed)
            for name in packed.namelist():
                if name in READ or name.endswith(("/content.xml", "/styles.xml")):
                    check_xml(packed.read(name), file)
        document = load(str(file))
        body = getattr(document, "text", None)
        if body is None:
            raise ValueError("it is another kind of OpenDocument file, no text; save it as .odt")
        title = _described(document)
        parts = []
        for paragraph in _paragraphs(body):
            text = "".join(_texts(paragraph)).strip()
            if not title and text and paragraph.getAttribute("stylename") == "Title":
                title = text
            elif text:
                parts.append(text)
    except (zipfile.BadZipFile, KeyError, SAXException, RuntimeError) as error:
        raise ValueError(f"it cannot be read as .odt ({error}); save it again with a word processor") from None
    if not parts and not title:
        raise ValueError("it has no text; check that it is the right file")
    return " ".join(title.split()), "\n".join(parts)


def _described(document: Any) -> str:
    from odf.dc import Title

    return "".join("".join(_texts(one)) for one in document.meta.getElementsByType(Title)[:1])


def _paragraphs(node: Any) -> Iterator[Any]:
    """Those in others too (notes, frames), after the one that they stand in."""
    for child in node.childNodes:
        name = getattr(child, "tagName", "")
        if name in LEFT_OUT:
            continue
        if name in PARAGRAPHS:
            yield child
        yield from _paragraphs(child)


def _texts(node: Any) -> Iterator[str]:
    """The text of a paragraph without that of paragraphs in it."""
    for child in node.childNodes:
        name = getattr(child, "tagName", "")
        if name in LEFT_OUT or name in PARAGRAPHS:
            continue
        if child.nodeType in (child.TEXT_NODE, child.CDATA_SECTION_NODE):
            yield str(child.data)
        elif name in ("text:s", "text:tab", "text:line-break"):
            yield {"text:s": " ", "text:tab": "\t"}.get(name, "\n")
        else:
            yield from _texts(child)
