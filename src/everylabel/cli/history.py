"""`everylabel history`: what a tagger was fitted on, and what became of it since."""

from __future__ import annotations

from typing import Any

from everylabel.cli.guard import guarded
from everylabel.cli.options import Json, Model
from everylabel.cli.output import print_json, print_table

COLUMNS = ("when", "what")


@guarded
def history(model: Model, json: Json = False) -> None:
    """Print what changed in a model, and when: the fit, labels that came and went, documents that were learned.

    Example: everylabel history MODEL
    """
    from everylabel.workflow.learn import history as history_of

    events = history_of(model)
    if json:
        print_json(events)
        return
    rows = [(*(str(event[column]) for column in COLUMNS), about(event)) for event in events]
    print_table((*COLUMNS, "about"), rows, left=(0, 1, 2))


def about(event: dict[str, Any]) -> str:
    """The numbers of an event, in words."""
    from everylabel.tagger.budget import spoken_event

    return spoken_event(event, without=COLUMNS)
