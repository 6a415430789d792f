"""The labels of a model: what is known of one, and labels that come and go."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

from everylabel.data.dataset import Label, LabelSet
from everylabel.data.formats.load import load_labels
from everylabel.errors import ConfigError, DataError
from everylabel.methods.base import Method
from everylabel.run import QUIET, Run
from everylabel.workflow.models import changing

if TYPE_CHECKING:
    from everylabel.data.formats.layout import Layout
    from everylabel.data.formats.rows import OnBadRow
    from everylabel.text.keywords import Description


class ListedLabel(NamedTuple):
    id: str
    name: str
    documents: int  # in training


class VocabularyChange(NamedTuple):
    n_changed: int
    n_labels: int  # that the model suggests now


def add_labels(
    model: Method | str | Path,
    labels: str | Path | Iterable[Label],
    *,
    on_bad_row: OnBadRow = "error",
    run: Run = QUIET,
    **layout: Unpack[Layout],
) -> VocabularyChange:
    """Labels, or a vocabulary file of them, for a model in memory or in a folder, without training.

    A label whose id is there already, or that has no name, is an error, and the model stays as it is.
    """
    with changing(model, run) as method:
        if isinstance(labels, (str, Path)):
            labels = load_labels(labels, on_bad_row=on_bad_row, run=run, **layout).labels
        new = list(labels)
        method.add_labels(new)
        return VocabularyChange(len(new), n_shown(method))


def remove_labels(model: Method | str | Path, wanted: Sequence[str], *, run: Run = QUIET) -> VocabularyChange:
    """Labels by their ids or names: a model in memory or in a folder does not suggest them any more."""
    with changing(model, run) as method:
        ids = (find_label(method.labels_, label) for label in wanted)
        found = list(dict.fromkeys(ids))  # a label may be named twice
        method.remove_labels(found)
        return VocabularyChange(len(found), n_shown(method))


def list_labels(method: Method) -> list[ListedLabel]:
    """Those that the model suggests."""
    model = method.model_
    rows = zip(model.labels_.ids, model.labels_.names, model.counts_.tolist(), model.hidden_.tolist(), strict=True)
    return [ListedLabel(label_id, name, count) for label_id, name, count, hidden in rows if not hidden]


def describe_label(method: Method, wanted: str, model: str | Path = "the model") -> Description:
    """The text by which a model finds a label, and its keywords; `model` is how it is called in an error."""
    if not hasattr(method, "describe"):
        raise ConfigError(
            f"{model}: method {method.name!r} has no descriptions of labels; fit one that has: "
            "everylabel fit DATA --method depl"
        )
    found: Description = method.describe(find_label(method.labels_, wanted))
    return found


def find_label(known: LabelSet, wanted: str) -> str:
    """The id of the label with this id or, if there is none, with this name; large and small letters are the same."""
    if wanted in known.index:
        return wanted
    named = zip(known.ids, known.names, strict=True)
    ids = [label_id for label_id, name in named if name.casefold() == wanted.casefold()]
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise DataError(f"{len(ids)} labels have the name {wanted!r}; give the id of one: {', '.join(ids[:5])}")
    near = difflib.get_close_matches(wanted, [*known.ids, *known.names], n=1)
    hint = f"did you mean {near[0]!r}?" if near else "give the id or the name of a label of its vocabulary"
    raise DataError(f"label {wanted!r} is not in the model's vocabulary of {len(known):,} labels; {hint}")


def n_shown(method: Method) -> int:
    return int((~method.hidden_).sum())
