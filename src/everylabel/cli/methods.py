"""`everylabel methods`: what there is, and what each needs; of one method its settings and presets."""

from __future__ import annotations

import json as json_values
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json, methods_beginning_with
from everylabel.cli.output import print_json, print_line, print_table

if TYPE_CHECKING:
    from everylabel.methods.base import Method


@guarded
def methods(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            show_default=False,
            help="A method: its settings, its presets and what they leave of a paper.",
            autocompletion=methods_beginning_with,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the methods, what each needs, and what it is; and how texts in which languages are read.

    With a name: its settings with their defaults, what each preset (`everylabel fit --preset`) sets instead, and where
    the method deviates from its paper even so.

    Example: everylabel methods of-de
    """
    from everylabel.registry import method_class, method_classes
    from everylabel.text.language import readings

    if name is not None:
        _tell(method_class(name), json)
        return
    if json:
        print_json([_summary(method) for method in method_classes()])
        return
    rows = [(method.name, method.traits.needs, method.summary) for method in method_classes()]
    print_table(("method", "needs", "what it is"), rows, left=(0, 1, 2))
    print_table(("how words are read", "languages"), readings(), left=(0, 1))


def _tell(method: type[Method], json: bool) -> None:
    from everylabel.config import flat, to_dict

    settings = flat(to_dict(method()))
    presets = {name: flat(values) for name, values in method.presets.items()}
    if json:
        print_json(_summary(method) | {"settings": settings, "presets": presets, "deviations": method.deviations()})
        return
    print_line(f"{method.name}: {method.summary}; needs {method.traits.needs}")
    print_table(("setting", "default"), [(key, _shown(value)) for key, value in settings.items()], left=(0, 1))
    for name, values in presets.items():
        general, of_data, _ = name.partition(":")
        print()
        if not values:
            print_line(f"preset {name}: as {general}")
            continue
        print_line(f"preset {name}" + (f", beside what {general} sets" if of_data and general in presets else ""))
        rows = [(key, _shown(value), _shown(settings.get(key))) for key, value in values.items()]
        print_table(("setting", "value", "default"), rows, left=(0, 1, 2))
    if method.deviations():
        print("\nWhere it deviates from the paper" + (", with its preset, too:" if presets else ":"))
        for line in method.deviations().splitlines():
            print_line(line)


def _summary(method: type[Method]) -> dict[str, Any]:
    return {"name": method.name, "needs": method.traits.needs, "summary": method.summary}


def _shown(value: Any) -> str:
    """As `--set` takes it."""
    return value if isinstance(value, str) and value else json_values.dumps(value)
