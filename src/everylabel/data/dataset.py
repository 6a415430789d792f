"""The data model: documents, a vocabulary of labels, and the pairs between them (or none)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from everylabel.data.given import texts_of
from everylabel.data.label import Label as Label  # as all of the data model is in this module's name
from everylabel.data.label import Translation as Translation
from everylabel.data.labels import LabelSet as LabelSet
from everylabel.errors import DataError
from everylabel.run import Run
from everylabel.types import Csr, IntArray, LongArray


@dataclass(frozen=True)
class Documents:
    """Parallel lists. `features` stands in for the texts in data sets that come as a bag of words, and for their TF-IDF
    in those that have both. `fields`: other texts of each document by name, for who chooses among them before tagging
    (workflow/transform.py); no method reads them."""

    ids: list[str]
    texts: list[str]
    titles: list[str]
    features: Csr | None = None
    fields: list[dict[str, str]] | None = None

    def __post_init__(self) -> None:
        for name, what in (("ids", "id"), ("texts", "text"), ("titles", "title")):
            object.__setattr__(self, name, texts_of(getattr(self, name), what))
        lengths = {len(self.ids), len(self.texts), len(self.titles)}
        if self.features is not None:
            lengths.add(self.features.shape[0])
        if self.fields is not None:
            lengths.add(len(self.fields))
        if len(lengths) != 1:
            raise DataError(
                f"documents need as many ids as texts, titles and feature rows; got lengths {sorted(lengths)}"
            )

    @classmethod
    def of(cls, texts: Documents | Iterable[str], titles: Iterable[str] | None = None) -> Documents:
        """Plain texts as documents, numbered from 0; documents pass through.

        Lists, generators, arrays and columns of strings. What is no string, and one text that is not in a list, is an
        error (given.py).
        """
        if isinstance(texts, Documents):
            return texts
        found = list(texts_of(texts))
        return cls(
            ids=[str(i) for i in range(len(found))],
            texts=found,
            titles=list(texts_of(titles, "title")) if titles is not None else [""] * len(found),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def is_bag_of_words(self) -> bool:
        """Features, and not one text."""
        return self.features is not None and not any(self.texts)

    def subset(self, rows: Sequence[int] | LongArray) -> Documents:
        at = [int(i) for i in rows]
        return Documents(
            ids=[self.ids[i] for i in at],
            texts=[self.texts[i] for i in at],
            titles=[self.titles[i] for i in at],
            features=None if self.features is None else self.features[at],
            fields=None if self.fields is None else [self.fields[i] for i in at],
        )

    def slices(self, size: int) -> Iterable[Documents]:
        """Consecutive parts of at most `size` documents."""
        for start in range(0, len(self), size):
            yield self.subset(range(start, min(start + size, len(self))))

    @property
    def full_texts(self) -> list[str]:
        """Title, line break, text; just the text where there is no title."""
        return [f"{title}\n{text}" if title else text for title, text in zip(self.titles, self.texts, strict=True)]


@dataclass(frozen=True)
class Dataset:
    """Documents, the whole vocabulary, and `pairs` (csr, n_docs x n_labels, binary), or None when there are none."""

    documents: Documents
    labels: LabelSet
    pairs: Csr | None = None
    name: str = field(default="data", compare=False)

    def __post_init__(self) -> None:
        if self.pairs is None:
            return
        expected = (len(self.documents), len(self.labels))
        if self.pairs.shape != expected:
            raise DataError(f"pairs must be documents x labels = {expected}; got a matrix of shape {self.pairs.shape}")
        object.__setattr__(self, "pairs", binary(self.pairs))

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def required_pairs(self) -> Csr:
        """The pairs, or an error that says what to do without them."""
        if self.pairs is None:
            raise DataError(f"{self.name}: this needs labelled documents, and there is no labelled pair; add labels")
        return self.pairs

    @cached_property
    def counts(self) -> LongArray:
        """Number of documents of each label; zeros without pairs."""
        if self.pairs is None:
            return np.zeros(len(self.labels), np.int64)
        return np.bincount(self.pairs.indices, minlength=len(self.labels)).astype(np.int64)

    def subset(self, rows: Sequence[int] | LongArray) -> Dataset:
        """These documents only; the vocabulary stays whole."""
        pairs = None if self.pairs is None else self.pairs[np.asarray(rows, np.int64)]
        return replace(self, documents=self.documents.subset(rows), pairs=pairs)

    def with_successors(self) -> tuple[Dataset, int]:
        """Pairs that name a deprecated label moved to the one that replaced it (`successors`), and how many."""
        if self.pairs is None or not self.labels.deprecated.any():
            return self, 0
        places = self.labels.successors[self.pairs.indices]
        n_moved = int((places != self.pairs.indices).sum())
        if not n_moved:
            return self, 0
        moved = csr_matrix((self.pairs.data, places.astype(np.int32), self.pairs.indptr), shape=self.pairs.shape)
        return self.with_pairs(moved), n_moved

    def without_pairs(self) -> Dataset:
        return replace(self, pairs=None)

    def with_pairs(self, pairs: Csr | None) -> Dataset:
        return replace(self, pairs=pairs)


def current(dataset: Dataset, run: Run) -> Dataset:
    """With the labels that replaced deprecated ones; says how many pairs that were."""
    moved, n = dataset.with_successors()
    if n:
        run.say(f"{dataset.name}: {n:,} labels of documents are deprecated, and read as the labels that replaced them")
    return moved


def binary(matrix: Csr) -> Csr:
    """Sorted, without duplicates or explicit zeros, every value 1: what every method may rely on."""
    pairs = csr_matrix(matrix, dtype=np.float32, copy=True)
    pairs.sum_duplicates()
    pairs.eliminate_zeros()
    pairs.sort_indices()
    pairs.data[:] = 1
    return pairs


def pairs_in(labels: LabelSet, dataset: Dataset) -> Csr:
    """The data's pairs in another vocabulary, matched by ids; labels that it has not get columns after its own."""
    pairs = dataset.required_pairs
    if labels is dataset.labels:
        return pairs
    column = labels.index.places(dataset.labels.ids)
    unknown = column < 0
    column[unknown] = len(labels) + np.arange(unknown.sum())
    shape = (pairs.shape[0], len(labels) + int(unknown.sum()))
    moved = csr_matrix((pairs.data, column.astype(np.int32)[pairs.indices], pairs.indptr), shape=shape)
    return binary(moved)


def contains(pairs: Csr, ids: IntArray) -> NDArray[np.bool_]:
    """Whether (row, id) is among the sorted pairs, for each entry of ids (n_docs, k). O(n k log pairs)."""
    n_docs, n_labels = pairs.shape
    if pairs.nnz == 0 or ids.size == 0:
        return np.zeros(ids.shape, np.bool_)
    first = np.arange(n_docs, dtype=np.int64) * n_labels
    keys = np.repeat(first, np.diff(pairs.indptr)) + pairs.indices
    wanted = first[:, None] + ids
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    # padding (-1) has the key of the previous document's last label: it has to be ruled out by itself
    return np.asarray((keys[at] == wanted) & (ids >= 0))


def pairs_from_lists(label_lists: Iterable[Iterable[int]], n_labels: int) -> Csr:
    """Csr pairs from one list of label indices a document."""
    indices: list[int] = []
    indptr = [0]
    for row in label_lists:
        indices.extend(row)
        indptr.append(len(indices))
    matrix = csr_matrix(
        (np.ones(len(indices), np.float32), np.array(indices, np.int32), np.array(indptr, np.int64)),
        shape=(len(indptr) - 1, n_labels),
    )
    return binary(matrix)
