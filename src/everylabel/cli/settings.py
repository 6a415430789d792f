"""The method that a command line asks for: defaults < TOML file < --set, and --method before a file's `method`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from everylabel.workflow.settings import TAGGER, asked_for, configured

if TYPE_CHECKING:
    from everylabel.methods.base import Method


def chosen_method(name: str | None, file: Path | None, settings: list[str] | None, budget: str | None) -> Method:
    """Unfitted, with settings that are checked."""
    if budget is None:
        return configured(name, file, settings or ())
    named, _ = asked_for(name, file, settings or ())
    if named != TAGGER:
        raise typer.BadParameter(
            f"only the tagger has a budget, and the method is {named!r}; leave out one of them", param_hint="--budget"
        )
    return configured(name, file, settings or (), budget=budget)
