"""What every index does: the same rules for both kinds, on vectors where the right answer is known."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everylabel.errors import ConfigError, DataError, ModelError
from everylabel.index.ann import AnnIndex, AnnSettings
from everylabel.index.base import Index
from everylabel.index.build import EXACT_BELOW, load_index, make_index
from everylabel.index.exact import ExactIndex
from everylabel.types import Ranking
from everylabel.vectors import unit_rows

DIM = 16
KINDS: dict[str, Callable[[], Index]] = {
    "exact": lambda: ExactIndex(DIM),
    "exact-f16": lambda: ExactIndex(DIM, dtype="f16"),
    "ann": lambda: AnnIndex(DIM),
    "ann-f16": lambda: AnnIndex(DIM, AnnSettings(dtype="f16")),
    "ann-f32": lambda: AnnIndex(DIM, AnnSettings(dtype="f32")),
}
VECTORS = unit_rows(np.random.default_rng(0).normal(size=(300, DIM)))
IDS = np.random.default_rng(1).permutation(5000)[:300]


@pytest.fixture(params=list(KINDS))
def empty(request: pytest.FixtureRequest) -> Index:
    return KINDS[request.param]()


@pytest.fixture
def index(empty: Index) -> Index:
    empty.add(IDS, VECTORS)
    return empty


def same(one: Ranking, other: Ranking) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.scores, other.scores)


def finds_itself(index: Index, rows: Any) -> bool:
    ranking = index.search(VECTORS[rows], 1)
    return bool((ranking.ids[:, 0] == IDS[rows]).all() and (abs(ranking.scores - 1) < 0.02).all())


def test_a_vector_is_its_own_nearest(index: Index) -> None:
    assert len(index) == 300
    assert finds_itself(index, np.arange(300))


def test_scores_are_cosines_best_first(index: Index) -> None:
    ranking = index.search(VECTORS[:20], 30)
    assert ranking.ids.dtype == np.int32
    assert ranking.scores.dtype == np.float32
    row_of = {label: row for row, label in enumerate(IDS)}
    rows = np.vectorize(row_of.get)(ranking.ids)
    np.testing.assert_allclose(ranking.scores, np.einsum("nkd,nd->nk", VECTORS[rows], VECTORS[:20]), atol=0.02)
    assert (np.diff(ranking.scores, axis=1) <= 0).all()


def test_added_in_parts_and_removed(index: Index) -> None:
    index.remove(IDS[100:200])
    assert len(index) == 200
    assert not np.isin(index.search(VECTORS, 200).ids, IDS[100:200]).any()
    assert finds_itself(index, np.r_[0:100, 200:300])
    index.add(IDS[150:200], VECTORS[150:200])
    assert len(index) == 250
    assert finds_itself(index, np.r_[0:100, 150:300])
    index.remove(np.setdiff1d(IDS, IDS[100:150]))
    assert (len(index), index.search(VECTORS[:2], 1).ids.tolist()) == (0, [[-1], [-1]])
    index.add(IDS, VECTORS)
    assert finds_itself(index, np.arange(300))


@pytest.mark.parametrize(
    ("ids", "vectors", "message"),
    [
        ([9000, int(IDS[3])], VECTORS[:2], "in the index already; nothing was added"),
        ([9000, 9000], VECTORS[:2], "given twice"),
        ([9000, -1], VECTORS[:2], "from 0 to"),
        ([9000, 1 << 31], VECTORS[:2], "from 0 to"),
        ([9000, 0.5], VECTORS[:2], "whole numbers"),
        ([9000], VECTORS[:2], "expected 2 whole numbers"),
        ([9000, 9001], VECTORS[:2, 1:], r"expected vectors of shape \(n, 16\)"),
        ([9000, 9001], VECTORS[0], r"expected vectors of shape \(n, 16\)"),
        ([9000, 9001], VECTORS[:2] * [[1], [np.nan]], "row 1 .* NaN"),
        ([9000, 9001], VECTORS[:2] * [[np.inf], [1]], "row 0 .* NaN"),
        ([9000, 9001], VECTORS[:2] * 2, "length 2"),
    ],
)
def test_what_cannot_be_added_changes_nothing(index: Index, ids: Any, vectors: Any, message: str) -> None:
    before = index.search(VECTORS, 20)
    with pytest.raises(DataError, match=message):
        index.add(np.array(ids), vectors)
    assert len(index) == 300
    assert same(before, index.search(VECTORS, 20))


@pytest.mark.parametrize("ids", [[int(IDS[0]), 9999], [int(IDS[0])] * 2, [[int(IDS[0])]], [-1]])
def test_what_cannot_be_removed_changes_nothing(index: Index, ids: Any) -> None:
    before = index.search(VECTORS, 20)
    with pytest.raises(DataError, match="ids"):
        index.remove(np.array(ids))
    assert len(index) == 300
    assert same(before, index.search(VECTORS, 20))


def test_nothing_is_added_removed_or_searched(index: Index) -> None:
    index.add(np.empty(0, np.int64), np.empty((0, DIM), np.float32))
    index.remove(np.empty(0, np.int64))
    assert len(index) == 300
    assert index.search(np.empty((0, DIM), np.float32), 7).ids.shape == (0, 7)


def test_fewer_vectors_than_ranks(empty: Index) -> None:
    assert same(empty.search(VECTORS[:3], 2), Ranking.empty(3, 2))
    empty.add(IDS[:2], VECTORS[:2])
    for queries in (VECTORS[:1], VECTORS[:3]):
        ranking = empty.search(queries, 5)
        assert (ranking.ids[:, 2:] == -1).all()
        assert (ranking.scores[:, 2:] == -np.inf).all()
        assert np.isfinite(ranking.scores[:, :2]).all()


def test_equal_vectors_stand_by_id(empty: Index) -> None:
    empty.add(np.array([7, 3, 9, 1, 5]), VECTORS[[0, 0, 1, 0, 0]])
    assert empty.search(VECTORS[:1], 4).ids.tolist() == [[1, 3, 5, 7]]


def test_a_text_of_no_token_is_like_no_label(index: Index) -> None:
    index.add(np.array([8000]), np.zeros((1, DIM), np.float32))
    ranking = index.search(np.zeros((1, DIM), np.float32), 5)
    assert (ranking.scores == 0).all()
    assert (np.diff(ranking.ids) > 0).all()


@pytest.mark.parametrize("k", [0, -1])
def test_no_rank_is_refused(index: Index, k: int) -> None:
    with pytest.raises(DataError, match="k must be"):
        index.search(VECTORS, k)


def test_bad_queries_are_refused(index: Index) -> None:
    for queries in (VECTORS[:, :8], VECTORS * np.nan, VECTORS * 3):
        with pytest.raises(DataError):
            index.search(queries, 3)


def test_the_same_input_gives_the_same_file(index: Index, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    again = KINDS[request.node.callspec.params["empty"]]()
    again.add(IDS, VECTORS)
    index.save(tmp_path / "one")
    again.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_identical_after_load_and_can_be_changed(index: Index, tmp_path: Path) -> None:
    index.save(tmp_path / "index")
    loaded = load_index(index.kind, tmp_path / "index")
    assert (len(loaded), loaded.dim) == (300, DIM)
    assert same(index.search(VECTORS, 20), loaded.search(VECTORS, 20))
    loaded.save(tmp_path / "index")  # over the file it is mapped from
    loaded = load_index(index.kind, tmp_path / "index")
    whole = (tmp_path / "index").read_bytes()
    for changed in (index, loaded):
        changed.remove(IDS[:50])
        changed.add(np.array([6000, 6001]), VECTORS[:2])
    assert len(loaded) == 252
    assert same(index.search(VECTORS, 20), loaded.search(VECTORS, 20))
    assert (tmp_path / "index").read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_an_empty_one_can_be_saved(empty: Index, tmp_path: Path) -> None:
    empty.save(tmp_path / "index")
    loaded = load_index(empty.kind, tmp_path / "index")
    assert same(loaded.search(VECTORS[:1], 2), Ranking.empty(1, 2))
    loaded.add(IDS, VECTORS)
    assert finds_itself(loaded, np.arange(300))


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b[: len(b) // 2], lambda b: b[:0], lambda b: b + b"more"]
)
def test_a_damaged_file_is_refused(index: Index, tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    index.save(tmp_path / "index")
    (tmp_path / "index").write_bytes(damage((tmp_path / "index").read_bytes()))
    with pytest.raises(ModelError, match="index"):
        load_index(index.kind, tmp_path / "index")


def test_what_is_no_index_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("years of work" * 50)
    np.save(tmp_path / "one.npy", VECTORS)
    ExactIndex(DIM).save(tmp_path / "exact")
    AnnIndex(DIM).save(tmp_path / "ann")
    for kind in ("exact", "ann"):
        for name in ("text", "one.npy", "missing", "ann" if kind == "exact" else "exact"):
            with pytest.raises(ModelError, match=name):
                load_index(kind, tmp_path / name)
    with pytest.raises(ModelError, match="unknown kind 'tree'"):
        load_index("tree", tmp_path / "exact")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 127), bit=st.integers(0, 7), kind=st.sampled_from(["exact", "ann"]))
@pytest.mark.filterwarnings("ignore")  # numpy's, about headers of old versions
def test_a_damaged_header_is_refused_or_means_the_same(tmp_path: Path, at: int, bit: int, kind: str) -> None:
    index = KINDS[kind]()
    index.add(IDS[:5], VECTORS[:5])
    index.save(tmp_path / "index")
    content = bytearray((tmp_path / "index").read_bytes())
    content[at] ^= 1 << bit
    (tmp_path / "index").write_bytes(content)
    with suppress(ModelError):
        assert len(load_index(kind, tmp_path / "index")) == 5


def test_auto_takes_exact_for_few_labels() -> None:
    assert isinstance(make_index("auto", DIM, EXACT_BELOW - 1), ExactIndex)
    assert isinstance(make_index("auto", DIM, EXACT_BELOW), AnnIndex)
    assert isinstance(make_index("exact", DIM, 1 << 30), ExactIndex)
    assert isinstance(make_index("ann", DIM, 1), AnnIndex)
    with pytest.raises(ConfigError, match="'exact' or 'ann'"):
        make_index("tree", DIM, 1)  # type: ignore[arg-type]


def test_settings_that_cannot_work_are_refused(tmp_path: Path) -> None:
    for bad in (
        {"connectivity": 1},
        {"expansion_add": 0},
        {"expansion_search": 0},
        {"threads": 0},
        {"dtype": "f64"},
        {"per_k": 0.5},
    ):
        with pytest.raises(ConfigError, match=next(iter(bad))):
            AnnIndex(DIM, AnnSettings(**bad))
    for make in (ExactIndex, AnnIndex):
        with pytest.raises(ConfigError, match="dim"):
            make(0)
    ExactIndex(DIM).save(tmp_path / "index")
    with pytest.raises(ConfigError, match="no settings"):
        ExactIndex.load(tmp_path / "index", expansion_search=3)


def test_settings_can_be_replaced_on_load(tmp_path: Path) -> None:
    AnnIndex(DIM).save(tmp_path / "index")
    assert AnnIndex.load(tmp_path / "index", expansion_search=7).settings == AnnSettings(expansion_search=7)


def test_without_usearch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(ConfigError, match=r"pip install 'everylabel\[neural\]'"):
        AnnIndex(DIM)
