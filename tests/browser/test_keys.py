"""A server with keys: the page asks for one, and says what a key may not do. A slow network is waited for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.conftest import TEXT, Open, Site
from tests.browser.test_tagging import LIFEBOATS

from everylabel.web.keys import add_key


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    file = tmp_path / "keys.json"
    return {"reader": add_key(file, "reader", ["read"]), "cataloguer": add_key(file, "cataloguer", ["read", "learn"])}


@pytest.fixture
def site(fitted: Path, tmp_path: Path, keys: dict[str, str]) -> Iterator[Site]:
    assert keys
    found = Site(fitted, tmp_path / "state", keys=tmp_path / "keys.json")
    found.start()
    yield found
    found.stop()


def use(page: Page, key: str) -> None:
    page.fill("#key", key)
    page.press("#key", "Enter")


def test_a_key_is_asked_for_and_used(open_page: Open, keys: dict[str, str]) -> None:
    page = open_page()
    expect(page.locator("#said")).to_contain_text("needs a key")
    use(page, "wrong")
    expect(page.locator("#said")).to_contain_text("needs a key")
    use(page, keys["cataloguer"])
    page.click(".examples button >> nth=0")
    page.click(f"{LIFEBOATS} .accept")
    page.click("button[data-f=save]")
    expect(page.locator("#said")).to_contain_text("Saved with 1 tag")


def test_what_one_key_may_not_save_another_saves(open_page: Open, keys: dict[str, str]) -> None:
    page = open_page()
    use(page, keys["reader"])
    page.click(".examples button >> nth=0")
    page.click(f"{LIFEBOATS} .accept")
    page.click("button[data-f=save]")
    expect(page.locator("#said")).to_contain_text("scope")
    expect(page.locator("#away")).to_contain_text("1 document waits")
    use(page, keys["cataloguer"])
    expect(page.locator("#away")).to_be_hidden()


def test_a_text_can_be_typed_before_there_is_a_key(open_page: Open, keys: dict[str, str]) -> None:
    page = open_page()
    page.fill("#text", TEXT)
    use(page, keys["cataloguer"])
    expect(page.locator("#text")).to_have_value(TEXT)


def test_a_slow_answer_is_waited_for_and_an_old_one_forgotten(open_page: Open, keys: dict[str, str]) -> None:
    page = open_page()
    use(page, keys["cataloguer"])
    page.wait_for_selector(".examples button")

    def slowly(route: Route) -> None:
        if "lifeboat" in (route.request.post_data or ""):
            time.sleep(1)
        route.continue_()

    page.route("**/tag", slowly)
    page.fill("#text", TEXT)
    page.press("#text", "Control+Enter")
    expect(page.locator(".suggestions")).to_have_attribute("aria-busy", "true")
    page.click("button[data-f=new]")
    page.fill("#text", "The bread of a harbour town, and who baked it.")
    page.press("#text", "Control+Enter")
    page.wait_for_selector(".suggestion")
    assert page.locator(LIFEBOATS).count() == 0
    expect(page.locator(".read .body")).to_contain_text("bread")
