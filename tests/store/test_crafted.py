"""A crafted model is refused before a kernel uses it: right checksums say nothing of who wrote them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.store.conftest import TEXTS, Save, fitted, same_as_fitted, state_of
from tests.store.crafting import craft, craft_plain, put, resign

import everylabel
from everylabel import store
from everylabel.data.columns import TextColumn
from everylabel.data.dataset import Label
from everylabel.errors import ModelError
from everylabel.index.build import make_index
from everylabel.store import known

KNN = [
    ("pairs", put(0, 4), 1, "columns must be from 0 to 3"),
    ("pairs", put(-1, -1), 1, "columns must be from 0 to 3"),
    ("pairs", put(1, 10**6), 2, "must go from 0"),
    ("pairs", put(0, np.nan), 0, "NaN"),
    ("documents/rows", put(0, 4), 0, "rows of lists must be from 0 to 3"),
    ("documents/starts", put(1, 10**6), 0, "lists of words must go from 0"),
    ("documents/owners", put(-1, 10**6), 0, "owners of rows must be from 0 to 3"),
    ("documents/scales", put(0, np.inf), 0, "scales of lists must be from"),
    ("tfidf/all/idf", put(0, np.nan), 0, "NaN"),
    ("tfidf/all/idf", put(0, 1e300), 0, "idf must be from 0 to 1000"),
    ("tfidf/all/names", put(0, 255), 0, "not UTF-8"),
    ("tfidf/all/names", put(0, 10), 0, "names for"),
    ("counts", put(0, -5), 0, "counts must be from 0"),
]


@pytest.fixture
def knn(tmp_path: Path) -> Path:
    fitted("knn").save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize(("key", "change", "part", "message"), KNN)
def test_what_a_kernel_would_index_or_compute_by_is_checked(
    knn: Path, key: str, change: Callable[[Any], Any], part: int, message: str
) -> None:
    craft(knn, key, change, part)
    with pytest.raises(ModelError, match=rf"model: the model's files do not fit together \(.*{message}.*\); fit"):
        everylabel.load(knn)


@pytest.mark.parametrize(
    ("key", "change", "part", "message"),
    [
        ("names", put(1, 10**9), 1, "names must go from 0"),
        ("names", put(0, 0x80), 0, "not UTF-8"),
        ("alternatives/offsets", put(1, 99), 0, "alternatives must go from 0"),
        ("index/places", put(0, 99), 0, "places of ids must be from 0 to 3"),
        ("index/places", put(slice(None), 1), 0, "twice"),
    ],
)
def test_the_vocabulary_is_checked(model: Path, key: str, change: Any, part: int, message: str) -> None:
    craft(model, key, change, part, "labels")
    with pytest.raises(ModelError, match=message):
        everylabel.load(model)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_train": "many"}, "n_train must be a whole number"),
        ({"n_fitted": 10**9}, "n_fitted must be a whole number from 0 to 4"),
        ({"tfidf/all/ngrams": 10**9}, "ngrams must be a whole number from 1 to"),
        ({"tfidf/fields": []}, "lists of words"),
        ({"tfidf/n_features": -1}, "n_features"),
    ],
)
def test_plain_values_are_checked(knn: Path, changes: dict[str, Any], message: str) -> None:
    craft_plain(knn, lambda plain: plain.update(changes))
    with pytest.raises(ModelError, match=message):
        everylabel.load(knn)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5_000])
def test_numbers_that_are_none_are_refused(model: Path, number: str) -> None:
    (model / "plain.json").write_text(f'{{"n_train": {number}}}')
    resign(model)
    with pytest.raises(ModelError, match=r"plain.json: is damaged"):
        everylabel.load(model)


@pytest.mark.parametrize("depth", [100, 5_000, 1_000_000])
@pytest.mark.parametrize("name", ["plain.json", "manifest.json"])
def test_deep_json_is_one_line(model: Path, name: str, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    if name == "plain.json":
        (model / name).write_text(f'{{"n_train": {deep}}}')
        resign(model)
    else:
        (model / name).write_text(f'{{"format": 2, "config": {deep}}}')
    for look in (everylabel.load, store.describe):
        with pytest.raises(ModelError, match=f"{name}: is damaged") as caught:
            look(model)
        assert "\n" not in str(caught.value)


def test_sizes_are_compared_before_anything_is_allocated(knn: Path) -> None:
    manifest = store.read_manifest(knn)
    state = manifest["state"] | {"pairs": manifest["state"]["pairs"] | {"shape": [10**12, 4]}}
    resign(knn, state=state)
    with pytest.raises(ModelError, match="parts of different lengths"):
        everylabel.load(knn)


@pytest.mark.parametrize("dtype", ["|O", ">i4", "<U3", "<c8", "<M8[s]", "nonsense", None, 7])
def test_types_that_no_kernel_has_seen_are_refused(knn: Path, dtype: Any) -> None:
    arrays = store.read_manifest(knn)["arrays"]
    name = next(iter(arrays))
    resign(knn, arrays=arrays | {name: arrays[name] | {"dtype": dtype}})
    for look in (everylabel.load, store.describe):
        with pytest.raises(ModelError, match="has no place in any file"):
            look(knn)


def test_every_float_and_every_text_of_a_state_is_checked_whoever_has_it(saved: Save) -> None:
    index = make_index("exact", 2, 4)
    index.add(np.arange(2), np.eye(2, dtype=np.float32))
    path = saved(numbers=np.ones(3), texts=TextColumn.of(["é", "b"]), index=index)
    craft(path, "numbers", put(1, np.nan))
    with pytest.raises(ModelError, match="numbers has NaN among its values"):
        state_of(path)
    craft(path, "numbers", put(1, 1.0))
    craft(path, "texts", put(1, 1), part=1)  # inside of é
    with pytest.raises(ModelError, match="texts has a text that begins inside a character"):
        state_of(path)
    craft(path, "texts", put(1, 2), part=1)
    state_of(path)


# --- what was checked is known


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Grows with each model whose contents are looked at."""
    found: list[str] = []
    real = store.read._check_parts

    def noted(opened: Any) -> None:
        found.append("checked")
        real(opened)

    monkeypatch.setattr(store.read, "_check_parts", noted)
    monkeypatch.setattr(known, "_TICK", -1)  # files of a test are always fresh
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "cache"))
    return found


