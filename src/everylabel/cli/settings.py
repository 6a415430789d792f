"""The method that a command line asks for: defaults < --preset < TOML file < --set.

--method and --preset come before a file's `method` and `preset`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from everylabel.workflow.settings import TAGGER, asked_for, configured

if TYPE_CHECKING:
    from everylabel.cli.options import Wanted
    from everylabel.methods.base import Method

WHAT = {"budget": "a budget", "memory": "a limit of memory", "accuracy": "an accuracy"}


def chosen_method(name: str | None, wanted: Wanted, preset: str | None = None) -> Method:
    """Unfitted, with settings that are checked."""
    asked = name, wanted.config, wanted.settings or (), preset
    of_tagger: dict[str, Any] = {name: getattr(wanted, name) for name in WHAT}
    given = {key: value for key, value in of_tagger.items() if value is not None}
    if not given:
        return configured(*asked)
    named, _ = asked_for(*asked)
    if named != TAGGER:
        one = next(iter(given))
        raise typer.BadParameter(
            f"only the tagger has {WHAT[one]}, and the method is {named!r}; leave out one of them",
            param_hint=f"--{one}",
        )
    return configured(*asked, **given)
