"""What a dual encoder (the paper: depl.py) is after training: documents and labels are read, labels in an index.

Cost of ranking: encoding, and one search among the labels (the joint one: two searches, and 2 x 100 products). Static
embeddings are read in numpy, by the formulas of module.py; torch is loaded for transformers only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from scipy.special import expit

from everylabel import checks
from everylabel.encoders.base import Encoder, EncoderConfig, Tokens
from everylabel.encoders.build import restore_encoder
from everylabel.encoders.static import StaticEncoder
from everylabel.index.build import IndexKind
from everylabel.index.products import ProductIndex
from everylabel.methods.depl.settings import Shape
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.matching import require_texts
from everylabel.text.views import Views
from everylabel.types import FloatArray, IntArray, Ranking

if TYPE_CHECKING:
    from everylabel.methods.depl.module import Dual

CANDIDATES = 100  # ranks of each part, at least: what the joint ranking chooses from
STATIC_ROWS = 512  # texts that are encoded at a time
_LARGEST = 1e4  # of a number in a layer
_SHAPES: dict[str, Callable[[int], tuple[int, ...]]] = {  # of the layers, by the encoder's dimension
    "constant": lambda _dim: (),
    "mean": lambda dim: (dim,),
    **{f"{tower}.weight": lambda dim: (dim, dim) for tower in ("document", "label")},
    **{f"{tower}.bias": lambda dim: (dim,) for tower in ("document", "label")},
}
CHUNK = 32  # documents whose candidates' vectors are looked at together: 10 MB at 256 dimensions


class Towers(Protocol):
    """phi_doc and phi_label of texts, without dropout; what their product is multiplied by, and what is added to it."""

    scale: float

    @property
    def constant(self) -> float: ...

    def documents(self, tokens: Tokens) -> FloatArray: ...

    def labels(self, tokens: Tokens) -> FloatArray: ...

    def state(self) -> dict[str, FloatArray]: ...


class StaticTowers:
    """Both by static embeddings; `layers` are named as in module.py."""

    def __init__(self, encoder: StaticEncoder, layers: dict[str, FloatArray], shape: Shape) -> None:
        self.encoder, self.layers, self.shape, self.scale = encoder, layers, shape, shape.scale(encoder.dim)

    @property
    def constant(self) -> float:
        return float(self.layers["constant"])

    def documents(self, tokens: Tokens) -> FloatArray:
        return self._vectors("document", self.layers["mean"], tokens)

    def labels(self, tokens: Tokens) -> FloatArray:
        return self._vectors("label", np.float32(0), tokens)

    def _vectors(self, name: str, mean: Any, tokens: Tokens) -> FloatArray:
        weight, bias = self.layers[f"{name}.weight"], self.layers[f"{name}.bias"]
        found, table = np.empty((tokens.n_rows, self.encoder.dim), np.float32), self.encoder.table
        for first in range(0, tokens.n_rows, STATIC_ROWS):
            rows = np.arange(first, min(first + STATIC_ROWS, tokens.n_rows))
            pooled = table.sums(tokens.take(rows))
            found[rows] = ((pooled if self.shape.plain else spread(pooled)) - mean) @ weight.T + bias
        return found

    def state(self) -> dict[str, FloatArray]:
        return self.layers


def spread(vectors: FloatArray) -> FloatArray:
    """Rows of length sqrt(dim); rows of zeros stay."""
    lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-12))
    found: FloatArray = vectors / lengths * np.float32(vectors.shape[1] ** 0.5)
    return found


class Clusters(NamedTuple):
    """What is ranked: each document's `candidates` (-1 where there are fewer), of the labels that are in a cluster."""

    candidates: IntArray
    labels: IntArray


class Head(NamedTuple):
    """A classifier: rows of weights with the constant last, and the label of each."""

    rows: FloatArray
    labels: IntArray


