"""PDF as text, by pypdf, which is imported on use. Only called from `reading.py`, in a process of its own."""

from __future__ import annotations

import logging
import re
from pathlib import Path

MOST_PAGES = 3_000
NO_TITLES = {"", "untitled", "unknown", "title", "document", "none"}  # what programs write where nobody gave one
WRITTEN_BY = re.compile(r"^(microsoft word|powerpoint|microsoft powerpoint)\s*-\s*", re.IGNORECASE)


def content(file: Path) -> tuple[str, str]:
    """Title (of the document's own data, often missing) and text, page by page. ValueError says what is wrong."""
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of every flaw that it mends
    try:
        reader = PdfReader(file)
        if reader.is_encrypted and not reader.decrypt(""):
            raise ValueError("it is locked by a password; save a copy without one")
        text = "\n".join(page.extract_text() for page in reader.pages[:MOST_PAGES])
        title = str(reader.metadata.title or "") if reader.metadata is not None else ""
    except PyPdfError as error:
        raise ValueError(f"it cannot be read as PDF ({error}); save or fetch it again") from None
    if not text.strip():
        raise ValueError("it has no text, as scans have none; make it readable (OCR) first")
    return meaningful(title), whole_words(text)


def meaningful(title: str) -> str:
    title = WRITTEN_BY.sub("", " ".join(title.split()))
    return "" if title.lower() in NO_TITLES else title


def whole_words(text: str) -> str:
    """Words that a line's end has torn apart are put together: a hyphen, a line break, a small letter."""
    return re.sub(r"(\w)[-\u00ad\u2010]\n(?=[^\W\d_])(?=[^A-Z])", r"\1", text)
