"""A saved model: identical after load, never half written, refused when it cannot be trusted."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import everylabel
from everylabel import store
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ModelError
from everylabel.index.build import make_index
from everylabel.methods.base import Method, State
from everylabel.methods.traits import Traits
from everylabel.types import Ranking

TEXTS = ["a boat on the sea", "a train on rails", "a boat and a train", "the harbour at night"]


def fitted(name: str = "popularity") -> Method:
    labels = LabelSet.of(Label(f"l{i}", f"label {i}", alternatives=("other",), parents=("l0",)) for i in range(4))
    pairs = pairs_from_lists([[0, 1], [0, 2], [0, 1], [3]], 4)
    return everylabel.method(name).fit(Dataset(Documents.of(TEXTS), labels, pairs))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    fitted().save(tmp_path / "model")
    return tmp_path / "model"


def same_as_fitted(path: Path) -> bool:
    want, got = fitted().rank(TEXTS, k=3), everylabel.load(path).rank(TEXTS, k=3)
    return np.array_equal(want.ids, got.ids) and np.array_equal(want.scores, got.scores)


def test_rankings_and_labels_are_identical_after_load(model: Path) -> None:
    assert same_as_fitted(model)
    assert everylabel.load(model).labels_ == fitted().labels_


def test_settings_survive(tmp_path: Path) -> None:
    method = fitted()
    method.random_state = 7
    method.save(tmp_path / "model")
    assert everylabel.load(tmp_path / "model").random_state == 7


def test_saving_leaves_nothing_but_the_model(model: Path) -> None:
    fitted().save(model)
    assert [path.name for path in model.parent.iterdir()] == ["model"]
    assert sorted(path.name for path in model.iterdir()) == ["arrays.npz", "labels.json", "manifest.json", "state.json"]


@pytest.mark.parametrize(
    ("failure", "reported"), [(OSError("disk full"), ModelError), (KeyboardInterrupt(), KeyboardInterrupt)]
)
@pytest.mark.parametrize("at", ["_write_json", "_digest"])
def test_a_failing_save_leaves_the_old_model(
    model: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException, reported: type[BaseException], at: str
) -> None:
    def broken(*_: object) -> None:
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(store, at, broken)
        with pytest.raises(reported, match="disk full" if reported is ModelError else None):
            fitted().save(model)
    assert same_as_fitted(model)
    assert [path.name for path in model.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("failing_rename", [1, 2])
def test_an_interrupt_between_the_renames_restores_the_old_model(
    model: Path, monkeypatch: pytest.MonkeyPatch, failing_rename: int
) -> None:
    rename, calls = Path.rename, []

    def interrupted(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == failing_rename:
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fitted().save(model)
    assert same_as_fitted(model)
    assert [path.name for path in model.parent.iterdir()] == ["model"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), which=st.integers(0, 3))
def test_any_flipped_bit_is_refused(model: Path, where: float, bit: int, which: int) -> None:
    file = sorted(model.iterdir())[which]
    whole = file.read_bytes()
    at = int(where * (len(whole.rstrip())))  # not the line end: a different white space is no damage
    file.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << bit)]) + whole[at + 1 :])
    try:
        if file.name == "manifest.json" and _same_json(whole, file.read_bytes()):
            return
        with pytest.raises(ModelError, match=r"damaged|newer|upgrade|fit"):
            everylabel.load(model)
    finally:
        file.write_bytes(whole)


def _same_json(one: bytes, other: bytes) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


@pytest.mark.parametrize("name", ["arrays.npz", "labels.json", "state.json"])
def test_a_missing_file_is_named(model: Path, name: str) -> None:
    (model / name).unlink()
    with pytest.raises(ModelError, match=name):
        everylabel.load(model)


def test_a_newer_model_says_upgrade(model: Path) -> None:
    manifest = json.loads((model / "manifest.json").read_text())
    (model / "manifest.json").write_text(json.dumps({**manifest, "format": store.FORMAT + 1, "everylabel": "9.0"}))
    with pytest.raises(ModelError, match=r"everylabel 9\.0 .*upgrade"):
        everylabel.load(model)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "1"}', '{"format": 1}', "\x00"])
def test_a_manifest_that_is_none_is_refused(model: Path, content: str) -> None:
    (model / "manifest.json").write_text(content)
    with pytest.raises(ModelError, match="damaged"):
        everylabel.load(model)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ModelError, match="not a model folder"):
            everylabel.load(path)


def test_a_folder_that_is_no_model_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(ModelError, match="is not a model"):
        fitted().save(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_overwriting_can_be_refused(model: Path) -> None:
    with pytest.raises(ModelError, match="there is a model already"):
        fitted().save(model, overwrite=False)


def test_a_link_stays_a_link(model: Path) -> None:
    link = model.parent / "link"
    link.symlink_to(model)
    fitted().save(link)
    assert link.is_symlink()
    assert same_as_fitted(link)


def test_a_pickle_in_the_arrays_is_refused(model: Path) -> None:
    """Even one whose checksum is right: a model may come from anywhere."""
    np.savez(model / "arrays.npz", counts=np.array([{"a": "pickle"}], dtype=object))
    manifest = json.loads((model / "manifest.json").read_text())
    del manifest["sha256"]
    manifest["files"]["arrays.npz"]["sha256"] = store._digest(model / "arrays.npz")
    store._write_json(model / "manifest.json", manifest | {"sha256": store._digest_of(manifest)})
    with pytest.raises(ModelError, match="do not fit together"):
        everylabel.load(model)


def test_a_model_can_be_moved(model: Path) -> None:
    shutil.move(model, model.parent / "elsewhere")
    assert same_as_fitted(model.parent / "elsewhere")


@dataclass(kw_only=True)
class Nearest(Method):
    """Labels are points on a circle; the state has an index of each kind."""

    name: ClassVar[str] = "nearest-for-tests"
    traits: ClassVar[Traits] = Traits(pairs="unused")

    def _fit(self, dataset: Dataset) -> None:
        angles = np.arange(len(dataset.labels))
        vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        self.indexes_ = {"labels/a b": make_index("exact", 2, 4), "labels/../x": make_index("ann", 2, 4)}
        for index in self.indexes_.values():
            index.add(np.arange(len(angles)), vectors)

    def _rank(self, documents: Documents, k: int) -> Ranking:
        query = np.array([[0.6, 0.8]] * len(documents), np.float32)
        exact, ann = (index.search(query, k) for index in self.indexes_.values())
        assert np.array_equal(exact.ids, ann.ids)
        return exact

    def _state(self) -> State:
        return dict(self.indexes_)

    def _restore(self, state: State) -> None:
        self.indexes_ = {key: state[key] for key in ("labels/a b", "labels/../x")}


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(store, "method_class", lambda _name: Nearest)
    data = Dataset(Documents.of(TEXTS), fitted().labels_, None)
    Nearest().fit(data).save(tmp_path / "model")
    return tmp_path / "model"


def test_an_index_has_its_own_checked_file_and_is_mapped(indexed: Path) -> None:
    names = {"labels%2Fa%20b.exact", "labels%2F..%2Fx.ann"}
    assert names < {path.name for path in indexed.iterdir()}
    assert names < set(json.loads((indexed / "manifest.json").read_text())["files"])
    loaded = everylabel.load(indexed)
    assert isinstance(loaded, Nearest)
    assert loaded.rank(TEXTS, k=3).ids.tolist() == [[1, 0, 2]] * 4
    assert isinstance(loaded.indexes_["labels/a b"]._vectors, np.memmap)  # type: ignore[attr-defined]
    loaded.save(indexed)  # over the files that are mapped
    assert everylabel.load(indexed).rank(TEXTS, k=3).ids.tolist() == [[1, 0, 2]] * 4


@pytest.mark.parametrize("end", ["exact", "ann"])
def test_a_damaged_or_missing_index_is_refused(indexed: Path, end: str) -> None:
    (file,) = indexed.glob(f"*.{end}")
    content = bytearray(file.read_bytes())
    content[-70] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelError, match="damaged"):
        everylabel.load(indexed)
    file.unlink()
    with pytest.raises(ModelError, match="is missing"):
        everylabel.load(indexed)
