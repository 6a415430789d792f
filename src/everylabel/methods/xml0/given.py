"""XML0 (fusion.py) on a classifier that is there already: a fitted method, or what another system says of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from everylabel import config
from everylabel.data.dataset import Dataset, LabelSet, pairs_in
from everylabel.data.enough import TO_CALIBRATE
from everylabel.data.splits import of_labels
from everylabel.errors import DataError
from everylabel.methods.words.popularity import Popularity
from everylabel.methods.xml0.rehearsal import MOST_HELD, Chosen, Trial, ranked_of, tried_labels
from everylabel.run import Run
from everylabel.text.matching import require_texts
from everylabel.text.views import Views
from everylabel.types import BoolArray, Csr, LongArray, Ranking

if TYPE_CHECKING:
    from everylabel.methods.base import Method
    from everylabel.methods.xml0.fusion import Builder, Xml0


def learn_on(
    model: Xml0, base: Method, dataset: Dataset, run: Run, found: Ranking | None = None, dev: Dataset | None = None
) -> None:
    """Gives a model its base, vocabulary and candidates; `found`: the base's best labels of the dataset's documents.

    Labels that the base has learned are seen. Documents of others choose threshold and weight: those of `dev`, or of
    the dataset where dev has too few.
    """
    require_texts(dataset.documents)
    known = base.labels_
    labels = known.extended([label for label in dataset.labels if label.id not in known.index])
    model.base_, model.labels_, model.n_train_ = base, labels, base.n_train_
    model.base, model.base_settings, model.base_model = base.name, config.to_dict(base), ""
    model.counts_ = np.concatenate([base.counts_, np.zeros(len(labels) - len(known), np.int64)])
    model.hidden_ = np.concatenate([base.hidden_, labels.deprecated[len(known) :]])
    model.n_fitted_ = len(labels)
    pairs = None if dataset.pairs is None else pairs_in(labels, dataset)
    whole = Dataset(dataset.documents, labels, pairs, name=dataset.name)
    seen = model.counts_ > 0
    learned = whole if pairs is None else whole.with_pairs(of_labels(pairs, np.flatnonzero(seen), keep=True))
    build = model._builder(learned, run)
    model.candidates_ = build(np.flatnonzero(~seen))
    model.chosen_ = Chosen.of(model.threshold, model.weight)
    if dev is not None and has_enough(dev, labels, ~seen):
        choose_on(model, dev, build)
    elif pairs is None or not choose_on(model, whole, build, found):
        say_as_usual(model, run)


def has_enough(dev: Dataset, labels: LabelSet, unseen: BoolArray) -> bool:
    """Whether so many documents have labels that the base has not learned that they may choose."""
    return len(_rows_of(_known(labels, dev)[:, np.flatnonzero(unseen)])) >= TO_CALIBRATE


def choose_on(model: Xml0, dataset: Dataset, build: Builder, found: Ranking | None = None) -> bool:
    """Chooses threshold and weight by the documents of labels that the base has not learned, if there are any.

    `found`: the base's best labels of all documents; None: it is asked. Of many documents the first MOST_HELD count.
    """
    pairs, candidates = _known(model.labels_, dataset), model.candidates_
    asked = tried_labels(model.labels_, pairs, candidates.labels, model.random_state)
    tried = candidates if len(asked) == len(candidates.labels) else build(asked)
    truth = pairs[:, tried.labels]
    rows = _rows_of(truth)[:MOST_HELD]
    if not len(rows):
        return False
    views = Views.of(dataset.documents.subset(rows))
    if found is None:
        found = ranked_of(model.base_, views, model.cap, model.counts_ > 0)
    else:
        found = Ranking(found.ids[rows], found.scores[rows])
    model._choose(Trial(tried, views, found, truth[rows]))
    return True


def say_as_usual(model: Xml0, run: Run) -> None:
    """Nothing was chosen: the user hears what is taken instead, and what would choose."""
    if len(model.candidates_.labels):
        chosen = model.chosen_
        run.say(
            f"{model.name}: no document tells which threshold and weight of fusion are best: they are "
            f"{chosen.threshold:g} and {chosen.weight:g}, and an unseen label's probability is half of its score; "
            f"{TO_CALIBRATE} documents of a dev split with labels that the base has not learned would tell"
        )


def _known(labels: LabelSet, dataset: Dataset) -> Csr:
    """Pairs of these labels alone."""
    return csr_matrix(pairs_in(labels, dataset)[:, : len(labels)])


def _rows_of(pairs: Csr) -> LongArray:
    return np.flatnonzero(np.diff(pairs.indptr))


def counted(found: Ranking, dataset: Dataset) -> Method:
    """A base in another system's place: it knows which labels the system ranks, and how often. Nothing is learned."""
    if found.n_docs != len(dataset) or (found.ids >= len(dataset.labels)).any():
        raise DataError(f"expected a ranking of the {len(dataset):,} documents by labels of the data set")
    rows, places = np.nonzero(found.ids >= 0)
    shape = len(dataset), len(dataset.labels)
    pairs = csr_matrix((np.ones(len(rows), np.float32), (rows, found.ids[rows, places])), shape)
    pairs.sum_duplicates()
    pairs.data[:] = 1
    return Popularity().fit(dataset.with_pairs(pairs)).model_
