"""What a transformer says of the labels that others have found: for vocabularies that are too large to compare all.

A document's shortlist is what words and learned word vectors find near it (hybrid.py). The transformer scores these
labels alone, by the vectors of their texts, which are made once: a document costs the same, however many labels there
are. A vector is a byte a dimension and one scale: v = scale x bytes, with steps of max|v| / 127. So a cosine is off by
at most half a step x the sum of the query's absolute values, which is sqrt(dim) at most; as roundings go up and down,
by far less. A score, (1 + cosine) / 2, is half as far off.
Cost of fitting: one encoding of each distinct text; memory and file: dim + 4 bytes a distinct text, 4 bytes a text, 8
bytes a label. A document: labels of the shortlist x dim. Measured: results/pages/many-labels.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from everylabel import checks
from everylabel.data.dataset import LabelSet
from everylabel.encoders.base import Encoder, EncoderConfig
from everylabel.encoders.build import restore_encoder
from everylabel.methods.tower import Tower
from everylabel.parallel import for_each_part
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.matching import label_texts
from everylabel.text.views import Views
from everylabel.types import BoolArray, FloatArray, IntArray, LongArray, Ranking
from everylabel.vectors import unit_rows

STEPS = 127  # of a byte, on each side of 0
_BLOCK = 4096  # texts whose vectors are there in float32


class LabelRows(NamedTuple):
    """Label i's vectors are values[row] x scales[row] of the rows places[begins[i] : begins[i + 1]], one a text."""

    values: NDArray[np.int8]
    scales: FloatArray
    places: IntArray
    begins: LongArray

    @classmethod
    def of(cls, tower: Tower, labels: LabelSet, run: Run = QUIET) -> Self:
        texts, owners = label_texts(labels)
        row_of = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        places = np.fromiter((row_of[text] for text in texts), np.int32, len(texts))
        distinct = list(row_of)
        values = np.empty((len(distinct), tower.encoder.dim), np.int8)
        scales = np.empty(len(distinct), np.float32)
        with run.task("encoding labels", len(distinct)) as advance:
            for first in range(0, len(distinct), _BLOCK):
                last = min(first + _BLOCK, len(distinct))
                values[first:last], scales[first:last] = in_bytes(tower.label_vectors(distinct[first:last], keep=True))
                advance(last - first)
        return cls(values, scales, places, np.searchsorted(owners, np.arange(len(labels) + 1)))

    def and_also(self, other: LabelRows) -> LabelRows:
        """The labels of both. O(both)."""
        return LabelRows(
            np.concatenate([self.values, other.values]),
            np.concatenate([self.scales, other.scales]),
            np.concatenate([self.places, other.places + np.int32(len(self.values))]),
            np.concatenate([self.begins, other.begins[1:] + self.begins[-1]]),
        )

    @property
    def n_labels(self) -> int:
        return len(self.begins) - 1

    def check(self, dim: int) -> None:
        checks.array(self.values, "vectors of labels", np.int8, None, dim)
        checks.numbers(self.scales, "scales of vectors", len(self.values), most=1)
        checks.indexes(self.places, "places of texts", len(self.values))
        checks.offsets(self.begins, "texts of labels", len(self.places))
        checks.ascending(self.begins, "texts of labels", strictly=True)


