"""What scikit-learn's users give, as our data: X a list of texts, y an indicator matrix or lists of label ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from everylabel.data.dataset import Documents, Label, LabelSet, binary
from everylabel.data.given import kind_of, texts_of
from everylabel.data.labels import labels_of
from everylabel.errors import DataError
from everylabel.types import Csr

Labels = LabelSet | Sequence[Label] | Sequence[str] | None


def documents_of(X: Any) -> Documents:
    """A list, an array or a column of texts; an array of one column, too, as a ColumnTransformer makes it."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
        X = X.ravel()
    return X if isinstance(X, Documents) else Documents.of(X)


def vocabulary_of(labels: Labels, y: Any) -> LabelSet:
    """The labels as given; without, those of y: its columns by number, or its ids, which are names, too, then."""
    if isinstance(labels, LabelSet):
        return labels
    if labels is not None:
        given: list[Any] = list(labels)
        if given and all(isinstance(one, str) for one in given):
            return _named(texts_of(given, "label"))
        return LabelSet.of(labels_of(given))
    if is_matrix(y):
        return LabelSet.of(Label(str(column), str(column)) for column in range(y.shape[1]))
    return _named(sorted({label for row in _rows(y) for label in row}))


def pairs_of(y: Any, labels: LabelSet) -> Csr:
    """y in the columns of this vocabulary. A matrix has one column a label, in its order. O(pairs)."""
    if is_matrix(y):
        if y.shape[1] != len(labels):
            raise DataError(
                f"y has {y.shape[1]:,} columns, and there are {len(labels):,} labels; give one column a label, in the "
                "order of `labels`"
            )
        return binary(csr_matrix(y))
    rows = _rows(y)
    given = [label for row in rows for label in row]
    places = labels.index.places(given)
    if (places < 0).any():
        unknown = given[int(np.argmin(places))]
        raise DataError(f"y has the label {unknown!r}, which is not in the vocabulary of {len(labels):,} labels")
    ends = np.cumsum([0, *(len(row) for row in rows)])
    matrix = csr_matrix(
        (np.ones(len(given), np.float32), places.astype(np.int32), ends), shape=(len(rows), len(labels))
    )
    return binary(matrix)


def is_matrix(y: Any) -> bool:
    return issparse(y) or (isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "biuf")


def _rows(y: Any) -> list[list[str]]:
    if isinstance(y, str) or not hasattr(y, "__iter__"):
        raise DataError(
            f"y is {kind_of(y)}; expected an indicator matrix, documents x labels, or a list of label ids each"
        )
    return [texts_of(row, "label id", f"document {at}: ") for at, row in enumerate(y)]


def _named(ids: list[str]) -> LabelSet:
    return LabelSet.of(Label(one, one) for one in ids)
