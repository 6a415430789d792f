"""Files as documents: texts, Markdown, PDF and Word, alone or in a folder; hostile ones cost one line and no more."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import sys
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.data.documents import epub, pdf, write_docx, write_odt
from tests.listening import Recorder

from everylabel.data import convert, detect_format, load_dataset, load_documents
from everylabel.data.formats import html_page, reading
from everylabel.data.formats.files import markdown
from everylabel.data.formats.reading import Reader
from everylabel.errors import DataError
from everylabel.run import Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four documents, and two files that are none."""
    path = tmp_path / "papers"
    (path / "deep").mkdir(parents=True)
    (path / "deep" / "a.pdf").write_bytes(pdf(["Lights of the coast\nand light-\nhouse keepers", "of ships"], "Lights"))
    write_docx(path / "b.docx", "Bees and honey", ["A handbook."], ["hive", "wax"])
    (path / "c.md").write_text("Notes\n\n# Railways #\nTrains and steam\n")
    (path / "d.txt").write_text("The sea\nand ships\n")
    (path / "e.jpg").write_bytes(b"\xff\xd8")
    (path / ".hidden.txt").write_text("nothing")
    return path


def test_a_folder_is_a_document_a_file(folder: Path) -> None:
    recorder = Recorder()
    found = load_documents(folder, run=Run(reporter=recorder))
    assert found.ids == ["b.docx", "c.md", "d.txt", "deep/a.pdf"]
    assert found.titles == ["Bees and honey", "Railways", "", "Lights"]
    assert found.texts[0] == "A handbook.\nhive\twax"
    assert found.texts[1].split() == ["Notes", "Trains", "and", "steam"]
    assert found.texts[2] == "The sea\nand ships\n"
    assert found.texts[3].split() == ["Lights", "of", "the", "coast", "and", "lighthouse", "keepers", "of", "ships"]
    assert any("files left out: .jpg" in line for line in recorder.said)


@pytest.mark.parametrize("name", ["b.docx", "c.md", "deep/a.pdf"])
def test_a_single_file(folder: Path, name: str) -> None:
    found = load_documents(folder / name)
    assert found.ids == [Path(name).name]
    assert found.titles[0]


def test_a_folder_of_files_can_be_converted_and_fitted_with_a_vocabulary(folder: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"id": "s", "name": "Ships"}\n')
    assert load_dataset(folder, vocabulary=labels).labels.ids == ["s"]
    convert(folder, tmp_path / "native")
    rows = [json.loads(line) for line in (tmp_path / "native" / "train.jsonl").read_text().splitlines()]
    assert [row["id"] for row in rows] == ["b.docx", "c.md", "d.txt", "deep/a.pdf"]


def test_subjects_beside_a_pdf_label_it(folder: Path) -> None:
    (folder / "b.tsv").write_text("<http://x/bees>\tBees\n")
    assert detect_format(folder) == "annif-folder"
    data = load_dataset(folder)
    assert data.labels.ids == ["http://x/bees"]
    assert data.documents.titles[0] == "Bees and honey"


def test_a_note_beside_data_makes_no_folder_of_files(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("x")
    (tmp_path / "articles.csv").write_text("text\nx\n")
    with pytest.raises(DataError, match=r"README\.md, articles\.csv"):
        detect_format(tmp_path)


def test_a_folder_of_files_is_never_overwritten(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "x", "labels": ["a"]}\n')
    with pytest.raises(DataError, match="not a data set, so it is not overwritten"):
        convert(tmp_path / "x.jsonl", folder, overwrite=True)
    assert (folder / "d.txt").exists()


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ("# A\nb", "A", "b"),
        ("b", "", "b"),
        ('---\ntitle: "A"\nx: y\n---\n# B\nc', "A", "# B\nc"),
        ("## B\nc", "", "## B\nc"),
        ("---\nno end\n# A\nb", "A", "---\nno end\n\nb"),
    ],
)
def test_titles_of_markdown(text: str, title: str, rest: str) -> None:
    assert markdown(text) == (title, rest)


def test_open_document_texts(tmp_path: Path) -> None:
    write_odt(tmp_path / "b.odt", "Bees and honey", ["A handbook.", "Of wax"], ["hive", "comb"])
    found = load_documents(tmp_path / "b.odt")
    assert (found.titles, found.texts) == (["Bees and honey"], ["A handbook.\nOf wax\nhive\ncomb"])


