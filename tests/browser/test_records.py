"""A catalogue file on the page: its records one after the other, and the file with their subjects back."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pymarc
import pytest
from playwright.sync_api import Dialog, Page, expect
from pymarc import Field, Indicators, Subfield
from tests.browser.conftest import Open, Site
from tests.browser.test_tagging import CHOSEN, LIFEBOATS, chosen

TEXTS = ("The lifeboat crew rowed out to the wreck.", "Bread and its bakers.", "A lighthouse in a gale.")
STATE = ".records .state"


def marc_record(number: int, text: str) -> pymarc.Record:
    record = pymarc.Record(force_utf8=True)
    record.add_field(Field(tag="001", data=f"id{number}"))
    fields = [
        ("245", "10", [("a", f"Book {number}")]),
        ("520", "  ", [("a", text)]),
        ("650", " 7", [("a", "Local history"), ("2", "harbour")]),
        ("650", " 7", [("a", "Elsewhere"), ("2", "other")]),
    ]
    for tag, indicators, subfields in fields:
        parts = [Subfield(code, value) for code, value in subfields]
        record.add_field(Field(tag=tag, indicators=Indicators(*indicators), subfields=parts))
    return record


def marc() -> bytes:
    return b"".join(marc_record(number, text).as_marc() for number, text in enumerate(TEXTS, 1))


def marcxml() -> bytes:
    inner = b"".join(pymarc.record_to_xml(marc_record(i, text), namespace=True) for i, text in enumerate(TEXTS, 1))
    return b"<collection>" + inner + b"</collection>"


def ris() -> bytes:
    one = "TY  - BOOK\nID  - id{}\nTI  - Book {}\nAB  - {}\nKW  - Local history\nKW  - Elsewhere\nER  - \n"
    return "".join(one.format(i, i, text) for i, text in enumerate(TEXTS, 1)).encode()


def bibtex() -> bytes:
    one = "@book{{id{},\n  title = {{Book {}}},\n  abstract = {{{}}},\n  keywords = {{Local history, Elsewhere}}\n}}\n"
    return "".join(one.format(i, i, text) for i, text in enumerate(TEXTS, 1)).encode()


def dublin_core() -> bytes:
    one = (
        "<record><dc:identifier>id{}</dc:identifier><dc:title>Book {}</dc:title><dc:description>{}</dc:description>"
        "<dc:subject>Local history</dc:subject><dc:subject>Elsewhere</dc:subject></record>"
    )
    inner = "".join(one.format(i, i, text) for i, text in enumerate(TEXTS, 1))
    return f'<records xmlns:dc="http://purl.org/dc/elements/1.1/">{inner}</records>'.encode()


FILES = {"a.mrc": marc, "a.marcxml": marcxml, "a.ris": ris, "a.bib": bibtex, "a.dc": dublin_core}


def opened(page: Page, folder: Path, name: str = "a.mrc", content: bytes | None = None) -> Page:
    file = folder / name
    file.write_bytes(FILES[name]() if content is None else content)
    page.set_input_files("#file", file)
    expect(page.locator(STATE)).to_contain_text("Record 1 of")
    page.wait_for_selector(".suggestion")
    return page


def accept_and_save(page: Page, done: int) -> None:
    page.wait_for_selector(".suggestion .accept")
    page.locator(".suggestion .accept").first.click()
    page.click("button[data-f=save]")
    expect(page.locator(STATE)).to_contain_text(f"{done} done")


def downloaded(page: Page) -> bytes:
    with page.expect_download() as download:
        page.click("button[data-f='records.write']")
    return Path(download.value.path()).read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_records_are_worked_through_and_written_back(page: Page, site: Site, tmp_path: Path, name: str) -> None:
    opened(page, tmp_path, name)
    expect(page.locator(".read .title")).to_have_text("Book 1")
    expect(page.locator(".read .body")).to_have_text(TEXTS[0])
    expect(page.locator("p.given")).to_contain_text("Local history")
    page.click(f"{LIFEBOATS} .accept")
    page.click("button[data-f=save]")
    expect(page.locator(STATE)).to_contain_text("Record 2 of 3 · 1 done")
    expect(page.locator(".read .body")).to_have_text(TEXTS[1])
    accept_and_save(page, 2)
    expect(page.locator(STATE)).to_contain_text("Record 3 of 3 · 2 done")
    accept_and_save(page, 3)
    expect(page.locator("#said")).to_contain_text("All records are done")
    assert page.evaluate("document.activeElement.dataset.f") == "records.write"
    content = downloaded(page)
    expect(page.locator("#said")).to_contain_text("3 subjects were written")
    stored = {one["document_id"]: one for one in site.decisions()}
    assert set(stored) == {"id1", "id2", "id3"}
    assert "lifeboats" in stored["id1"]["accepted"]
    assert "local-history" in [*stored["id1"]["accepted"], *stored["id1"]["added"]]  # what it had is its label, too
    assert content.count(b"Lifeboats") == 1
    assert content.count(b"Local history") == content.count(b"Elsewhere") == 3
    if name in ("a.mrc", "a.marcxml"):
        check_marc(content, is_xml=name == "a.marcxml")


def check_marc(content: bytes, *, is_xml: bool) -> None:
    stream = io.BytesIO(content)
    records = pymarc.parse_xml_to_array(stream) if is_xml else list(pymarc.MARCReader(stream))
    assert len(records) == 3
    new = next(field for field in records[0].get_fields("650") if field["a"] == "Lifeboats")
    assert (list(new.indicators), new["2"], new["0"]) == ([" ", "7"], "harbour", "http://vocabulary.example/lifeboats")
    (made,) = records[0].get_fields("883")
    assert made["8"] == new["8"]
    assert 0 < float(made["c"]) <= 1
    assert len(made["d"]) == 8
    assert all(len(record.get_fields("650")) == 3 for record in records)


def test_what_the_record_has_is_not_decided_again(page: Page, tmp_path: Path) -> None:
    record = marc_record(1, TEXTS[0])
    record.add_field(Field(tag="650", indicators=Indicators(" ", "7"), subfields=[Subfield("a", "LIFEBOATS")]))
    opened(page, tmp_path, content=record.as_marc())
    expect(page.locator(LIFEBOATS)).to_contain_text("in the record")
    assert page.locator(f"{LIFEBOATS} .accept").count() == 0
    page.click(f"{LIFEBOATS} .name")
    page.keyboard.press("a")
    expect(page.locator("#said")).to_contain_text("is in the record already")
    assert chosen(page) == []


def test_nothing_is_lost_by_a_reload_or_by_looking_around(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path)
    page.click(f"{LIFEBOATS} .accept")
    page.click("button[data-f='records.next']")
    expect(page.locator(".read .title")).to_have_text("Book 2")
    assert chosen(page) == []
    page.click("text=All records")
    page.click("button[data-f='record:1']")
    expect(page.locator(CHOSEN)).to_have_text("Lifeboats")
    page.click("button[data-f=save]")
    expect(page.locator(STATE)).to_contain_text("1 done")
    page.reload()
    expect(page.locator(STATE)).to_contain_text("Record 2 of 3 · 1 done")
    assert b"Lifeboats" in downloaded(page)


def test_a_record_that_is_saved_again_is_one_decision(page: Page, site: Site, tmp_path: Path) -> None:
    opened(page, tmp_path)
    accept_and_save(page, 1)
    page.click("button[data-f='records.before']")
    expect(page.locator(".read .title")).to_have_text("Book 1")
    page.wait_for_selector(".suggestion")
    page.locator(".suggestion .accept").nth(1).click()
    page.click("button[data-f=save]")
    expect(page.locator("#said")).to_contain_text("Saved with 3 tags")
    (stored,) = site.decisions()
    assert len([*stored["accepted"], *stored["added"]]) == 3
    page.click("#said button")
    expect(page.locator(STATE)).to_contain_text("0 done")
    assert site.decisions() == []


def test_records_while_the_server_is_away(page: Page, site: Site, tmp_path: Path) -> None:
    opened(page, tmp_path)
    page.click(f"{LIFEBOATS} .accept")
    site.stop()
    page.click("button[data-f=save]")
    expect(page.locator(STATE)).to_contain_text("Record 2 of 3 · 1 done")
    expect(page.locator("#away")).to_be_visible()
    site.start()
    expect(page.locator("#away")).to_be_hidden(timeout=30_000)
    expect(page.locator(".saved li")).to_have_count(1)
    page.wait_for_selector(".suggestion")
    assert [one["document_id"] for one in site.decisions()] == ["id1"]
    assert b"Lifeboats" in downloaded(page)


def test_a_dropped_file_and_one_that_is_none(page: Page) -> None:
    drop = """([name, text]) => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([text], name));
        document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    }"""
    page.evaluate(drop, ["b.xml", "<x/>"])
    expect(page.locator("#said")).to_contain_text("no catalogue records")
    page.evaluate(drop, ["b.ris", ris().decode()])
    expect(page.locator(STATE)).to_contain_text("Record 1 of 3")


def test_a_file_is_closed_and_another_opened(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path)
    accept_and_save(page, 1)
    asked: list[str] = []

    def agree(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.on("dialog", agree)
    page.click("button[data-f=new]")
    page.set_input_files("#file", {"name": "b.ris", "mimeType": "text/plain", "buffer": ris()})
    expect(page.locator("#records-title")).to_have_text("b.ris")
    page.click("button[data-f='records.close']")
    expect(page.locator(".records")).to_have_count(0)
    assert len(asked) == 2
    page.reload()
    page.wait_for_selector("#text-title")
    assert page.locator(".records").count() == 0


def test_many_records_and_the_smallest_phone(open_page: Open, tmp_path: Path) -> None:
    page = open_page(width=320)
    many = b"".join(marc_record(i, f"{TEXTS[i % 3]} {i}").as_marc() for i in range(1, 401))
    opened(page, tmp_path, content=many)
    page.click("text=All records")
    expect(page.locator(".records li")).to_have_count(400)  # a list unfolds when the browser comes to it
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    accept_and_save(page, 1)
    sizes = json.loads(page.evaluate("JSON.stringify(Object.values(localStorage).map((one) => one.length))"))
    assert max(sizes) < 100_000  # the file is not in the small store
