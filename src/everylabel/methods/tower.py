"""One encoder for documents and labels, the labels' vectors in an index: what all dense methods without pairs are.

A document's vector is centred: the mean vector of the training documents, what they all have in common, is taken away
before its length is made 1. Long texts of one kind are otherwise all alike. Labels are not centred. With static token
embeddings nothing here loads torch; what is trained of a tower is in maclr/towers.py.
Cost: encoding the label texts once; a search a document (see `index/`).
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from everylabel import checks
from everylabel.data.dataset import LabelSet
from everylabel.data.splits import ranks
from everylabel.encoders.base import Encoder, EncoderConfig
from everylabel.encoders.build import load_encoder, restore_encoder
from everylabel.encoders.static import DOCUMENTS, StaticEncoder
from everylabel.index.build import IndexKind, make_index
from everylabel.index.exact import ExactIndex
from everylabel.index.grown import GrownIndex, index_state, restored_index, with_vectors
from everylabel.parallel import for_each_part
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.matching import label_texts, require_texts
from everylabel.text.views import Views
from everylabel.types import FloatArray, IntArray, LongArray, Ranking
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.index.base import Index

MEAN_SAMPLE = 2_000  # documents whose mean is what all have in common


class Tower:
    """`load`, or `restore`; then `index_labels`, and `rank`."""

    def __init__(self, encoder: Encoder, mean: FloatArray) -> None:
        self.encoder = encoder
        self.mean = mean

    @classmethod
    def load(
        cls, config: EncoderConfig, views: Views, labels: LabelSet, seed: int, *, center: bool, run: Run = QUIET
    ) -> Self:
        """The pretrained encoder; static token embeddings are weighted by how rare a token is in this corpus."""
        require_texts(views.documents)
        encoder = _loaded(config, views, labels, seed, run)
        if isinstance(encoder, StaticEncoder):
            labels_alone = None if len(views) else encoder.tokenize(label_texts(labels)[0], run=run)
            encoder = encoder.weighed(views.tokens(encoder, run) if labels_alone is None else labels_alone)
        tower = cls(encoder, np.zeros(encoder.dim, np.float32))
        if center and len(views):
            chosen = np.random.default_rng(seed).permutation(len(views))[:MEAN_SAMPLE]
            rows = np.argsort(ranks(views.documents.ids))[np.sort(chosen)]  # by the ids: their order must not matter
            tower.mean = encoder.encode([views.full_texts[i] for i in rows], keep=True, run=run).mean(axis=0)
        return tower

    def index_labels(self, labels: LabelSet, kind: IndexKind, run: Run = QUIET) -> Self:
        texts, self.owners = label_texts(labels)
        index = make_index(kind, self.encoder.dim, len(texts))
        index.add(np.arange(len(texts)), self.encoder.encode(texts, keep=True, run=run))
        self.index: Index | GrownIndex = index
        self.__dict__.pop("_begins", None)
        return self

    def with_labels(self, labels: LabelSet, first: int) -> Tower:
        """One more, which knows those from place `first` on, too. O(their texts, and those added before)."""
        texts, owners = label_texts(labels.subset(range(first, len(labels))))
        wider = type(self)(self.encoder, self.mean)
        wider.index = with_vectors(self.index, len(self.owners) + np.arange(len(texts)), self.encoder.encode(texts))
        wider.owners = np.concatenate([self.owners, np.int32(first) + owners])
        return wider

    def rank(self, views: Views, k: int) -> Ranking:
        """The best of a label's texts counts, and with passages="max" the best of a document's passages."""
        vectors, begins = self._passages(views)
        silent = np.asarray(~vectors.any(axis=1))  # a text of no known token
        vectors = unit_rows(vectors - self.mean)
        if isinstance(self.index, ExactIndex):
            found = self.index.search_owners(vectors, self._begins, k)
        else:
            found = best_owners(self.index, vectors, self.owners, k)
        found = found.without(silent)
        if len(vectors) > len(views):
            found = best_passages(found, begins, k)
        return Ranking(found.ids, np.where(found.ids >= 0, np.clip((1 + found.scores) / 2, 0, 1), -np.inf))

    def scores(self, views: Views) -> FloatArray:
        """(documents, labels): the scores of `rank`, of all labels. For few of them; the index must be an exact one."""
        assert isinstance(self.index, (ExactIndex, GrownIndex))
        vectors, begins = self._passages(views)
        found = self.index.scores(unit_rows(vectors - self.mean))
        found = np.maximum.reduceat(found, self._begins[:-1], axis=1)
        if len(vectors) > len(views):
            found = np.maximum.reduceat(found, begins[:-1], axis=0)
        return np.clip((1 + found) / 2, 0, 1)

    @cached_property
    def _begins(self) -> LongArray:
        """Where each label's texts begin; each has one at least."""
        return np.searchsorted(self.owners, np.arange(int(self.owners[-1]) + 2))

    def _passages(self, views: Views) -> tuple[FloatArray, LongArray]:
        """Vectors that are not centred yet, and where those of each document begin."""
        require_texts(views.documents)
        if self.encoder.config.passages == "max":
            vectors, begins = self.encoder.encode_passages(views.full_texts)
        else:
            vectors, begins = views.vectors(self.encoder), np.arange(len(views) + 1)
        return vectors, begins

    def state(self, prefix: str) -> dict[str, Any]:
        encoder = add_prefix(f"{prefix}/encoder", self.encoder.state())
        own = {f"{prefix}/mean": self.mean, f"{prefix}/owners": self.owners}
        return encoder | own | index_state(f"{prefix}/index", self.index)

    @classmethod
    def restore(cls, config: EncoderConfig, prefix: str, state: dict[str, Any]) -> Self:
        encoder = restore_encoder(config, strip_prefix(state, f"{prefix}/encoder"))
        tower = cls(encoder, state[f"{prefix}/mean"])
        tower.owners, tower.index = state[f"{prefix}/owners"], restored_index(f"{prefix}/index", state)
        return tower

    def check(self, n_labels: int) -> None:
        """Of one that was restored: a vector for each text, and a text at least for each label."""
        checks.numbers(self.mean, "mean", self.encoder.dim, most=1)
        checks.require(self.index.dim == self.encoder.dim, "an index of other vectors than the encoder's")
        self.index.check(len(self.owners))
        checks.indexes(self.owners, "owners of texts", n_labels, len(self.index))
        steps = np.diff(self.owners, prepend=-1, append=n_labels - 1)
        checks.require(((steps >= 0) & (steps <= 1)).all(), "each label must have a text, in the order of labels")


