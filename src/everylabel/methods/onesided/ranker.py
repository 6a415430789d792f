"""What the one-sided family is after training: documents are read, labels are vectors in an index.

With attention the index gives each document a shortlist by its pooled vector, which attention puts in order.
Cost of a document: encoding, a search, and with attention shortlist x distinct tokens x dim operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import torch

from everylabel.encoders.base import Encoder, EncoderConfig, Tokens
from everylabel.encoders.build import restore_encoder
from everylabel.encoders.fingerprint import evaluating
from everylabel.encoders.static import StaticEncoder
from everylabel.errors import DataError
from everylabel.index.build import IndexKind, make_index
from everylabel.index.grown import index_state, restored_index, with_vectors
from everylabel.methods.onesided.attention import weights_of
from everylabel.methods.onesided.module import DocumentSide, LabelModule
from everylabel.states import add_prefix, strip_prefix
from everylabel.types import FloatArray, IntArray, LongArray, Ranking
from everylabel.vectors import unit_rows

STATIC_ROWS = 512  # texts that are read at a time
ATTENDED = 32  # those of them whose shortlists are attended to at a time
LABELS = 256  # that are encoded at a time


class Span(NamedTuple):
    """A word of a text, where it stands, and its share of a label's attention."""

    start: int
    end: int
    text: str
    weight: float


class OneSidedRanker:
    """`index_labels`, then `rank`."""

    def __init__(self, encoder: Encoder, documents: DocumentSide, shortlist: int, pooled_share: float) -> None:
        self.encoder, self.documents, self.shortlist, self.pooled_share = encoder, documents, shortlist, pooled_share
        self.vectors: dict[str, FloatArray] = {}  # outputs and queries of all labels, only for attention

    def index_labels(self, kind: IndexKind, labels: LabelModule, order: IntArray, n_labels: int) -> Self:
        """`order`: the labels as the vocabulary numbers them, in the order of training."""
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
        with evaluating(self.documents), torch.inference_mode():
            for rows in self._parts(tokens.lengths):
                search = self._attended if self.vectors else self._pooled
                found.ids[rows], found.scores[rows] = search(tokens.take(rows), deep)
        return Ranking.best_of(found.ids, np.clip((1 + found.scores) / 2, 0, 1), k)

    def explain(self, text: str, label: int) -> list[Span]:
        """The words of a text by how much the label looks at them; the weights add up to 1."""
        if not self.vectors:
            raise DataError("only methods with attention can say which words a label looks at; fit of-lan")
        ids, spans = self.encoder.tokenizer.spans(text)  # type: ignore[attr-defined]
        tokens = self.encoder.tokenize([text])
        if not len(tokens.ids):
            return []
        with evaluating(self.documents), torch.inference_mode():
            read = self.documents.read(tokens).tokens
            assert read is not None
            weights = weights_of(read, 0, torch.from_numpy(self.vectors["queries"][label]))
        if isinstance(self.encoder, StaticEncoder):  # a token's weight is that of all its occurrences
            of_id = dict(zip(read.ids.tolist(), (weights / np.exp(read.bias.numpy())).tolist(), strict=True))
            weights = np.array([of_id.get(i, 0.0) for i in ids[: len(tokens.ids)]], np.float32)
        merged: dict[tuple[int, int], float] = {}
        for span, weight in zip(spans, weights.tolist(), strict=False):
            merged[span] = merged.get(span, 0.0) + weight
        found = [Span(start, end, text[start:end], weight) for (start, end), weight in merged.items()]
        return sorted(found, key=lambda span: (-span.weight, span.start))

    def _parts(self, lengths: LongArray) -> Iterator[LongArray]:
        from everylabel.encoders.transformer import BUDGET, batches

        if self.encoder.config.kind != "static":
            return batches(lengths, BUDGET)
        size = ATTENDED if self.vectors else STATIC_ROWS
        return (np.arange(i, min(i + size, len(lengths))) for i in range(0, len(lengths), size))

    def _pooled(self, tokens: Tokens, k: int) -> Ranking:
        found: Ranking = self.index.search(unit_rows(self.documents(tokens).cpu().numpy()), k)
        return found

    def _attended(self, tokens: Tokens, k: int) -> Ranking:
        read = self.documents.read(tokens)
        assert read.tokens is not None
        found = self.index.search(unit_rows(read.vectors.cpu().numpy()), k)
        asked, places = np.unique(found.ids, return_inverse=True)
        rows = torch.from_numpy(asked)  # taken by torch, whose arrays are aligned: else sums differ in their last digit
        queries, outputs = (torch.from_numpy(self.vectors[name])[rows] for name in ("queries", "outputs"))
        sets = torch.from_numpy(places.reshape(found.ids.shape))
        cosines = self.documents.cosines(read.tokens, queries, outputs, sets).cpu().numpy()
        there = found.ids >= 0  # an approximate index may find fewer labels: their scores are minus infinity
        pooled = np.where(there, found.scores, 0)
        mixed = self.pooled_share * pooled + (1 - self.pooled_share) * cosines
        return Ranking(found.ids, np.where(there, mixed, -np.inf))

    def state(self, prefix: str) -> dict[str, Any]:
        layers = {n: t.cpu().numpy() for n, t in self.documents.state_dict().items() if not n.startswith("encoder.")}
        encoder = add_prefix(f"{prefix}/encoder", self.encoder.state())
        vectors = add_prefix(f"{prefix}/vectors", self.vectors)
        own = encoder | vectors | add_prefix(f"{prefix}/documents", layers)
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
        documents = DocumentSide(
            encoder.module, np.zeros(encoder.dim, np.float32), layer=layer, attention=bool(vectors)
        )
        layers = {name: torch.from_numpy(np.array(value)) for name, value in strip_prefix(own, "documents").items()}
        documents.load_state_dict(layers, strict=False)  # the encoder has its own
        ranker = cls(encoder, documents.eval(), shortlist, pooled_share)
        ranker.vectors, ranker.index = vectors, restored_index("index", own)
        return ranker


def label_vectors(labels: LabelModule, n: int) -> tuple[FloatArray, FloatArray | None]:
    """Unit output vectors of the first n labels, and their queries if there is attention."""
    outputs, queries = [], []
    with evaluating(labels), torch.inference_mode():
        for first in range(0, n, LABELS):
            seen = labels(np.arange(first, min(first + LABELS, n), dtype=np.int32))
            outputs.append(unit_rows(seen.outputs.cpu().numpy()))
            if seen.queries is not None:
                queries.append(seen.queries.cpu().numpy())
    return np.concatenate(outputs), np.concatenate(queries) if queries else None
