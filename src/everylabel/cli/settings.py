"""The method that a command line asks for: defaults < TOML file < --set, and --method before a file's `method`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from everylabel.workflow.settings import TAGGER, asked_for, configured

if TYPE_CHECKING:
    from everylabel.cli.options import Wanted
    from everylabel.methods.base import Method


def chosen_method(name: str | None, wanted: Wanted) -> Method:
    """Unfitted, with settings that are checked."""
    asked = name, wanted.config, wanted.settings or ()
    if wanted.budget is None:
        return configured(*asked)
    named, _ = asked_for(*asked)
    if named != TAGGER:
        raise typer.BadParameter(
            f"only the tagger has a budget, and the method is {named!r}; leave out one of them", param_hint="--budget"
        )
    return configured(*asked, budget=wanted.budget)
