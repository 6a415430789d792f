"""What is shown of a label: its name in a language, notation, address, what is broader and narrower.

The one place of the server that reads the vocabulary's columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from everylabel.data.label import is_uri
from everylabel.data.labels import LabelSet
from everylabel.methods.base import Method

DEEPEST = 12  # labels above one that are shown


class ShownLabel(NamedTuple):
    id: str
    name: str
    uri: str
    notation: str | None
    description: str
    alternatives: tuple[str, ...]
    schemes: tuple[str, ...]


def shown(labels: LabelSet, at: int, language: str) -> ShownLabel:
    return ShownLabel(
        labels.ids[at],
        labels.name_in(at, language),
        uri_of(labels, at),
        labels.notations[at] or None,
        description_in(labels, at, language),
        labels.alternatives_in(at, language),
        labels.schemes[at],
    )


def uri_of(labels: LabelSet, at: int) -> str:
    """Its address; its id, where it has none: that is what Annif's clients know it by then."""
    return labels.uri_of(at) or labels.ids[at]


def description_in(labels: LabelSet, at: int, language: str) -> str:
    """As it is in this language, or else as it is."""
    translated = (one.text for one in labels.translations[at] if one.language == language and one.kind == "description")
    return next(translated, labels.descriptions[at])


def languages_of(labels: LabelSet) -> list[str]:
    """The main one first; none if the vocabulary does not say."""
    return list(dict.fromkeys(filter(None, (labels.language, *labels.languages))))


def broader_of(labels: LabelSet, at: int) -> list[int]:
    """Places of the labels above; what the vocabulary does not have is passed over."""
    return [int(place) for place in labels.parent_places[at].indices]


def narrower_of(labels: LabelSet, at: int) -> list[int]:
    return [int(place) for place in labels.children[at].indices]


def related_of(labels: LabelSet, at: int) -> list[int]:
    return _known(labels, labels.related[at])


def replacements_of(labels: LabelSet, at: int) -> list[int]:
    """What a deprecated label has been replaced by."""
    return _known(labels, labels.replaced_by[at])


def _known(labels: LabelSet, ids: Sequence[str]) -> list[int]:
    return [int(place) for place in labels.index.places(ids) if place >= 0]


def path_to(labels: LabelSet, at: int, language: str) -> list[str]:
    """Names of the labels above, from the top; along the first of several. A vocabulary may go round in circles."""
    above: list[int] = []
    here = broader_of(labels, at)
    while here and here[0] not in (at, *above) and len(above) < DEEPEST:
        above.append(here[0])
        here = broader_of(labels, here[0])
    return [labels.name_in(place, language) for place in reversed(above)]


def keywords_of(model: Method, label_id: str) -> list[tuple[str, float]]:
    """Of the first expert that has any."""
    for expert in (model, *getattr(model, "experts_", {}).values()):
        if hasattr(expert, "describe") and label_id in expert.labels_.index:
            return [(word, float(weight)) for word, weight, _ in expert.describe(label_id).keywords]
    return []


def is_shown(model: Method, at: int) -> bool:
    """Neither removed nor deprecated."""
    return not model.hidden_[at] and not model.labels_.deprecated[at]


def have_addresses(labels: LabelSet) -> bool:
    """Whether ids are addresses by themselves, as far as the first one tells."""
    return len(labels) > 0 and is_uri(labels.ids[0])
