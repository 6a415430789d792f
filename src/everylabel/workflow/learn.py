"""New labelled documents for a fitted tagger, in seconds instead of a new fit; and what became of it since."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from everylabel.data.dataset import Dataset
from everylabel.data.formats.load import load_labelled
from everylabel.methods.base import Method
from everylabel.run import QUIET, Run
from everylabel.workflow.models import changing
from everylabel.workflow.settings import as_tagger

if TYPE_CHECKING:
    from everylabel.data.formats.layout import Layout
    from everylabel.data.formats.rows import OnBadRow
    from everylabel.tagger.tagger import Tagger
    from everylabel.tagger.update import Learned

CANNOT_LEARN = "cannot learn from new documents; fit it again with all of them, or fit a tagger, which can"


def learn(
    model: Method | str | Path,
    documents: str | Path | Dataset | Iterable[tuple[str, Sequence[str]]],
    *,
    split: str = "train",
    on_bad_row: OnBadRow = "error",
    run: Run = QUIET,
    **layout: Unpack[Layout],
) -> Learned:
    """Teach a tagger, in memory or in a folder, and say how well it knew the documents before.

    `documents`: a file or folder of data, a data set, or texts with label ids. Labels are those of the model's
    vocabulary; an unknown one is an error, and the model stays as it is.
    """
    where = None if isinstance(model, Method) else model
    with changing(model, run) as method:
        tagger = as_tagger(method, CANNOT_LEARN, where)
        if isinstance(documents, (str, Path)):
            documents = load_labelled(documents, tagger.labels_, split, on_bad_row=on_bad_row, run=run, **layout)
        return tagger.learn(documents)


def history(model: Method | str | Path) -> list[dict[str, Any]]:
    """What a tagger was fitted on, labels that came and went, documents that were learned; and when."""
    if isinstance(model, Method):
        return as_tagger(model, "keeps no history; a tagger does").history()
    from everylabel.store import load

    return as_tagger(load(model), "keeps no history; a tagger does", model).history()


def refit_due(tagger: Tagger) -> str:
    """Why a full fit is due, by what was learned since the last one; nothing if it is not."""
    from everylabel.tagger.update import refit_due as due

    model = tagger.model_
    return due(model.learned_, model.n_train_, int((model.counts_ > 0).sum()), model.fitted_counts_)
