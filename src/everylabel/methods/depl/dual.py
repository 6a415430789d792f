"""A dual encoder with an optional classifier head (the paper: depl.py): the torch module, and the ranker made from it.

phi_doc = W_doc x pooled + b_doc, phi_label likewise with weights of its own (eq. 1), on one shared encoder. Pooled
vectors have length sqrt(dim), so that a value in them is about 1 whatever the encoder; documents are centred.
Retrieval: phi_doc . phi_label / (temperature x dim) + constant. Classifier: phi_doc . w + b.
Cost of ranking: encoding, and one search among the labels (the joint one: two searches, and 2 x 100 products).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor, nn
from torch.nn import functional

from everylabel.encoders.base import Encoder, EncoderConfig, Tokens
from everylabel.encoders.build import restore_encoder
from everylabel.encoders.fingerprint import evaluating
from everylabel.encoders.static import StaticModule
from everylabel.index.build import IndexKind
from everylabel.index.products import ProductIndex
from everylabel.states import add_prefix, strip_prefix
from everylabel.text.matching import require_texts
from everylabel.text.views import Views
from everylabel.types import FloatArray, IntArray, Ranking

CANDIDATES = 100  # ranks of each part, at least: what the joint ranking chooses from
STATIC_ROWS = 512  # texts that are encoded at a time
CHUNK = 32  # documents whose candidates' vectors are looked at together: 10 MB at 256 dimensions


class Dual(nn.Module):
    """Both towers start as the encoder itself: the linear layers are the identity."""

    def __init__(self, encoder: nn.Module, mean: FloatArray, *, paper_pooling: bool, temperature: float) -> None:
        super().__init__()
        self.encoder, self.paper_pooling = encoder, paper_pooling
        self.dim: int = encoder.dim  # type: ignore[assignment]
        self.scale = 1 / (temperature * self.dim)
        self.document, self.label = linear(self.dim, self.dim), linear(self.dim, self.dim)
        nn.init.eye_(self.document.weight)
        nn.init.eye_(self.label.weight)
        self.constant = nn.Parameter(torch.zeros(()))
        self.mean: Tensor
        self.register_buffer("mean", torch.from_numpy(mean * np.float32(self.dim**0.5)))

    def documents(self, tokens: Tokens) -> Tensor:
        pooled = self.encoder.states(tokens)[0][:, 0] if self.paper_pooling else self.encoder(tokens)  # type: ignore[operator]
        return self._document_vectors(pooled)

    def labels(self, tokens: Tokens) -> Tensor:
        vectors: Tensor = self.label(self._pooled_labels(tokens))
        return vectors

    def scored(self, documents: Tokens, labels: Tokens) -> tuple[Tensor, Tensor]:
        """The documents' vectors, and retrieval's logits.

        The labels' layer works on the documents, which are fewer: d . (W x) is (d W) . x. Static embeddings read both
        in one pass, so that there is one sparse gradient and not the sum of two.
        """
        if isinstance(self.encoder, StaticModule):
            read = self.encoder(Tokens.join([documents, labels]))
            vectors = self._document_vectors(read[: documents.n_rows])
            pooled = self._spread(read[documents.n_rows :])
        else:
            vectors, pooled = self.documents(documents), self._pooled_labels(labels)
        products = (vectors @ self.label.weight) @ pooled.T + (vectors @ self.label.bias)[:, None]
        return vectors, products * self.scale + self.constant

    def _document_vectors(self, pooled: Tensor) -> Tensor:
        vectors: Tensor = self.document(self._spread(pooled) - self.mean)
        return vectors

    def _pooled_labels(self, tokens: Tokens) -> Tensor:
        return self._spread(self._mean(tokens) if self.paper_pooling else self.encoder(tokens))

    def _mean(self, tokens: Tokens) -> Tensor:
        """Eq. 2; the special tokens are among them, so a text is never empty."""
        states, mask = self.encoder.states(tokens)  # type: ignore[operator]
        mask = mask.to(states.device)[..., None]
        mean: Tensor = (states * mask).sum(dim=1) / mask.sum(dim=1)
        return mean

    def _spread(self, vectors: Tensor) -> Tensor:
        spread: Tensor = functional.normalize(vectors, dim=1) * self.dim**0.5
        return spread


def linear(n_in: int, n_out: int) -> nn.Linear:
    """A layer of zeros; torch's own start would draw from the global random numbers."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, n_in, n_out)  # type: ignore[no-untyped-call]
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def bce(logits: Tensor, truth: Tensor) -> Tensor:
    """Binary cross-entropy: the sum over labels, the mean over documents."""
    return functional.binary_cross_entropy_with_logits(logits, truth, reduction="sum") / len(logits)


def joint_bce(one: Tensor, other: Tensor, truth: Tensor) -> Tensor:
    """That of the probability (sigmoid(one) + sigmoid(other)) / 2 (eq. 4), from logarithms."""
    positive = torch.logaddexp(functional.logsigmoid(one), functional.logsigmoid(other))
    negative = torch.logaddexp(functional.logsigmoid(-one), functional.logsigmoid(-other))
    return (math.log(2) - truth * positive - (1 - truth) * negative).sum() / len(one)


class Head(NamedTuple):
    """A classifier: rows of weights with the constant last, and the label of each."""

    rows: FloatArray
    labels: IntArray


