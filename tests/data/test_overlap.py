"""Texts that two splits share, by their contents."""

from __future__ import annotations

from everylabel.data.dataset import Documents
from everylabel.data.enough import too_few
from everylabel.data.overlap import shared_texts


def test_texts_are_compared_whatever_their_ids_spaces_capitals_and_titles() -> None:
    first = Documents(["a", "b", "c"], ["Red  apples", "", "a bear"], ["", "", "Zoo"])
    second = Documents(["x", "y", "z", "b"], ["red apples\n", "zoo a bear", "", "new"], ["", "", "", ""])
    found = shared_texts(first, second)
    assert found.n_docs == 2
    assert found.examples == [("x", "a"), ("y", "c")]
    assert shared_texts(first, Documents.of(["other"])).n_docs == 0


def test_a_split_may_be_too_small_for_its_use() -> None:
    assert "dev has 3 labelled documents: at least 20 are needed to calibrate on, 300 to blend on" in too_few("dev", 3)
    assert "held-out training documents instead" in too_few("dev", 100)
    assert too_few("dev", 100, blended=False) == too_few("dev", 300) == ""
    assert "is 10 points of P@1" in too_few("test", 10)
    assert "train has 1 labelled document:" in too_few("train", 1)
    assert too_few("train", 10) == too_few("test", 50) == too_few("train", 0) == ""
