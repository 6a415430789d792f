"""Nothing that was typed or decided is lost when the server restarts or the network goes; nothing is stored twice."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect
from tests.browser.conftest import TEXT, TITLE, Open, Site
from tests.browser.test_tagging import LIFEBOATS, chosen


def test_a_text_and_its_tags_are_there_after_a_reload(tagged: Page) -> None:
    tagged.click(f"{LIFEBOATS} .accept")
    tagged.reload()
    tagged.wait_for_selector(".suggestion")
    assert chosen(tagged) == ["Lifeboats"]
    assert tagged.locator(".read .body").inner_text() == TEXT


def test_what_is_typed_is_there_in_a_tab_that_comes_after(page: Page) -> None:
    page.fill("#text", "Half a sentence")
    context = page.context
    address = page.url
    page.close()
    again = context.new_page()
    again.goto(address)
    expect(again.locator("#text")).to_have_value("Half a sentence")


def test_two_tabs_do_not_overwrite_each_other(page: Page) -> None:
    page.fill("#text", "The first")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#text")).to_have_value("")
    other.fill("#text", "The second")
    page.reload()
    expect(page.locator("#text")).to_have_value("The first")


def test_a_decision_made_while_the_server_is_away_is_sent_once_it_is_back(tagged: Page, site: Site) -> None:
    tagged.click(f"{LIFEBOATS} .accept")
    site.stop()
    tagged.click("button[data-f=save]")
    expect(tagged.locator("#away")).to_contain_text("The server does not answer")
    expect(tagged.locator("#away")).to_contain_text("1 document waits to be sent")
    tagged.fill("#text", "The next text, typed meanwhile")
    site.start()
    expect(tagged.locator("#away")).to_be_hidden(timeout=30_000)
    assert [one["title"] for one in site.decisions()] == [TITLE]
    expect(tagged.locator("#text")).to_have_value("The next text, typed meanwhile")


def test_suggestions_that_were_asked_for_come_when_the_server_is_back(page: Page, site: Site) -> None:
    site.stop()
    page.fill("#text", TEXT)
    page.click("button[data-f=tag]")
    expect(page.locator(".suggestions")).to_contain_text("as soon as the server is back")
    site.start()
    expect(page.locator(LIFEBOATS)).to_be_visible(timeout=30_000)


def test_a_decision_whose_answer_was_lost_is_stored_once(tagged: Page, site: Site) -> None:
    lost: list[int] = []

    def lose_the_first(route: Route) -> None:
        if lost:
            route.continue_()
            return
        lost.append(route.fetch().status)  # the server has it
        route.abort()  # the page does not know

    tagged.route("**/decisions", lose_the_first)
    tagged.click(f"{LIFEBOATS} .accept")
    tagged.click("button[data-f=save]")
    expect(tagged.locator("#away")).to_contain_text("1 document waits")
    expect(tagged.locator("#away")).to_be_hidden(timeout=30_000)
    assert lost == [201]
    assert len(site.decisions()) == 1


def test_a_decision_whose_answer_was_lost_can_be_taken_back(tagged: Page, site: Site) -> None:
    tried: list[int] = []

    def lose_the_first(route: Route) -> None:
        tried.append(1)
        if len(tried) > 1:
            route.continue_()
            return
        route.fetch()
        route.abort()

    tagged.route("**/decisions", lose_the_first)
    tagged.click(f"{LIFEBOATS} .accept")
    tagged.click("button[data-f=save]")
    tagged.click("#said button")
    expect(tagged.locator("#said")).to_contain_text("Taken back")
    expect(tagged.locator("#away")).to_be_hidden(timeout=30_000)
    tagged.wait_for_function("!Object.keys(localStorage).some((key) => key.startsWith('everylabel.out.'))")
    assert site.decisions() == []


def test_what_the_server_refuses_stays_and_is_said(tagged: Page) -> None:
    tagged.route("**/decisions", lambda route: route.fulfill(status=400, json={"detail": "no such label"}))
    tagged.click(f"{LIFEBOATS} .accept")
    tagged.click("button[data-f=save]")
    expect(tagged.locator(".saved")).to_contain_text("no such label")


def test_new_text_can_be_undone(tagged: Page) -> None:
    tagged.click(f"{LIFEBOATS} .accept")
    tagged.click("button[data-f=new]")
    assert chosen(tagged) == []
    tagged.click("#said button")
    assert chosen(tagged) == ["Lifeboats"]


def test_a_server_that_goes_while_the_page_loads_is_waited_for(page: Page) -> None:
    page.route("**/words-*.json", lambda route: route.abort())
    page.reload()
    expect(page.locator("#away")).to_contain_text("The server does not answer")
    page.unroute("**/words-*.json")
    expect(page.locator(".examples button").first).to_be_visible()
    expect(page.locator("#away")).to_be_hidden()


def test_a_page_opened_while_the_server_is_away_begins_when_it_is_back(open_page: Open, site: Site) -> None:
    page = open_page()
    page.wait_for_selector(".examples button")
    page.route("**/api/models", lambda route: route.abort())
    page.reload()
    expect(page.locator("#away")).to_contain_text("The server does not answer")
    page.unroute("**/api/models")
    expect(page.locator(".examples button").first).to_be_visible(timeout=30_000)
    assert site.decisions() == []
