"""The review queue, the page about the model, exports; every view for everybody (axe-core), and how heavy it all is."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime
from urllib.request import urlopen

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.browser.conftest import TEXT, TITLE, Open, Site
from tests.browser.test_records import marc
from tests.browser.test_tagging import LIFEBOATS, add

from everylabel.web.pages import FILES, STATIC

HEAVIEST = 60_000  # bytes of all files, compressed
SLOWEST = 300  # ms of CPU until the first view; what one waits for it: benchmarks/run/first_view.py


def to_nothing(page: Page) -> None:
    page.wait_for_selector(".examples button")


def to_suggestions(page: Page) -> None:
    to_nothing(page)
    page.click(".examples button >> nth=0")
    page.click(f"{LIFEBOATS} .accept")


def to_combobox(page: Page) -> None:
    to_suggestions(page)
    page.fill("#add", "s")
    page.wait_for_selector("[role=option]")


def to_export(page: Page) -> None:
    to_suggestions(page)
    page.click(".export summary")


def to_saved(page: Page) -> None:
    to_suggestions(page)
    page.click("button[data-f=save]")
    expect(page.locator("#said")).to_contain_text("Saved with")
    page.click(".saved summary")


def to_records(page: Page) -> None:
    to_nothing(page)
    page.set_input_files("#file", {"name": "harbour.mrc", "mimeType": "application/marc", "buffer": marc()})
    page.click(f"{LIFEBOATS} .accept")
    page.click("button[data-f=save]")
    expect(page.locator(".records .state")).to_contain_text("1 done")
    page.click("text=All records")
    page.wait_for_selector(".suggestion")


def to_help(page: Page) -> None:
    to_nothing(page)
    page.click("#help-open")


def to_review(page: Page) -> None:
    to_nothing(page)
    page.click("#views a[href='#/review']")
    page.click("details summary")
    page.fill("#queue", "A lighthouse keeper.\n\nThe bread of a harbour town, and who baked it.")
    page.click("details button")
    expect(page.locator("ol.queue li")).to_have_count(2)


def to_model(page: Page) -> None:
    page.click("#views a[href='#/model']")
    page.wait_for_selector("pre")


def to_away(page: Page) -> None:
    to_nothing(page)
    page.route("**/api/**", lambda route: route.abort())
    page.fill("#text", TEXT)
    page.click("button[data-f=tag]")
    page.wait_for_selector("#away:visible")


VIEWS = [
    to_nothing,
    to_suggestions,
    to_combobox,
    to_export,
    to_saved,
    to_records,
    to_help,
    to_review,
    to_model,
    to_away,
]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing(open_page: Open, view: Callable[[Page], None], scheme: str, width: int) -> None:
    page = open_page(width=width, color_scheme=scheme)
    view(page)
    found = Axe().run(page)
    assert not found.response["violations"], found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width  # nothing sticks out


def test_the_queue_goes_from_one_document_to_the_next(page: Page, site: Site) -> None:
    to_review(page)
    page.click("ol.queue .name >> nth=0")
    page.wait_for_selector(".suggestion")
    first = page.locator(".read .body").inner_text()
    page.keyboard.press("a")
    page.keyboard.press("s")
    expect(page.locator(".read .body")).not_to_have_text(first)
    page.wait_for_selector(".suggestion")
    page.keyboard.press("a")
    page.keyboard.press("s")
    expect(page.locator("main")).to_contain_text("Nothing waits for review")
    assert len(site.decisions()) == 2


def test_texts_for_the_queue_stay_while_somebody_looks_elsewhere(page: Page) -> None:
    page.click("#views a[href='#/review']")
    page.click("details summary")
    page.fill("#queue", "Half a text")
    page.click("#views a[href='#/model']")
    page.click("#views a[href='#/review']")
    assert page.input_value("#queue") == "Half a text"


def test_a_document_leaves_the_queue(page: Page) -> None:
    to_review(page)
    page.click("ol.queue button.small >> nth=0")
    expect(page.locator("ol.queue li")).to_have_count(1)


def test_the_page_about_the_model_tells_what_was_saved_and_learns_it(page: Page) -> None:
    to_saved(page)
    to_model(page)
    expect(page.locator("tr:has-text('Waiting to be learned') td")).to_have_text("1")
    expect(page.locator("pre")).to_contain_text("252 labelled documents")
    page.click("button[data-f=learn]")
    expect(page.locator("#said")).to_have_text("Learning is over.", timeout=60_000)


def test_what_the_last_evaluation_has_measured_is_told(page: Page) -> None:
    bands = {"head": {"F1@5": 0.5, "R@10": 0.912, "R@100": 1.0}, "unseen": {"F1@5": None, "R@10": 0.25, "R@100": 0.5}}
    at = "2026-01-02T03:04:05+00:00"
    results = {"at": at, "data": "harbour", "split": "test", "documents": 40, "values": {}, "bands": bands}
    page.route("**/api/models/sample", lambda route: route.fulfill(json=route.fetch().json() | {"results": results}))
    to_model(page)
    rows = page.locator("table:has(caption:text('Results by band')) tbody tr")
    expect(rows).to_have_text(["often used50%91%100%", "not used yet-25%50%"])


def exported(page: Page, kind: str) -> str:
    page.select_option("#format", kind)
    return page.input_value("#preview")


def test_exports(page: Page) -> None:
    to_export(page)
    add(page, "local history")
    score = float(page.locator(f"{LIFEBOATS} meter").get_attribute("value") or "nan")
    today = datetime.now(UTC)
    lines = exported(page, "marc").splitlines()
    assert lines[0] == "=650  \\7$81\\p$aLifeboats$2harbour$0http://vocabulary.example/lifeboats"
    assert lines[1] == f"=883  1\\$81\\p$aeverylabel$c{score:.4f}$d{today:%Y%m%d}"
    assert lines[2].startswith("=650  \\7")
    assert "$aLocal history$2harbour" in lines[2]
    assert '<subfield code="a">Lifeboats</subfield>' in exported(page, "marcxml")
    assert "dcterms:subject <http://vocabulary.example/lifeboats>" in exported(page, "turtle")
    assert ",lifeboats,Lifeboats,623.88,http://vocabulary.example/lifeboats," in exported(page, "csv")
    value = json.loads(exported(page, "json"))
    assert (value["title"], value["vocabulary"], value["labels"][0]["id"]) == (TITLE, "harbour", "lifeboats")
    assert "keywords = {Lifeboats, Local history}" in exported(page, "bibtex")
    assert "KW  - Lifeboats" in exported(page, "ris").splitlines()
    with page.expect_download() as download:
        page.click(".export button >> nth=1")
    assert download.value.suggested_filename == "tags.ris"
    assert "KW  - Local history" in download.value.path().read_text("utf-8")


def test_copying(page: Page) -> None:
    to_export(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("ol.chosen button[title=Copy]")
    expect(page.locator("#said")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "Lifeboats"


def test_nothing_of_other_hosts_and_nothing_inline(open_page: Open, site: Site) -> None:
    asked: list[str] = []
    page = open_page()
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    to_suggestions(page)
    assert asked
    assert all(url.startswith(site.address) for url in asked)
    with urlopen(site.address) as answer:
        assert "'unsafe" not in answer.headers["content-security-policy"]


def test_it_is_light_and_quick(page: Page) -> None:
    assert sum(len(gzip.compress((STATIC / name).read_bytes())) for name in FILES) < HEAVIEST
    loaded = page.evaluate("performance.getEntriesByType('resource').map((one) => [one.name, one.transferSize])")
    files = {name.rpartition("/")[2]: size for name, size in loaded if "/static/" in name}
    assert {"app.js", "tag.js", "page.css"} <= files.keys()
    assert 20_000 < sum(files.values()) < HEAVIEST  # as they came, with their heads
    inside = page.context.new_cdp_session(page)
    inside.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.reload()
    to_nothing(page)
    metrics = {one["name"]: one["value"] for one in inside.send("Performance.getMetrics")["metrics"]}
    assert 1e3 * metrics["TaskDuration"] < SLOWEST


def test_catalogues_have_the_same_words() -> None:
    found = {name: json.loads((STATIC / name).read_text("utf-8")) for name in FILES if name.startswith("words-")}
    assert len(found) == 4
    english = found["words-en.json"]
    for words in found.values():
        assert words.keys() == english.keys()
        assert all(set_of_places(words[key]) == set_of_places(english[key]) for key in english)


def set_of_places(text: str) -> set[str]:
    return {part.partition("}")[0] for part in text.split("{")[1:]}
