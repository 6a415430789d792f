"""Word documents (.docx) as text, by python-docx, imported on use. Only called from `reading.py`, in its process."""

from __future__ import annotations

import zipfile
from pathlib import Path

from everylabel.data.formats.packed import check_size


def content(file: Path) -> tuple[str, str]:
    """Title and text: paragraphs and cells of tables, in their order. ValueError says what is wrong."""
    import docx
    from docx.opc.exceptions import OpcError
    from docx.text.paragraph import Paragraph

    try:
        with zipfile.ZipFile(file) as packed:
            check_size(packed)
        document = docx.Document(str(file))
        title = document.core_properties.title or ""
        parts: list[str] = []
        for block in document.iter_inner_content():
            if isinstance(block, Paragraph):
                if not title and block.style is not None and block.style.name == "Title":
                    title = block.text
                else:
                    parts.append(block.text)
            else:
                parts.extend("\t".join(cell.text for cell in row.cells) for row in block.rows)
    except (OpcError, zipfile.BadZipFile, KeyError, AttributeError) as error:
        raise ValueError(f"it cannot be read as .docx ({error}); save it again with a word processor") from None
    text = "\n".join(part for part in parts if part.strip())
    if not text and not title:
        raise ValueError("it has no text; check that it is the right file")
    return " ".join(title.split()), text