def test_comments_and_deleted_text_are_no_text_of_an_open_document(tmp_path: Path) -> None:
    from odf.office import Annotation
    from odf.opendocument import OpenDocumentText
    from odf.text import LineBreak, P, S, TrackedChanges

    document = OpenDocumentText()
    changes = TrackedChanges()
    document.text.addElement(changes)
    paragraph = P(text="Ships")
    note = Annotation()
    note.addElement(P(text="a comment"))
    for one in (note, S(), LineBreak()):
        paragraph.addElement(one)
    paragraph.addText("at sea")
    document.text.addElement(paragraph)
    document.save(str(tmp_path / "x.odt"))
    assert load_documents(tmp_path / "x.odt").texts == ["Ships \nat sea"]


def test_a_book_is_read_in_the_order_of_its_spine(tmp_path: Path) -> None:
    (tmp_path / "b.epub").write_bytes(epub("Lights &amp; ships", ["First", "Second<br/>line", "Third"]))
    found = load_documents(tmp_path / "b.epub")
    assert (found.titles, found.texts) == (["Lights & ships"], ["First\nSecond\nline\nThird"])


@pytest.mark.parametrize(
    ("page", "title", "text"),
    [
        (b"<title>A &amp; B</title><p>one <b>two</b>\n three</p><div>four</div>", "A & B", "one two three\nfour"),
        (b"<h1>Heading</h1><p>text", "Heading", "Heading\ntext"),
        (b"<body><script>no()</script><style>x{}</style><template>no</template>yes", "", "yes"),
        (b"<head><title>T</title><meta charset=latin1><body>caf\xe9", "T", "caf\xe9"),
        (b"caf\xe9", "", "caf\xe9"),
        ("\ufeffgr\xfcn".encode(), "", "gr\xfcn"),
        ("gr\xfcn".encode("utf-16"), "", "gr\xfcn"),
        (b"<div hidden>no<div>no</div>no</div>yes<span style='display: none'>no</span>", "", "yes"),
        (b"<ul><li hidden>no<li>yes</ul>", "", "yes"),
        (b"<div><p hidden>no</div>yes", "", "yes"),
        (b"<table><tr><td>a</td><td>b</td></tr></table>", "", "a\tb"),
        (b"<pre>a  b\nc</pre><!-- no --><svg><title>no</title></svg>", "", "a  b\nc"),
        (b"<p>1 &lt; 2 &nbsp;&eacute;", "", "1 < 2 \xe9"),
    ],
)
def test_what_a_page_shows(page: bytes, title: str, text: str) -> None:
    assert html_page.page(page) == (title, text)


