"""What the one-sided family is after training: documents are read, labels are vectors in an index.

With attention the index gives each document a shortlist by its pooled vector, which attention puts in order; without a
shortlist attention is asked for all labels. Labels with constants are linear classifiers: products, not cosines.
Cost of a document: encoding, a search, and with attention shortlist (or labels) x distinct tokens x dim operations.
torch is loaded for attention and for transformers only (documents.py).
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
from everylabel.index.products import ProductIndex
from everylabel.index.tokens import Layer
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
    from everylabel.methods.onesided.label_bags import LabelBags
    from everylabel.methods.onesided.module import DocumentSide, LabelModule
    from everylabel.methods.onesided.reader import LabelReader


CELLS = 1 << 22  # scores at a time, where attention is asked for all labels


class Scoring(NamedTuple):
    """Settings of the method, see there."""

    shortlist: int  # 0: attention is asked for all labels
    pooled_share: float
    linear_output: bool


class Span(NamedTuple):
    """A word of a text, where it stands, and its share of a label's attention."""

    start: int
    end: int
    text: str
    weight: float


class OneSidedRanker:
    """`index_labels`, then `rank`."""

    def __init__(self, encoder: Encoder, documents: DocumentVectors, scoring: Scoring) -> None:
        self.encoder, self.documents, self.scoring = encoder, documents, scoring
        self.index: Any
        self.vectors: dict[str, FloatArray] = {}  # outputs, queries and constants of all labels, only for attention

    @classmethod
    def of(cls, encoder: Encoder, side: DocumentSide, scoring: Scoring) -> Self:
        """As the module reads documents now."""
        return cls(encoder, documents_of(encoder, side), scoring)

    def index_labels(self, kind: IndexKind, labels: LabelModule, order: IntArray, n_labels: int) -> Self:
        """`order`: the labels as the vocabulary numbers them, in the order of training."""
        from everylabel.methods.onesided.module_documents import label_vectors

        bags: LabelBags | None = getattr(labels, "bags", None)
        if bags is not None:
            weights = {name: value.cpu().numpy() for name, value in labels.state_dict().items()}
            self.index = bags.index(Layer(weights["output.weight"], weights["output.bias"]), order)
            return self
        own = label_vectors(labels, len(order), self.encoder.config.device)
        outputs = own["outputs"]
        if self.scoring.linear_output:
            self.index = ProductIndex.of(kind, order, np.column_stack([outputs, own["constants"]]))
        else:
            self.index = make_index(kind, outputs.shape[1], len(order))
            self.index.add(order.astype(np.int64), outputs)
        if "queries" in own:
            for name, values in own.items():
                self.vectors[name] = np.zeros((n_labels, *values.shape[1:]), np.float32)
                self.vectors[name][order] = values
        return self

    def with_labels(self, first: int, own: dict[str, FloatArray]) -> OneSidedRanker:
        """One more, with vectors of labels that come after the others, from place `first` on."""
        wider, outputs = OneSidedRanker(self.encoder, self.documents, self.scoring), own["outputs"]
        wider.index = with_vectors(self.index, np.arange(first, first + len(outputs), dtype=np.int64), outputs)
        wider.vectors = {name: np.concatenate([self.vectors[name], own[name]]) for name in self.vectors}
        return wider

    def with_texts(self, first: int, texts: Tokens) -> OneSidedRanker:
        """The same by the labels' tokens, where the index has those."""
        wider = OneSidedRanker(self.encoder, self.documents, self.scoring)
        wider.index = self.index.with_texts(texts, first + np.arange(texts.n_rows))
        return wider

    def rank(self, tokens: Tokens, k: int) -> Ranking:
        """Scores are (1 + cosine) / 2; of linear classifiers (1 + x / (1 + |x|)) / 2, which keeps the order."""
        found = Ranking.empty(tokens.n_rows, k)
        search = self._attended if self.vectors else self._pooled
        for rows in self.documents.parts(tokens.lengths):
            best = search(tokens.take(rows), k)
            best = Ranking.best_of(best.ids, self._in_01(best.scores), k)
            found.ids[rows], found.scores[rows] = best
        return found

    def _in_01(self, scores: FloatArray) -> FloatArray:
        if self.scoring.linear_output:
            scores = np.maximum(scores, -1e30)  # of what was not found it is minus infinity
            scores = scores / (1 + np.abs(scores))
        return np.clip((1 + scores) / 2, 0, 1)

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
        return self._nearest(self.documents.vectors(tokens), k)

    def _nearest(self, vectors: FloatArray, k: int) -> Ranking:
        if isinstance(self.index, ProductIndex):
            ones = np.ones(len(vectors), np.float32)
            return self.index.search(np.column_stack([vectors, ones]), min(k, len(self.index.index)))
        found: Ranking = self.index.search(unit_rows(vectors), min(k, len(self.index)))
        return found

    def _attended(self, tokens: Tokens, k: int) -> Ranking:
        documents: Any = self.documents
        vectors, read = documents.read(tokens)
        if not self.scoring.shortlist:
            return self._attended_by_all(read, k)
        found = self._nearest(vectors, max(k, self.scoring.shortlist))
        attended = documents.attended(read, found.ids, self.vectors)
        there = found.ids >= 0  # an approximate index may find fewer labels: their scores are minus infinity
        pooled, share = np.where(there, found.scores, 0), self.scoring.pooled_share
        return Ranking(found.ids, np.where(there, share * pooled + (1 - share) * attended, -np.inf))

    def _attended_by_all(self, read: Any, k: int) -> Ranking:
        """The best of all labels, so many of them at a time that no array has more than CELLS numbers."""
        documents: Any = self.documents
        known = np.flatnonzero(self.vectors["outputs"].any(axis=1)).astype(np.int32)
        best, size = Ranking.empty(read.n_rows, 0), max(1, CELLS // max(read.n_rows, 1))
        for first in range(0, len(known), size):
            ids = np.tile(known[first : first + size], (read.n_rows, 1))
            scores = documents.attended(read, ids, self.vectors)
            best = Ranking.best_of(np.hstack([best.ids, ids]), np.hstack([best.scores, scores]), min(k, len(known)))
        return best

    def state(self, prefix: str) -> dict[str, Any]:
        encoder = add_prefix(f"{prefix}/encoder", self.encoder.state())
        vectors = add_prefix(f"{prefix}/vectors", self.vectors)
        own = encoder | vectors | add_prefix(f"{prefix}/documents", self.documents.state())
        if isinstance(self.index, ProductIndex):
            return own | self.index.state(prefix)
        return own | index_state(f"{prefix}/index", self.index)

    @classmethod
    def restore(
        cls,
        config: EncoderConfig,
        prefix: str,
        state: dict[str, Any],
        reader: LabelReader,
        *,
        layer: bool,
        scoring: Scoring,
    ) -> Self:
        own = strip_prefix(state, prefix)
        encoder, vectors = restore_encoder(config, strip_prefix(own, "encoder")), strip_prefix(own, "vectors")
        layers = strip_prefix(own, "documents")
        documents = restored_documents(
            encoder, layers, layer=layer, attention=bool(vectors), linear_output=scoring.linear_output
        )
        ranker = cls(encoder, documents, scoring)
        ranker.vectors = vectors
        linear = scoring.linear_output
        ranker.index = ProductIndex.restore(prefix, state) if linear else restored_index("index", own, reader.of_tokens)
        return ranker

    def check(self, n_labels: int) -> None:
        """Of one that was restored: labels have vectors of the encoder's dimension."""
        dim, linear = self.encoder.dim, self.scoring.linear_output
        check_layers(self.documents.state(), dim)
        names = {"outputs", "queries", "constants"} if linear else {"outputs", "queries"}
        checks.require(set(self.vectors) in (set(), names), f"attention needs {', '.join(sorted(names))}")
        n_known = len(self.vectors["outputs"]) if self.vectors else n_labels  # free ones know no label that came later
        checks.require(n_known <= n_labels, "attention knows more labels than there are")
        if linear:
            self.index.check(dim + 1, n_known)
        else:
            checks.require(self.index.dim == dim, "an index of other vectors than the encoder's")
            self.index.check(n_known)
        for name, vectors in self.vectors.items():
            shape = (n_known,) if name == "constants" else (n_known, dim)
            checks.numbers(vectors, name, *shape, most=LARGEST_WEIGHT)
