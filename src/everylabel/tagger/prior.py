"""What a label is worth where nobody has labelled a document: learned from other corpora than the user's, once for all.

A method without pairs (methods/readings.py) adds up what its parts say of a label: words, a transformer, learned word
vectors. Here labels are put in order by how far their sum stands out among those of the text, and by how much of a name
of theirs is in it. Whether one is right is told by columns that mean the same in any corpus: its place in that order,
how far the best stand out, how often the parts agree, how many names are in the text, how long it is, how large the
vocabulary. A few small trees, learned from corpora of different kinds that count alike (`python -m
benchmarks.run.prior`, which measures each corpus by trees that have not seen it), make log odds of them. They never put
labels of a text in another order. They come with the package (prior.json), for each set of parts that a plan chooses.
Doubt: a corpus of a kind that none of those was may have other odds. Cost: O(candidates x trees) a document, little
beside what the parts take.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from everylabel import checks
from everylabel.data.enough import TO_LEARN_TREES
from everylabel.methods.base import Method
from everylabel.methods.readings import Reader
from everylabel.tagger.candidates import FIRST
from everylabel.tagger.trees import Trees
from everylabel.text.views import Views
from everylabel.types import FloatArray, LongArray, Ranking
from everylabel.vectors import logistic

Doubles = NDArray[np.float64]

BEST = 100  # labels of a text that are put in order, and that the best are compared with
LEAST_SPREAD = 0.01  # of the scores of a text: less is as good as equal
TIES = 1e-3  # of the place in the order, beside the trees: they leave equal what they cannot tell apart
WHOLE = 0.99  # of a name: all of it
LABEL_COLUMNS = ("order", "behind the best", "rank")  # more of each never makes a label worse
TEXT_COLUMNS = ("best", "as good as the best", "names in the text", "words", "labels")
PART_COLUMNS = ("best", "distance of the best")
FILE = "prior.json"
_LARGEST_WEIGHT = 1e3


class Readings(NamedTuple):
    """What is known of some texts: the sum's ranking, how much of its labels' names is in text and title (n, k, 2),
    each part's ranking, the words of each text, and the size of the vocabulary."""

    total: Ranking
    shares: FloatArray
    parts: dict[str, Ranking]
    n_words: LongArray
    n_labels: int


def column_names(parts: Sequence[str]) -> list[str]:
    both = [f"{one} and {other}" for one, other in combinations(parts, 2)]
    return [*LABEL_COLUMNS, *TEXT_COLUMNS, *(f"{part}: {name}" for part in parts for name in PART_COLUMNS), *both]


@dataclass(frozen=True, eq=False)
class Prior:
    """Of these parts, in this order. `share_weight`: of a whole name, beside standing out by one standard deviation."""

    parts: tuple[str, ...]
    share_weight: float
    trees: Trees

    @classmethod
    def of(cls, parts: Sequence[str]) -> Self | None:
        """As it comes with the package; None: nobody has learned what these parts are worth."""
        known = _file()["priors"].get(" ".join(parts))
        return None if known is None else cls.restored({"parts": list(parts), **known})

    def rank(self, method: Method, views: Views, k: int) -> Ranking:
        """The k best labels by a method that has these parts, with their probabilities."""
        assert isinstance(method, Reader)
        return self.ranking(read(method, len(method.labels_), views, k)).top(k)

    def ranking(self, found: Readings) -> Ranking:
        ordered, order = in_order(found, self.share_weight)
        if not ordered.ids.size:
            return ordered
        rows = columns(found, order).reshape(-1, len(column_names(self.parts)))
        odds = self.trees.sums(rows).reshape(order.shape) + TIES * order
        # more than enough for rounding; a label that comes later is never above one that came before
        falling = np.minimum.accumulate(odds, axis=1)
        scores = np.asarray(logistic(falling), np.float32)
        return Ranking.best_of(ordered.ids, np.where(ordered.ids >= 0, scores, -np.inf), ordered.k)

    def reader(self, methods: Iterable[Method]) -> Method | None:
        """The first of them that has these parts."""
        return next((one for one in methods if isinstance(one, Reader) and one.parts == self.parts), None)

    def state(self) -> dict[str, Any]:
        return {"parts": list(self.parts), "share_weight": self.share_weight, **self.trees.state()}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        plain = ("parts", "share_weight")
        arrays = {name: np.asarray(values) for name, values in state.items() if name not in plain}
        return cls(tuple(state["parts"]), float(state["share_weight"]), Trees.restored(arrays))

    def check(self, methods: Iterable[Method]) -> None:
        """Of one that was restored, and of methods one of which must have its parts."""
        checks.require(self.reader(methods) is not None, "a prior of parts that no expert has")
        checks.number(self.share_weight, "weight of names", -_LARGEST_WEIGHT, _LARGEST_WEIGHT)
        self.trees.check(len(column_names(self.parts)))


