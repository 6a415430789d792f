"""Imports only go down the layers of docs/architecture.md, so that a part can be understood without those above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import everylabel

ROOT = Path(everylabel.__file__).parent
LAYERS: list[set[str]] = [  # from the bottom; a module may import its own layer and those below
    {
        "errors",
        "types",
        "checks",
        "config",
        "parallel",
        "forks",
        "heaps",
        "small_tables",
        "vectors",
        "states",
        "atomic",
        "foreign",
        "leftovers",
        "mapping",
        "vector_kernels",
        "registry",
        "run",
        "memory",
    },
    {"data", "sample", "text", "encoders", "index", "tree", "linear", "train", "metrics", "machine"},
    {"store"},
    {"methods"},
    {"tagger"},
    {"report"},
    {"workflow"},
    {"feedback"},
    {"web", "distributed", "sklearn", "mcp"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# Where the direction turns, by type or on use and never on import: a method saves itself, a name becomes a class.
STARTERS = {"cli/serve.py", "cli/keys.py", "cli/mcp.py", "cli/tag.py", "cli/on_ray.py"}
ALLOWED = {("store", "methods"), ("registry", "methods"), ("run", "train")}


def modules() -> list[Path]:
    return sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_parts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and part of each import of everylabel, also those inside functions and under TYPE_CHECKING."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: import by the full name, not relatively"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            root, _, rest = name.partition(".")
            if root == "everylabel" and (part := rest.partition(".")[0]) in LEVEL:
                yield node.lineno, part


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    part = part_of(path)
    assert part in LEVEL, f"{part} has no layer yet: add it to LAYERS and to docs/architecture.md"
    upwards = [
        f"{path.name}:{line} imports {other}"
        for line, other in imported_parts(path)
        if LEVEL[other] > LEVEL[part] and (part, other) not in ALLOWED
    ]
    assert not upwards


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_what_users_touch_does_not_know_each_other(path: Path) -> None:
    """The command line, the server and the cluster stand side by side on `workflow`; three commands start a server."""
    part = part_of(path)
    touched = {"cli", "web", "distributed", "sklearn", "mcp"}
    if part not in touched or path.relative_to(ROOT).as_posix() in STARTERS:
        return
    sideways = [
        f"{path.name}:{line} imports {other}" for line, other in imported_parts(path) if other in touched - {part}
    ]
    assert not sideways


@pytest.mark.parametrize("path", [path for path in modules() if part_of(path) != "cli"], ids=lambda path: path.name)
def test_only_the_command_line_prints(path: Path) -> None:
    """A server calls everything below it: results are values, progress goes to a run."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        used: list[str] = []
        if isinstance(node, ast.ImportFrom):
            used = [(node.module or "").partition(".")[0]]
        elif isinstance(node, ast.Import):
            used = [alias.name.partition(".")[0] for alias in node.names]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            used = [node.func.id]
        assert not {"typer", "rich", "click", "print", "input"} & set(used)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_can_be_read_in_one_go(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    assert path.stem not in {"utils", "helpers", "misc", "common"}
