"""The README and its second page are true: their commands run, print what they say, numbers included (times aside), and
their tables are those of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from everylabel.data.formats.registry import FORMATS
from everylabel.registry import method_classes

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
METHODS_PAGE = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
OF_THE_MACHINE = re.compile(
    r"about \d[^)]*|seconds \d[\d,.]*|\d+ cores?"
    r"|\b\d+\.\d\d +\d[\d,]*\b(?![.\d])"  # the columns of `compare`: seconds of the fit, documents a second
)
# How far a measured number may be off: other processors add in another order, and one of the sample's 40 unseen pairs
# is 2.5 %.
PERCENT, PROBABILITY = 3.0, 0.06


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
    """What must be the same to the letter. Tables are as wide as their numbers: spaces do not count."""
    return NUMBER.sub("#", OF_THE_MACHINE.sub("#", line)).split()


def numbers(line: str) -> list[str]:
    """Those that do not depend on the machine."""
    return NUMBER.findall(OF_THE_MACHINE.sub("", line))


def assert_near(printed: str, expected: str) -> None:
    """Counts are exact. What has a decimal point is measured: a percentage (one digit behind it) or a probability."""
    for found, said in zip(numbers(printed), numbers(expected), strict=True):
        decimals = len(said.partition(".")[2])
        if decimals:
            tolerance = PERCENT if decimals == 1 else PROBABILITY
            assert abs(float(found.replace(",", "")) - float(said.replace(",", ""))) <= tolerance, printed
        else:
            assert found == said, printed


def run(command: list[str], folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(600)  # whole fits
def test_the_readme_runs(tmp_path: Path) -> None:
    """In one folder, one block after the other: a later one may use what an earlier one made, as a reader would."""
    for kind, block in BLOCK.findall(README + METHODS_PAGE):
        assert_true(kind, block, tmp_path)


def assert_true(kind: str, block: str, folder: Path) -> None:
    if kind == "python":
        assert run([sys.executable, "-c", block], folder)
        return
    for command, expected in commands(block):
        printed = run(["bash", "-c", command], folder).splitlines()
        if expected and expected[-1] == "...":
            expected, printed = expected[:-1], printed[: len(expected) - 1]
        if expected:
            assert [without_numbers(line) for line in printed] == [without_numbers(line) for line in expected]
            for line, said in zip(printed, expected, strict=True):
                assert_near(line, said)


@pytest.mark.parametrize(
    ("printed", "near"),
    [
        ("all  126  358  69.9", True),
        ("all  126  358  65.0", False),
        ("all  125  358  69.2", False),
        ("all  126  358", False),
    ],
)
def test_numbers_are_compared(printed: str, near: bool) -> None:
    with nullcontext() if near else pytest.raises((AssertionError, ValueError)):
        assert_near(printed, "all  126  358  69.2")


def test_times_and_cores_are_not_compared() -> None:
    assert_near("svm  1.3  12.88  3,029  -20.2", "svm  1.3  0.00  393,068  -20.2")
    with pytest.raises(AssertionError):
        assert_near("svm  1.3  12.88  3,029  -20.2", "svm  9.3  0.00  393,068  -20.2")
    assert_near("(about 7 min 3 s), 4 cores, seconds 99.1, 3 labels", "(about 19 s), 2 cores, seconds 16.3, 3 labels")


def test_every_method_is_on_the_page_of_methods() -> None:
    for method in method_classes():
        assert f"| `{method.name}` | {method.traits.needs} | {method.summary} |" in METHODS_PAGE


def test_every_format_is_in_the_readme() -> None:
    table = README.partition("## Data")[2].partition("## Results")[0]
    assert set(FORMATS) <= set(re.findall(r"`([a-z-]+)`", table))


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/architecture.md",
        "docs/methods.md",
        "docs/install.md",
        "docs/gpu.md",
        "docs/server.md",
        "docs/integrations.md",
        "docs/cluster.md",
    ],
)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (ROOT / page).parent.joinpath(target).exists(), f"{page} links to {target}"


def test_the_commands_of_the_start_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^make (\w+)", README, re.MULTILINE):
        assert f"\n{target}: setup" in makefile
    assert "make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