def _loaded(config: EncoderConfig, views: Views, labels: LabelSet, seed: int, run: Run) -> Encoder:
    """Pretrained, or learned from the documents, once for all who ask for it; from label texts where there are none."""
    if config.kind != "static" or config.teacher != DOCUMENTS:
        return load_encoder(config, run=run)
    from everylabel.encoders.learned import learned_encoder

    def learn() -> StaticEncoder:
        config.check()
        by_id = np.argsort(ranks(views.documents.ids))
        return learned_encoder(config, [views.full_texts[i] for i in by_id] or label_texts(labels)[0], seed, run)

    return views.of_all(("learned pieces", config, seed), learn)


def best_owners(index: Index | GrownIndex, vectors: FloatArray, owners: IntArray, k: int) -> Ranking:
    """The k owners of the nearest rows. More rows are asked for until there are k owners, as often as it takes."""
    ask = min(len(owners), k + k * (len(owners) - int(owners[-1]) - 1) // len(owners) * 2)
    while True:
        found = index.search(vectors, max(ask, 1))
        best = first_of_each(np.where(found.ids >= 0, owners[found.ids], -1), found.scores, k)
        if ask >= len(owners) or (best.ids[:, -1] >= 0).all():
            return best
        ask = min(len(owners), 2 * ask)


def best_passages(found: Ranking, begins: LongArray, k: int) -> Ranking:
    """Each document's best labels over its passages: row i of the result is rows begins[i] to begins[i + 1]."""
    parts = []
    for first, last in pairwise(begins):
        ids, scores = found.ids[first:last].ravel(), found.scores[first:last].ravel()
        order = np.lexsort((ids, -scores))[None]
        parts.append(first_of_each(ids[order], scores[order], k))
    return Ranking.joined(parts)


def first_of_each(ids: IntArray, scores: FloatArray, k: int) -> Ranking:
    """The first k different ids of each row, with the scores of their first places. Rows: best first, equal by id."""
    from everylabel.index import kernels

    found = Ranking.empty(len(ids), k)
    for_each_part(
        len(ids), lambda a, b: kernels.first_of_each(ids[a:b], scores[a:b], found.ids[a:b], found.scores[a:b])
    )
    return found
