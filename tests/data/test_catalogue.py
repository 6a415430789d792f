"""Catalogue records as documents, and written again with more subjects: nothing else of them changes."""

from __future__ import annotations

import io
from pathlib import Path

import pymarc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymarc import Field, Indicators, Subfield

from everylabel.data import detect_format, load_dataset, load_documents
from everylabel.data.dataset import Label, LabelSet
from everylabel.data.formats import bibtex, dublin_core, marc, marcxml, ris
from everylabel.data.formats.catalogue import Subject, Tagging
from everylabel.data.formats.layout import Options
from everylabel.data.formats.load import load_labelled
from everylabel.data.formats.registry import Catalogue, format_named
from everylabel.data.formats.rows import BadRows, Source
from everylabel.errors import DataError

NEW = [
    Subject("Lighthouses", "http://x/l", "http://x/l", 0.8765),
    Subject("ships", "s", "", 0.5),
    Subject("Küsten & Meere", "k", "http://x/k", 0.25),
]
TAGGING = Tagging("yso/eng", "everylabel", "20270131")


def marc_record(number: int) -> pymarc.Record:
    record = pymarc.Record(force_utf8=True)
    record.add_field(Field(tag="001", data=f"id{number}"))
    fields = [
        ("245", "10", [("a", f"Lights {number} :"), ("b", "of the coast /"), ("c", "A. Writer")]),
        ("520", "  ", [("a", "About lamps.")]),
        ("650", " 7", [("8", "3\\p"), ("a", "Ships."), ("0", "(DE-588)123"), ("2", "gnd")]),
        ("653", "  ", [("a", "lamps"), ("a", "towers")]),
        ("856", "40", [("u", "http://example.org/")]),
    ]
    for tag, indicators, subfields in fields:
        parts = [Subfield(code, value) for code, value in subfields]
        record.add_field(Field(tag=tag, indicators=Indicators(*indicators), subfields=parts))
    return record


def mrc(n: int = 2) -> bytes:
    out = io.BytesIO()
    writer = pymarc.MARCWriter(out)
    for number in range(1, n + 1):
        writer.write(marc_record(number))
    return out.getvalue()


def xml(n: int = 2) -> bytes:
    records = b"\n".join(pymarc.record_to_xml(marc_record(i), namespace=True) for i in range(1, n + 1))
    return b"<?xml version='1.0'?>\n<collection>\n" + records + b"</collection>\n"


RIS = """TY  - JOUR\r\nID  - id1\r\nTI  - Lights 1: of the coast\r\nAB  - About lamps.\r\nKW  - Ships\r\nKW  - lamps\r
PY  - 2020\r\nER  - \r\n\r\nTY  - BOOK\r\nT1  - Lights 2\r\nER  - \r\n"""
BIB = r"""% a comment
@string{me = "Somebody"}
@article{id1,
  title = {Lights {1}: of the {\"o}ther coast},
  author = me,
  abstract = "About lamps. keywords = none",
  keywords = {Ships, lamps},
  year = 2020
}

@book{id2, title = "Lights 2"}
"""
DC = """<?xml version="1.0" encoding="UTF-8"?>
<records xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/">
  <oai_dc:dc>
    <dc:identifier>id1</dc:identifier>
    <dc:title>Lights 1: of the coast</dc:title>
    <dc:description>About lamps.</dc:description>
    <dc:subject>Ships</dc:subject>
    <dc:subject>lamps</dc:subject>
    <dc:date>2020</dc:date>
  </oai_dc:dc>
  <oai_dc:dc><dc:title xml:lang="en">Lights 2</dc:title></oai_dc:dc>
</records>
"""
FILES = {"marc": ("x.mrc", mrc()), "marcxml": ("x.xml", xml()), "ris": ("x.ris", RIS.encode())}
FILES |= {"bibtex": ("x.bib", BIB.encode()), "dublin-core": ("x.xml", DC.encode())}


def written(folder: Path, name: str, content: bytes | None = None) -> Path:
    file = folder / FILES[name][0]
    file.write_bytes(FILES[name][1] if content is None else content)
    return file


def tagged(file: Path, subjects: dict[int, list[Subject]], target: Path) -> int:
    module = format_named(detect_format(file))
    assert isinstance(module, Catalogue)
    return module.write_subjects(Source(file, Options(), BadRows()), target, subjects, TAGGING)


@pytest.mark.parametrize("name", FILES)
def test_records_are_documents(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, name)
    assert detect_format(file) == name
    found = load_documents(file)
    assert found.ids[0] == "id1"
    assert found.titles[0].startswith("Lights 1")
    assert found.texts[0].startswith("About lamps.")
    assert len(found) == 2


