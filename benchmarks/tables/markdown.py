"""What the pages of results are made of: tables, cells, sections, and the page itself."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS


@dataclass(frozen=True)
class Page:
    """NAME.md of a folder: sections that are there only if their results are."""

    module: str  # of benchmarks.tables, that writes it
    title: str
    about: str  # one sentence, for the index, too
    runs: tuple[str, ...]  # of benchmarks.run, that measure what is on it
    sections: tuple[Callable[[], str], ...]
    folder: Path = RESULTS / "pages"

    @property
    def path(self) -> Path:
        return self.folder / f"{self.module.replace('_', '-')}.md"

    def text(self) -> str:
        parts = [part for section in self.sections if (part := section())]
        if not parts:
            return ""
        command = f"python -m benchmarks.tables.{self.module}"
        index = Path(os.path.relpath(RESULTS / "README.md", self.folder)).as_posix()
        opening = f"{self.about} Written by `{command}` from the JSON files of [results]({index})."
        return "\n".join([f"# {self.title}\n\n{opening}\n", *parts])

    def write(self) -> None:
        """Nothing where there is no result."""
        if text := self.text():
            self.path.parent.mkdir(exist_ok=True)
            self.path.write_text(text, encoding="utf-8")
            print(f"wrote {self.path.relative_to(RESULTS.parent.parent)}")


ALL_TEXTS = "Label texts: names, alternative names and descriptions, as far as a vocabulary has them."
TEXTS_OF_ROWS = "Label texts: those of each row, which its own table names."


def section(title: str, *parts: str) -> str:
    return "\n\n".join([f"## {title}", *(part for part in parts if part)]) + "\n"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def picture(name: str, about: str) -> str:
    """Of results/figures, as a page beside that folder shows it."""
    return f"![{about}](../figures/{name}.png)" if (RESULTS / "figures" / f"{name}.png").exists() else ""


def percent(*values: float | None) -> str:
    """Mean, and the spread over seeds where there are several. What was not measured, or has no value, is left out."""
    known = [100 * value for value in values if value is not None and value == value]
    if not known:
        return "-"
    spread = f" ± {statistics.stdev(known):.2f}" if len(known) > 1 else ""
    return f"{statistics.mean(known):.1f}{spread}"


def difference(found: dict[str, Any] | None) -> str:
    """In points, with the interval, or with the p value of a test that has none."""
    if found is None:
        return "-"
    doubt = f"p {found['p_value']:.2g}" if "low" not in found else ends(found)
    return f"{100 * found['difference']:+.2f} ({doubt})"


def ends(found: dict[str, Any]) -> str:
    return f"{100 * found['low']:+.2f} to {100 * found['high']:+.2f}"


def conditions(record: dict[str, Any]) -> str:
    machine, versions = record["machine"], record["versions"]
    return (
        f"`{record['command']}` on {machine['cores']} cores ({machine['cpu']}), {machine['memory_gib']} GiB; "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
    )
