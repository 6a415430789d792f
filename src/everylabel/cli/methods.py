"""`everylabel methods`: what there is, and what each needs."""

from __future__ import annotations

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json
from everylabel.cli.output import print_json, print_table


@guarded
def methods(json: Json = False) -> None:
    """List the methods, what each needs, and what it is; and how texts in which languages are read.

    Example: everylabel methods --json
    """
    from everylabel.registry import method_classes
    from everylabel.text.language import readings

    if json:
        print_json([{"name": m.name, "needs": m.traits.needs, "summary": m.summary} for m in method_classes()])
        return
    rows = [(method.name, method.traits.needs, method.summary) for method in method_classes()]
    print_table(("method", "needs", "what it is"), rows, left=(0, 1, 2))
    print_table(("how words are read", "languages"), readings(), left=(0, 1))
