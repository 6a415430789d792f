"""The two scores of XML0 for labels that a classifier cannot rank: labels fused into a new one, and likeness.

`Candidates` has label vectors and what is needed to score some labels of the vocabulary for any document. Both scores
are normalised per document: minus the mean, over the standard deviation, of a fixed sample of the vocabulary. So they
can be mixed, and a label's score does not depend on which other candidates there are. Here all candidates are scored;
of many (shortlist.py) those near the document, with the same scores.
Cost of a document: cap x candidates x dim for the products, the search of subsets.py, one of the label index.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from everylabel import checks
from everylabel.data.dataset import LabelSet
from everylabel.index.exact import ExactIndex
from everylabel.index.grown import GrownIndex
from everylabel.methods.xml0.subsets import Best, Doubles, SearchKind, is_member, search
from everylabel.metrics.ranking import find_hits, ndcg
from everylabel.parallel import for_each_part
from everylabel.text.matching import label_texts
from everylabel.text.views import Views
from everylabel.types import BoolArray, Csr, FloatArray, LongArray, Ranking
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.encoders.base import Encoder
    from everylabel.methods.tower import Tower

YARDSTICK = 256  # labels whose mean and spread are a document's measure
WEIGHTS = np.arange(21) / 20
RESAMPLES = 200  # of a rehearsal's documents
_LEAST_SPREAD = 1e-6  # of scores: less is rounding
LONGEST = 1.01  # of a number in a unit vector


class Scores(NamedTuple):
    """(documents, candidates) each, normalised."""

    fused: Doubles
    alike: Doubles

    def mixed(self, weight: float) -> Doubles:
        """Weight 1 is fusion alone, 0 likeness alone: exactly, nothing of the other part is added."""
        if weight in (0, 1):
            return self.fused if weight else self.alike
        return weight * self.fused + (1 - weight) * self.alike


@dataclass(frozen=True)
class Predicted:
    """The labels that a classifier gives a document: those above the threshold, at most `cap`."""

    labels: LongArray
    probabilities: FloatArray

    @classmethod
    def of(cls, found: Ranking, threshold: float, cap: int) -> list[Predicted]:
        """From a ranking of seen labels with probabilities."""
        kept = (found.ids >= 0) & (found.scores > threshold)
        kept[:, cap:] = False
        return [
            cls(ids[row].astype(np.int64), scores[row])
            for ids, scores, row in zip(found.ids, found.scores, kept, strict=True)
        ]


class Candidates:
    """`labels` (sorted numbers in the vocabulary) are scored; `vectors` has a row for every label of it."""

    def __init__(self, tower: Tower, vectors: FloatArray, yardstick: LongArray, labels: LongArray) -> None:
        """The tower's index must be that of `pool`."""
        self.tower, self.vectors, self.labels, self.yardstick = tower, vectors, labels, yardstick
        self.pool = np.union1d(labels, yardstick)
        self._asked = np.searchsorted(self.pool, labels)
        self._measure = np.searchsorted(self.pool, yardstick)

    @cached_property
    def _pool_vectors(self) -> FloatArray:
        return np.ascontiguousarray(self.vectors[self.pool], np.float32)

    @cached_property
    def seen(self) -> BoolArray:
        """Of every label of the vocabulary: is it none of those that are scored?"""
        others = np.ones(len(self.vectors), np.bool_)
        others[self.labels] = False
        return others

    @property
    def cells(self) -> int:
        """Scores of a document that are there at a time."""
        return len(self.pool)

    @classmethod
    def build(
        cls, tower: Tower, vectors: FloatArray, vocabulary: LabelSet, yardstick: LongArray, labels: LongArray
    ) -> Candidates:
        """Another index on the same encoder. O(texts of the candidates and of the yardstick)."""
        own = type(tower)(tower.encoder, tower.mean)
        own.index_labels(vocabulary.subset(np.union1d(labels, yardstick)), "exact")
        return cls(own, vectors, yardstick, labels)

    def with_more(self, vocabulary: LabelSet, first: int, encoder: Encoder) -> Candidates:
        """Labels from place `first` of the vocabulary on are candidates, too, read by `encoder`. O(their texts)."""
        new = np.arange(first, len(vocabulary), dtype=np.int64)
        tower = self.tower.with_labels(vocabulary.subset(np.concatenate([self.pool, new])), len(self.pool))
        read = label_vectors(encoder, vocabulary.subset(new)).astype(self.vectors.dtype)
        vectors = np.concatenate([self.vectors, read])
        return Candidates(tower, vectors, self.yardstick, np.concatenate([self.labels, new]))

    def check(self, n_labels: int) -> None:
        """Of those that were restored: a unit vector for each label, and an index of the pool."""
        self.check_vectors(n_labels)
        checks.require(isinstance(self.tower.index, (ExactIndex, GrownIndex)), "candidates need an exact index")
        if isinstance(self.tower.index, GrownIndex):
            checks.require(isinstance(self.tower.index.old, ExactIndex), "candidates need an exact index")

    def check_vectors(self, n_labels: int) -> None:
        checks.numbers(self.vectors, "label vectors", n_labels, None, kinds=(np.float32, np.float16), most=LONGEST)
        checks.indexes(self.yardstick, "yardstick", n_labels, kinds=np.int64)
        checks.require(len(self.yardstick), "a yardstick must have a label")
        self.tower.check(len(self.pool))

    def state(self) -> dict[str, Any]:
        return {**self.tower.state("tower"), "vectors": self.vectors, "yardstick": self.yardstick}

    def ranked(self, views: Views, predicted: list[Predicted], kind: SearchKind, weight: float, k: int) -> Ranking:
        """The k best candidates of each document by the mixed score, squashed."""
        return best_labels(self.scores(views, predicted, kind, weight), predicted, weight, self.labels, k)

    def scores(self, views: Views, predicted: list[Predicted], kind: SearchKind, weight: float | None = None) -> Scores:
        """With the weight that they will be mixed by, a part of weight 0 is left out, as zeros."""
        fused, alike = np.zeros((2, len(views), len(self.pool)))
        if weight != 0:
            for_each_part(len(predicted), partial(self._fuse, predicted, kind, fused))
        if weight != 1 and len(views):
            alike = self.tower.scores(views).astype(np.float64)
        return Scores(self._normal(fused), self._normal(alike))

    def _fuse(self, predicted: list[Predicted], kind: SearchKind, fused: Doubles, first: int, last: int) -> None:
        for row in range(first, last):
            fused[row] = self.best(predicted[row], kind).cosines

    def best(self, predicted: Predicted, kind: SearchKind) -> Best:
        """The best subset of the predicted labels for each label of the pool."""
        return search(kind, *self.products(predicted))

    def shares(self, predicted: Predicted, label: int, kind: SearchKind) -> list[tuple[int, float]]:
        """Which of the predicted labels are in the best subset for a candidate, with their shares, largest first."""
        gram, cross = self.products(predicted, np.searchsorted(self.pool, [label]))
        own = np.flatnonzero(is_member(search(kind, gram, cross).members, len(cross))[:, 0])
        parts = cross[own, 0]
        total = parts.sum()
        shares = parts / total if total != 0 else np.full(len(own), 1 / max(len(own), 1))
        order = np.lexsort((own, -shares))
        return list(zip(own[order].tolist(), shares[order].tolist(), strict=True))

    def products(self, predicted: Predicted, places: LongArray | None = None) -> tuple[Doubles, Doubles]:
        """What subsets.py asks for, of these places of the pool; None: all. One order of adding up for all labels, so
        that equal ones have equal scores."""
        from everylabel.index.kernels import products

        weighted = self.weighted(predicted)
        doubles = weighted.astype(np.float64)
        asked = self._pool_vectors if places is None else self.vectors_of(places)
        return doubles @ doubles.T, products(weighted, asked).astype(np.float64)

    def weighted(self, predicted: Predicted) -> FloatArray:
        """The members of subsets: probability x label vector."""
        return np.ascontiguousarray(self.vectors[predicted.labels] * predicted.probabilities[:, None])

    def vectors_of(self, places: LongArray) -> FloatArray:
        return np.ascontiguousarray(self.vectors[self.pool[places]], np.float32)

    def problems(self, predicted: list[Predicted]) -> Iterator[tuple[Doubles, Doubles]]:
        """The searches of these documents, for the candidates alone."""
        for own in predicted:
            gram, cross = self.products(own)
            yield gram, cross[:, self._asked]

    def _normal(self, scores: Doubles) -> Doubles:
        return normal_scores(scores, scores[:, self._measure])[:, self._asked]


