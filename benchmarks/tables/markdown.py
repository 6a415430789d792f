"""What the tables of results are written with."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def percent(values: Sequence[float | None]) -> str:
    """Mean, and the spread over seeds where there are several."""
    known = [100 * value for value in values if value is not None]
    if not known:
        return "-"
    spread = f" ± {statistics.stdev(known):.2f}" if len(known) > 1 else ""
    return f"{statistics.mean(known):.1f}{spread}"


def conditions(record: dict[str, Any]) -> str:
    machine, versions = record["machine"], record["versions"]
    return (
        f"`{record['command']}` on {machine['cores']} cores ({machine['cpu']}), {machine['memory_gib']} GiB; "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
    )
