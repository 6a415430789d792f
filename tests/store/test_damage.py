"""Damage is found: any of a small file when a model is opened, any of a large one when one asks for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.store.conftest import Save, state_of

import everylabel
from everylabel import store
from everylabel.errors import ModelError
from everylabel.store import manifest as manifests

FILES = ["arrays/small.npy", "manifest.json", "plain.json"]
LARGE = np.arange(50_000, dtype=np.int32)


def flip(file: Path, at: int, bit: int = 0) -> None:
    with file.open("r+b") as stream:
        stream.seek(at)
        (value,) = stream.read(1)
        stream.seek(at)
        stream.write(bytes([value ^ (1 << bit)]))


def rewrite(model: Path, **changes: Any) -> None:
    """Parts of the manifest, with the right checksum: a model may come from anywhere."""
    manifest = json.loads((model / "manifest.json").read_text()) | changes
    del manifest["sha256"]
    manifests.write_manifest(model, manifest)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), name=st.sampled_from(FILES))
def test_any_flipped_bit_is_refused(model: Path, where: float, bit: int, name: str) -> None:
    file = model / name
    whole = file.read_bytes()
    flip(file, int(where * len(whole.rstrip(b"\n"))), bit)  # not the line end: a different white space is no damage
    try:
        if name == "manifest.json" and _same_json(whole, file.read_bytes()):
            return
        with pytest.raises(ModelError, match=r"damaged|earlier|upgrade|fit"):
            everylabel.load(model)
        with pytest.raises(ModelError):
            store.check(model)
    finally:
        file.write_bytes(whole)


def _same_json(one: bytes, other: bytes) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False


@pytest.mark.parametrize("name", FILES[::2])
def test_a_missing_file_is_named(model: Path, name: str) -> None:
    (model / name).unlink()
    with pytest.raises(ModelError, match=f"{name}: is missing"):
        everylabel.load(model)
    with pytest.raises(ModelError, match=f"{name}: is missing"):
        store.check(model)


def test_a_flipped_bit_of_a_large_array_is_found_by_those_who_look(saved: Save) -> None:
    path = saved(large=LARGE)
    (file,) = (path / "arrays").glob("[0-9a-f]*.npy")
    for at in (30, 128, file.stat().st_size - 1):  # in the header, too, which nobody reads when a model is opened
        flip(file, at)
        state_of(path)
        for look in (lambda: state_of(path, verify=True), lambda: store.check(path)):
            with pytest.raises(ModelError, match=rf"{file.name}: is damaged \(its checksum differs\)"):
                look()
        flip(file, at)
    assert np.array_equal(state_of(path, verify=True)["large"], LARGE)


@pytest.mark.parametrize("change", [lambda b: b[:-1], lambda b: b[:100], lambda b: b[:0], lambda b: b + b"."])
def test_a_large_array_of_another_size_is_refused_at_once(saved: Save, change: Any) -> None:
    path = saved(large=LARGE)
    (file,) = (path / "arrays").glob("[0-9a-f]*.npy")
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(ModelError, match=rf"{file.name}: is damaged \(.* bytes, expected 200,128\)"):
        state_of(path)


def test_a_missing_large_array_is_named(saved: Save) -> None:
    path = saved(large=LARGE)
    (file,) = (path / "arrays").glob("[0-9a-f]*.npy")
    file.unlink()
    with pytest.raises(ModelError, match=f"{file.name}: is missing"):
        state_of(path)


def test_a_model_that_is_whole_is_counted(saved: Save) -> None:
    path = saved(large=LARGE)
    files = [file for file in path.rglob("*") if file.is_file() and file.name != "README.md"]
    assert store.check(path) == (len(files), sum(file.stat().st_size for file in files)) == (4, store.check(path).bytes)


@pytest.mark.parametrize("dtype", ["|O", "O8", "nonsense", "<i8,O", 7, None])
def test_objects_are_refused_even_with_a_right_checksum(model: Path, dtype: Any) -> None:
    """No code of a model is ever run."""
    arrays = store.read_manifest(model)["arrays"]
    rewrite(model, arrays={name: place | {"dtype": dtype} for name, place in arrays.items()})
    with pytest.raises(ModelError, match="do not fit together"):
        everylabel.load(model)


@pytest.mark.parametrize(
    "wrong", [{"shape": [-1]}, {"shape": [10**12]}, {"offset": -8}, {"offset": 10**9}, {"shape": 3}]
)
def test_arrays_outside_of_their_file_are_refused(model: Path, wrong: dict[str, Any]) -> None:
    arrays = store.read_manifest(model)["arrays"]
    rewrite(model, arrays={name: place | wrong for name, place in arrays.items()})
    with pytest.raises(ModelError, match="do not fit together"):
        everylabel.load(model)


@pytest.mark.parametrize("name", ["../outside.npy", "/etc/passwd", "arrays/../../x.npy", "arrays/x.npy", "other.json"])
def test_files_outside_of_the_model_are_refused(model: Path, name: str) -> None:
    files = store.read_manifest(model)["files"]
    rewrite(model, files=files | {name: files["plain.json"]})
    with pytest.raises(ModelError, match="which no model has"):
        everylabel.load(model)


@pytest.mark.parametrize("name", ["../outside.npy", "/etc/passwd"])
def test_arrays_in_files_outside_of_the_model_are_refused(model: Path, name: str) -> None:
    arrays = store.read_manifest(model)["arrays"]
    rewrite(model, arrays={key: place | {"file": name} for key, place in arrays.items()})
    with pytest.raises(ModelError, match="do not fit together"):
        everylabel.load(model)


@pytest.mark.parametrize("part", ["files", "arrays", "labels", "state", "method", "config"])
def test_a_manifest_without_a_part_is_refused(model: Path, part: str) -> None:
    manifest = store.read_manifest(model)
    rewrite(model, **{part: None})
    with pytest.raises(ModelError, match="parts are missing"):
        everylabel.load(model)
    rewrite(model, **{part: {} if isinstance(manifest[part], dict) else "nonsense"})
    with pytest.raises(ModelError) if part != "config" else pytest.MonkeyPatch.context():
        everylabel.load(model)