def normal_scores(scores: Doubles, measure: Doubles) -> Doubles:
    """Minus the mean of the yardstick's scores, over their spread."""
    spread = measure.std(axis=1, keepdims=True)
    normal: Doubles = (scores - measure.mean(axis=1, keepdims=True)) / np.where(spread > _LEAST_SPREAD, spread, 1)
    return normal


def label_vectors(encoder: Encoder, labels: LabelSet) -> FloatArray:
    """One unit vector a label: the mean of those of its name, its alternatives and its description."""
    texts, owners = label_texts(labels)
    vectors = encoder.encode(texts, keep=True)
    begins = np.searchsorted(owners, np.arange(len(labels)))
    found: FloatArray = unit_rows(np.add.reduceat(vectors, begins, axis=0))
    return found


def squashed(scores: Doubles) -> Doubles:
    """Any number into 0..1, strictly increasing. Slower than a sigmoid, so that float32 keeps high scores apart."""
    inside: Doubles = (1 + scores / (1 + np.abs(scores))) / 2
    return inside


def best_labels(scores: Scores, predicted: list[Predicted], weight: float, labels: LongArray, k: int) -> Ranking:
    """By the mixed score. Fusion alone says nothing of a document of which the base is sure of no label."""
    mixed = squashed(scores.mixed(weight))
    ids = np.broadcast_to(labels.astype(np.int32), mixed.shape)
    found = best_of_doubles(ids, mixed, min(k, len(labels)))
    if weight < 1:
        return found
    return found.without(np.array([len(own.labels) == 0 for own in predicted], np.bool_))