def prior_of(method: Method) -> Prior | None:
    """What this method's parts are worth, if it has parts and that is known."""
    return Prior.of(method.parts) if isinstance(method, Reader) else None


def prior_among(methods: Iterable[Method], n_held: int) -> Prior | None:
    """For a blend that too few documents are held out to learn: that of the first of them with several parts.

    Trees that are learned from the user's own documents know better (`benchmarks.run.few_pairs`: of 20 labelled
    documents the prior makes 10 points of nDCG@5 more on one corpus, 1.4 on another; of 200, where there are trees,
    0.5 and 0.1 less).
    """
    if n_held >= TO_LEARN_TREES:
        return None
    known = (prior_of(method) for method in methods)
    return next((prior for prior in known if prior is not None and len(prior.parts) > 1), None)


@lru_cache(maxsize=1)
def _file() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files("everylabel.tagger").joinpath(FILE).read_text(encoding="utf-8"))
    return found


def read(reader: Reader, n_labels: int, views: Views, k: int = BEST) -> Readings:
    depth = min(max(k, BEST), n_labels)
    parts = reader.readings(views, depth)
    total = reader.summed(parts, views, depth)
    there = total.ids >= 0
    shares = np.zeros((*total.ids.shape, 2), np.float32)
    shares[there] = reader.shares(views, np.nonzero(there)[0], total.ids[there].astype(np.int64))
    n_words = np.array([1 + text.count(" ") for text in views.full_texts], np.int64)
    return Readings(total, shares, parts, n_words, n_labels)


def in_order(found: Readings, share_weight: float) -> tuple[Ranking, Doubles]:
    """The labels of each text in their order, and what puts them there; after the best of the sum the others come as
    the sum has them, so that asking for more changes nothing. -inf: no label."""
    total = found.total
    distance = distances(total)
    order = distance + share_weight * np.where(np.isfinite(distance), found.shares[:, :, 0], 0)
    lowest = order[:, :BEST].min(axis=1, keepdims=True, initial=np.inf, where=np.isfinite(order[:, :BEST]))
    order[:, BEST:] = np.minimum(distance[:, BEST:], lowest)
    at = np.lexsort((total.ids, -order), axis=1)
    ordered = Ranking(np.take_along_axis(total.ids, at, 1), np.take_along_axis(total.scores, at, 1))
    return ordered, np.take_along_axis(order, at, 1)


def distances(ranking: Ranking) -> Doubles:
    """How far each label stands above the mean of the best of its text, in their standard deviations; -inf: none."""
    mean, spread = level(ranking)
    there = ranking.ids >= 0
    return np.where(there, (np.where(there, ranking.scores, 0) - mean[:, None]) / spread[:, None], -np.inf)


def level(ranking: Ranking) -> tuple[Doubles, Doubles]:
    """Mean and spread of the best scores of each text."""
    there = ranking.ids[:, :BEST] >= 0
    scores, n = np.where(there, ranking.scores[:, :BEST], 0).astype(np.float64), np.maximum(there.sum(axis=1), 1)
    mean = scores.sum(axis=1) / n
    square = np.where(there, (scores - mean[:, None]) ** 2, 0).sum(axis=1) / n
    return mean, np.sqrt(square) + LEAST_SPREAD


def columns(found: Readings, order: Doubles) -> FloatArray:
    """(n, k, columns) by `column_names`, of labels that are in order."""
    finite = np.where(np.isfinite(order), order, 0)
    best = finite[:, :1]
    behind = finite - best
    near = np.where(np.isfinite(order[:, :BEST]), np.exp(behind[:, :BEST]), 0).sum(axis=1)
    named = (found.shares[:, :BEST, 0] > WHOLE).sum(axis=1)
    of_text = [best[:, 0], near, np.log1p(named), np.log1p(found.n_words), np.full(len(order), np.log(found.n_labels))]
    for part in found.parts.values():
        first, (mean, spread) = np.where(part.ids[:, 0] >= 0, part.scores[:, 0], 0), level(part)
        of_text += [first, (first - mean) / spread]
    of_text += [common(one.ids, other.ids) for one, other in combinations(found.parts.values(), 2)]
    ranks = np.broadcast_to(-np.log1p(np.arange(order.shape[1])), order.shape)
    texts = np.broadcast_to(np.stack(of_text, axis=1)[:, None], (*order.shape, len(of_text)))
    return np.concatenate([np.stack([finite, behind, ranks], axis=2), texts], axis=2).astype(np.float32)


def common(one: Any, other: Any) -> LongArray:
    """How many labels two parts have both among their first."""
    first, second = one[:, :FIRST, None], other[:, None, :FIRST]
    found: LongArray = ((first == second) & (first >= 0)).sum(axis=(1, 2))
    return found
