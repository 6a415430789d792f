"""From a text to saved tags, as a cataloguer does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import ARABIC, GERMAN, TEXT, TITLE, Open, Site

CHOSEN = "ol.chosen > li bdi"
LIFEBOATS = ".suggestion:has-text('Lifeboats')"


def chosen(page: Page) -> list[str]:
    return page.locator(CHOSEN).all_inner_texts()


def names(page: Page) -> list[str]:
    return page.locator(".suggestion .name").all_inner_texts()


def add(page: Page, typed: str) -> None:
    page.fill("#add", typed)
    page.wait_for_selector("[role=option]")
    page.press("#add", "Enter")


def test_suggestions_tell_what_a_cataloguer_wants_to_know(tagged: Page) -> None:
    lifeboats = tagged.locator(LIFEBOATS)
    expect(lifeboats.locator(".notation")).to_have_text("623.88")
    expect(lifeboats.locator("a.uri")).to_have_attribute("href", "http://vocabulary.example/lifeboats")
    expect(lifeboats.locator(".path")).to_contain_text("Sea and coast")
    expect(lifeboats.locator(".band")).to_have_text("rarely used")
    value = float(lifeboats.locator("meter").get_attribute("value") or "nan")
    shown = lifeboats.locator(".number").inner_text().rstrip("%")
    assert float(shown) == pytest.approx(100 * value, abs=0.6)


def test_labels_that_nobody_has_used_are_a_group_of_their_own(page: Page) -> None:
    page.fill("#text", "Licensed pilots raced their cutters seaward; pilotage of laden ships across the bar.")
    page.press("#text", "Control+Enter")
    group = page.locator("ol[aria-label='Not used yet']")
    expect(group.locator(".suggestion:has-text('Pilotage') .band")).to_have_text("not used yet")
    assert page.locator("ol[aria-label='In use'] .band.unseen").count() == 0


def test_evidence_is_marked_where_it_stands_also_after_signs_beyond_16_bits(tagged: Page) -> None:
    tagged.click(f"{LIFEBOATS} .name")
    assert tagged.locator(".read .body").inner_text() == TEXT
    assert tagged.locator("mark.word").all_inner_texts() == ["lifeboat", "crew"]
    expect(tagged.locator(f"{LIFEBOATS} .why")).to_contain_text("“lifeboat”")


def test_a_pasted_text_is_tagged_at_once(page: Page) -> None:
    page.evaluate(
        """text => {
            const clipboardData = new DataTransfer();
            clipboardData.setData("text/plain", text);
            const event = new ClipboardEvent("paste", { clipboardData, cancelable: true, bubbles: true });
            document.getElementById("text").dispatchEvent(event);
        }""",
        TEXT,
    )
    expect(page.locator(LIFEBOATS)).to_be_visible()


@pytest.mark.parametrize("name", ["record.txt", "record.md"])
def test_a_file_is_opened_and_tagged(page: Page, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(TEXT, "utf-8")
    page.set_input_files("#file", file)
    expect(page.locator(LIFEBOATS)).to_be_visible()
    assert page.locator(".read .body").inner_text().strip() == TEXT


def test_a_dropped_file_is_tagged(page: Page) -> None:
    page.evaluate(
        """text => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([text], "dropped.txt", { type: "text/plain" }));
            document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        TEXT,
    )
    expect(page.locator(LIFEBOATS)).to_be_visible()


