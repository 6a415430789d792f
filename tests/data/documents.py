"""Files to be read: PDF, Word, OpenDocument, EPUB; written by hand or by the library that reads them."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path


def pdf(pages: list[str], title: str = "") -> bytes:
    """A plain PDF: a page a text, a line a line."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, page in enumerate(pages):
        shown = " ".join(f"({line}) Tj T*" for line in page.split("\n"))
        drawn = f"BT /F1 12 Tf 50 700 Td 14 TL {shown} ET"
        resources = "/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * i} 0 R {resources} >>")
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    objects.append(f"<< /Title ({title}) >>")
    content, places = "%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n{one}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\nstartxref\n{len(content)}\n%%EOF\n"
    return f"{content}xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


def write_docx(file: Path, title: str, paragraphs: list[str], cells: list[str]) -> None:
    import docx

    document = docx.Document()
    if title:
        document.add_heading(title, 0)
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if cells:
        table = document.add_table(1, len(cells))
        for cell, text in zip(table.rows[0].cells, cells, strict=True):
            cell.text = text
    document.save(str(file))


def write_odt(file: Path, title: str, paragraphs: list[str], cells: list[str]) -> None:
    from odf.dc import Title
    from odf.opendocument import OpenDocumentText
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    document = OpenDocumentText()
    if title:
        document.meta.addElement(Title(text=title))
    for paragraph in paragraphs:
        document.text.addElement(P(text=paragraph))
    if cells:
        table, row = Table(name="t"), TableRow()
        for text in cells:
            cell = TableCell()
            cell.addElement(P(text=text))
            row.addElement(cell)
        table.addElement(row)
        document.text.addElement(table)
    document.save(str(file))


CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)


def epub(title: str, chapters: list[str], more: dict[str, str] | None = None) -> bytes:
    """A book whose spine has the chapters in this order, and whose manifest in the other."""
    numbered = list(enumerate(chapters))
    items = "".join(
        f'<item id="c{i}" href="text/c%20{i}.xhtml" media-type="application/xhtml+xml"/>' for i, _ in numbered[::-1]
    )
    spine = "".join(f'<itemref idref="c{i}"/>' for i, _ in numbered)
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title></metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    parts = {"META-INF/container.xml": CONTAINER, "OEBPS/book.opf": opf}
    parts |= {
        f"OEBPS/text/c {i}.xhtml": f"<html><head><title>x</title></head><body><p>{one}</p></body></html>"
        for i, one in numbered
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in (parts | (more or {})).items():
            book.writestr(name, text)
    return packed.getvalue()
