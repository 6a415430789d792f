"""`everylabel info`: what is in a model, how large its parts are, and how it was made."""

from __future__ import annotations

import json as json_format
from typing import TYPE_CHECKING, Any

from everylabel.cli.guard import guarded
from everylabel.cli.history import COLUMNS, about
from everylabel.cli.options import Json, Model
from everylabel.cli.output import print_json, print_line, print_table, spoken_size

if TYPE_CHECKING:
    from everylabel.store import Description


@guarded
def info(model: Model, json: Json = False) -> None:
    """Print what a model is: its method and settings, its labels and documents, the size of each part, its history.

    Reads two small files, whatever the model's size. What several parts use is stored once, and counts as shared.

    Example: everylabel info MODEL
    """
    from everylabel.store import describe

    found = describe(model)
    if json:
        print_json(_facts(found) | {"parts": [part._asdict() for part in found.parts]} | _made(found))
        return
    for name, value in _facts(found).items():
        print_line(f"{name.replace('_', ' '):14}{_spoken(name, value)}")
    print()
    rows = [
        (p.name, str(p.values), spoken_size(p.bytes), spoken_size(p.shared) if p.shared else "") for p in found.parts
    ]
    print_table(("part", "values", "size", "shared"), rows)
    made = _made(found)
    if "plan" in made:
        print()
        for line in made["plan"]:
            print_line(line)
    if "history" in made:
        print()
        events = [(*(str(event[column]) for column in COLUMNS), about(event)) for event in made["history"]]
        print_table((*COLUMNS, "about"), events, left=(0, 1, 2))


def _facts(found: Description) -> dict[str, Any]:
    manifest = found.manifest
    return {
        "method": manifest["method"],
        "settings": _settings(manifest),
        "labels": manifest["n_labels"],
        "documents": manifest["n_train"],
        "bytes": found.bytes,
        "files": found.files,
        "shared_bytes": found.shared,
        "everylabel": manifest["everylabel"],
        "format": manifest["format"],
        "versions": manifest["versions"],
    }


def _settings(manifest: dict[str, Any]) -> dict[str, Any]:
    """Those that are not the method's defaults."""
    from everylabel.config import changed, to_dict
    from everylabel.registry import method_class

    return changed(manifest["config"], to_dict(method_class(manifest["method"])()))


def _made(found: Description) -> dict[str, Any]:
    """How a tagger came about; nothing of other methods."""
    made: dict[str, Any] = {}
    if isinstance(found.plain.get("plan"), dict):
        from everylabel.tagger.plan import Plan

        made["plan"] = Plan.from_json(found.plain["plan"]).lines()
    if isinstance(found.plain.get("history"), list):
        made["history"] = found.plain["history"]
    return made


def _spoken(name: str, value: Any) -> str:
    if name in ("bytes", "shared_bytes"):
        return spoken_size(value)
    if name == "settings":
        return ", ".join(f"{key}={json_format.dumps(own)}" for key, own in value.items()) or "the defaults"
    if isinstance(value, dict):
        return ", ".join(f"{key} {own}" for key, own in value.items())
    return f"{value:,}" if isinstance(value, int) else str(value)
