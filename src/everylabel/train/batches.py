"""Batches of self-supervision: pairs of texts that belong together, made from documents without labels.

(text, title) is a pair of the inverse cloze task. The title is never put before the text, and is deleted from it where
it occurs, in nine of ten pairs. For a document without one the first sentence stands for it, and for one of a single
sentence a random half of it, another one each time; what stands for a title is taken out of the text in the same way.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np

from everylabel.data.dataset import Documents
from everylabel.encoders.base import Encoder, Tokens
from everylabel.run import QUIET, Run
from everylabel.types import BoolArray, Csr, FloatArray, IntArray, LongArray

SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=\S)|\n+")
KEEP_TITLE = 0.1  # share of the pairs whose title stays where it occurs in the text (MACLR's reference code)
TOKENS_PER_WORD = 1.3  # of word pieces, in English
FEW = 100_000  # labels that are permuted as a whole
Rng = np.random.Generator


@dataclass(frozen=True)
class Corpus:
    """Documents as tokens; the first `heads[i]` of row i are its title or first sentence, 0 where it has neither."""

    tokens: Tokens
    heads: LongArray
    titled: BoolArray  # the first tokens are a title, and no part of the text
    deleted: Tokens  # texts in which a title occurs, without it
    deleted_at: IntArray  # the row of `deleted`; -1: its text has not its title
    title_limit: int | None = None  # tokens that are read of what is a title in a pair; None: all of them

    @classmethod
    def of(cls, documents: Documents, encoder: Encoder, run: Run = QUIET, *, title_limit: int | None = None) -> Corpus:
        """Documents of fewer than two tokens are left out: nothing can be learned from them. O(characters)."""
        heads, bodies = split_heads(documents, run)
        first, rest = encoder.tokenize(heads, run=run), encoder.tokenize(bodies, run=run)
        tokens = interleaved(first, rest)
        lengths = np.where(rest.lengths > 0, first.lengths, 0)  # a title alone is a text without a title
        titled = np.array([bool(title.strip()) for title in documents.titles], bool) & (lengths > 0)
        again = [i for i in np.flatnonzero(titled) if heads[i].strip() in bodies[i]]
        deleted = encoder.tokenize([bodies[i].replace(heads[i].strip(), " ") for i in again])
        at = np.full(len(heads), -1, np.int32)
        at[np.array(again, np.int64)] = np.where(deleted.lengths > 0, np.arange(len(again)), -1)  # never all of a text
        rows = np.flatnonzero(tokens.lengths > 1)
        return cls(tokens.take(rows), lengths[rows], titled[rows], deleted, at[rows], title_limit)

    def __len__(self) -> int:
        return self.tokens.n_rows

    def pairs(self, rows: LongArray, rng: Rng) -> tuple[Tokens, Tokens]:
        """(text, title or what stands for it) of each row."""
        lengths, heads = self.tokens.lengths_of(rows), self.heads[rows]
        sizes = np.where(heads > 0, heads, np.maximum(1, lengths // 2))
        starts = np.where(heads > 0, 0, (rng.random(len(rows)) * (lengths - sizes + 1)).astype(np.int64))
        delete = rng.random(len(rows)) >= KEEP_TITLE
        cut = np.where(delete | self.titled[rows], sizes, 0)
        texts, titles = without(self.tokens.take(rows), starts, cut), self.tokens.spans(rows, starts, sizes)
        if self.title_limit is not None:  # the text is without all of its title even so
            titles = titles.cut(self.title_limit)
        shorter = np.flatnonzero(delete & (self.deleted_at[rows] >= 0))
        if len(shorter):
            order = np.arange(len(rows))
            order[shorter] = len(rows) + np.arange(len(shorter))
            texts = Tokens.join([texts, self.deleted.take(self.deleted_at[rows[shorter]])]).take(order)
        return texts, titles

    def segments(self, rows: LongArray, words: tuple[int, int], rng: Rng) -> Tokens:
        """A random segment of each row, of so many words or as many as half of the row has."""
        lengths = self.tokens.lengths_of(rows)
        asked = (rng.integers(words[0], words[1] + 1, len(rows)) * TOKENS_PER_WORD).astype(np.int64)
        sizes = np.clip(asked, 1, np.maximum(1, lengths // 2))
        starts = (rng.random(len(rows)) * (lengths - sizes + 1)).astype(np.int64)
        return self.tokens.spans(rows, starts, sizes)


def split_heads(documents: Documents, run: Run = QUIET) -> tuple[list[str], list[str]]:
    """Title and text; (first sentence, the others) where there is no title; ("", text) for a single sentence."""
    heads, bodies, untitled, single = [], [], 0, 0
    for title, text in zip(documents.titles, documents.texts, strict=True):
        if not title.strip():
            untitled += 1
            parts = SENTENCE.split(text.strip(), maxsplit=1)
            title, text = parts if len(parts) == 2 else ("", text)
            single += not title
        heads.append(title)
        bodies.append(text)
    if untitled:
        run.say(
            f"{untitled:,} of {len(heads):,} documents have no title: their first sentence stands for it"
            + (f", and in {single:,} of a single sentence a random half of it" if single else "")
        )
    return heads, bodies


def interleaved(first: Tokens, second: Tokens) -> Tokens:
    """Row i is row i of `first`, then row i of `second`."""
    both = Tokens.join([first, second])
    order = np.arange(2 * first.n_rows).reshape(2, -1).T.ravel()
    taken = both.take(order)
    return Tokens(taken.ids, taken.offsets[::2])


def without(tokens: Tokens, starts: LongArray, sizes: LongArray) -> Tokens:
    """The rows without a span each."""
    at = np.arange(len(tokens.ids)) - np.repeat(tokens.offsets[:-1] + starts, tokens.lengths)
    keep = (at < 0) | (at >= np.repeat(sizes, tokens.lengths))
    return Tokens(tokens.ids[keep], np.concatenate([[0], np.cumsum(tokens.lengths - sizes)]))


def epoch_rows(n: int, size: int, number: int, seed: int) -> LongArray:
    """Rows of batch `number`: every epoch is a permutation of all n rows, cut into batches; sorted in none.

    O(size) a batch: an epoch is permuted once, when its first batch is asked for.
    """
    size = min(size, n)
    per_epoch = max(1, n // size)
    first = number % per_epoch * size
    return _epoch(n, seed, number // per_epoch)[first : first + size].copy()


@functools.lru_cache(maxsize=16)  # a training has two orders at most, of documents and of labels; some run side by side
def _epoch(n: int, seed: int, epoch: int) -> LongArray:
    return np.random.default_rng([seed, epoch]).permutation(n)


def joined_by_others(own: LongArray, n: int, size: int, rng: Rng) -> IntArray:
    """The distinct numbers of `own`, and random ones below n up to `size` in all; sorted. O(size log size).

    Those of `own` stay, however many; some may be n or more, and are only joined. How many there are below n has no
    part in the cost: the i-th of those that are not in `own` is found by a search among these.
    """
    own = np.unique(own)
    inside = own[own < n]
    missing = min(max(0, size - len(own)), n - len(inside))
    chosen = rng.choice(n - len(inside), missing, replace=False)
    chosen += np.searchsorted(inside - np.arange(len(inside)), chosen, side="right")
    return np.sort(np.concatenate([own, chosen])).astype(np.int32)


def dense_part(pairs: Csr, rows: LongArray, columns: IntArray) -> FloatArray:
    """(rows, columns) of a sparse matrix; `columns` are sorted, and have all that these rows have. O(rows x columns).

    scipy's own takes a step for each column of the whole matrix.
    """
    some = pairs[rows]
    found = np.zeros((len(rows), len(columns)), np.float32)
    at = np.repeat(np.arange(len(rows)), np.diff(some.indptr))
    found[at, np.searchsorted(columns, some.indices)] = some.data
    return found


def some_of(n: int, size: int, rng: Rng) -> LongArray:
    """`size` different numbers below n, or all of them, in random order. O(size) where n is large."""
    if n <= FEW:
        return rng.permutation(n)[:size]
    return rng.choice(n, min(size, n), replace=False)
