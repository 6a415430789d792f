"""What the one-sided family is after training: documents are read, labels are vectors in an index.

With attention the index gives each document a shortlist by its pooled vector, which attention puts in order.
Cost of a document: encoding, a search, and with attention shortlist x distinct tokens x dim operations. torch is loaded
for attention and for transformers only (documents.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from everylabel import checks
from everylabel.encoders.base import Encoder, EncoderConfig, Tokens
from everylabel.encoders.build import restore_encoder
from everylabel.errors import DataError
from everylabel.index.build import IndexKind, make_index
from everylabel.index.grown import index_state, restored_index, with_vectors
from everylabel.methods.onesided.documents import (
    LARGEST_WEIGHT,
    DocumentVectors,
    check_layers,
    documents_of,
    restored_documents,
)
from everylabel.states import add_prefix, strip_prefix
from everylabel.types import FloatArray, IntArray, Ranking
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.methods.onesided.module import DocumentSide, LabelModule


class Span(NamedTuple):
    """A word of a text, where it stands, and its share of a label's attention."""

    start: int
    end: int
    text: str
    weight: float


class OneSidedRanker:
    """`index_labels`, then `rank`."""

    def __init__(self, encoder: Encoder, documents: DocumentVectors, shortlist: int, pooled_share: float) -> None:
        self.encoder, self.documents, self.shortlist, self.pooled_share = encoder, documents, shortlist, pooled_share
        self.vectors: dict[str, FloatArray] = {}  # outputs and queries of all labels, only for attention

    @classmethod
    def of(cls, encoder: Encoder, side: DocumentSide, shortlist: int, pooled_share: float) -> Self:
        """As the module reads documents now."""
        return cls(encoder, documents_of(encoder, side), shortlist, pooled_share)

    def index_labels(self, kind: IndexKind, labels: LabelModule, order: IntArray, n_labels: int) -> Self:
        """`order`: the labels as the vocabulary numbers them, in the order of training."""
        from everylabel.methods.onesided.module_documents import label_vectors

        outputs, queries = label_vectors(labels, len(order))
        self.index: Any = make_index(kind, outputs.shape[1], len(order))
        self.index.add(order.astype(np.int64), outputs)
        if queries is not None:
            self.vectors = {"outputs": np.zeros((n_labels, outputs.shape[1]), np.float32)}
            self.vectors["queries"] = np.zeros_like(self.vectors["outputs"])
            self.vectors["outputs"][order], self.vectors["queries"][order] = outputs, queries
        return self

    def with_labels(self, first: int, outputs: FloatArray, queries: FloatArray | None) -> OneSidedRanker:
        """One more, with unit vectors of labels that come after the others, from place `first` on."""
        wider = OneSidedRanker(self.encoder, self.documents, self.shortlist, self.pooled_share)
        wider.index = with_vectors(self.index, np.arange(first, first + len(outputs), dtype=np.int64), outputs)
        if queries is not None:
            rows = {"outputs": outputs, "queries": queries}
            wider.vectors = {name: np.concatenate([self.vectors[name], rows[name]]) for name in self.vectors}
        return wider

    def rank(self, tokens: Tokens, k: int) -> Ranking:
        """Scores are (1 + cosine) / 2."""
        deep = min(max(k, self.shortlist) if self.vectors else k, len(self.index))
        found = Ranking.empty(tokens.n_rows, deep)
        search = self._attended if self.vectors else self._pooled
        for rows in self.documents.parts(tokens.lengths):
            found.ids[rows], found.scores[rows] = search(tokens.take(rows), deep)
        return Ranking.best_of(found.ids, np.clip((1 + found.scores) / 2, 0, 1), k)

    def explain(self, text: str, label: int) -> list[Span]:
        """The words of a text by how much the label looks at them; the weights add up to 1."""
        if not self.vectors:
            raise DataError("only methods with attention can say which words a label looks at; fit of-lan")
        _, spans = self.encoder.tokenizer.spans(text)
        tokens, documents = self.encoder.tokenize([text]), self.documents
        if not len(tokens.ids):
            return []
        weights = documents.weights(tokens, self.vectors["queries"][label])  # type: ignore[attr-defined]
        merged: dict[tuple[int, int], float] = {}
        for span, weight in zip(spans, weights.tolist(), strict=False):
            merged[span] = merged.get(span, 0.0) + weight
        found = [Span(start, end, text[start:end], weight) for (start, end), weight in merged.items()]
        return sorted(found, key=lambda span: (-span.weight, span.start))

    def _pooled(self, tokens: Tokens, k: int) -> Ranking:
        found: Ranking = self.index.search(unit_rows(self.documents.vectors(tokens)), k)
        return found

    def _attended(self, tokens: Tokens, k: int) -> Ranking:
        documents: Any = self.documents
        vectors, read = documents.read(tokens)
        found = self.index.search(unit_rows(vectors), k)
        cosines = documents.attended(read, found.ids, self.vectors)
        there = found.ids >= 0  # an approximate index may find fewer labels: their scores are minus infinity
        pooled = np.where(there, found.scores, 0)
        mixed = self.pooled_share * pooled + (1 - self.pooled_share) * cosines
        return Ranking(found.ids, np.where(there, mixed, -np.inf))

    def state(self, prefix: str) -> dict[str, Any]:
        encoder = add_prefix(f"{prefix}/encoder", self.encoder.state())
        vectors = add_prefix(f"{prefix}/vectors", self.vectors)
        own = encoder | vectors | add_prefix(f"{prefix}/documents", self.documents.state())
        return own | index_state(f"{prefix}/index", self.index)

    @classmethod
    def restore(
        cls,
        config: EncoderConfig,
        prefix: str,
        state: dict[str, Any],
        *,
        layer: bool,
        shortlist: int,
        pooled_share: float,
    ) -> Self:
        own = strip_prefix(state, prefix)
        encoder, vectors = restore_encoder(config, strip_prefix(own, "encoder")), strip_prefix(own, "vectors")
        layers = strip_prefix(own, "documents")
        documents = restored_documents(encoder, layers, layer=layer, attention=bool(vectors))
        ranker = cls(encoder, documents, shortlist, pooled_share)
        ranker.vectors, ranker.index = vectors, restored_index("index", own)
        return ranker

    def check(self, n_labels: int) -> None:
        """Of one that was restored: labels have vectors of the encoder's dimension."""
        dim = self.encoder.dim
        check_layers(self.documents.state(), dim)
        checks.require(self.index.dim == dim, "an index of other vectors than the encoder's")
        checks.require(set(self.vectors) in (set(), {"outputs", "queries"}), "attention needs outputs and queries")
        n_known = len(self.vectors["outputs"]) if self.vectors else n_labels  # free ones know no label that came later
        checks.require(n_known <= n_labels, "attention knows more labels than there are")
        self.index.check(n_known)
        for name, vectors in self.vectors.items():
            checks.numbers(vectors, name, n_known, dim, most=LARGEST_WEIGHT)