class Shortlisted:
    """An encoder, and the vectors of all labels, of the fit and then those that were added. Never changes."""

    def __init__(self, tower: Tower, known: LabelRows, added: LabelRows | None = None) -> None:
        """`tower`: has no index."""
        self.tower, self.known, self.added = tower, known, added

    @classmethod
    def of(cls, tower: Tower, labels: LabelSet, run: Run = QUIET) -> Self:
        return cls(tower, LabelRows.of(tower, labels, run))

    @property
    def encoder(self) -> Encoder:
        return self.tower.encoder

    def with_labels(self, labels: LabelSet, first: int) -> Shortlisted:
        """One more, which knows those from place `first` on, too. O(their texts, and the bytes added before)."""
        new = LabelRows.of(self.tower, labels.subset(range(first, len(labels))))
        return Shortlisted(self.tower, self.known, new if self.added is None else self.added.and_also(new))

    def rank(self, views: Views, found: Sequence[Ranking]) -> Ranking:
        """The labels of any of these rankings, with the scores that `Tower.rank` gives, to within the bytes."""
        ids = together(found)
        queries, passages = self.tower.queries(views)
        cosines = np.full(ids.shape, -np.inf, np.float32)

        def work(first: int, last: int) -> None:
            from everylabel.methods.maclr.kernels import cosines_among

            begin = 0
            for rows in self._parts:
                own = passages[first : last + 1]
                cosines_among(queries, own, ids[first:last], np.int32(begin), *rows, cosines[first:last])
                begin += rows.n_labels

        for_each_part(len(ids), work)
        scores = np.where(ids >= 0, np.clip((1 + cosines) / 2, 0, 1), -np.inf).astype(np.float32)
        width = min(ids.shape[1], self.n_labels)
        return Ranking.best_of(ids, scores, width).without(self._silent(queries, passages))

    @property
    def n_labels(self) -> int:
        return sum(rows.n_labels for rows in self._parts)

    @property
    def _parts(self) -> list[LabelRows]:
        return [self.known] if self.added is None else [self.known, self.added]

    def _silent(self, queries: FloatArray, passages: LongArray) -> BoolArray:
        """Documents of no known token: no more is known of them than what all documents have in common."""
        nothing = unit_rows(np.zeros_like(self.tower.mean)[None] - self.tower.mean)
        silent: BoolArray = (queries[passages[:-1]] == nothing).all(axis=1)
        return silent

    def state(self, prefix: str) -> dict[str, Any]:
        state = add_prefix(f"{prefix}/encoder", self.encoder.state()) | {f"{prefix}/mean": self.tower.mean}
        state |= add_prefix(f"{prefix}/known", self.known._asdict())
        return state | ({} if self.added is None else add_prefix(f"{prefix}/added", self.added._asdict()))

    @classmethod
    def is_in(cls, prefix: str, state: dict[str, Any]) -> bool:
        """Or a tower with an index?"""
        return f"{prefix}/known/values" in state

    @classmethod
    def restore(cls, config: EncoderConfig, prefix: str, state: dict[str, Any]) -> Self:
        encoder = restore_encoder(config, strip_prefix(state, f"{prefix}/encoder"))
        known, added = (strip_prefix(state, f"{prefix}/{part}") for part in ("known", "added"))
        tower = Tower(encoder, state[f"{prefix}/mean"])
        return cls(tower, LabelRows(**known), LabelRows(**added) if added else None)

    def check(self, n_labels: int) -> None:
        """Of one that was restored: a vector at least for each label."""
        checks.numbers(self.tower.mean, "mean", self.encoder.dim, most=1)
        for rows in self._parts:
            rows.check(self.encoder.dim)
        checks.require(self.n_labels == n_labels, "vectors of other labels")


def in_bytes(vectors: FloatArray) -> tuple[NDArray[np.int8], FloatArray]:
    """Each row as whole steps from -127 to 127, and how large one is."""
    scales = np.maximum(np.abs(vectors).max(axis=1, initial=0) / np.float32(STEPS), np.finfo(np.float32).tiny)
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


def together(found: Sequence[Ranking]) -> IntArray:
    """The labels of all of them, each once in a row, ascending; -1 in the place of others. O(n m log m)."""
    ids = np.sort(np.concatenate([part.ids for part in found], axis=1), axis=1)
    again = np.zeros(ids.shape, np.bool_)
    again[:, 1:] = ids[:, 1:] == ids[:, :-1]
    return np.where(again, np.int32(-1), ids)
