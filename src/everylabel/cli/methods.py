"""`everylabel methods`: what there is, and what each needs."""

from __future__ import annotations

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json
from everylabel.cli.output import print_json, print_table


@guarded
def methods(json: Json = False) -> None:
    """List the methods, what each needs, and what it is.

    Example: everylabel methods --json
    """
    from everylabel.registry import METHODS

    if json:
        print_json([{"name": name, "needs": e.needs, "summary": e.summary} for name, e in METHODS.items()])
        return
    rows = [(name, entry.needs, entry.summary) for name, entry in METHODS.items()]
    print_table(("method", "needs", "what it is"), rows, left=(0, 1, 2))
