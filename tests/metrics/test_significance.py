"""The three tests of a difference, against scipy.stats, simulation, and cases with a known answer."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import stats

from everylabel.data.dataset import pairs_from_lists
from everylabel.errors import ConfigError, DataError
from everylabel.metrics.ranking import Hits, Ratio, by_document, find_hits
from everylabel.metrics.significance import interval, macro_t_test, paired_bootstrap, sign_flip_test, sign_test
from everylabel.types import Ranking


def hits_of(rows: list[list[int]], true: list[list[int]], n_labels: int = 6) -> Hits:
    ids = np.array(rows, np.int32)
    return find_hits(Ranking(ids, np.zeros(ids.shape, np.float32)), pairs_from_lists(true, n_labels))


def random_hits(seed: int, n_docs: int = 300, n_labels: int = 40) -> Hits:
    """The truth is the same for every seed."""
    true = np.random.default_rng(99).integers(0, n_labels, (n_docs, 4)).tolist()
    rng = np.random.default_rng(seed)
    rows = [rng.permutation(n_labels)[:5].tolist() for _ in range(n_docs)]
    return hits_of(rows, true, n_labels)


def means(values: list[float]) -> Ratio:
    return Ratio(np.array(values, np.float64), np.ones(len(values)))


def test_sign_test_counts_only_decisions_that_differ() -> None:
    true = [[0, 1], [2], [3]]
    a = hits_of([[0, 1], [2, 4], [3, -1]], true)
    b = hits_of([[0, 5], [4, 2], [5, -1]], true)
    # a alone decides (0, 1) and (2, 3), both true; b alone decides (0, 5) and (2, 5), both false
    got = sign_test(a, b, k=2)
    assert (got.wins_a, got.wins_b) == (4, 0)
    assert got.p_value == pytest.approx(2 * 0.5**4)
    assert sign_test(b, a, k=2) == (0, 4, got.p_value)
    assert sign_test(a, b, k=1).wins_a == 4  # (1, 2) and (1, 4) differ now, (0, 1) and (0, 5) are cut off


def test_sign_test_is_the_exact_binomial_test() -> None:
    got = sign_test(random_hits(1), random_hits(2))
    expected = stats.binomtest(got.wins_a, got.wins_a + got.wins_b, 0.5).pvalue
    assert got.p_value == pytest.approx(expected)


def test_sign_test_leaves_out_skipped_documents() -> None:
    a, b = hits_of([[0], [1]], [[0], []]), hits_of([[0], [2]], [[0], []])
    assert sign_test(a, b) == (0, 0, 1.0)


def test_sign_test_refuses_different_truths() -> None:
    with pytest.raises(DataError, match="different truths"):
        sign_test(hits_of([[0]], [[0]]), hits_of([[0]], [[1]]))


def test_t_test_is_that_of_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(50), rng.random(50)
    got, expected = macro_t_test(a, b), stats.ttest_rel(a, b)
    assert got == pytest.approx(((a - b).mean(), expected.statistic, expected.pvalue))


def test_t_test_without_spread() -> None:
    ones = np.ones(3)
    assert macro_t_test(ones, ones) == (0, 0, 1)
    assert macro_t_test(ones, 0 * ones) == (1, np.inf, 0)
    assert macro_t_test(0 * ones, ones) == (-1, -np.inf, 0)
    with pytest.raises(DataError, match="two or more labels"):
        macro_t_test(np.ones(1), np.ones(1))


def test_identical_systems_do_not_differ() -> None:
    hits = random_hits(1)
    counts = np.arange(40)
    assert sign_test(hits, hits) == (0, 0, 1)
    for ratio in by_document(hits, counts, 1000).values():
        assert paired_bootstrap(ratio, ratio, n_resamples=50) == (0, 0, 0, 1)


def test_bootstrap_interval_is_close_to_the_normal_one_for_a_mean() -> None:
    rng = np.random.default_rng(0)
    a, b = means(list(rng.random(500))), means(list(rng.random(500)))
    got = paired_bootstrap(a, b, n_resamples=4000)
    difference = a.gained - b.gained
    half = 1.96 * difference.std() / np.sqrt(500)
    assert got.difference == pytest.approx(difference.mean())
    assert (got.low, got.high) == pytest.approx((got.difference - half, got.difference + half), abs=0.1 * half)
    z = abs(got.difference) / (half / 1.96)
    assert got.p_value == pytest.approx(2 * stats.norm.sf(z), abs=0.03)


def test_bootstrap_of_a_ratio_of_sums_resamples_both_sums() -> None:
    rng = np.random.default_rng(0)
    possible = rng.random(40) * 9 + 1
    a, b = Ratio(possible * rng.random(40), possible), Ratio(possible * rng.random(40), possible)
    got = paired_bootstrap(a, b, n_resamples=4000)
    draws = [rng.integers(0, 40, 40) for _ in range(4000)]
    expected = [Ratio(a.gained[i], possible[i]).value - Ratio(b.gained[i], possible[i]).value for i in draws]
    assert got.difference == pytest.approx(a.value - b.value)
    assert (got.low, got.high) == pytest.approx(tuple(np.quantile(expected, [0.025, 0.975])), abs=0.02)


def test_bootstrap_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for seed in range(200):
        a, b = means(list(rng.normal(0.1, 1, 60))), means(list(rng.normal(0, 1, 60)))
        got = paired_bootstrap(a, b, n_resamples=300, random_state=seed)
        covered += got.low <= 0.1 <= got.high
    assert 175 <= covered <= 199


def test_bootstrap_is_antisymmetric_seeded_and_sure_of_a_clear_difference() -> None:
    a, b = means([1.0] * 30 + [0.5] * 30), means([0.0] * 30 + [0.4] * 30)
    got, reverse = paired_bootstrap(a, b), paired_bootstrap(b, a)
    assert got == paired_bootstrap(a, b)
    assert got != paired_bootstrap(a, b, random_state=1)
    assert (reverse.difference, reverse.low, reverse.high) == pytest.approx((-got.difference, -got.high, -got.low))
    assert got.p_value == reverse.p_value == pytest.approx(2 / 2001)
    assert got.low > 0


def test_bootstrap_ignores_documents_with_nothing_to_gain() -> None:
    a, b = means([0.9, 0.1, 0.5]), means([0.3, 0.2, 0.1])
    zeros = np.zeros(100)
    padded_a, padded_b = (Ratio(np.r_[x.gained, zeros], np.r_[x.possible, zeros]) for x in (a, b))
    assert paired_bootstrap(a, b) == paired_bootstrap(padded_a, padded_b)


def test_bootstrap_refuses_what_cannot_be_compared() -> None:
    with pytest.raises(DataError, match="same documents"):
        paired_bootstrap(means([1.0]), means([1.0, 0.0]))
    with pytest.raises(DataError, match="nothing to compare"):
        paired_bootstrap(Ratio(np.zeros(2), np.zeros(2)), Ratio(np.zeros(2), np.zeros(2)))
    with pytest.raises(ConfigError, match="n_resamples"):
        paired_bootstrap(means([1.0]), means([1.0]), n_resamples=0)


def test_bootstrap_of_many_documents_is_quick() -> None:
    rng = np.random.default_rng(0)
    a, b = means(list(rng.random(6000))), means(list(rng.random(6000)))
    before = time.process_time()
    paired_bootstrap(a, b, n_resamples=1000)
    assert time.process_time() - before < 1


def test_the_interval_of_a_mean_is_that_of_the_normal_distribution() -> None:
    values = np.random.default_rng(0).random(2_000)
    low, high = interval(means(list(values)))
    error = 1.96 * values.std() / np.sqrt(len(values))
    assert low == pytest.approx(values.mean() - error, abs=0.1 * error)
    assert high == pytest.approx(values.mean() + error, abs=0.1 * error)


def test_signs_are_flipped_exactly_for_few_and_drawn_for_many() -> None:
    b = means([0.5] * 4)
    assert sign_flip_test(means([0.4, 0.4, 0.4, 0.4]), b) == 1 / 16
    assert sign_flip_test(means([0.4, 0.5, 0.5, 0.5]), b) == 1 / 2
    assert sign_flip_test(b, b) == 1
    assert sign_flip_test(means([0.6, 0.6, 0.4, 0.5]), b) == 7 / 8  # all but the one in which all three are better
    rng = np.random.default_rng(0)
    few = rng.normal(-0.05, 0.1, 14)
    drawn = sign_flip_test(means([*few, 1e-12]), means([0.0] * 15))
    assert drawn == pytest.approx(sign_flip_test(means(list(few)), means([0.0] * 14)), abs=0.02)
    with pytest.raises(DataError, match="same documents"):
        sign_flip_test(means([0.5] * 3), means([0.5] * 4))
