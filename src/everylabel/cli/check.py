"""`everylabel check`: is every byte of a model what was written?"""

from __future__ import annotations

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json, Model
from everylabel.cli.output import print_json, print_line, spoken_size


@guarded
def check(model: Model, json: Json = False) -> None:
    """Compare every file of a model with its checksum: after a copy, a crash, or a doubt about a disk.

    Reads the whole model, some seconds a GB. Damage is named, with exit code 5. Other commands look at sizes and at
    small files only.

    Example: everylabel check MODEL
    """
    from everylabel import store

    found = store.check(model)
    if json:
        print_json({"ok": True} | found._asdict())
        return
    print_line(f"{model}: ok, {found.files} files, {spoken_size(found.bytes)}")
