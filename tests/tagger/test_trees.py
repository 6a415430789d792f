"""Trees as arrays give LightGBM's own sums, bit by bit."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import everylabel.tagger.trees as module
from everylabel.tagger.trees import Trees


def columns_of(seed: int, rows: int, width: int, missing: float = 0.3) -> NDArray[np.float32]:
    """Some values occur often, as ranks do, and zeros among them; some are not there; a column has them all."""
    rng = np.random.default_rng(seed)
    found = rng.normal(0, 1, (rows, width)).astype(np.float32)
    found[:, ::2] = np.log1p(rng.integers(0, 9, found[:, ::2].shape))
    found[rng.random(found.shape) < missing] = np.nan
    if width > 1:
        found[:, 1] = np.nan_to_num(found[:, 1])  # learned without a missing value: there it stands for 0 later
    return found


def learned(columns: NDArray[np.float32], seed: int = 0, rounds: int = 20, **more: Any) -> lightgbm.Booster:
    rng = np.random.default_rng(seed)
    odds = np.nan_to_num(columns, nan=-0.5).sum(axis=1) + rng.normal(0, 1, len(columns))
    wanted = {
        "objective": "binary",
        "learning_rate": 0.1,
        "num_leaves": 8,
        "min_data_in_leaf": 5,
        "deterministic": True,
        "num_threads": 1,
        "seed": seed,
        "verbose": -1,
    } | more
    labels = (odds > np.median(odds)).astype(np.float32)
    return lightgbm.train(wanted, lightgbm.Dataset(columns, labels, params={"verbose": -1}), rounds)


def assert_same_sums(booster: lightgbm.Booster, columns: NDArray[np.float32]) -> Trees:
    trees = Trees.of_text(booster.model_to_string())
    found = trees.sums(columns)
    assert found.dtype == np.float64
    expected = np.asarray(booster.predict(columns, raw_score=True))
    np.testing.assert_array_equal(found.view(np.int64), expected.view(np.int64))  # every bit
    again = Trees.restored({key: value.copy() for key, value in trees.state().items()})
    np.testing.assert_array_equal(again.sums(columns), found)
    return trees


ODD = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1e-38, -1e-36, 1e-35, -1e-35, 3.4e38, -3.4e38], np.float32)


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(12, 400),
    width=st.integers(1, 20),
    leaves=st.sampled_from([2, 3, 8, 31, 32]),
    rounds=st.integers(1, 30),
    missing=st.sampled_from([0.0, 0.3, 0.9]),
)
def test_sums_are_lightgbms(seed: int, rows: int, width: int, leaves: int, rounds: int, missing: float) -> None:
    columns = columns_of(seed, rows, width, missing)
    booster = learned(columns, seed, rounds, num_leaves=leaves)
    rng = np.random.default_rng(seed)
    assert_same_sums(booster, np.concatenate([columns, columns_of(seed + 1, 30, width, 0.5)]))
    assert_same_sums(booster, rng.choice(ODD, (50, width)))  # what no training document has had


def test_values_at_the_thresholds_themselves() -> None:
    """A float32 is compared as a double: just below, at, and just above each threshold."""
    columns = columns_of(3, 300, 6)
    trees = assert_same_sums(booster := learned(columns), columns)
    near = [np.nextafter(trees.thresholds.astype(np.float32), np.float32(way)) for way in (-9, 9)]
    values = np.concatenate([trees.thresholds.astype(np.float32), *near])
    assert_same_sums(booster, np.random.default_rng(0).choice(values, (500, 6)))


def test_with_directions_as_a_blend_learns_them() -> None:
    columns = columns_of(5, 500, 7)
    for way in (1, -1):
        booster = learned(columns, monotone_constraints=[way] * 7, feature_fraction=0.7, num_leaves=31)
        trees = assert_same_sums(booster, columns_of(6, 200, 7))
        rows = np.repeat(columns_of(8, 1, 7, 0.0), 50, axis=0)
        rows[:, 2] = np.linspace(-3, 3, 50)
        assert (np.diff(trees.sums(rows)) * way >= 0).all()


def test_trees_of_one_leaf() -> None:
    """Nothing can be split: each tree is a number. And those among others, when there is no more to learn."""
    columns = columns_of(7, 40, 3)
    trees = assert_same_sums(learned(columns, rounds=3, min_data_in_leaf=40), columns)
    assert len(trees.features) == 0
    assert len(trees.values) == len(trees.firsts) - 1 >= 1
    mixed = learned(columns_of(7, 200, 3), rounds=200, min_gain_to_split=0.5, learning_rate=0.9)
    trees = assert_same_sums(mixed, columns_of(8, 100, 3))
    sizes = np.diff(trees.firsts)
    assert len(trees.values) == len(trees.features) + len(sizes)
    text = mixed.model_to_string()
    assert (sizes == 0).any() == ("num_leaves=1\n" in text)


def test_as_many_trees_as_were_best() -> None:
    """LightGBM stops at the best iteration, and so does its text."""
    columns = columns_of(9, 300, 4)
    data = lightgbm.Dataset(columns, columns[:, 1] > 0, params={"verbose": -1})
    valid = lightgbm.Dataset(columns_of(10, 300, 4), columns_of(11, 300, 4)[:, 1] > 0, reference=data)
    stop = lightgbm.early_stopping(5, verbose=False)
    wanted = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
    booster = lightgbm.train(wanted, data, 60, valid_sets=[valid], callbacks=[stop])
    trees = assert_same_sums(booster, columns)
    assert len(trees.firsts) - 1 == booster.best_iteration < 60


def test_leaves_that_were_moved_by_new_documents() -> None:
    booster = learned(columns_of(1, 300, 5))
    more = columns_of(2, 50, 5)
    moved = booster.refit(more, np.arange(50) % 2, decay_rate=0.7, dataset_params={"verbose": -1}, verbose=-1)
    trees = assert_same_sums(moved, columns_of(3, 100, 5))
    assert (trees.values != Trees.of_text(booster.model_to_string()).values).any()


@pytest.mark.parametrize("threads", ["1", "2", "5"])
@pytest.mark.parametrize("rows", [0, 1, module._ROWS - 1, module._ROWS, 1_000])
def test_any_number_of_rows_on_any_number_of_cores(rows: int, threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", threads)
    booster, columns = learned(columns_of(1, 300, 5)), columns_of(2, rows, 5)
    trees = Trees.of_text(booster.model_to_string())
    expected = np.asarray(booster.predict(columns, raw_score=True)) if rows else np.empty(0)
    np.testing.assert_array_equal(trees.sums(columns), expected)


def test_rows_that_do_not_lie_in_a_row() -> None:
    """A part of a table may be every second row, or a column's order in memory."""
    booster, columns = learned(columns_of(1, 300, 5)), columns_of(2, 400, 5)
    trees = Trees.of_text(booster.model_to_string())
    whole = trees.sums(columns)
    np.testing.assert_array_equal(trees.sums(columns[::2]), whole[::2])
    np.testing.assert_array_equal(trees.sums(np.asfortranarray(columns)), whole)


