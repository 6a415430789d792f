"""Label texts searched by their tokens: without a vector a text, and next to nothing to build.

A static encoder's vector of a text is a weighted sum of its tokens' vectors (encoders/static.py), made 1 long. So its
product with a query is the sum of the query's products with the tokens, each computed once, weighted and divided by
the text's length: what is kept of a text are its tokens and their weights, where a vector of 512 dimensions is 2 KB.
Cost: a query O(distinct tokens of all texts x dim + tokens of all texts), several together less; 8 bytes a token of a
text. From 300,000 texts on a query looks at those alone that lists of texts say are worth it (token_lists.py): the
second term is a fixed number then, for 8 bytes more. Measured: docs/label_index.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from everylabel import checks
from everylabel.index.checks import checked_k
from everylabel.index.token_lists import LISTS_FROM, STEPS, TextLists, most_whole
from everylabel.parallel import for_each_part
from everylabel.states import add_prefix, strip_prefix
from everylabel.types import Csr, FloatArray, IntArray, LongArray, Ranking
from everylabel.vectors import csr_of

if TYPE_CHECKING:
    from everylabel.encoders.base import Tokens
    from everylabel.encoders.table import TokenTable

TOKENS_FROM = 50_000  # label texts; fewer vectors are faster to search than the tokens of a table
_SHAPED = 3  # texts of a label by whose lengths it is put beside others
_HEAVIEST = 1e6  # a token in a text that is 1 long


class Layer(NamedTuple):
    """What vectors of texts go through that are 1 long, to be made so again: weight v + bias."""

    weight: FloatArray
    bias: FloatArray


class Part(NamedTuple):
    """Labels with their texts: labels[i] has the rows from begins[i] to begins[i + 1]."""

    labels: IntArray
    begins: LongArray
    texts: Csr


class TokenIndex:
    """The texts of labels. Never changed: `with_texts` gives another one.

    `tokens`: all that some text has; `parts`: labels of the fit, and those that came later. The columns of their texts
    are the bias, if there is a layer, and the tokens; a row's product with the columns' products is the text's cosine.
    """

    def __init__(
        self,
        table: TokenTable,
        tokens: IntArray,
        parts: Sequence[Part],
        layer: Layer | None = None,
        lists: TextLists | None = None,
    ) -> None:
        """`lists`: of the first part, where it has very many texts."""
        self.table, self.tokens, self.parts, self.layer, self.lists = table, tokens, tuple(parts), layer, lists
        self._turned = None if layer is None else np.ascontiguousarray(layer.weight.T)

    @classmethod
    def of(cls, table: TokenTable, texts: Tokens, owners: IntArray, layer: Layer | None = None) -> TokenIndex:
        """`owners`: each text's label, in ascending order. O(tokens x dim)."""
        return cls(table, np.empty(0, np.int32), (), layer).with_texts(texts, owners)

    def __len__(self) -> int:
        return sum(int(part.texts.shape[0]) for part in self.parts)

    @property
    def dim(self) -> int:
        return self.table.dim

    def with_texts(self, texts: Tokens, owners: IntArray) -> TokenIndex:
        """One more, which has these too, of other labels. O(texts added since the fit)."""
        rows, labels, begins = _in_order_of_shape(texts, owners)
        texts = texts.take(rows)
        ids, counts, offsets = self.table.distinct(texts)
        new = np.bincount(ids, minlength=self.table.n_rows) > 0
        new[self.tokens] = False
        tokens = np.concatenate([self.tokens, np.flatnonzero(new).astype(np.int32)])
        place = np.zeros(self.table.n_rows, np.int32)
        place[tokens] = np.arange(len(tokens), dtype=np.int32)
        counted = csr_of((1 + np.log(counts)).astype(np.float32), place[ids], offsets, (texts.n_rows, len(tokens)))
        counted.sort_indices()  # equal texts have equal sums
        part = Part(labels, begins, self._of_length_1(counted, tokens))
        first, later, lists = self.parts[:1], self.parts[1:], self.lists
        if not first and texts.n_rows >= LISTS_FROM:
            lists = TextLists.of(part.texts, int(self.layer is not None))
        return TokenIndex(self.table, tokens, (*first, _joined([*later, part])), self.layer, lists)

    def _of_length_1(self, counted: Csr, tokens: IntArray) -> Csr:
        from everylabel.index.kernels import products
        from everylabel.index.token_kernels import token_rows

        own = np.flatnonzero(np.bincount(counted.indices, minlength=len(tokens)))
        place = np.zeros(len(tokens), np.int32)
        place[own] = np.arange(len(own), dtype=np.int32)
        vectors = np.empty((len(own), self.dim), np.float32)
        token_rows(tokens[own], 0, len(own), self.table.parts, vectors)
        texts = (counted.indptr, place[counted.indices], counted.data)
        lengths = _lengths(texts, np.ones(counted.shape[0], np.float32), vectors, np.zeros(self.dim, np.float32))
        n_tokens = np.diff(counted.indptr)
        if self.layer is None:
            return csr_of(counted.data / np.repeat(lengths, n_tokens), counted.indices, counted.indptr, counted.shape)
        after = _lengths(texts, lengths, products(vectors, self.layer.weight), self.layer.bias)
        weights = counted.data / np.repeat(lengths * after, n_tokens)
        begins, indptr = counted.indptr[:-1], counted.indptr + np.arange(counted.shape[0] + 1)
        weights, columns = np.insert(weights, begins, 1 / after), np.insert(counted.indices + 1, begins, 0)
        return csr_of(weights, columns, indptr, (counted.shape[0], 1 + len(tokens)))

    def search(self, queries: FloatArray, k: int) -> Ranking:
        """The k labels of the best texts, best first; padded with -1.

        Scores are products with unit vectors: cosines, if the queries are 1 long. The same in any batch; exact, but
        that of very many texts those alone are looked at that lists lead to.
        """
        queries = np.ascontiguousarray(queries, np.float32)
        found = Ranking.empty(len(queries), min(checked_k(k), sum(len(part.labels) for part in self.parts)))
        for_each_part(len(queries), partial(self._search, queries, found))
        return found.top(k)

    def _search(self, queries: FloatArray, found: Ranking, first: int, last: int) -> None:
        from everylabel.heaps import sort_heap
        from everylabel.index.token_kernels import TOGETHER, best_for_one, best_for_some, best_of_lists

        k = found.ids.shape[1]
        lists = None if self.lists is None or not self.lists.serves(k, len(self.parts[0].labels)) else self.lists
        for at in range(first, last, TOGETHER):
            ids, scores = (part[at : min(at + TOGETHER, last)] for part in found)
            products = self._products(queries[at : at + len(ids)], 1 if len(ids) == 1 else TOGETHER)
            sizes = np.zeros(len(ids), np.int64)
            for number, (labels, begins, rows) in enumerate(self.parts):
                texts: Any = (labels, begins, rows.indptr, rows.indices, rows.data)
                if lists is not None and number == 0:
                    for q in range(len(ids)):
                        own = np.ascontiguousarray(products[: len(lists.heads), q])
                        sizes[q] = best_of_lists(own, texts, lists, STEPS, most_whole(k), ids[q], scores[q])
                elif len(ids) == 1:
                    sizes[0] = best_for_one(products.ravel(), texts, ids[0], scores[0], sizes[0])
                else:
                    best_for_some(products, texts, ids, scores, sizes)
            for q, size in enumerate(sizes.tolist()):
                sort_heap(ids[q], scores[q], size)

    def _products(self, queries: FloatArray, width: int) -> FloatArray:
        """(columns, width), 0 beyond the queries."""
        from everylabel.index.kernels import products
        from everylabel.index.token_kernels import token_products

        n_before = int(self.layer is not None)
        found = np.zeros((n_before + len(self.tokens), width), np.float32)
        if self.layer is not None:
            found[0, : len(queries)] = products(queries, self.layer.bias[None])[:, 0]
            queries = products(queries, self._turned)
        token_products(queries, self.tokens, self.table.parts, found[n_before:])
        return found

    def check(self, below: int) -> None:
        """Of one that was restored: its parts fit the table, and its labels are below that number, each once."""
        checks.indexes(self.tokens, "tokens of texts", self.table.n_rows)
        checks.once_each(self.tokens, "tokens of texts", self.table.n_rows)
        if self.layer is not None:
            checks.numbers(self.layer.weight, "layer of labels", self.dim, self.dim)
            checks.numbers(self.layer.bias, "layer of labels", self.dim)
        n_columns = int(self.layer is not None) + len(self.tokens)
        for labels, begins, texts in self.parts:
            checks.matrix(texts, "texts", None, None)
            checks.within(texts.data, "weights of tokens", 0, _HEAVIEST)
            checks.require(texts.shape[1] <= n_columns, "texts have other tokens than their index")
            checks.indexes(labels, "labels of texts", below)
            checks.offsets(begins, "texts of labels", texts.shape[0], len(labels))
            checks.ascending(begins, "texts of labels", strictly=True)
        checks.once_each(np.concatenate([part.labels for part in self.parts]), "labels of texts", below)
        if self.lists is not None:
            checks.require(self.parts and len(self.lists.heads) == self.parts[0].texts.shape[1], "lists of other texts")
            self.lists.check(self.parts[0].texts.shape[0], _HEAVIEST)

    def state(self, key: str) -> dict[str, Any]:
        """Table and layer are kept elsewhere."""
        parts = [add_prefix(f"{key}/{at}", part._asdict()) for at, part in enumerate(self.parts)]
        lists = {} if self.lists is None else self.lists.state(f"{key}/lists")
        return {
            f"{key}/tokens": self.tokens,
            **{name: value for part in parts for name, value in part.items()},
            **lists,
        }

    @classmethod
    def restored(cls, key: str, state: dict[str, Any], table: TokenTable, layer: Layer | None = None) -> TokenIndex:
        parts = [strip_prefix(state, f"{key}/{at}") for at in range(2)]
        own = strip_prefix(state, f"{key}/lists")
        lists = TextLists.with_heads(**own) if own else None
        return cls(table, state[f"{key}/tokens"], [Part(**part) for part in parts if part], layer, lists)