def test_a_model_of_this_machine_is_not_checked_and_one_from_elsewhere_once(checked: list[str], tmp_path: Path) -> None:
    fitted().save(tmp_path / "own")
    assert same_as_fitted(tmp_path / "own")
    (tmp_path / "own").rename(tmp_path / "moved")
    everylabel.load(tmp_path / "moved")
    assert checked == []
    shutil.copytree(tmp_path / "moved", tmp_path / "copied")
    everylabel.load(tmp_path / "copied")
    assert checked == ["checked"]
    assert same_as_fitted(tmp_path / "copied")
    assert checked == ["checked"]


def test_a_file_that_was_changed_behind_its_manifest_is_noticed(checked: list[str], saved: Save) -> None:
    path = saved(large=np.zeros(50_000))
    state_of(path)
    (file,) = (path / "arrays").glob("[0-9a-f]*.npy")
    data = bytearray(file.read_bytes())
    data[-8:] = np.array([np.nan]).tobytes()
    file.write_bytes(data)  # neither its size nor the manifest has changed
    with pytest.raises(ModelError, match="large has NaN"):
        state_of(path)
    assert checked == ["checked"]


def test_a_model_that_is_refused_is_never_known(checked: list[str], model: Path) -> None:
    craft(model, "counts", put(0, -1))
    for _ in range(2):
        with pytest.raises(ModelError):
            everylabel.load(model)
    assert len(checked) == 2


def test_without_a_cache_to_write_to_it_is_checked_each_time(
    checked: list[str], model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        assert same_as_fitted(model)
    assert len(checked) == 2


def test_marks_do_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(known, "_MOST", 10)
    for i in range(30):
        known.remember(f"mark {i}")
        assert known.is_known(f"mark {i}")
    assert len(list((tmp_path / "cache" / "checked").iterdir())) <= 11


def test_what_came_after_the_fit_is_checked_and_works(checked: list[str], tmp_path: Path) -> None:
    """Added and removed labels, from elsewhere."""
    method = fitted("svm").add_labels([Label("new", "boats at sea")]).remove_labels(["l1"])
    method.save(tmp_path / "own")
    shutil.copytree(tmp_path / "own", tmp_path / "copied")
    again = everylabel.load(tmp_path / "copied")
    assert checked == ["checked"]
    np.testing.assert_array_equal(again.rank(TEXTS, 4).ids, method.rank(TEXTS, 4).ids)
    craft(tmp_path / "copied", "added/match/added/owners", put(0, 99))
    with pytest.raises(ModelError, match="labels without a text to be found by"):
        everylabel.load(tmp_path / "copied")


def test_json_of_settings_is_not_followed(model: Path) -> None:
    manifest = json.loads((model / "manifest.json").read_text())
    resign(model, config=manifest["config"] | {"random_state": 10**30})
    with pytest.raises(ModelError, match="random_state is too large"):
        everylabel.load(model)
