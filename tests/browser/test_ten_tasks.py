"""The ten tasks of docs/ten-tasks.md, done with real clicks and keys, which are counted: the page says as many."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import PATIENCE, TEXT, Open, Site
from tests.browser.test_tagging import LIFEBOATS, names
from tests.data.documents import pdf

from everylabel.web.projects import Project

PAGE = (Path(__file__).parents[2] / "docs" / "ten-tasks.md").read_text("utf-8")
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| (\d+) \| (\d+) \| (\d+) \|", re.MULTILINE)
ROWS = {int(row[0]): row[1:] for row in ROW.findall(PAGE)}
NEXT = "Bread and its bakers in a harbour town: ovens, flour, and who ate it."


class Hand:
    """A person's: each click, double click, key or chord is one; a choice in a list or a file dialog is two."""

    def __init__(self, page: Page) -> None:
        self.page, self.n = page, 0

    def click(self, selector: str, times: int = 1) -> None:
        self.page.locator(selector).first.click(click_count=times)
        self.n += 1

    def keys(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.n += 1

    def choose(self, selector: str, value: str) -> None:
        self.page.select_option(selector, value)
        self.n += 2

    def open_file(self, selector: str, file: Path) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.click(selector)
        chooser.value.set_files(file)
        self.n += 1


def clipboard(page: Page, text: str | None = None) -> str:
    if text is not None:
        page.evaluate("text => navigator.clipboard.writeText(text)", text)
    return str(page.evaluate("navigator.clipboard.readText()"))


def suggested(page: Page) -> None:
    page.wait_for_selector(".suggestion")
    expect(page.locator(".suggestions")).to_have_attribute("aria-busy", "false")


def paste(hand: Hand, _: Path) -> None:
    clipboard(hand.page, TEXT)
    hand.keys("Control+v")
    expect(hand.page.locator(LIFEBOATS)).to_be_visible()


def open_pdf(hand: Hand, folder: Path) -> None:
    file = folder / "a.pdf"
    file.write_bytes(pdf(["The lifeboat crew rowed out to the wreck below the lighthouse."]))
    hand.open_file("button[data-f=open]", file)
    expect(hand.page.locator(LIFEBOATS)).to_be_visible()


def next_text(hand: Hand, _: Path) -> None:
    with_suggestions(hand)
    clipboard(hand.page, NEXT)
    hand.keys("Control+v")
    expect(hand.page.locator(".read .body")).to_have_text(NEXT)
    suggested(hand.page)


def more(hand: Hand, _: Path) -> None:
    with_suggestions(hand)
    hand.click("button[data-f=more]")
    expect(hand.page.locator(".suggestion").nth(20)).to_be_visible()


def other_language(hand: Hand, _: Path) -> None:
    with_suggestions(hand)
    hand.choose("#names", "de")
    expect(hand.page.locator(".suggestion .name", has_text="Seenotrettungsboots")).to_be_visible()


def other_vocabulary(hand: Hand, _: Path) -> None:
    with_suggestions(hand)
    hand.page.evaluate("document.querySelector('.suggestion').dataset.old = 'yes'")
    hand.choose("#model", "second")
    expect(hand.page.locator("[data-old]")).to_have_count(0)
    suggested(hand.page)
    assert hand.page.evaluate("localStorage['everylabel.model']") == "second"


def correct_a_word(hand: Hand, _: Path) -> None:
    with_suggestions(hand)
    word = hand.page.evaluate(
        """() => {
            const body = document.querySelector(".read .body");
            const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
                const at = walker.currentNode.data.indexOf("wreck");
                if (at < 0) continue;
                const range = document.createRange();
                range.setStart(walker.currentNode, at);
                range.setEnd(walker.currentNode, at + 5);
                const { x, y, width, height } = range.getBoundingClientRect();
                return { x: x + width / 2, y: y + height / 2 };
            }
        }"""
    )
    hand.page.mouse.dblclick(word["x"], word["y"])
    hand.n += 1
    hand.keys(*"reef", "Control+Enter")
    expect(hand.page.locator(".read .body")).to_have_text(TEXT.replace("wreck", "reef"))
    suggested(hand.page)


def open_the_vocabulary(hand: Hand, _: Path) -> None:
    with_suggestions(hand)
    address = hand.page.locator(".suggestion").nth(2).locator("a.uri").get_attribute("href")
    hand.page.context.route("http://vocabulary.example/**", lambda route: route.fulfill(body="a page"))
    with hand.page.expect_popup() as other:
        hand.click(".suggestion >> nth=2 >> a.uri")
    assert other.value.url == address


def copy_one(hand: Hand, _: Path) -> None:
    with_suggestions(hand)
    third = names(hand.page)[2]
    hand.page.locator(".suggestion").nth(2).hover()  # the mouse on its way there: the buttons are shown then
    hand.click(".suggestion >> nth=2 >> button[data-f^='copy.marc']")
    expect(hand.page.locator("#said")).to_contain_text("Copied")
    field = rf"=650  \\7\$81\\p\$a{third}\$2harbour\$0http://vocabulary.example/\S+\n=883"
    assert re.match(field, clipboard(hand.page))


def three_into_a_record(hand: Hand, _: Path) -> None:
    with_suggestions(hand)
    found = names(hand.page)
    for place in (0, 1, 3):
        hand.click(f".suggestion >> nth={place} >> .accept")
    hand.keys("c")
    expect(hand.page.locator("#said")).to_contain_text("Copied")
    other = hand.page.context.new_page()  # the library's own program
    other.set_content("<textarea></textarea>")
    record = Hand(other)
    record.click("textarea")
    record.keys("Control+v")
    pasted = other.input_value("textarea")
    assert [name for name in found if f"$a{name}$" in pasted] == [found[0], found[1], found[3]]
    hand.n += record.n


TASKS: list[Callable[[Hand, Path], None]] = [
    paste,
    open_pdf,
    next_text,
    more,
    other_language,
    other_vocabulary,
    correct_a_word,
    open_the_vocabulary,
    copy_one,
    three_into_a_record,
]


def with_suggestions(hand: Hand) -> None:
    """Where most tasks begin; not counted."""
    hand.page.click(".examples button >> nth=0")
    suggested(hand.page)


@pytest.fixture
def site(fitted: Path, tmp_path: Path) -> Iterator[Site]:
    found = Site(fitted, tmp_path / "state")
    found.others.append(Project(id="second", model=fitted, name="Another vocabulary", vocab="second"))
    found.start()
    yield found
    found.stop()


@pytest.mark.parametrize("number", range(1, len(TASKS) + 1), ids=[task.__name__ for task in TASKS])
def test_a_task_takes_as_many_clicks_and_keys_as_the_page_says(open_page: Open, tmp_path: Path, number: int) -> None:
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.wait_for_selector(".examples button")
    hand = Hand(page)
    TASKS[number - 1](hand, tmp_path)
    _, here, annif, finto = ROWS[number]
    assert hand.n == int(here)
    assert int(here) <= min(int(annif), int(finto))


def test_the_first_text_is_saved_in_less_than_a_minute(open_page: Open) -> None:
    """By a person who reads every word and knows no key; the page's own time is measured, and a person's estimated."""
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    page.wait_for_selector(".examples button")
    words = set(page.inner_text("main").split())
    clipboard(page, TEXT)
    hand, began = Hand(page), time.monotonic()
    hand.keys("Control+v")
    suggested(page)
    n_suggestions = page.locator(".suggestion").count()
    words |= set(page.inner_text(".suggestions").split())  # "Accept" stands at each, and is read once
    for place in range(3):
        hand.click(f".suggestion >> nth={place} >> .accept")
    hand.click("button[data-f=save]")
    expect(page.locator("#said")).to_contain_text("Saved")
    waited = time.monotonic() - began
    assert f"*Save*: {hand.n} clicks and keys" in PAGE
    key, point, decide = 0.28, 1.1, 1.35
    decisions = 2 + n_suggestions  # to paste, to save, and about each of them
    person = hand.n * key + (hand.n - 1) * point + decisions * decide + len(words) * 60 / 238
    assert person < 60
    assert waited < PATIENCE / 1000  # of a machine that does other things


def test_the_page_has_ten_tasks() -> None:
    assert list(ROWS) == list(range(1, 11))
    assert len(TASKS) == len(ROWS)