class DualRanker:
    """`index_labels` with label texts, with a head, or with both (joint); then `rank`."""

    def __init__(self, encoder: Encoder, dual: Dual) -> None:
        self.encoder, self.dual = encoder, dual
        self.parts: dict[str, ProductIndex] = {}
        self.rows: dict[str, FloatArray] = {}  # only where both parts are there
        self.head_row: IntArray = np.empty(0, np.int32)  # of each label, -1 where it has none

    def index_labels(self, kind: IndexKind, texts: Tokens | None, head: Head | None, n_labels: int) -> Self:
        if texts is not None:
            self.rows["texts"] = self.vectors(self.dual.labels, texts)
            self.parts["texts"] = ProductIndex.of(kind, np.arange(n_labels, dtype=np.int32), self.rows["texts"])
        if head is not None:
            self.rows["head"] = head.rows
            self.parts["head"] = ProductIndex.of(kind, head.labels, head.rows)
            self.head_row = np.full(n_labels, -1, np.int32)
            self.head_row[head.labels] = np.arange(len(head.labels))
        if texts is None or head is None:
            self.rows = {}
        return self

    def with_labels(self, texts: Tokens, first: int) -> DualRanker:
        """One more, which knows labels from place `first` on by their texts; they have no row in the head."""
        rows = self.vectors(self.dual.labels, texts)
        wider = DualRanker(self.encoder, self.dual)
        ids = np.arange(first, first + len(rows), dtype=np.int32)
        wider.parts = self.parts | {"texts": self.parts["texts"].with_rows(ids, rows)}
        wider.rows, wider.head_row = self.rows, self.head_row
        if self.rows:
            wider.rows = self.rows | {"texts": np.concatenate([self.rows["texts"], rows])}
            wider.head_row = np.concatenate([self.head_row, np.full(len(rows), -1, np.int32)])
        return wider

    def rank(self, views: Views, k: int, n_labels: int) -> Ranking:
        require_texts(views.documents)
        vectors = self.vectors(self.dual.documents, views.tokens(self.encoder))
        queries = {
            "texts": vectors * np.float32(self.dual.scale),
            "head": np.column_stack([vectors, np.ones(len(vectors), np.float32)]),
        }
        deep = min(max(k, CANDIDATES), n_labels)
        found = {name: index.search(queries[name], deep) for name, index in self.parts.items()}
        if len(found) == 2:
            return self._joint(found, queries, k)
        ((name, one),) = found.items()
        constant = float(self.dual.constant.detach()) if name == "texts" else 0.0
        return Ranking.best_of(one.ids, expit(one.scores + constant), k)

    def _joint(self, found: dict[str, Ranking], queries: dict[str, FloatArray], k: int) -> Ranking:
        """Eq. 4 over the candidates of both parts; a label without a row in the head has a probability of 0 there."""
        ids = np.sort(np.concatenate([part.ids for part in found.values()], axis=1), axis=1)
        ids[:, 1:][ids[:, 1:] == ids[:, :-1]] = -1
        scores = np.empty(ids.shape, np.float32)
        constant = float(self.dual.constant.detach())
        for first in range(0, len(ids), CHUNK):
            at = slice(first, first + CHUNK)
            texts = expit(_products(queries["texts"][at], self.rows["texts"], ids[at]) + constant)
            rows = np.where(ids[at] >= 0, self.head_row[ids[at]], -1)
            head = expit(_products(queries["head"][at], self.rows["head"], rows))
            scores[at] = (texts + np.where(rows >= 0, head, 0)) / 2
        return Ranking.best_of(ids, scores, k)

    def vectors(self, tower: Callable[[Tokens], Tensor], tokens: Tokens) -> FloatArray:
        """(n, dim), without dropout."""
        from everylabel.encoders.transformer import BUDGET, batches

        result = np.empty((tokens.n_rows, self.dual.dim), np.float32)
        static = self.encoder.config.kind == "static"
        starts = range(0, tokens.n_rows, STATIC_ROWS)
        parts: Any = (np.arange(i, min(i + STATIC_ROWS, tokens.n_rows)) for i in starts)
        with evaluating(self.dual), torch.inference_mode():
            for rows in parts if static else batches(tokens.lengths, BUDGET):
                result[rows] = tower(tokens.take(rows)).cpu().numpy()
        return result

    def state(self, prefix: str) -> dict[str, Any]:
        layers = {name: tensor for name, tensor in self.dual.state_dict().items() if not name.startswith("encoder.")}
        state: dict[str, Any] = {f"{prefix}/dual/{name}": tensor.cpu().numpy() for name, tensor in layers.items()}
        state |= add_prefix(f"{prefix}/encoder", self.encoder.state()) | add_prefix(f"{prefix}/rows", self.rows)
        state |= {f"{prefix}/parts": list(self.parts), f"{prefix}/head_row": self.head_row}
        for name, part in self.parts.items():
            state |= part.state(f"{prefix}/{name}")
        return state

    @classmethod
    def restore(
        cls, config: EncoderConfig, prefix: str, state: dict[str, Any], *, paper_pooling: bool, temperature: float
    ) -> Self:
        own = strip_prefix(state, prefix)
        encoder = restore_encoder(config, strip_prefix(own, "encoder"))
        dual = Dual(
            encoder.module, np.zeros(encoder.dim, np.float32), paper_pooling=paper_pooling, temperature=temperature
        )
        layers = {name: torch.from_numpy(np.array(value)) for name, value in strip_prefix(own, "dual").items()}
        dual.load_state_dict(layers, strict=False)  # the encoder has its own
        ranker = cls(encoder, dual.eval())
        ranker.rows, ranker.head_row = strip_prefix(own, "rows"), own["head_row"]
        ranker.parts = {name: ProductIndex.restore(name, own) for name in own["parts"]}
        return ranker


def _products(queries: FloatArray, rows: FloatArray, ids: IntArray) -> FloatArray:
    """Each query's products with the rows of these ids."""
    return np.asarray(np.einsum("nd,nmd->nm", queries, rows[ids]), np.float32)