def is_of_tokens(key: str, state: dict[str, Any]) -> bool:
    return f"{key}/tokens" in state


def _lengths(texts: Any, divisors: FloatArray, vectors: FloatArray, bias: FloatArray) -> FloatArray:
    """1 for what has no length."""
    from everylabel.index.token_kernels import text_lengths

    found = np.empty(len(divisors), np.float32)
    for_each_part(len(found), lambda first, last: text_lengths(texts, divisors, vectors, bias, first, last, found))
    return np.where(found > 0, found, np.float32(1))


def _in_order_of_shape(texts: Tokens, owners: IntArray) -> tuple[LongArray, IntArray, LongArray]:
    """(rows, labels, begins) so that labels with as many texts of as many tokens stand together.

    A processor guesses right then where a loop ends; else a query takes longer by a half (docs/label_index.md).
    """
    labels, first, n_texts = np.unique(owners, return_index=True, return_counts=True)
    lengths, last = texts.lengths, max(texts.n_rows - 1, 0)
    keys = [np.where(n_texts > at, lengths[np.minimum(first + at, last)], 0) for at in reversed(range(_SHAPED))]
    order = np.lexsort((*keys, n_texts))
    n_texts = n_texts[order]
    begins = np.concatenate([[0], np.cumsum(n_texts)])
    rows = np.arange(begins[-1]) + np.repeat(first[order] - begins[:-1], n_texts)
    return rows, labels[order].astype(np.int32), begins


def _joined(parts: Sequence[Part]) -> Part:
    """One or two; the last one has all columns."""
    if len(parts) == 1:
        return parts[0]
    one, other = parts
    rows = [one.texts, other.texts]
    n_columns, n_rows = other.texts.shape[1], sum(part.shape[0] for part in rows)
    indptr = np.concatenate([rows[0].indptr, rows[0].indptr[-1] + rows[1].indptr[1:]])
    data, indices = np.concatenate([part.data for part in rows]), np.concatenate([part.indices for part in rows])
    begins = np.concatenate([one.begins, one.begins[-1] + other.begins[1:]])
    return Part(np.concatenate([one.labels, other.labels]), begins, csr_of(data, indices, indptr, (n_rows, n_columns)))
