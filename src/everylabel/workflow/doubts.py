"""What looks wrong with data before anything is learned from them, or measured on them: a line each, for the user's
eyes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import numpy as np

from everylabel.data.dataset import Dataset, Documents
from everylabel.data.enough import too_few
from everylabel.data.overlap import shared_texts
from everylabel.methods.base import Method

EXAMPLES = 3


def doubts(splits: Mapping[str, Dataset | None], *, blended: bool = True) -> list[str]:
    """Of splits by their names: texts that two of them share, empty label ids, splits too small for their use.

    One pass over the texts; nothing is changed or left out. `blended`: whether they are for a tagger.
    """
    there = {name: one for name, one in splits.items() if one is not None and len(one)}
    found = [_shared(*one, *two) for one, two in combinations(there.items(), 2)]
    found += [_empty_labels(name, one) for name, one in there.items()]
    found += [too_few(name, _labelled(one), blended=blended) for name, one in there.items()]
    return [doubt for doubt in dict.fromkeys(found) if doubt]


def learned_before(model: Method, documents: Documents) -> str:
    """Of documents that something is measured or chosen on; "" of methods that do not know what they were fitted on."""
    training = getattr(model.model_, "training_", None)
    n = 0 if training is None else training.n_among(documents)
    if not n:
        return ""
    return (
        f"warning: the model has learned from {n:,} of these {len(documents):,} documents: what is measured or chosen "
        "on them is too good; take others (a tagger learns from dev, too, unless it is fitted with --set refit=false)"
    )


def _shared(name: str, one: Dataset, other_name: str, other: Dataset) -> str:
    found = shared_texts(one.documents, other.documents)
    if not found.n_docs:
        return ""
    examples = ", ".join(f"{second!r} is {first!r}" for second, first in found.examples)
    return (
        f"warning: {found.n_docs:,} of {len(other):,} documents of {other_name} have a text that is in {name}, too "
        f"({examples}): what is measured or learned on them is too good; take them out of one of the two"
    )


def _empty_labels(name: str, one: Dataset) -> str:
    blank = [i for i, label_id in enumerate(one.labels.ids) if not label_id.strip()]
    if not blank:
        return ""
    rows: list[int] = [] if one.pairs is None else np.flatnonzero(np.diff(one.pairs[:, blank].indptr)).tolist()
    examples = ", ".join(repr(one.documents.ids[i]) for i in rows[:EXAMPLES])
    where = f"{len(rows):,} documents of {name} have it ({examples})" if len(rows) else "no document has it"
    return f"warning: a label has an empty id, and {where}; remove it from the data"


def _labelled(one: Dataset) -> int:
    return 0 if one.pairs is None else int((np.diff(one.pairs.indptr) > 0).sum())
