"""The first view does not wait for the whole page: what is done there at once counts like anything else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.conftest import TEXT, Open, Site
from tests.browser.test_records import marc
from tests.browser.test_tagging import LIFEBOATS, chosen

REST = "**/static/suggestions.js"  # one file of those that come after the first view
PASTE = """text => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    const event = new ClipboardEvent("paste", { clipboardData, cancelable: true, bubbles: true });
    document.getElementById("text").dispatchEvent(event);
}"""


class Held:
    """Requests that wait until they are let go."""

    def __init__(self) -> None:
        self._routes: list[Route] = []
        self._is_open = False

    def __call__(self, route: Route) -> None:
        if self._is_open:
            route.continue_()
        else:
            self._routes.append(route)

    def let_go(self) -> None:
        self._is_open = True
        for route in self._routes:
            route.continue_()


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def early(open_page: Open, site: Site, held: Held) -> Iterator[Page]:
    """The first view alone."""
    page = open_page("static/icon.svg")
    page.route(REST, held)
    page.goto(site.address)
    page.wait_for_selector("#text")
    assert page.locator("#add").count() == 0
    yield page
    expect(page.locator("#add")).to_be_visible()


def test_a_text_pasted_before_the_rest_came_is_tagged(early: Page, held: Held) -> None:
    early.evaluate(PASTE, TEXT)
    expect(early.locator(".text")).to_contain_text(TEXT)
    held.let_go()
    expect(early.locator(LIFEBOATS)).to_be_visible()
    expect(early.locator("mark.word").first).to_be_visible()


def test_a_text_pasted_before_the_models_are_known_is_tagged(open_page: Open, site: Site, held: Held) -> None:
    page = open_page("static/icon.svg")
    page.route("**/api/models", held)
    page.goto(site.address)
    page.wait_for_selector("#text")
    page.evaluate(PASTE, TEXT)
    expect(page.locator("#text")).to_have_value(TEXT)
    held.let_go()
    expect(page.locator(LIFEBOATS)).to_be_visible()


def test_keys_pressed_early_do_no_harm(early: Page, held: Held) -> None:
    for key in "jkaxumcsen/":
        early.keyboard.press(key)
    held.let_go()
    early.wait_for_selector("#add")
    early.keyboard.press("/")
    expect(early.locator("#add")).to_be_focused()


def test_who_types_is_not_disturbed_when_the_rest_comes(early: Page, held: Held) -> None:
    early.click("#text")
    early.keyboard.type("A lifeboat")
    early.keyboard.press("Home")
    held.let_go()
    early.wait_for_selector("#add")
    early.keyboard.type("Once ")
    expect(early.locator("#text")).to_have_value("Once A lifeboat")
    early.keyboard.press("Control+Enter")
    expect(early.locator(LIFEBOATS)).to_be_visible()


def test_an_empty_field_keeps_the_focus_when_the_rest_comes(early: Page, held: Held) -> None:
    early.click("#text")
    held.let_go()
    early.wait_for_selector(".examples button")
    expect(early.locator("#text")).to_be_focused()


def test_a_file_of_records_opened_early_is_opened(early: Page, held: Held) -> None:
    early.set_input_files("#file", {"name": "harbour.mrc", "mimeType": "application/marc", "buffer": marc()})
    held.let_go()
    expect(early.locator(".records .state")).to_be_visible()


def test_a_kept_text_comes_back_with_its_suggestions(tagged: Page, held: Held) -> None:
    tagged.click(f"{LIFEBOATS} .accept")
    asked: list[str] = []
    tagged.on("request", lambda request: asked.append(request.url) if request.url.endswith("/tag") else None)
    tagged.route(REST, held)
    tagged.reload()
    expect(tagged.locator(".read .body")).to_have_text(TEXT)
    held.let_go()
    expect(tagged.locator(LIFEBOATS)).to_be_visible()
    expect(tagged.locator("mark.word").first).to_be_visible()
    assert chosen(tagged) == ["Lifeboats"]
    assert not asked  # they were kept


@pytest.mark.parametrize(("path", "found"), [("#/model", "pre"), ("#/review", "#main details")])
def test_other_views_are_opened_directly(open_page: Open, path: str, found: str) -> None:
    expect(open_page(path).locator(found).first).to_be_visible()


def test_another_view_is_opened_before_the_rest_came(early: Page, held: Held) -> None:
    early.fill("#text", "Half a sentence")
    early.click("#views a[href='#/model']")
    expect(early.locator("main")).to_have_text("One moment …")
    held.let_go()
    expect(early.locator("pre")).to_be_visible()
    early.click("#views a >> nth=0")
    expect(early.locator("#text")).to_have_value("Half a sentence")


@pytest.mark.parametrize("again", [True, False])
def test_a_server_that_goes_after_the_first_view_is_waited_for(open_page: Open, site: Site, again: bool) -> None:
    """Whether the browser asks again for a module that did not come, or remembers that."""
    page = open_page("static/icon.svg")
    page.route(REST, lambda route: route.abort())
    page.goto(site.address)
    page.wait_for_selector("#text")
    page.evaluate(PASTE, TEXT)
    expect(page.locator("#away")).to_contain_text("The server does not answer")
    if again:
        page.unroute(REST)
    else:
        with page.expect_navigation():  # a new page asks for all
            pass
        page.unroute(REST)
    expect(page.locator(LIFEBOATS)).to_be_visible()
    expect(page.locator("#away")).to_be_hidden()
    assert page.locator(".read .body").inner_text() == TEXT
