"""What a model folder says of itself without being loaded."""

from __future__ import annotations

import numpy as np
from tests.store.conftest import Save

from everylabel.index.build import make_index
from everylabel.store import describe
from everylabel.store.describe import part_of


def test_parts_by_the_first_words_of_keys() -> None:
    keys = {"counts": "counts", "tfidf/all/idf": "tfidf", "experts/svm/tfidf/all/idf": "experts/svm"}
    assert {key: part_of(key) for key in keys} == keys


def test_shared_bytes_are_those_of_several_parts(saved: Save) -> None:
    shared, own = np.arange(1_000, dtype=np.float64), np.arange(100, dtype=np.int32)
    index = make_index("exact", 2, 2)
    index.add(np.arange(2), np.eye(2, dtype=np.float32))
    path = saved(
        {"experts/a/x": shared, "experts/a/again": shared, "experts/b/x": shared.copy(), "experts/b/own": own}
        | {"tower/index": index, "note": "plain"}
    )
    found = describe(path)
    parts = {part.name: part for part in found.parts}
    assert parts["experts/a"] == ("experts/a", 2, 8_000, 8_000)
    assert parts["experts/b"] == ("experts/b", 2, 8_400, 8_000)
    assert parts["tower"].bytes > 0
    assert found.shared == 8_000
    assert found.plain["note"] == "plain"
    files = [file for file in path.rglob("*") if file.is_file() and file.name != "README.md"]
    assert (found.files, found.bytes) == (4, sum(file.stat().st_size for file in files))


def test_labels_of_a_state_and_the_vocabulary_are_one_part(saved: Save) -> None:
    found = describe(saved({"labels/vectors": np.zeros(1_000)}))
    (part,) = [part for part in found.parts if part.name == "labels"]
    assert part.bytes > 8_000