def test_a_file_that_cannot_be_read_is_said(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "broken.pdf"
    file.write_bytes(b"%PDF-1.4 this is none")
    page.set_input_files("#file", file)
    expect(page.locator("#said")).to_contain_text("broken.pdf could not be read")


def test_accept_reject_add_reorder_undo_save(tagged: Page, site: Site) -> None:
    tagged.click(f"{LIFEBOATS} .accept")
    tagged.click(".suggestion:has-text('Local history') .reject")
    add(tagged, "weather")
    assert chosen(tagged)[0] == "Lifeboats"
    assert len(chosen(tagged)) == 2
    tagged.click("ol.chosen > li:first-child button[title=Down]")
    assert chosen(tagged)[1] == "Lifeboats"
    tagged.click("button[data-f=undo]")
    assert chosen(tagged)[0] == "Lifeboats"
    tagged.click("button[data-f=save]")
    expect(tagged.locator("#said")).to_contain_text("Saved with 2 tags")
    expect(tagged.locator(".saved li")).to_have_count(1)
    (stored,) = site.decisions()
    assert (stored["title"], stored["text"]) == (TITLE, TEXT)
    assert stored["accepted"] == ["lifeboats"]
    assert stored["rejected"] == ["local-history"]
    assert len(stored["added"]) == 1
    assert stored["complete"]
    assert len(stored["key"]) == 32
    assert tagged.input_value("#text") == ""


def test_a_saved_decision_is_taken_back(tagged: Page, site: Site) -> None:
    tagged.click(f"{LIFEBOATS} .accept")
    tagged.click("button[data-f=save]")
    expect(tagged.locator(".saved li")).to_have_count(1)
    tagged.click("#said button")
    expect(tagged.locator("#said")).to_contain_text("Taken back")
    assert site.decisions() == []


def test_the_keyboard_does_everything(page: Page, site: Site) -> None:
    page.focus("#text")
    page.keyboard.type("The lifeboat crew rowed out to the wreck below the lighthouse. jkax/?")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".suggestion")
    found = names(page)
    page.keyboard.press("a")  # and on to the next
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("a")
    assert chosen(page) == [found[0], found[2]]
    page.keyboard.press("u")
    assert chosen(page) == [found[0]]
    page.keyboard.press("/")
    page.keyboard.type("bak")
    page.wait_for_selector("[role=option]")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert len(chosen(page)) == 2
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("s")
    expect(page.locator("#said")).to_contain_text("Saved with 2 tags")
    expect(page.locator(".saved li")).to_have_count(1)
    assert len(site.decisions()) == 1


def test_single_keys_can_be_switched_off(tagged: Page) -> None:
    tagged.click("#help-open")
    tagged.uncheck("#keys-on")
    tagged.keyboard.press("Escape")
    tagged.keyboard.press("a")
    assert chosen(tagged) == []


@pytest.mark.parametrize("typed", [GERMAN[:12], ARABIC[:5], "623.8", "lifeb"])
def test_a_label_is_found_by_name_and_notation_in_any_script(page: Page, typed: str) -> None:
    page.fill("#add", typed)
    expect(page.locator("[role=option]").first).to_contain_text("Lifeboats")
    assert page.get_attribute("#add", "aria-activedescendant") == "add-0"
    page.press("#add", "Enter")
    assert chosen(page) == ["Lifeboats"]
    expect(page.locator("#add")).to_have_attribute("aria-expanded", "false")


def test_a_label_that_is_not_there_is_said(page: Page) -> None:
    page.fill("#add", "qqqqqqq")
    expect(page.locator("#add-note")).to_have_text("The vocabulary has no such tag.")


@pytest.mark.parametrize(("language", "name"), [("de", GERMAN), ("ar", ARABIC)])
def test_names_are_in_the_language_that_was_chosen(tagged: Page, language: str, name: str) -> None:
    tagged.click(f"{LIFEBOATS} .accept")
    tagged.select_option("#names", language)
    expect(tagged.locator(f".suggestion:has-text('{name}')")).to_be_visible()
    expect(tagged.locator(CHOSEN)).to_have_text(name)


def test_the_page_speaks_four_languages(open_page: Open) -> None:
    page = open_page(locale="fi-FI")
    expect(page.locator("h2").first).to_have_text("Teksti")
    for language, word in (("de", "Vorschläge"), ("fr", "Propositions"), ("en", "Suggestions")):
        page.select_option("#language", language)
        expect(page.locator("#suggestions-title")).to_have_text(word)
        assert page.get_attribute("html", "lang") == language


def test_markup_in_a_text_is_text(page: Page) -> None:
    page.fill("#text", "<img src=x onerror=alert(1)> a lifeboat <script>alert(2)</script>")
    page.press("#text", "Control+Enter")
    expect(page.locator(LIFEBOATS)).to_be_visible()
    assert page.locator("main img, main script").count() == 0


def test_no_suggestions_are_said(page: Page) -> None:
    page.route(
        "**/tag", lambda route: route.fulfill(json={"version": 0, "documents": [{"labels": [], "new_labels": []}]})
    )
    page.fill("#text", "…")
    page.click("button[data-f=tag]")
    expect(page.locator(".suggestions")).to_contain_text("No tag fits this text")


@pytest.mark.parametrize("status", [400, 413, 500])
def test_what_went_wrong_is_said_and_can_be_tried_again(page: Page, status: int) -> None:
    page.route("**/tag", lambda route: route.fulfill(status=status, json={"detail": "why it is so"}))
    page.fill("#text", TEXT)
    page.click("button[data-f=tag]")
    expect(page.locator(".suggestions [role=alert]")).to_have_text("why it is so")
    page.unroute("**/tag")
    page.keyboard.press("e")
    page.press("#text", "Control+Enter")
    expect(page.locator(LIFEBOATS)).to_be_visible()
