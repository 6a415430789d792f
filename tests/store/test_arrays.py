"""Arrays in a model: each stored once, named by content, mapped where it is, and the same as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.sparse import csr_matrix, random_array
from tests.store.conftest import Save, state_of

from everylabel import store
from everylabel.data.columns import TextColumn
from everylabel.index.build import make_index
from everylabel.mapping import is_mapped
from everylabel.store.arrays import SMALL

DTYPES = ["?", "i1", "u1", "<i2", "<i4", "<i8", "<u8", "<f2", "<f4", "<f8"]


def files(path: Path) -> list[str]:
    return sorted(file.name for file in (path / "arrays").iterdir())


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.sampled_from(DTYPES).flatmap(lambda dtype: arrays.arrays(dtype, arrays.array_shapes(min_dims=0, min_side=0)))
    )
)
def test_any_array_comes_back(saved: Save, given: list[Any]) -> None:
    state = {str(i): array for i, array in enumerate(given)}
    found = state_of(saved(state))
    for key, array in state.items():
        assert found[key].dtype == array.dtype
        assert found[key].tobytes() == array.tobytes()
        assert found[key].shape == array.shape
        assert found[key].flags.writeable
        assert found[key].flags.aligned


@pytest.mark.parametrize("size", [10, SMALL])
def test_what_occurs_twice_is_stored_once_and_is_one_array(saved: Save, size: int) -> None:
    array = np.arange(size, dtype=np.float32)
    matrix = csr_matrix((array, np.zeros(size, np.int32), np.array([0, size])), shape=(1, 1))
    path = saved({"one": array, "two/same": array.copy(), "other": array.astype(np.float64), "matrix": matrix})
    found = state_of(path)
    assert found["one"] is found["two/same"]
    assert found["matrix"].data is found["one"]
    assert found["other"].dtype == np.float64
    if size == SMALL:
        assert len(files(path)) == 4  # one, other, the matrix's indices, and those that are small


def test_large_arrays_are_mapped_and_any_tool_reads_them(saved: Save) -> None:
    large = np.random.default_rng(0).random((300, 200))
    path = saved(large=large, turned=large.T, gaps=large[::2, ::2], small=large[:2])
    found = state_of(path)
    assert all(is_mapped(found[key]) for key in ("large", "turned", "gaps", "small"))
    assert np.array_equal(found["turned"], large.T)
    assert np.array_equal(found["gaps"], large[::2, ::2])
    read = [np.load(path / "arrays" / name, allow_pickle=False) for name in files(path) if name != "small.npy"]
    assert sorted(array.shape for array in read) == [(150, 100), (200, 300), (300, 200)]


def test_writing_into_a_loaded_array_changes_no_file(saved: Save) -> None:
    path = saved(large=np.zeros(SMALL))
    found = state_of(path)["large"]
    found[:] = 1
    assert not state_of(path, verify=True)["large"].any()


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_csr_matrices_are_not_copied_and_keep_their_types(saved: Save, index_type: Any) -> None:
    matrix = csr_matrix(random_array((500, 300), density=0.2, rng=np.random.default_rng(0), dtype=np.float32))
    matrix.indices, matrix.indptr = matrix.indices.astype(index_type), matrix.indptr.astype(index_type)
    matrix.sort_indices()
    found = state_of(saved(matrix=matrix, empty=csr_matrix((3, 0))))
    assert all(is_mapped(part) for part in (found["matrix"].data, found["matrix"].indices, found["matrix"].indptr))
    assert found["matrix"].indices.dtype == index_type
    assert found["matrix"].has_sorted_indices
    assert (found["matrix"] != matrix).nnz == 0
    assert found["empty"].shape == (3, 0)


def test_columns_of_texts_are_mapped(saved: Save) -> None:
    column = TextColumn.of([f"text é {i}" for i in range(10_000)])
    found = state_of(saved(column=column, part=column[5:9], none=column[:0]))
    assert isinstance(found["column"], TextColumn)
    assert found["column"] == column
    assert all(map(is_mapped, found["column"].whole()))
    assert (found["part"], found["none"]) == (column[5:9], [])


def test_equal_indexes_are_one_file_and_two_objects(saved: Save) -> None:
    """Two: somebody may add to one of them."""
    one, two = make_index("exact", 2, 4), make_index("exact", 2, 4)
    for index in (one, two):
        index.add(np.arange(2), np.eye(2, dtype=np.float32))
    path = saved(one=one, two=two)
    assert len([name for name in files(path) if name.endswith(".exact")]) == 1
    found = state_of(path)
    assert found["one"] is not found["two"]
    assert len(found["two"]) == 2


def test_plain_values_come_back(saved: Save) -> None:
    plain = {"text": "é\ud800", "list": [1, 2.5, None, True], "table/of": {"a": {"b": []}}}
    found = state_of(saved(plain))
    assert {key: found[key] for key in plain} == plain


def test_what_cannot_be_saved_is_an_error_and_the_old_model_stays(saved: Save) -> None:
    path = saved(a=np.arange(3))
    texts, turned = np.array(["text"]), np.zeros(2, ">i4")
    for wrong in (np.array([{}], object), np.zeros(2, [("x", "f4"), ("y", "i4")]), texts, turned):
        with pytest.raises(TypeError, match="cannot be saved"):
            saved(a=wrong)
    assert state_of(path)["a"].tolist() == [0, 1, 2]


def test_the_same_state_is_the_same_files(saved: Save) -> None:
    state = {"a": np.arange(SMALL), "b": np.arange(3), "c": {"d": 1}}
    first = store.read_manifest(saved(state))
    assert store.read_manifest(saved(state)) == first


RESIDENT = """
import resource, sys
import numpy as np
from everylabel.store.arrays import ArrayReader
from everylabel.store import read_manifest
from pathlib import Path
path = Path(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
reader = ArrayReader(path, read_manifest(path))
found = [reader[name] for name in read_manifest(path)["arrays"]]
print(sum(array.nbytes for array in found), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss has another unit elsewhere")
def test_opening_reads_nothing(saved: Save) -> None:
    path = saved({str(i): np.full(1 << 20, i, np.int64) for i in range(8)})
    done = subprocess.run(
        [sys.executable, "-c", RESIDENT, path], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    size, kilobytes = map(int, done.stdout.split())
    assert size > 64 << 20
    assert kilobytes < 4 << 10