@pytest.mark.parametrize("name", FILES)
def test_subjects_are_labels_where_the_vocabulary_has_them(tmp_path: Path, name: str) -> None:
    (tmp_path / "v").mkdir()
    labels = tmp_path / "v" / "labels.jsonl"
    labels.write_text('{"id": "s", "name": "ships"}\n{"id": "t", "name": "x", "alternatives": ["Lamps"]}\n')
    data = load_dataset(written(tmp_path, name), vocabulary=labels)
    assert data.labels.ids == ["s", "t"]
    assert data.pairs is not None
    assert data.pairs[[0]].indices.tolist() == [0, 1]
    learned = load_labelled(tmp_path / FILES[name][0], LabelSet.of([Label("s", "SHIPS")]))
    assert learned.labels.ids == ["s"]


def test_subjects_of_marc_are_found_by_number_and_without_vocabulary_kept(tmp_path: Path) -> None:
    file = written(tmp_path, "marc")
    assert load_labelled(file, LabelSet.of([Label("123", "other")])).labels.ids == ["123"]
    assert load_dataset(file).labels.ids == ["123", "lamps", "towers"]


@pytest.mark.parametrize("name", FILES)
def test_new_subjects_are_added_none_is_doubled_and_nothing_else_changes(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, name)
    target = tmp_path / f"out{file.suffix}"
    assert tagged(file, {1: NEW, 2: NEW[:1]}, target) == 3
    module = format_named(name)
    before = list(module.read_documents(Source(file, Options(), BadRows()), "all"))
    after = list(module.read_documents(Source(target, Options(), BadRows()), "all"))
    names = {"marc": ["http://x/l", "http://x/k"], "marcxml": ["http://x/l", "http://x/k"]}
    added = names.get(name, ["Lighthouses", "Küsten & Meere"])
    assert [(row.id, row.title, row.text) for row in after] == [(row.id, row.title, row.text) for row in before]
    assert sorted(after[0].labels or []) == sorted([*(before[0].labels or []), *added])
    assert set(after[1].labels or []) == {*(before[1].labels or []), added[0]}
    again = tmp_path / f"again{file.suffix}"
    assert tagged(target, {1: NEW, 2: NEW[:1]}, again) == 0
    assert again.read_bytes() == target.read_bytes()
    assert is_subsequence(file.read_bytes(), target.read_bytes()) or name == "marc"


def is_subsequence(short: bytes, long: bytes) -> bool:
    rest = iter(long)
    return all(byte in rest for byte in short)


@pytest.mark.parametrize("name", ["marc", "marcxml"])
def test_fields_of_marc(tmp_path: Path, name: str) -> None:
    file = written(tmp_path, name)
    target = tmp_path / f"out{file.suffix}"
    tagged(file, {1: NEW}, target)
    read = pymarc.MARCReader(target.read_bytes()) if name == "marc" else pymarc.parse_xml_to_array(str(target))
    first, second = read
    assert [field.tag for field in first] == ["001", "245", "520", "650", "650", "650", "653", "856", "883", "883"]
    assert str(first.get_fields("650")[1]) == "=650  \\7$84\\p$aLighthouses$2yso/eng$0http://x/l"
    assert str(first.get_fields("883")[0]) == "=883  0\\$84\\p$aeverylabel$c0.8765$d20270131"
    assert str(first.get_fields("650")[2]).endswith("$aKüsten & Meere$2yso/eng$0http://x/k")
    first.remove_fields("883")
    for field in first.get_fields("650")[1:]:
        first.remove_field(field)
    assert [str(one) for one in (*first, *second)] == [str(field) for i in (1, 2) for field in marc_record(i)]


def test_a_record_in_marc_8_keeps_its_bytes(tmp_path: Path) -> None:
    content = mrc(1).replace(b"About lamps.", b"Caf\xe2e lamps.")  # an accent before its letter
    content = content[:9] + b" " + content[10:]
    file = written(tmp_path, "marc", content)
    assert load_documents(file).texts == ["Café lamps."]
    tagged(file, {1: NEW}, tmp_path / "out.mrc")
    out = (tmp_path / "out.mrc").read_bytes()
    assert b"Caf\xe2e lamps" in out
    assert b"K&#x00FC;sten" in out
    assert int(out[:5]) == len(out)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), min_size=1), max_size=4)
)
@pytest.mark.parametrize("name", FILES)
def test_whatever_a_label_is_called_the_file_is_read_again(tmp_path: Path, name: str, names: list[str]) -> None:
    file = written(tmp_path, name)
    target = tmp_path / f"out{file.suffix}"
    added = tagged(file, {2: [Subject(one, f"http://x/{i}") for i, one in enumerate(names)]}, target)
    module = format_named(name)
    before = list(module.read_documents(Source(file, Options(), BadRows()), "all"))
    after = list(module.read_documents(Source(target, Options(), BadRows()), "all"))
    assert [(row.id, row.title, row.text) for row in after] == [(row.id, row.title, row.text) for row in before]
    assert after[0].labels == before[0].labels
    assert added <= len(names)


