"""Vectors of labels from which labels occur together: label2vec ("MatchXML: An Efficient Text-label Matching Framework
for Extreme Multi-label Text Classification", section III-B).

word2vec's skip-gram (gensim's) over each document's label set: the window is the largest set and does not shrink, every
label is kept and none is subsampled (the paper's table II says 0.1, its text says none). A label that is always alone
has nothing to learn from and keeps no random vector: `completed` gives it, and labels without any pair, the vectors of
the labels that they resemble. Cost: epochs x pairs of labels in a document x negatives x dim, on one core, so that a
seed gives the same vectors. Size: labels x dim numbers, whatever the documents.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from everylabel.errors import ConfigError
from everylabel.linear.nearest import InvertedLists
from everylabel.run import QUIET, Run
from everylabel.types import Csr, FloatArray
from everylabel.vectors import unit_rows

RESEMBLING = 10  # labels whose vectors stand in for a missing one


@dataclass(kw_only=True, frozen=True)
class Label2VecConfig:
    """The paper's settings for Eurlex-4K (table II)."""

    dim: int = 100
    negatives: int = 20
    exponent: float = 0.5  # negatives are drawn by frequency to this power
    epochs: int = 20
    rate: float = 0.025  # falls to 0.0001

    def check(self) -> None:
        if min(self.dim, self.negatives, self.epochs) < 1 or self.rate <= 0:
            raise ConfigError("label2vec: dim, negatives and epochs must be at least 1, and rate above 0")


def label2vec(pairs: Csr, config: Label2VecConfig, seed: int, run: Run = QUIET) -> tuple[FloatArray, NDArray[np.bool_]]:
    """(labels, dim) vectors, and which labels have one: those that share a document with another; the rest are zero."""
    from gensim.models import Word2Vec
    from gensim.models.callbacks import CallbackAny2Vec

    vectors = np.zeros((pairs.shape[1], config.dim), np.float32)
    sizes = np.diff(pairs.indptr)
    sets = [
        [str(label) for label in pairs.indices[first : first + size]]
        for first, size in zip(pairs.indptr[:-1], sizes, strict=True)
        if size > 1
    ]
    if not sets:
        return vectors, np.zeros(len(vectors), bool)
    with run.task("label2vec", config.epochs) as advance:

        class Epochs(CallbackAny2Vec):  # type: ignore[misc]
            def on_epoch_end(self, model: object) -> None:  # noqa: ARG002
                advance(1)

        model = Word2Vec(
            sets,
            vector_size=config.dim,
            window=int(sizes.max()),
            shrink_windows=False,
            min_count=1,
            sample=0,
            sg=1,
            negative=config.negatives,
            ns_exponent=config.exponent,
            epochs=config.epochs,
            alpha=config.rate,
            min_alpha=1e-4,
            workers=1,
            seed=seed,
            callbacks=[Epochs()],
        )
    known = np.array([int(label) for label in model.wv.index_to_key])
    vectors[known] = model.wv.vectors
    has_one = np.zeros(len(vectors), bool)
    has_one[known] = True
    return vectors, has_one


def completed(vectors: FloatArray, known: NDArray[np.bool_], features: Csr) -> FloatArray:
    """Unit vectors of all labels: of those not known the mean of the known ones that they resemble, by `features`.

    `features` (labels x columns): the sum of a label's documents, or its name, where there is none. A label that
    resembles no other stays zero. O(labels not known x known labels with a common column).
    """
    result: FloatArray = unit_rows(vectors)
    missing, there = np.flatnonzero(~known), np.flatnonzero(known)
    if not len(missing) or not len(there):
        return result
    rows = csr_matrix(unit_rows(csr_matrix(features, dtype=np.float32)))
    found = InvertedLists.of(rows[there]).nearest(rows[missing], RESEMBLING)
    shares = np.where(found.ids >= 0, found.scores, 0)
    result[missing] = unit_rows(np.einsum("ij,ijd->id", shares, result[there[found.ids]]))
    return result
