"""The time that a fit may take, and times in words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from everylabel.errors import ConfigError
from everylabel.methods.facts import Facts

UNITS = {"h": 3600, "m": 60, "s": 1}
NUMBER = r"[0-9]+(?:\.[0-9]+)?"


def default_budget(facts: Facts) -> float:
    """Seconds: five minutes for few documents, an hour for 45,000 long ones and for whatever is more; short ones, with
    which all is done sooner, have less."""
    by_documents = 300 + 0.073 * facts.n_docs + 0.002 * facts.n_labels
    by_words = 340 + 0.002 * facts.n_docs + 2.5e-4 * facts.all_words + 1e-3 * facts.n_labels
    return min(3600.0, by_documents, max(600.0, by_words))


def seconds_of(budget: str) -> float | None:
    """ "30m", "2h", "1h30m", "90s" or "90" in seconds; None of "": the default."""
    given = budget.strip()
    if not given:
        return None
    if re.fullmatch(NUMBER, given):
        given += "s"
    found = re.fullmatch(r"\s*".join(rf"(?:({NUMBER})\s*{unit})?" for unit in UNITS), given)
    seconds = (
        sum(float(own or 0) * UNITS[unit] for own, unit in zip(found.groups(), UNITS, strict=True)) if found else 0
    )
    if not 0 < seconds < float("inf"):
        raise ConfigError(f"budget must be a time such as 90s, 30m, 2h or 1h30m; got {budget!r}")
    return seconds


def spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3600:.1f} h"


def spoken_event(event: Mapping[str, Any], without: Collection[str] = ()) -> str:
    """An event of a tagger's history, in words."""
    told = {name: value for name, value in event.items() if not isinstance(value, dict) and name not in without}
    first = " ".join(str(told.pop(name)) for name in ("when", "what") if name in told)
    numbers = {name: f"{value:,}" if isinstance(value, (int, float)) else str(value) for name, value in told.items()}
    rest = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in numbers.items())
    return ": ".join(part for part in (first, rest) if part)
