"""A saved model: identical after load, never half written, refused when it cannot be trusted."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from tests.store.conftest import DATA, LABELS, TEXTS, fitted, same_as_fitted

import everylabel
from everylabel import atomic, store
from everylabel.data.dataset import Dataset
from everylabel.errors import ModelError
from everylabel.index.build import make_index
from everylabel.mapping import is_mapped
from everylabel.methods.base import Method, State
from everylabel.methods.traits import Traits
from everylabel.run import Run
from everylabel.text.views import Views
from everylabel.types import Ranking


def test_rankings_and_labels_are_identical_after_load(model: Path) -> None:
    assert same_as_fitted(model)
    assert everylabel.load(model).labels_ == LABELS


def test_settings_survive(tmp_path: Path) -> None:
    everylabel.method("popularity", random_state=7).fit(DATA).save(tmp_path / "model")
    assert everylabel.load(tmp_path / "model").random_state == 7


def test_saving_leaves_nothing_but_the_model(model: Path) -> None:
    fitted().save(model)
    assert [path.name for path in model.parent.iterdir()] == ["model"]
    assert sorted(path.name for path in model.iterdir()) == ["README.md", "arrays", "manifest.json", "plain.json"]
    assert [path.name for path in (model / "arrays").iterdir()] == ["small.npy"]


@pytest.mark.parametrize(
    ("failure", "reported"), [(OSError("disk full"), ModelError), (KeyboardInterrupt(), KeyboardInterrupt)]
)
@pytest.mark.parametrize("at", ["write_json", "about", "write_manifest"])
def test_a_failing_save_leaves_the_old_model(
    model: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException, reported: type[BaseException], at: str
) -> None:
    def broken(*_: object) -> None:
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(f"everylabel.store.write.{at}", broken)
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
        patched.setattr(atomic, "exchange", lambda *_: False)
        patched.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fitted().save(model)
    assert same_as_fitted(model)
    assert [path.name for path in model.parent.iterdir()] == ["model"]


def test_a_newer_model_says_upgrade(model: Path) -> None:
    manifest = json.loads((model / "manifest.json").read_text())
    (model / "manifest.json").write_text(json.dumps({**manifest, "format": store.FORMAT + 1, "everylabel": "9.0"}))
    with pytest.raises(ModelError, match=r"everylabel 9\.0 .*upgrade"):
        everylabel.load(model)


def test_a_model_of_an_earlier_version_says_fit_again(model: Path) -> None:
    (model / "manifest.json").write_text('{"format": 1, "everylabel": "0.1.0", "files": {}}')
    with pytest.raises(ModelError, match=r"written by an earlier version .*fit it again"):
        everylabel.load(model)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "2"}', '{"format": 2}', "\x00", "[" * 100_000])
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


def test_a_model_can_be_moved(model: Path) -> None:
    shutil.move(model, model.parent / "elsewhere")
    assert same_as_fitted(model.parent / "elsewhere")


@dataclass(kw_only=True)
class Nearest(Method):
    """Labels are points on a circle; the state has an index of each kind."""

    name: ClassVar[str] = "nearest-for-tests"
    summary: ClassVar[str] = "points on a circle"
    traits: ClassVar[Traits] = Traits(pairs="unused")

    def _fit(self, dataset: Dataset, run: Run) -> None:  # noqa: ARG002
        angles = np.arange(len(dataset.labels))
        vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        self.indexes_ = {"labels/a b": make_index("exact", 2, 4), "labels/../x": make_index("ann", 2, 4)}
        for index in self.indexes_.values():
            index.add(np.arange(len(angles)), vectors)

    def _rank(self, views: Views, k: int) -> Ranking:
        query = np.array([[0.6, 0.8]] * len(views), np.float32)
        exact, ann = (index.search(query, k) for index in self.indexes_.values())
        assert np.array_equal(exact.ids, ann.ids)
        return exact

    def _state(self) -> State:
        return dict(self.indexes_)

    def _restore(self, state: State) -> None:
        self.indexes_ = {key: state[key] for key in ("labels/a b", "labels/../x")}


@pytest.fixture
def indexed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("everylabel.store.read.method_class", lambda _name: Nearest)
    Nearest().fit(DATA).save(tmp_path / "model")
    return tmp_path / "model"


def test_an_index_has_its_own_checked_file_and_is_mapped(indexed: Path) -> None:
    found = {f"arrays/{path.name}" for path in (indexed / "arrays").iterdir()}
    assert {Path(name).suffix for name in found} == {".npy", ".exact", ".ann"}
    assert found < set(json.loads((indexed / "manifest.json").read_text())["files"])
    loaded = everylabel.load(indexed)
    assert isinstance(loaded, Nearest)
    assert loaded.rank(TEXTS, k=3).ids.tolist() == [[1, 0, 2]] * 4
    assert is_mapped(loaded.indexes_["labels/a b"]._vectors)  # type: ignore[attr-defined]
    loaded.save(indexed)  # over the files that are mapped
    assert {f"arrays/{path.name}" for path in (indexed / "arrays").iterdir()} == found
    assert everylabel.load(indexed).rank(TEXTS, k=3).ids.tolist() == [[1, 0, 2]] * 4


@pytest.mark.parametrize("end", ["exact", "ann"])
def test_a_damaged_or_missing_index_is_refused(indexed: Path, end: str) -> None:
    (file,) = (indexed / "arrays").glob(f"*.{end}")
    content = bytearray(file.read_bytes())
    content[-70] ^= 1
    file.write_bytes(content)
    with pytest.raises(ModelError, match="damaged"):
        everylabel.load(indexed)
    file.unlink()
    with pytest.raises(ModelError, match="is missing"):
        everylabel.load(indexed)
