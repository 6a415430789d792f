"""The method that a command line asks for: defaults < --preset < TOML file < --set.

--method and --preset come before a file's `method` and `preset`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from everylabel.workflow.settings import TAGGER, asked_for, configured

if TYPE_CHECKING:
    from everylabel.cli.options import Wanted
    from everylabel.methods.base import Method


def chosen_method(name: str | None, wanted: Wanted, preset: str | None = None) -> Method:
    """Unfitted, with settings that are checked."""
    asked = name, wanted.config, wanted.settings or (), preset
    if wanted.budget is None:
        return configured(*asked)
    named, _ = asked_for(*asked)
    if named != TAGGER:
        raise typer.BadParameter(
            f"only the tagger has a budget, and the method is {named!r}; leave out one of them", param_hint="--budget"
        )
    return configured(*asked, budget=wanted.budget)
