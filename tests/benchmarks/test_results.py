"""The pages of results: they say what the JSON files say, and every number's command is one that works now."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from benchmarks.record import RESULTS
from benchmarks.rows import all_rows
from benchmarks.tables.index import PAGES, index_text
from benchmarks.tables.markdown import Page

ROOT = RESULTS.parent.parent
JSONS = sorted(RESULTS.rglob("*.json"))
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *RESULTS.rglob("*.md")]


def test_every_result_has_a_command_that_is_there() -> None:
    for path in JSONS:
        command = json.loads(path.read_text(encoding="utf-8"))["command"]
        (module,) = re.findall(r"^python -m (benchmarks\.run\.\w+)", command)
        assert find_spec(module) is not None, f"{path}: {command}"
        rows = re.findall(r"benchmarks\.run\.quality --rows (\S+)", command)
        assert set(rows) <= set(all_rows()), f"{path}: {command}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.module)
def test_a_page_is_what_the_results_give(page: Page) -> None:
    text = page.text()
    assert page.path.exists() == bool(text)
    if text:
        assert page.path.read_text(encoding="utf-8") == text, "write it again: python -m benchmarks.tables"


def test_the_index_is_what_the_pages_give() -> None:
    assert (RESULTS / "README.md").read_text(encoding="utf-8") == index_text()


def test_every_result_but_cells_of_quality_is_on_a_page() -> None:
    text = "".join(page.text() for page in PAGES)
    for path in RESULTS.glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["command"] in text, path.name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_and_links_of_documents_are_there(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for module in set(re.findall(r"python -m (benchmarks(?:\.[a-z_]+)*)", text)):
        assert find_spec(module) is not None, module
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
        assert (document.parent / target).exists(), target