def best_of_doubles(ids: Any, scores: Doubles, k: int) -> Ranking:
    """As `Ranking.best_of`, in the order of float64 scores: what float32 cannot tell apart stays in its order.

    The k best are sorted, not all. O(scores + documents x k log k), and what equals the last of them.
    """
    from everylabel.methods.kernels import keep_order

    n = scores.shape[1]
    order = np.empty((len(scores), k), np.int64)
    for row, own in enumerate(scores):
        worth = np.flatnonzero(own >= np.partition(own, n - k)[n - k]) if 0 < k < n else np.arange(n)
        order[row] = worth[np.lexsort((ids[row, worth], -own[worth]))[:k]]
    exact = np.take_along_axis(scores, order, 1)
    found = exact.astype(np.float32)
    keep_order(found, exact)
    return Ranking(np.take_along_axis(ids, order, 1).astype(np.int32), found)


def best_weight(scores: Scores, truth: Csr, seed: int = 0) -> float:
    """The weight with the best nDCG@5 on labelled candidates, as the mean over resamples of the documents.

    A rehearsal cannot tell near weights apart: its one best would be luck. Nor may a few frequent labels decide for all
    others: a document counts less, the more documents have its labels. Of equal weights the nearest to one half.
    """
    ids = np.broadcast_to(np.arange(truth.shape[1], dtype=np.int32), truth.shape)
    rankings = (Ranking.best_of(ids, scores.mixed(weight).astype(np.float32), 5) for weight in WEIGHTS)
    found = np.stack([ndcg(find_hits(ranking, truth), 5).gained for ranking in rankings])
    found = found[:, np.diff(truth.indptr) > 0]
    n = found.shape[1]
    if n == 0:
        return 0.5
    shares = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), RESAMPLES)
    found = found * rarity(truth)
    sums = found[:, np.lexsort(found)] @ shares.T  # the order of the documents does not matter
    best = np.isclose(sums, sums.max(axis=0), rtol=0, atol=1e-9)
    nearest = np.where(best, np.abs(WEIGHTS - 0.5)[:, None], np.inf).argmin(axis=0)
    return float(WEIGHTS[nearest].mean())


def gain_of(scores: Scores, truth: Csr, weight: float) -> float:
    """nDCG@5 with this weight, documents of rare labels before others, as `best_weight` compares them."""
    ids = np.broadcast_to(np.arange(truth.shape[1], dtype=np.int32), truth.shape)
    ranking = Ranking.best_of(ids, scores.mixed(weight).astype(np.float32), 5)
    gained = ndcg(find_hits(ranking, truth), 5).gained[np.diff(truth.indptr) > 0]
    return float(np.sum(gained * rarity(truth))) if len(gained) else 0.0


def rarity(truth: Csr) -> Doubles:
    """Of each document with labels: the square root of the mean of 1 / documents of its labels."""
    each = 1 / np.maximum(np.bincount(truth.indices, minlength=truth.shape[1]), 1)
    sizes = np.diff(truth.indptr)
    means = np.add.reduceat(each[truth.indices], truth.indptr[:-1][sizes > 0]) / sizes[sizes > 0]
    found: Doubles = np.sqrt(means)
    return found