class DualRanker:
    """`index_labels` with label texts, with a head, or with both (joint); then `rank`."""

    def __init__(self, encoder: Encoder, towers: Towers) -> None:
        self.encoder, self.towers = encoder, towers
        self.parts: dict[str, ProductIndex] = {}
        self.rows: dict[str, FloatArray] = {}  # only where both parts are there
        self.head_row: IntArray = np.empty(0, np.int32)  # of each label, -1 where it has none

    @classmethod
    def of(cls, encoder: Encoder, dual: Dual) -> Self:
        """As the module is now."""
        from everylabel.methods.depl.module import ModuleTowers

        trained = ModuleTowers(dual, encoder.config.device)
        if not isinstance(encoder, StaticEncoder):
            return cls(encoder, trained)
        return cls(encoder, StaticTowers(encoder, trained.state(), dual.shape))

    def index_labels(
        self, kind: IndexKind, texts: Tokens | None, head: Head | None, n_labels: int, *, keep_rows: bool = False
    ) -> Self:
        """`keep_rows`: labels that are named to `rank` can be scored; with both parts they are kept in any case."""
        if texts is not None:
            self.rows["texts"] = self.towers.labels(texts)
            self.parts["texts"] = ProductIndex.of(kind, np.arange(n_labels, dtype=np.int32), self.rows["texts"])
        if head is not None:
            self.rows["head"] = head.rows
            self.parts["head"] = ProductIndex.of(kind, head.labels, head.rows)
            self.head_row = np.full(n_labels, -1, np.int32)
            self.head_row[head.labels] = np.arange(len(head.labels))
        if not keep_rows and (texts is None or head is None):
            self.rows = {}
        return self

    def with_labels(self, texts: Tokens, first: int) -> DualRanker:
        """One more, which knows labels from place `first` on by their texts; they have no row in the head."""
        rows = self.towers.labels(texts)
        wider = DualRanker(self.encoder, self.towers)
        ids = np.arange(first, first + len(rows), dtype=np.int32)
        wider.parts = self.parts | {"texts": self.parts["texts"].with_rows(ids, rows)}
        wider.rows, wider.head_row = self.rows, self.head_row
        if self.rows:
            wider.rows = self.rows | {"texts": np.concatenate([self.rows["texts"], rows])}
        if "head" in self.rows:
            wider.head_row = np.concatenate([self.head_row, np.full(len(rows), -1, np.int32)])
        return wider

    def rank(self, views: Views, k: int, n_labels: int, clusters: Clusters | None = None) -> Ranking:
        """With `clusters` their candidates, and of the labels that are in none the best ones."""
        require_texts(views.documents)
        vectors = self.towers.documents(views.tokens(self.encoder))
        queries = {
            "texts": vectors * np.float32(self.towers.scale),
            "head": np.column_stack([vectors, np.ones(len(vectors), np.float32)]),
        }
        deep = min(max(k, CANDIDATES), n_labels)
        found = {name: index.search(queries[name], deep) for name, index in self.parts.items()}
        ids = np.concatenate([part.ids for part in found.values()], axis=1)
        if clusters is not None:
            ids = np.concatenate([clusters.candidates, np.where(np.isin(ids, clusters.labels), -1, ids)], axis=1)
        if len(found) == 2 or clusters is not None:
            return self._scored(ids, queries, k)
        ((name, one),) = found.items()
        constant = self.towers.constant if name == "texts" else 0.0
        return Ranking.best_of(one.ids, expit(one.scores + constant), k)

    def _scored(self, ids: IntArray, queries: dict[str, FloatArray], k: int) -> Ranking:
        """The best of these labels; with a head by eq. 4, where a label without a row in it has a probability of 0."""
        ids = np.sort(ids, axis=1)
        ids[:, 1:][ids[:, 1:] == ids[:, :-1]] = -1
        scores = np.empty(ids.shape, np.float32)
        constant = self.towers.constant
        for first in range(0, len(ids), CHUNK):
            at = slice(first, first + CHUNK)
            scores[at] = expit(_products(queries["texts"][at], self.rows["texts"], ids[at]) + constant)
            if "head" in self.rows:
                rows = np.where(ids[at] >= 0, self.head_row[ids[at]], -1)
                head = expit(_products(queries["head"][at], self.rows["head"], rows))
                scores[at] = (scores[at] + np.where(rows >= 0, head, 0)) / 2
        return Ranking.best_of(ids, scores, k)

    def state(self, prefix: str) -> dict[str, Any]:
        state: dict[str, Any] = add_prefix(f"{prefix}/dual", self.towers.state())
        state |= add_prefix(f"{prefix}/encoder", self.encoder.state()) | add_prefix(f"{prefix}/rows", self.rows)
        state |= {f"{prefix}/parts": list(self.parts), f"{prefix}/head_row": self.head_row}
        for name, part in self.parts.items():
            state |= part.state(f"{prefix}/{name}")
        return state

    @classmethod
    def restore(cls, config: EncoderConfig, prefix: str, state: dict[str, Any], shape: Shape) -> Self:
        own = strip_prefix(state, prefix)
        encoder = restore_encoder(config, strip_prefix(own, "encoder"))
        layers = strip_prefix(own, "dual")
        towers: Towers
        if isinstance(encoder, StaticEncoder):
            towers = StaticTowers(encoder, layers, shape)
        else:
            from everylabel.methods.depl.module import ModuleTowers

            towers = ModuleTowers.restored(encoder, layers, shape)
        ranker = cls(encoder, towers)
        ranker.rows, ranker.head_row = strip_prefix(own, "rows"), own["head_row"]
        ranker.parts = {name: ProductIndex.restore(name, own) for name in own["parts"]}
        return ranker

    def check(self, n_labels: int, *, keeps_rows: bool = False) -> None:
        """Of one that was restored: rows of the encoder's dimension, the head's with a constant, of labels."""
        dim, names = self.encoder.dim, set(self.parts)
        checks.require(names and names <= {"texts", "head"}, "a dual encoder has texts, a head, or both")
        for name, vector in self.towers.state().items():
            checks.numbers(vector, name, *_SHAPES[name](dim), most=_LARGEST)
        checks.require(set(self.towers.state()) == set(_SHAPES), "a dual encoder has other layers")
        for name, part in self.parts.items():
            part.check(dim + (name == "head"), n_labels)
        if keeps_rows or len(names) == 2:
            checks.require(set(self.rows) == names, "rows of other parts than there are")
            checks.numbers(self.rows.get("texts"), "rows of texts", n_labels, dim, most=_LARGEST)
        if len(names) == 2:
            checks.numbers(self.rows.get("head"), "rows of the head", None, dim + 1, most=_LARGEST)
            checks.indexes(self.head_row, "rows of labels", len(self.rows["head"]), n_labels, least=-1)


def _products(queries: FloatArray, rows: FloatArray, ids: IntArray) -> FloatArray:
    """Each query's products with the rows of these ids."""
    return np.asarray(np.einsum("nd,nmd->nm", queries, rows[ids]), np.float32)
