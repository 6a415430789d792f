"""The report on the page about the model: results by band and pictures, also where a key is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.browser.conftest import Open, Site
from tests.browser.test_keys import use

from everylabel.data import load_dataset
from everylabel.store import load
from everylabel.web.keys import add_key
from everylabel.web.settings import Settings
from everylabel.workflow.report import report, write_report

pytestmark = pytest.mark.timeout(300)  # the first one fits a model, and draws


@pytest.fixture(scope="module")
def written(fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("report") / "report.html"
    write_report(report(load(fitted), load_dataset(fitted.parent / "sample", "test")), file)
    return file.read_text("utf-8")


@pytest.fixture
def key(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    has_key = getattr(request, "param", False)
    return add_key(tmp_path / "keys.json", "reader", ["read"]) if has_key else ""


@pytest.fixture
def site(fitted: Path, tmp_path: Path, written: str, key: str) -> Iterator[Site]:
    state = tmp_path / "state"
    file = Settings(state=state).report_of("sample")
    file.parent.mkdir(parents=True)
    file.write_text(written, "utf-8")
    found = Site(fitted, state, **({"keys": tmp_path / "keys.json"} if key else {}))
    found.start()
    yield found
    found.stop()


def check_report(page: Page) -> None:
    expect(page.locator("figure img")).to_have_count(4)
    page.wait_for_function("[...document.images].every((one) => one.complete && one.naturalWidth > 300)")
    assert all(page.locator("figure img").evaluate_all("(all) => all.map((one) => one.alt)"))
    rows = page.locator("table:has(caption:text('Results by band')) tbody tr")
    expect(rows).to_have_count(4)
    assert [row.split("\t")[0] for row in rows.all_inner_texts()] == [
        "often used",
        "sometimes used",
        "rarely used",
        "not used yet",
    ]
    assert all(0 <= float(cell) <= 100 for row in rows.all_inner_texts() for cell in row.split("\t")[1:])


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_results_and_pictures_are_on_the_page_about_the_model(open_page: Open, scheme: str, width: int) -> None:
    page = open_page("#/model", width=width, color_scheme=scheme)
    check_report(page)
    found = Axe().run(page)
    assert not found.response["violations"], found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("key", [True], indirect=True)
def test_with_a_key_they_are_there_and_the_report_is_handed_out_as_a_file(open_page: Open, key: str) -> None:
    page = open_page("#/model")
    use(page, key)
    check_report(page)
    with page.expect_download() as download:
        page.click("button[data-f=report]")
    assert download.value.suggested_filename == "sample-report.html"


@pytest.mark.parametrize("path", ["api/models/sample/report", "api/ui/", "v1/ui/"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_on_the_pages_beside(open_page: Open, path: str, scheme: str, width: int) -> None:
    """The report allows no script, and axe is one."""
    page = open_page(path, width=width, color_scheme=scheme, bypass_csp=True)
    page.wait_for_selector("h1")
    if path.endswith("ui/"):
        page.wait_for_selector("details")
    found = Axe().run(page)
    assert not found.response["violations"], found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