def test_web_pages_are_documents(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<title>Boats</title><p>of the sea")
    (tmp_path / "b.HTM").write_text("<p>of the land")
    found = load_documents(tmp_path)
    assert (found.ids, found.titles) == (["a.html", "b.HTM"], ["Boats", ""])


@pytest.mark.parametrize(("title", "kept"), [("Microsoft Word - Annual report", "Annual report"), ("untitled", "")])
def test_titles_that_programs_write(tmp_path: Path, title: str, kept: str) -> None:
    (tmp_path / "x.pdf").write_bytes(pdf(["text"], title))
    assert load_documents(tmp_path / "x.pdf").titles == [kept]


@pytest.mark.parametrize(("library", "name"), [("pypdf", "x.pdf"), ("docx", "x.docx"), ("odf", "x.odt")])
def test_a_missing_library_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, name: str
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(reading, "find_spec", lambda name: None if name == library else there(name))
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(DataError, match=rf"{name}: reading \.\w+ needs .*pip install 'everylabel\[files\]'"):
        load_documents(tmp_path / name)


def bomb(size: int) -> bytes:
    """A page whose content unpacks to so many bytes."""
    packed = zlib.compress(b"(x) Tj " * (size // 7))
    head = b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    head += b"2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n"
    head += b"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>\nendobj\n"
    head += b"4 0 obj\n<< /Filter /FlateDecode /Length %d >>\nstream\n" % len(packed)
    return head + packed + b"\nendstream\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n"


def zipped(name: str, content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return packed.getvalue()


LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><a>&b;</a>"""
OUTSIDE = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><a>&a;</a>"""
LOCK = """<encryption><EncryptedData><CipherData><CipherReference URI="OEBPS/text/c%200.xhtml"/></CipherData>
</EncryptedData></encryption>"""

HOSTILE: dict[str, Callable[[], bytes]] = {
    "empty.pdf": bytes,
    "noise.pdf": lambda: bytes(range(256)) * 20,
    "cut.pdf": lambda: pdf(["some text"])[:200],
    "loop.pdf": lambda: pdf(["x"]).replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"),
    "scan.pdf": lambda: pdf([""]),
    "bomb.pdf": lambda: bomb(200_000_000),
    "empty.docx": bytes,
    "noise.docx": lambda: bytes(range(256)) * 20,
    "other.docx": lambda: zipped("x.xml", b"<x/>"),
    "bomb.docx": lambda: zipped("word/document.xml", b" " * 400_000_000),
    "empty.odt": bytes,
    "other.odt": lambda: zipped("x.xml", b"<x/>"),
    "bomb.odt": lambda: zipped("content.xml", b" " * 400_000_000),
    "laughs.odt": lambda: zipped("content.xml", LAUGHS),
    "empty.epub": bytes,
    "other.epub": lambda: zipped("x.xml", b"<x/>"),
    "bomb.epub": lambda: zipped("META-INF/container.xml", b" " * 400_000_000),
    "laughs.epub": lambda: zipped("META-INF/container.xml", LAUGHS),
    "outside.epub": lambda: zipped("META-INF/container.xml", OUTSIDE),
    "locked.epub": lambda: epub("T", ["x"], {"META-INF/encryption.xml": LOCK}),
    "empty.html": bytes,
    "script.html": lambda: b"<script>alert('<p>x</p>')</script><style>p {}</style>",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_one_line_and_the_others_are_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(HOSTILE[name]())
    (tmp_path / "fine.txt").write_text("fine")
    with pytest.raises(DataError, match=rf"^{name}: it [^\n]+; [^\n]+, or pass --on-bad-row skip$"):
        load_documents(tmp_path)
    assert load_documents(tmp_path, on_bad_row="skip").ids == ["fine.txt"]


def test_a_file_that_takes_too_long_is_given_up_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "pypdf.py").write_text("import time\ntime.sleep(600)\n")
    (tmp_path / "x.pdf").write_bytes(pdf(["x"]))
    write_docx(tmp_path / "y.docx", "", ["fine"], [])
    with Reader(seconds=60) as reader:
        monkeypatch.setattr(sys, "path", [str(tmp_path / "slow"), *sys.path])
        reader.seconds, started = 1.5, time.monotonic()
        with pytest.raises(ValueError, match=r"takes longer than 1\.5 s"):
            reader.content(tmp_path / "x.pdf")
        assert time.monotonic() - started < 30
        reader.seconds = 60
        assert reader.content(tmp_path / "y.docx").text == "fine"


def test_a_reader_that_dies_is_one_error_and_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dying").mkdir()
    (tmp_path / "dying" / "pypdf.py").write_text("import os\nos.abort()\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "dying"), *sys.path])
    (tmp_path / "x.pdf").write_bytes(pdf(["x"]))
    with Reader() as reader, pytest.raises(ValueError, match="too much memory or crashes; leave it out"):
        reader.content(tmp_path / "x.pdf")


def write_sample(file: Path) -> None:
    if file.suffix in (".docx", ".odt"):
        {".docx": write_docx, ".odt": write_odt}[file.suffix](file, "T", ["text"], ["a"])
    else:
        page = b"<html><head><title>T</title></head><body><p hidden>no<p>some text</body></html>"
        file.write_bytes(
            {".pdf": pdf(["some text"], "T"), ".epub": epub("T", ["some text"]), ".html": page}[file.suffix]
        )


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader(seconds=20) as made:
        yield made


@pytest.mark.parametrize("suffix", [".pdf", ".docx", ".odt", ".epub", ".html"])
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1), piece=st.binary(max_size=8), cut=st.integers(0, 8))
def test_damaged_files_are_read_or_refused(
    reader: Reader, tmp_path: Path, suffix: str, at: float, piece: bytes, cut: int
) -> None:
    whole = tmp_path / f"whole{suffix}"
    if not whole.exists():
        write_sample(whole)
    content = whole.read_bytes()
    where = int(at * len(content))
    file = tmp_path / f"x{suffix}"
    file.write_bytes(content[:where] + piece + content[where + cut :])
    try:
        problem = "" if any(reader.content(file)) else "nothing was read, and nothing said"
    except ValueError as error:
        problem = str(error)
    assert re.fullmatch(r"|it .+; .+", problem)  # one line: what is wrong, and what to do
