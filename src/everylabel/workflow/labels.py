"""The labels of a model: what is known of one, and labels that come and go."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

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
    notation: str = ""


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


def list_labels(method: Method, language: str = "") -> list[ListedLabel]:
    """Those that the model suggests, by their names in a language, where they have one in it."""
    model = method.model_
    labels = model.labels_
    names: Iterable[str] = labels.names
    if language and not labels.translations.is_blank:
        names = (labels.name_in(at, language) for at in range(len(labels)))
    rows = zip(labels.ids, names, model.counts_.tolist(), labels.notations, model.hidden_.tolist(), strict=True)
    return [ListedLabel(*shown) for *shown, hidden in rows if not hidden]


def about_label(method: Method, wanted: str, language: str = "") -> dict[str, Any]:
    """What the vocabulary says of a label, without what it says nothing of; other labels by id and name."""
    labels = method.model_.labels_
    at = labels.index[find_label(labels, wanted)]
    label = labels[at]

    def named(places: Iterable[int]) -> list[dict[str, str]]:
        return [{"id": labels.ids[place], "name": labels.name_in(place, language)} for place in places]

    def known(ids: Sequence[str]) -> list[dict[str, str]]:
        return named(int(place) for place in labels.index.places(ids) if place >= 0)

    found = {
        "notation": label.notation,
        "uri": labels.uri_of(at),
        "alternatives": list(labels.alternatives_in(at, language)),
        "description": label.description,
        "names": {one.language: one.text for one in label.translations if one.kind == "name"},
        "broader": named(labels.parent_places[at].indices.tolist()),
        "narrower": named(labels.children[at].indices.tolist()),
        "related": known(label.related),
        "schemes": list(label.schemes),
        "types": list(label.types),
        "deprecated": label.deprecated,
        "replaced_by": known(label.replaced_by),
    }
    return {"id": label.id, "name": labels.name_in(at, language)} | {
        key: value for key, value in found.items() if value
    }


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
