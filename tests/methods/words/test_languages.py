"""Classifiers and neighbours in languages whose words have parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError

NAMES = ["wind", "rail", "wine"]
TEXTS = ["Windkraftanlagen am Meer", "Eisenbahnbrücken am Fluss", "Weinbaugebiete am Hang"] * 4


def german() -> Dataset:
    labels = LabelSet.of(Label(str(i), name) for i, name in enumerate(NAMES))
    return Dataset(Documents.of(TEXTS), labels, pairs_from_lists([[i % 3] for i in range(len(TEXTS))], 3))


@pytest.mark.parametrize("name", ["svm", "xr-linear", "knn"])
def test_words_that_were_never_seen_are_known_by_their_parts(name: str, tmp_path: Any) -> None:
    new = ["Windkraftwerk", "Eisenbahner", "Weinbauern"]
    assert (everylabel.method(name).fit(german()).rank(new, 1).ids == -1).all()
    method = everylabel.method(name, language="de").fit(german())
    found = method.rank(new, 1)
    assert found.ids.ravel().tolist() == [0, 1, 2]
    method.save(tmp_path / "model")
    again = everylabel.load(tmp_path / "model").rank(new, 1)
    np.testing.assert_array_equal(again.ids, found.ids)
    np.testing.assert_array_equal(again.scores, found.scores)


@pytest.mark.parametrize("name", ["svm", "knn"])
def test_an_added_label_is_found_in_a_compound(name: str) -> None:
    method = everylabel.method(name, language="de").fit(german())
    method.add_labels([Label("new", "Schifffahrt")])
    assert method.rank(["Schifffahrtsweg"], 1).ids.tolist() == [[3]]


@pytest.mark.parametrize("name", ["svm", "xr-linear", "knn"])
def test_an_unknown_language_is_an_error(name: str) -> None:
    with pytest.raises(ConfigError, match="language must be"):
        everylabel.method(name, language="xx").fit(german())
