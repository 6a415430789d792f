"""Documents of words that go with labels and say nothing of their names: what encoders learn from pairs in tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists

NAMES = ["fish", "law", "milk", "wine"]
CLUES = [["sea", "ship"], ["tax", "customs"], ["trade", "union"], ["european", "trading"]]


def labels(*unseen: Label) -> LabelSet:
    """Those of the names, each with an alternative, then others that no document has."""
    return LabelSet.of(
        [*(Label(f"l{i}", name, alternatives=(f"the {name}",)) for i, name in enumerate(NAMES)), *unseen]
    )


def data(vocabulary: LabelSet) -> Dataset:
    """A document is made of its labels' clues."""
    rng = np.random.default_rng(0)
    lists = [[i % 4] if i % 3 else [i % 4, (i + 1) % 4] for i in range(32)]
    texts = [" ".join(word for label in own for word in rng.permutation(CLUES[label])) + " of the" for own in lists]
    return Dataset(Documents.of(texts), vocabulary, pairs_from_lists(lists, len(vocabulary)))


DOCUMENTS = data(labels()).documents


def scores(method: Any, texts: Documents = DOCUMENTS) -> Any:
    """Documents x labels."""
    n_labels = len(method.labels_)
    found = method.rank(texts, n_labels)
    dense = np.zeros((len(texts), n_labels), np.float32)
    for row, ids, values in zip(dense, found.ids, found.scores, strict=True):
        row[ids[ids >= 0]] = values[ids >= 0]
    return dense
