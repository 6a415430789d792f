"""The README and its second page are true: their commands run, print what they say (numbers aside), and their tables
are those of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from everylabel.data.formats.registry import FORMATS
from everylabel.registry import method_classes

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
METHODS_PAGE = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-+]?\d[\d,]*(\.\d+)?")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all blocks: a later one may use what an earlier one made, as a reader would."""
    return tmp_path_factory.mktemp("readme")


def commands(block: str) -> list[tuple[str, list[str]]]:
    """Each `$ command` with the lines of output that follow it."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def without_numbers(line: str) -> list[str]:
    """Other machines give other times and, in the last digits, other scores; all else must be the same."""
    return NUMBER.sub("#", line).split()


def run(command: list[str], folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("kind", "block"), BLOCK.findall(README + METHODS_PAGE), ids=lambda text: text.split("\n")[0][:30]
)
def test_the_readme_runs(kind: str, block: str, folder: Path) -> None:
    if kind == "python":
        assert run([sys.executable, "-c", block], folder)
        return
    for command, expected in commands(block):
        printed = run(["bash", "-c", command], folder).splitlines()
        if expected and expected[-1] == "...":
            expected, printed = expected[:-1], printed[: len(expected) - 1]
        if expected:
            assert [without_numbers(line) for line in printed] == [without_numbers(line) for line in expected]


def test_every_method_is_on_the_page_of_methods() -> None:
    for method in method_classes():
        assert f"| `{method.name}` | {method.traits.needs} | {method.summary} |" in METHODS_PAGE


def test_every_format_is_in_the_readme() -> None:
    table = README.partition("## Data")[2].partition("## Results")[0]
    assert set(FORMATS) <= set(re.findall(r"`([a-z-]+)`", table))


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md", "docs/methods.md"]
)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"


def test_the_commands_of_the_start_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert f"\n{target}: setup\n" in makefile
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