@pytest.mark.parametrize(
    ("keywords", "now"),
    [
        ("keywords = {}", "keywords = {Lighthouses, ships}"),
        ("keywords = {a; b}", "keywords = {a; b; Lighthouses; ships}"),
        ('KEYWORDS = "a"', 'KEYWORDS = "a, Lighthouses, ships"'),
        ("keywords = mine", "keywords = mine # {, Lighthouses, ships}"),
    ],
)
def test_keywords_of_bibtex(keywords: str, now: str) -> None:
    raw = f"@book{{k,\n  note = {{keywords = {{x}}}},\n  {keywords},\n  year = 2000\n}}"
    assert bibtex.with_keywords(raw, NEW[:2]) == raw.replace(keywords, now)


def test_keywords_with_commas_are_one_keyword() -> None:
    assert bibtex.separated("Bach, {a, b}, c") == ["Bach", "{a, b}", "c"]
    assert bibtex.with_keywords("@book{k, title = {T}}", [Subject("Bach, J", "b")]) == (
        "@book{k, title = {T}, keywords = {{Bach, J}}}"
    )


@pytest.mark.parametrize(
    ("name", "damaged", "said"),
    [
        ("marc", mrc()[:-40], "x.mrc: record 2: expected a MARC record"),
        ("marc", b"no marc", "x.mrc: record 1: expected a MARC record"),
        ("marcxml", xml()[:-60], r"x.xml: record 2: expected"),
        (
            "marcxml",
            b'<!DOCTYPE a [<!ENTITY a "x"><!ENTITY b "&a;">]><collection><!--MARC21/slim-->&b;</collection>',
            "document type",
        ),
        ("dublin-core", DC.encode()[:-30], "x.xml: record 2: expected XML"),
        (
            "dublin-core",
            DC.replace("<records", '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><records').encode(),
            "entity",
        ),
        ("ris", b"TY  - JOUR\nTI  - x\n", "TY"),
        ("ris", b"TY  - JOUR\nTI  - \xff\nER  - \n", "UTF-8"),
        (
            "bibtex",
            b"@book{a, title = {A}}\n@book{b, title = {B}\n@book{c, title = {C}}\n",
            "x.bib: record 2: expected a BibTeX",
        ),
    ],
)
def test_a_damaged_record_is_named(tmp_path: Path, name: str, damaged: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        load_documents(written(tmp_path, name, damaged), format=name)


def test_a_missing_library_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everylabel.data.formats.catalogue.find_spec", lambda _: None)
    for name in ("marc", "marcxml", "ris", "bibtex"):
        with pytest.raises(DataError, match=r"everylabel\[catalogue\]"):
            load_documents(written(tmp_path, name))


def test_what_marc_cannot_hold_is_said(tmp_path: Path) -> None:
    file = written(tmp_path, "marc")
    with pytest.raises(DataError, match=r"record 1: a field of .* does not fit"):
        tagged(file, {1: [Subject("x" * 10_000, "x")]}, tmp_path / "out.mrc")


def test_a_document_type_far_from_the_start_is_seen(tmp_path: Path) -> None:
    start = b"<?xml version='1.0'?><!--MARC21/slim" + b" " * 100_000 + b"-->"
    laughs = b'<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
    with pytest.raises(DataError, match="document type"):
        load_documents(written(tmp_path, "marcxml", start + laughs + b"<collection>&b;</collection>"))


def test_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    file = written(tmp_path, "bibtex", BIB.replace("\n", "\r\n").encode())
    assert tagged(file, {1: NEW[:1]}, tmp_path / "out.bib") == 1
    assert (tmp_path / "out.bib").read_bytes() == file.read_bytes().replace(
        b"Ships, lamps", b"Ships, lamps, Lighthouses"
    )
    file = written(tmp_path, "ris")
    tagged(file, {1: NEW[:1]}, tmp_path / "out.ris")
    assert (tmp_path / "out.ris").read_bytes() == RIS.replace(
        "- lamps\r\n", "- lamps\r\nKW  - Lighthouses\r\n"
    ).encode()


def test_xml_as_oai_gives_it(tmp_path: Path) -> None:
    inner = pymarc.record_to_xml(marc_record(1)).replace(b"<", b"<m:").replace(b"<m:/", b"</m:")
    inner = inner.replace(b"<m:record", b'<m:record xmlns:m="http://www.loc.gov/MARC21/slim"', 1)
    file = written(tmp_path, "marcxml", b"<OAI><record><header/><metadata>" + inner + b"</metadata></record></OAI>")
    assert load_documents(file).ids == ["id1"]
    assert tagged(file, {1: NEW}, tmp_path / "out.xml") == 2
    assert b'<m:subfield code="a">Lighthouses</m:subfield>' in (tmp_path / "out.xml").read_bytes()
    assert load_documents(tmp_path / "out.xml").titles == load_documents(file).titles


def test_modules_are_catalogues() -> None:
    assert all(isinstance(one, Catalogue) for one in (marc, marcxml, ris, bibtex, dublin_core))
