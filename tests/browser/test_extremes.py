"""What is longer, narrower, slower or written from the other side than usual."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.browser.conftest import ARABIC, GERMAN, TEXT, Open
from tests.browser.test_tagging import CHOSEN, LIFEBOATS, chosen
from tests.browser.test_views import VIEWS
from tests.data.documents import epub, pdf, write_docx, write_odt

SENTENCE = "The lifeboat crew rowed out to the wreck below the lighthouse."
SIDE = "(one) => getComputedStyle(one).direction"


def write(file: Path) -> None:
    kind = file.suffix
    if kind == ".docx":
        write_docx(file, "Harbour", [SENTENCE], [])
    elif kind == ".odt":
        write_odt(file, "Harbour", [SENTENCE], [])
    elif kind == ".epub":
        file.write_bytes(epub("Harbour", [f"<p>{SENTENCE}</p>"]))
    elif kind == ".pdf":
        file.write_bytes(pdf([SENTENCE], "Harbour"))
    else:
        file.write_text(f"<title>Harbour</title><nav>Menu</nav><p>{SENTENCE}</p>", "utf-8")


@pytest.mark.parametrize("kind", ["pdf", "docx", "odt", "epub", "html"])
def test_a_file_of_every_kind_is_opened_and_tagged(page: Page, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"harbour.{kind}"
    write(file)
    page.set_input_files("#file", file)
    expect(page.locator(LIFEBOATS)).to_be_visible()
    expect(page.locator(".read .body")).to_contain_text(SENTENCE)


def test_a_text_of_ten_thousand_words(page: Page) -> None:
    words = (SENTENCE.split() * 1000)[:10_000]
    page.fill("#text", " ".join([*words, "Afterwards there was bread."]))
    page.press("#text", "Control+Enter")
    expect(page.locator(LIFEBOATS)).to_be_visible()
    page.click(f"{LIFEBOATS} .name")
    expect(page.locator("mark.word").first).to_be_in_viewport()
    began = time.monotonic()
    page.keyboard.press("j")
    expect(page.locator(".suggestion.selected")).not_to_contain_text("Lifeboats")
    assert time.monotonic() - began < 5  # of a machine that does other things
    assert page.locator(".read").evaluate("(one) => one.scrollHeight > one.clientHeight")  # the page stays short
    page.reload()
    expect(page.locator(".read .body")).to_contain_text("Afterwards there was bread.")


@pytest.mark.parametrize("view", VIEWS)
def test_twice_as_large_nothing_sticks_out(open_page: Open, view: Callable[[Page], None]) -> None:
    """200 % of a screen of 1,280 points is one of 640."""
    page = open_page(width=640, device_scale_factor=2)
    view(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 640


@pytest.mark.parametrize("width", [1280, 320])
def test_long_compounds_break(open_page: Open, width: int) -> None:
    page = open_page(width=width)
    page.fill("#title", GERMAN * 3)
    page.fill("#text", f"{GERMAN * 5} {TEXT}")
    page.press("#text", "Control+Enter")
    page.click(f"{LIFEBOATS} .accept")
    page.select_option("#names", "de")
    expect(page.locator(CHOSEN)).to_have_text(GERMAN)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for part in (".read", ".suggestion >> nth=0", "ol.chosen"):
        assert page.locator(part).evaluate("(one) => one.scrollWidth <= one.clientWidth + 1")


def test_a_text_from_right_to_left(page: Page) -> None:
    page.fill("#title", ARABIC)
    page.fill("#text", f"{ARABIC} تحت المنارة lifeboat")
    assert page.locator("#text").evaluate(SIDE) == "rtl"
    page.press("#text", "Control+Enter")
    page.click(f"{LIFEBOATS} .name")
    assert page.locator(".read .body").evaluate(SIDE) == "rtl"
    assert page.locator(".read .title").evaluate(SIDE) == "rtl"
    assert page.locator("mark.word").all_inner_texts() == ["lifeboat"]
    page.fill("#add", ARABIC[:4])
    assert page.locator("#add").evaluate(SIDE) == "rtl"
    page.wait_for_selector("[role=option]")
    page.press("#add", "Enter")
    assert chosen(page) == ["Lifeboats"]
    found = Axe().run(page)
    assert not found.response["violations"], found.generate_report()


def test_a_slow_network_is_not_an_empty_page(open_page: Open) -> None:
    page = open_page("#/model")  # the files are asked about again all the same
    inside = page.context.new_cdp_session(page)
    inside.send("Network.enable")
    slow = {"offline": False, "latency": 1500, "downloadThroughput": 20_000, "uploadThroughput": 20_000}
    inside.send("Network.emulateNetworkConditions", slow)
    page.goto(page.url.partition("#")[0], wait_until="commit")
    expect(page.locator("main")).to_contain_text("One moment")
    expect(page.locator(".examples button").first).to_be_visible()
    expect(page.locator("main")).not_to_contain_text("One moment")