def test_trees_of_more_leaves_than_a_word_has_bits_are_refused() -> None:
    columns = columns_of(1, 4_000, 5)
    assert_same_sums(learned(columns, num_leaves=32), columns)
    with pytest.raises(ValueError, match="more than 32 leaves"):
        Trees.of_text(learned(columns, num_leaves=33).model_to_string())


@pytest.mark.parametrize("how", ["categories", "zeros"])
def test_trees_that_are_never_learned_here_are_refused(how: str) -> None:
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 5, (300, 3)).astype(np.float32)
    wanted = {"objective": "binary", "verbose": -1, "num_threads": 1, "zero_as_missing": how == "zeros"}
    categories = [0] if how == "categories" else "auto"
    data = lightgbm.Dataset(
        columns, np.isin(columns[:, 0], [1, 3]), categorical_feature=categories, params=wanted, free_raw_data=False
    )
    booster = lightgbm.train(wanted, data, 5)
    with pytest.raises(ValueError, match="never learned here"):
        Trees.of_text(booster.model_to_string())


# --- without LightGBM: leaves that move, and trees from elsewhere


@pytest.mark.parametrize("kept", [0.5, 0.9, 0.999])
def test_leaves_move_as_lightgbms_do(kept: float) -> None:
    columns, new = columns_of(7, 900, 8), columns_of(8, 150, 8)
    booster = learned(columns, rounds=40, num_leaves=31)
    hits = np.random.default_rng(0).random(len(new)) < 0.3
    moved = booster.refit(
        new, hits.astype(np.float32), decay_rate=kept, dataset_params={"verbose": -1}, verbose=-1, num_threads=1
    )
    trees = Trees.of_text(booster.model_to_string())
    before = trees.values.copy()
    found = trees.refitted(new, hits, kept)
    expected = Trees.of_text(moved.model_to_string())
    np.testing.assert_allclose(found.values, expected.values, atol=1e-6)
    np.testing.assert_allclose(found.sums(columns), expected.sums(columns), atol=1e-5)
    np.testing.assert_array_equal(trees.values, before)


