"""An index from elsewhere is checked before it is searched: usearch follows every number of its graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everylabel.errors import DataError
from everylabel.index.ann import AnnIndex, AnnSettings
from everylabel.index.exact import ExactIndex
from everylabel.index.graph import _ABOUT, _HEAD
from everylabel.vectors import unit_rows

N, DIM = 300, 16
VECTORS = unit_rows(np.random.default_rng(0).normal(size=(N, DIM)).astype(np.float32))
NODES = 8 + N * DIM + _HEAD + _ABOUT + 2 * N  # where they begin in a graph of bytes


def saved(path: Path, **of: Any) -> AnnIndex:
    index = AnnIndex(DIM, AnnSettings(**of))
    index.add(2 * np.arange(N), VECTORS)
    index.remove(np.array([4, 8]))
    index.save(path)
    return AnnIndex.load(path)


@pytest.mark.parametrize("dtype", ["i8", "f16", "f32"])
def test_what_was_saved_passes(tmp_path: Path, dtype: str) -> None:
    index = saved(tmp_path / "index", dtype=dtype)
    index.check(2 * N)
    with pytest.raises(ValueError, match="ids of an index must be from 0 to 99"):
        index.check(100)


@pytest.mark.parametrize(
    ("at", "content", "message"),
    [
        (NODES + 10, b"\xff\xff\xff\x7f", "neighbours that are none"),  # how many neighbours a node has
        (NODES + 14, b"\xff\xff\xff\x7f", "neighbours that are none"),  # which the first one is
        (NODES, b"\xff\xff", "other ids"),
        (NODES + 8, b"\x07", "neighbours that are none"),
        (8 + N * DIM, b"nothing", "another kind"),
        (8 + N * DIM + 33, b"\xff", "another size"),
        (8 + N * DIM + _HEAD, b"\xff", "other settings"),  # nodes
        (8 + N * DIM + _HEAD + 32, b"\xff\xff", "other settings"),  # where a search begins
        (8 + N * DIM + _HEAD + _ABOUT, b"\xff\xff", "other levels"),
        (0, b"\xff\xff\xff\xff", "other vectors|too short"),
    ],
)
def test_a_crafted_graph_is_refused(tmp_path: Path, at: int, content: bytes, message: str) -> None:
    index = saved(tmp_path / "index")
    graph = np.array(index._mapped)
    graph[at : at + len(content)] = np.frombuffer(content, np.uint8)
    index._mapped = graph
    with pytest.raises(ValueError, match=message):
        index.check()


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=4))
def test_any_change_is_refused_or_can_be_searched(tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    index = saved(tmp_path / "index")
    graph = np.array(index._mapped)
    for at, value in changes:
        graph[8 + N * DIM + at % (len(graph) - 8 - N * DIM)] = value
    index._mapped = graph
    try:
        index.check(2 * N)
    except ValueError:
        return
    found = index.search(VECTORS[:20], 10)
    assert ((found.ids >= -1) & (found.ids < 2 * N)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, 3.0])
def test_vectors_are_of_length_one(tmp_path: Path, value: float) -> None:
    exact = ExactIndex(DIM)
    exact.add(np.arange(N), VECTORS)
    exact.save(tmp_path / "exact")
    exact = ExactIndex.load(tmp_path / "exact")
    exact.check(N)
    exact._vectors[5, 0] = value
    with pytest.raises(DataError, match="row 5"):
        exact.check(N)
    ann = saved(tmp_path / "ann", dtype="f32")
    graph = np.array(ann._mapped)
    graph[8:12] = np.frombuffer(np.float32(value).tobytes(), np.uint8)
    ann._mapped = graph
    with pytest.raises(DataError, match="row 0"):
        ann.check()


def test_an_id_twice_is_refused(tmp_path: Path) -> None:
    exact = ExactIndex(DIM)
    exact.add(np.arange(N), VECTORS)
    exact.save(tmp_path / "exact")
    exact = ExactIndex.load(tmp_path / "exact")
    exact._ids[3] = 4
    with pytest.raises(ValueError, match="twice"):
        exact.check()
