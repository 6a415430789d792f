"""Popularity by hand."""

from __future__ import annotations

import numpy as np

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.methods.words.popularity import Popularity


def test_shares_of_the_training_documents() -> None:
    labels = LabelSet.of(Label(str(i), f"label {i}") for i in range(5))
    pairs = pairs_from_lists([[3, 1], [3], [3, 1, 4], [4], []], 5)
    method = Popularity().fit(Dataset(Documents.of(["any"] * 5), labels, pairs))
    ids, scores = method.rank(["one", ""], 5)
    assert ids.tolist() == [[3, 1, 4, -1, -1]] * 2  # a tie goes to the lower label; unseen ones are not ranked
    expected = np.array([[0.6, 0.4, 0.4, -np.inf, -np.inf]] * 2, np.float32)
    np.testing.assert_array_equal(scores, expected)