def test_a_row_of_weight_two_is_two_rows() -> None:
    trees = Trees.of_text(learned(columns_of(1, 400, 6), rounds=20).model_to_string())
    new, rng = columns_of(2, 60, 6), np.random.default_rng(0)
    hits, weights = rng.random(60) < 0.3, rng.integers(1, 4, 60)
    twice = np.repeat(np.arange(60), weights)
    found = trees.refitted(new, hits, 0.5, weights.astype(np.float32))
    np.testing.assert_allclose(found.values, trees.refitted(new[twice], hits[twice], 0.5).values, atol=1e-6)


def test_trees_that_were_learned_pass() -> None:
    for leaves, rounds in ((2, 1), (8, 20), (31, 60)):
        Trees.of_text(learned(columns_of(1, 400, 6), rounds=rounds, num_leaves=leaves).model_to_string()).check(6)
    one_leaf = learned(np.zeros((50, 6), np.float32), rounds=3, min_data_in_leaf=40)
    Trees.of_text(one_leaf.model_to_string()).check(6)


@pytest.mark.parametrize(
    ("part", "at", "value", "message"),
    [
        ("features", 0, 6, "features of trees must be from 0 to 5"),
        ("features", 3, -1, "features of trees must be from 0 to 5"),
        ("left", 0, 0, "child that is none"),  # a circle
        ("left", 0, 40, "child that is none"),
        ("right", 1, -40, "child that is none"),
        ("right", 0, -1, "twice|child that is none|nothing leads to"),
        ("firsts", 1, 10**9, "trees must go from 0"),
        ("firsts", 1, 55, "nodes of a tree must be from 0 to 31"),
        ("missing", 0, 3, "missing values of trees"),
        ("values", 0, np.nan, "leaves of trees must be from"),
        ("values", 0, np.inf, "leaves of trees must be from"),
        ("thresholds", 0, np.nan, "thresholds of trees must be from"),
        ("shrinkage", 0, 1e9, "shrinkage of trees must be from"),
    ],
)
def test_crafted_trees_are_refused(part: str, at: int, value: float, message: str) -> None:
    trees = Trees.of_text(learned(columns_of(1, 400, 6), rounds=60, num_leaves=31).model_to_string())
    state = {key: own.copy() for key, own in trees.state().items()}
    Trees.restored(state).check(6)
    state[part][at] = value
    with pytest.raises(ValueError, match=message):
        Trees.restored(state).check(6)


def test_more_columns_than_there_are_is_an_error() -> None:
    trees = Trees.of_text(learned(columns_of(1, 400, 6), rounds=30).model_to_string())
    with pytest.raises(ValueError, match="and there are 2"):
        trees.sums(np.zeros((3, 2), np.float32))
