"""A real Chromium on a real server, whose vocabulary has addresses, notations and names in three scripts.

`make test-browser` runs these; `make test` does not, so that it needs no browser.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from everylabel.data import load_dataset, sample
from everylabel.tagger.tagger import Tagger
from everylabel.web.app import create_app
from everylabel.web.projects import Project
from everylabel.web.running import Running, bound_socket, running
from everylabel.web.settings import Settings

HERE = Path(__file__).parent
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TITLE = "Rowing to the Wreck"
TEXT = "🚢 The lifeboat crew rowed out twice to the wreck below the lighthouse in a rising gale."
GERMAN = "Seenotrettungsbootsbesatzungsunterkunftsverwaltung"
ARABIC = "قوارب النجاة"
EXAMPLES = (f"{TITLE}\n{TEXT}", "Bread and its bakers in a harbour town.", "A cookery book of fish.")
PATIENCE = 30_000  # ms: a busy machine is slow
Open = Callable[..., Page]
expect.set_options(timeout=PATIENCE)


def chromium() -> str:
    named = os.environ.get("EVERYLABEL_CHROMIUM", "")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))
            if not chromium():
                item.add_marker(pytest.mark.skip(reason="there is no Chromium: apt-get install chromium"))


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, whose labels have what a library's have. Not to be written to."""
    folder = sample(tmp_path_factory.mktemp("browser") / "sample")
    file = folder / "labels.jsonl"
    labels = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for label in labels:
        label |= {"uri": f"http://vocabulary.example/{label['id']}", "language": "en"}
        if label["id"] == "lifeboats":
            names = [{"language": "de", "text": GERMAN}, {"language": "ar", "text": ARABIC}]
            label |= {"notation": "623.88", "translations": names}
    file.write_text("".join(json.dumps(label) + "\n" for label in labels), "utf-8")
    path = folder.parent / "model"
    Tagger(experts=("tfidf", "knn")).fit(load_dataset(folder, "train"), load_dataset(folder, "dev")).save(path)
    return path


class Site:
    """The server at one address, which can go away and come back."""

    def __init__(self, model: Path, state: Path, **settings: Any) -> None:
        self._model, self._state, self._settings, self._port = model, state, settings, 0
        self.others: list[Project] = []  # that are served beside it
        self._server: Running | None = None
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        project = Project(id="sample", model=self._model, name="The sample", vocab="harbour", examples=EXAMPLES)
        app = create_app([project, *self.others], Settings(state=self._state, allow_learn=True, **self._settings))
        socket = bound_socket("127.0.0.1", self._port)
        self._port = socket.getsockname()[1]
        server = self._server = running(app)

        def run() -> None:
            server.run(sockets=[socket])
            socket.close()

        self._thread = threading.Thread(target=run)
        self._thread.start()
        until = time.monotonic() + 60
        while not server.started and self._thread.is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        assert server.started

    def stop(self) -> None:
        if self._server is None or self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join()
        self._server = self._thread = None

    def decisions(self) -> list[dict[str, Any]]:
        """That are stored and count."""
        with urlopen(f"{self.address}/api/models/sample/decisions") as answer:
            found: list[dict[str, Any]] = json.load(answer)["decisions"]
        return found


@pytest.fixture
def site(fitted: Path, tmp_path: Path) -> Iterator[Site]:
    found = Site(fitted, tmp_path / "state")
    found.start()
    yield found
    found.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[Open]:
    """`open_page("#/review", width=390)`: a page of a browser that has never been here. Its scripts must not fail."""
    contexts, wrong = [], []

    def opened(path: str = "", *, width: int = 1280, **options: Any) -> Page:
        context = browser.new_context(viewport={"width": width, "height": 800}, **{"locale": "en-GB", **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda said: wrong.append(said.text) if "Content Security" in said.text else None)
        page.goto(f"{site.address}/{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not wrong


@pytest.fixture
def page(open_page: Open) -> Page:
    found = open_page()
    found.wait_for_selector(".examples button")
    return found


@pytest.fixture
def tagged(page: Page) -> Page:
    """A text with its suggestions."""
    page.click(".examples button >> nth=0")
    page.wait_for_selector(".suggestion")
    return page
