"""XML0's scores for very many labels: of the labels near a document alone, which an approximate index finds.

A document's best label is near the document, or near the sum of some of its predicted labels. So an index of label
texts (index/ann.py) is asked for the neighbours of the document, of each predicted label alone, and of the likeliest
ones together; then for those of the subsets that were the best ones for what was found so far. What is found is scored
as zero_shot.py scores all, by the vectors themselves: a label's score is the same, only a label that no search meets is
missing. Where labels are read by an encoder of their own, there is a second index, of their vectors.

Memory of a label: 2 bytes x dim for its vector and for each of its texts, dim + 150 bytes for each text in the index.
Fit: one encoding of the texts by blocks, one insertion into the graph each, O(log labels).
Cost of a document: at most cap + 8 searches of the index, of a fixed width, and cap x some thousand labels x dim. With
103,000 unseen labels of wordnet-reverse 13 CPU ms, of scoring all 33; 99.5 % of the ten best labels are the same. On
27,920 of tibkat-de 98 to 99 % are, and scoring all is faster (7 to 13 ms, not 11 to 21). Not measured beyond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from everylabel import checks
from everylabel.data.dataset import LabelSet
from everylabel.index.ann import AnnIndex, AnnSettings
from everylabel.index.grown import GrownIndex, index_state, restored_index, with_vectors
from everylabel.methods.facts import MANY_LABELS
from everylabel.methods.xml0.subsets import Doubles, SearchKind, is_member, search
from everylabel.methods.xml0.zero_shot import (
    LONGEST,
    Candidates,
    Predicted,
    Scores,
    best_labels,
    label_vectors,
    normal_scores,
)
from everylabel.parallel import for_each_part
from everylabel.text.matching import label_texts
from everylabel.text.views import Views
from everylabel.types import FloatArray, IntArray, LongArray, Ranking
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.encoders.base import Encoder
    from everylabel.methods.tower import Tower

FEW = 50_000  # all of which are scored for each document: as fast there as a shortlist, and exact
SETTINGS = AnnSettings(expansion_search=384, per_k=1.0)  # a fixed width: searches overlap, and all is rescored
LEAST_ALIKE, LEAST_FUSED = 768, 64  # labels that a search is asked for: a document's is the only one of its kind
MOST_BEST, MOST_MORE = 10, 4  # labels whose best subsets are asked for next, and subsets
BLOCK = 1 << 14  # labels or texts that are encoded at a time
MOST_CELLS = 1 << 14  # scores of a document that are there at a time, about


def candidates_of(
    tower: Tower,
    vectors: FloatArray,
    reader: Encoder,
    vocabulary: LabelSet,
    yardstick: LongArray,
    labels: LongArray,
) -> Candidates:
    """All of few labels are scored for each document, of more a shortlist."""
    if len(labels) <= FEW:
        return Candidates.build(tower, vectors, vocabulary, yardstick, labels)
    return ManyCandidates.made(tower, vectors, vocabulary, yardstick, labels, apart=reader is not tower.encoder)


def vectors_of_labels(encoder: Encoder, labels: LabelSet) -> FloatArray:
    """As `label_vectors`; of many labels in float16, by blocks: 2 bytes a number, also meanwhile."""
    if len(labels) <= FEW:
        return label_vectors(encoder, labels)
    found = np.empty((len(labels), encoder.dim), np.float16)
    for first in range(0, len(labels), BLOCK):
        last = min(first + BLOCK, len(labels))
        found[first:last] = label_vectors(encoder, labels.subset(range(first, last)))
    return found  # type: ignore[return-value]


class ManyCandidates(Candidates):
    """As `Candidates`, of which `ranked` looks at some. `texts` has a row for each text of the tower's index.

    `fused` is an index of the pool's label vectors; None: they are of the tower's encoder, whose index does for both.
    """

    def __init__(
        self,
        tower: Tower,
        vectors: FloatArray,
        yardstick: LongArray,
        labels: LongArray,
        texts: FloatArray,
        fused: AnnIndex | GrownIndex | None,
    ) -> None:
        super().__init__(tower, vectors, yardstick, labels)
        self.texts, self.fused = texts, fused
        self._begins = np.searchsorted(tower.owners, np.arange(len(self.pool) + 1))

    @classmethod
    def made(
        cls,
        tower: Tower,
        vectors: FloatArray,
        vocabulary: LabelSet,
        yardstick: LongArray,
        labels: LongArray,
        *,
        apart: bool,
    ) -> ManyCandidates:
        """`apart`: the label vectors are another encoder's than the tower's, and get an index of their own."""
        own, pool = type(tower)(tower.encoder, tower.mean), np.union1d(labels, yardstick)
        texts, own.owners = label_texts(vocabulary.subset(pool))
        index, rows = AnnIndex(tower.encoder.dim, SETTINGS), np.empty((len(texts), tower.encoder.dim), np.float16)
        for first in range(0, len(texts), BLOCK):
            part = own.label_vectors(texts[first : first + BLOCK], keep=True)
            rows[first : first + BLOCK] = part
            index.add(np.arange(first, first + len(part)), part)
        own.index = index
        fused = _index_of(vectors, pool) if apart else None
        return cls(own, vectors, yardstick, labels, rows, fused)  # type: ignore[arg-type]

    @classmethod
    def restored(cls, tower: Tower, state: dict[str, Any], labels: LongArray) -> ManyCandidates:
        fused = restored_index("fused", state) if "fused" in state else None
        return cls(tower, state["vectors"], state["yardstick"], labels, state["texts"], fused)

    def state(self) -> dict[str, Any]:
        fused = {} if self.fused is None else index_state("fused", self.fused)
        return {**super().state(), "texts": self.texts, **fused}

    def with_more(self, vocabulary: LabelSet, first: int, encoder: Encoder) -> ManyCandidates:
        new = np.arange(first, len(vocabulary), dtype=np.int64)
        tower = self.tower.with_labels(vocabulary.subset(np.concatenate([self.pool, new])), len(self.pool))
        assert isinstance(tower.index, GrownIndex)
        _, added = tower.index.added.content()
        read = label_vectors(encoder, vocabulary.subset(new))
        fused = self.fused
        if fused is not None:
            fused = with_vectors(fused, len(self.pool) + np.arange(len(new)), read)
        texts = np.concatenate([self.texts[: len(tower.index.old)], added.astype(np.float16)])
        vectors = np.concatenate([self.vectors, read.astype(np.float16)])
        return ManyCandidates(tower, vectors, self.yardstick, np.concatenate([self.labels, new]), texts, fused)

    def check(self, n_labels: int) -> None:
        self.check_vectors(n_labels)
        shape = len(self.tower.owners), self.tower.encoder.dim
        checks.numbers(self.texts, "vectors of label texts", *shape, kinds=np.float16, most=LONGEST)
        if self.fused is None:
            checks.require(self.vectors.shape[1] == shape[1], "label vectors of another encoder need an index")
            return
        checks.require(self.fused.dim == self.vectors.shape[1], "an index of other vectors than the labels'")
        checks.require(len(self.fused) == len(self.pool), "an index of other labels")
        self.fused.check(len(self.pool))

    @property
    def cells(self) -> int:
        return MOST_CELLS

    def problems(self, predicted: list[Predicted]) -> Any:
        """Of every so manieth candidate: all would take a pass over the vocabulary for each document."""
        places = self._asked[:: max(1, len(self._asked) // MANY_LABELS)]
        return (self.products(own, places) for own in predicted)

    def ranked(self, views: Views, predicted: list[Predicted], kind: SearchKind, weight: float, k: int) -> Ranking:
        queries, begins = self.tower.queries(views)
        found: list[LongArray] = [np.empty(0, np.int64) for _ in predicted]
        if weight != 1:
            rows = np.repeat(np.arange(len(views)), np.diff(begins))
            self._meet(found, rows, self._near(queries, max(k, LEAST_ALIKE), None))
        if weight != 0:
            self._meet_fused(found, predicted, kind, max(k // 4, LEAST_FUSED))
        best = Ranking.empty(len(views), k)

        def work(first: int, last: int) -> None:
            for row in range(first, last):
                asked = queries[begins[row] : begins[row + 1]]
                one = self._ranked_one(asked, predicted[row], found[row], kind, weight, k).top(k)
                best.ids[row], best.scores[row] = one.ids[0], one.scores[0]

        for_each_part(len(views), work)
        return best

    def _ranked_one(
        self, queries: FloatArray, predicted: Predicted, found: LongArray, kind: SearchKind, weight: float, k: int
    ) -> Ranking:
        """The found places of the pool in order, by the scores that all of them would have in `Candidates`."""
        places = np.union1d(found, self._measure)
        fused, alike = np.zeros((2, 1, len(places)))
        if weight != 0:
            fused = search(kind, *self.products(predicted, places)).cosines[None]
        if weight != 1:
            alike = self._alike(queries, places)[None]
        measure = np.searchsorted(places, self._measure)
        asked = ~self.seen[self.pool[places]]
        scores = Scores(*(normal_scores(part, part[:, measure])[:, asked] for part in (fused, alike)))
        return best_labels(scores, [predicted], weight, self.pool[places[asked]], k)

    def _alike(self, queries: FloatArray, places: LongArray) -> Doubles:
        """As `Tower.scores`: the best of a label's texts counts, and of a document's passages."""
        from everylabel.index.kernels import products

        first, sizes = self._begins[places], self._begins[places + 1] - self._begins[places]
        ends = np.cumsum(sizes)
        rows = np.arange(ends[-1]) + np.repeat(first - ends + sizes, sizes)
        cosines = products(np.ascontiguousarray(queries), np.ascontiguousarray(self.texts[rows], np.float32))
        best = np.maximum.reduceat(cosines.max(axis=0), ends - sizes)
        return np.clip((1 + best) / 2, 0, 1).astype(np.float64)

    def _meet_fused(self, found: list[LongArray], predicted: list[Predicted], kind: SearchKind, depth: int) -> None:
        """Labels near subsets of the predicted ones: near simple ones first, then near those that were the best."""
        members = [self.weighted(own) for own in predicted]
        asked = [first_subsets(len(own), kind) for own in members]
        self._meet_subsets(found, members, asked, depth)
        if kind == "full":
            return
        more: list[list[int]] = [[] for _ in members]

        def work(first: int, last: int) -> None:
            for row in range(first, last):
                if len(members[row]) > 1 and len(found[row]):
                    best = search(kind, *self.products(predicted[row], found[row]))
                    top = best.members[np.argsort(-best.cosines, kind="stable")[:MOST_BEST]]
                    more[row] = [own for own in dict.fromkeys(top.tolist()) if own not in asked[row]][:MOST_MORE]

        for_each_part(len(members), work)
        self._meet_subsets(found, members, more, depth)

    def _meet_subsets(
        self, found: list[LongArray], members: list[FloatArray], subsets: list[list[int]], depth: int
    ) -> None:
        rows = np.repeat(np.arange(len(subsets)), [len(own) for own in subsets])
        if not len(rows):
            return
        sums = [
            is_member(np.array(own, np.int64), len(vectors)).T.astype(np.float32) @ vectors
            for own, vectors in zip(subsets, members, strict=True)
            if own
        ]
        self._meet(found, rows, self._near(unit_rows(np.concatenate(sums)), depth, self.fused))

    def _near(self, queries: FloatArray, depth: int, fused: AnnIndex | GrownIndex | None) -> IntArray:
        """(queries, places of the pool), -1 where there is none; a place may be there several times."""
        if fused is not None:
            return fused.search(queries, min(depth, len(fused))).ids
        owners = self.tower.owners
        ids = self.tower.index.search(queries, min(-(-depth * len(owners) // len(self.pool)), len(owners))).ids
        return np.where(ids >= 0, owners[ids], np.int32(-1))

    @staticmethod
    def _meet(found: list[LongArray], rows: LongArray, places: IntArray) -> None:
        """Adds what the queries of each document (`rows`, ascending) have found."""
        for row, first, last in zip(*_runs(rows), strict=True):
            new = places[first:last].ravel()
            found[row] = np.union1d(found[row], new[new >= 0])


def first_subsets(n: int, kind: SearchKind) -> list[int]:
    """As bits, of n members with falling probabilities: each alone, the first two, the first three, all."""
    if kind == "full" or n == 0:
        return [(1 << n) - 1] if n else []
    together = (own for own in (0b11, 0b111, (1 << n) - 1) if own < 1 << n)
    return list(dict.fromkeys([*(1 << i for i in range(n)), *together]))


def _runs(rows: LongArray) -> tuple[list[int], list[int], list[int]]:
    """The values of an ascending array, with where each begins and ends."""
    values, begins = np.unique(rows, return_index=True)
    return values.tolist(), begins.tolist(), [*begins[1:].tolist(), len(rows)]


def _index_of(vectors: FloatArray, pool: LongArray) -> AnnIndex:
    index = AnnIndex(vectors.shape[1], SETTINGS)
    for first in range(0, len(pool), BLOCK):
        part = pool[first : first + BLOCK]
        index.add(np.arange(first, first + len(part)), unit_rows(vectors[part]))
    return index
