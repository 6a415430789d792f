"""Values worked out by hand, and a test for each trap."""

from __future__ import annotations

import json
import time
from math import isnan, log, log2

import numpy as np
import pytest

from everylabel.data.dataset import pairs_from_lists
from everylabel.errors import ConfigError, DataError
from everylabel.metrics.propensity import constants
from everylabel.metrics.ranking import (
    PROPENSITY,
    Empty,
    Scores,
    by_document,
    evaluate,
    find_hits,
    frequency_curve,
    inverse_propensity,
    label_counts,
    ndcg,
    precision,
    recall,
    restrict,
)
from everylabel.types import Csr, Ranking


def ranking_of(rows: list[list[int]], k: int | None = None) -> Ranking:
    k = max(map(len, rows)) if k is None else k
    ids = np.array([row + [-1] * (k - len(row)) for row in rows], np.int32).reshape(len(rows), k)
    scores = np.where(ids >= 0, -np.arange(k, dtype=np.float32), -np.inf).astype(np.float32)
    return Ranking(ids, scores)


# five labels: head, middle, tail, tail, unseen; three documents
COUNTS = np.array([100, 10, 9, 1, 0])
N_TRAIN = 1000
RANKING = ranking_of([[0, 2, 4], [1, 0, 3], [3, 4, 1]])
TRUTH = pairs_from_lists([[0, 4], [2], [3, 4, 1, 0]], 5)


def scores(ranking: Ranking = RANKING, truth: Csr = TRUTH, empty: Empty = "skip") -> Scores:
    return evaluate(ranking, truth, COUNTS, N_TRAIN, ks=(1, 3), recall_ks=(10,), f1_k=3, empty=empty)


def test_precision_divides_by_k_and_recall_by_the_true_labels() -> None:
    got = scores()
    assert got["P@1"] == pytest.approx((1 + 0 + 1) / 3)
    assert got["P@3"] == pytest.approx((2 / 3 + 0 + 3 / 3) / 3)
    assert got["R@1"] == pytest.approx((1 / 2 + 0 + 1 / 4) / 3)
    assert got["R@3"] == pytest.approx((1 + 0 + 3 / 4) / 3)
    assert got["R@10"] == got["R@3"]


def test_ndcg_cuts_the_ideal_at_the_true_labels_and_at_k() -> None:
    two = 1 + 1 / log2(3)
    three = two + 1 / log2(4)
    assert scores()["nDCG@3"] == pytest.approx(((1 + 1 / log2(4)) / two + 0 + three / three) / 3)


def test_r_precision_and_reciprocal_rank() -> None:
    got = scores()
    assert got["RP@1"] == pytest.approx(2 / 3)
    assert got["RP@3"] == pytest.approx((2 / 2 + 0 + 3 / 3) / 3)
    assert got["MRR"] == pytest.approx((1 + 0 + 1) / 3)
    assert scores(ranking_of([[1, 2, 4], [1, 2, 3], [2, 3]]))["MRR"] == pytest.approx((1 / 3 + 1 / 2 + 1 / 2) / 3)


def test_propensity_formula_and_presets() -> None:
    assert PROPENSITY == {"default": (0.55, 1.5), "wikipedia": (0.5, 0.4), "amazon": (0.6, 2.6)}
    for name, (a, b) in PROPENSITY.items():
        expected = [1 + (log(N_TRAIN) - 1) * (b + 1) ** a * (count + b) ** -a for count in COUNTS]
        np.testing.assert_allclose(inverse_propensity(COUNTS, N_TRAIN, name), expected)
        np.testing.assert_allclose(inverse_propensity(COUNTS, N_TRAIN, (a, b)), expected)
    with pytest.raises(ConfigError, match="default, wikipedia, amazon"):
        inverse_propensity(COUNTS, N_TRAIN, "eurlex")


def test_propensities_by_data_set() -> None:
    """As the XMC repository says them."""
    assert constants("EURLex-4K") == constants("wiki10-31k") == constants("amazoncat-13k") == (0.55, 1.5)
    assert constants("wiki-500k") == constants("LF-Wikipedia-500K") == (0.5, 0.4)
    assert constants("amazon-670k") == constants("Amazon-3M") == constants("lf-amazontitles-131k") == (0.6, 2.6)
    assert constants(" 0.6, 2.6 ") == (0.6, 2.6)
    for bad in ("1", "1,2,3", "a,b", "", "nan,1", "0,1", "-1,2", "inf,1", (0.0, 1.0)):
        with pytest.raises(ConfigError):
            constants(bad)


@pytest.mark.parametrize("n_train", [0, 1, 2])
def test_propensities_stay_probabilities_with_hardly_any_training_documents(n_train: int) -> None:
    np.testing.assert_array_equal(inverse_propensity(np.zeros(3, int), n_train), 1)


def test_psp_and_psndcg_are_ratios_of_sums() -> None:
    w = [float(x) for x in inverse_propensity(COUNTS, N_TRAIN)]
    got = scores()
    gained = (w[0] + w[4]) + 0 + (w[3] + w[4] + w[1])
    best = (w[0] + w[4]) + w[2] + (w[4] + w[3] + w[1])
    assert got["PSP@3"] == pytest.approx(gained / best)
    assert got["PSP@1"] == pytest.approx((w[0] + w[3]) / (w[4] + w[2] + w[4]))
    d = [1, 1 / log2(3), 1 / 2]
    gained = (w[0] + d[2] * w[4]) + (w[3] + d[1] * w[4] + d[2] * w[1])
    best = (w[4] + d[1] * w[0]) + w[2] + (w[4] + d[1] * w[3] + d[2] * w[1])
    assert got["PSnDCG@3"] == pytest.approx(gained / best)


def test_zero_shot_recall_is_over_documents_with_an_unseen_label() -> None:
    got = scores()
    assert got.n_zero_shot_docs == 2
    assert got["ZSR@1"] == 0
    assert got["ZSR@3"] == 1
    assert got.bands["unseen"]["R@3"] == got["ZSR@3"]


def test_bands_have_macro_f1_recall_and_sizes() -> None:
    bands = scores().bands
    f1 = [2 * 1 / (2 + 2), 2 * 1 / (2 + 1), 0.0, 2 * 1 / (2 + 1), 2 * 2 / (2 + 2)]
    assert list(bands) == ["head", "middle", "tail", "unseen", "all"]
    assert [bands[name]["F1@3"] for name in bands] == pytest.approx(
        [f1[0], f1[1], (f1[2] + f1[3]) / 2, f1[4], sum(f1) / 5]
    )
    assert [bands[name]["labels"] for name in bands] == [1, 1, 2, 1, 5]
    assert [bands[name]["pairs"] for name in bands] == [2, 1, 2, 2, 7]
    assert [bands[name]["docs"] for name in bands] == [2, 1, 2, 2, 3]
    assert bands["tail"]["R@3"] == pytest.approx((0 + 1) / 2)
    assert bands["all"]["R@3"] == scores()["R@3"]
    assert [bands[name]["P@3"] for name in bands] == pytest.approx([1 / 9, 1 / 9, 1 / 9, 2 / 9, 5 / 9])
    assert bands["all"]["P@3"] == scores()["P@3"]


def test_tail_f1_is_over_all_tail_labels_and_also_over_those_with_a_test_document() -> None:
    got = scores(truth=pairs_from_lists([[0, 4], [1], [3, 4, 1, 0]], 5))
    assert got["tail-F1@3"] == pytest.approx((0 + 2 / 3) / 2)
    assert got["tail-F1-tested@3"] == pytest.approx(2 / 3)
    assert got.bands["tail"]["tested"] == 1


def test_a_label_neither_decided_nor_true_has_f1_0() -> None:
    counts = label_counts(find_hits(ranking_of([[0]]), pairs_from_lists([[0]], 2)), 1)
    np.testing.assert_array_equal(counts.f1, [1, 0])


def test_documents_without_a_true_label_are_skipped_and_counted() -> None:
    ranking = ranking_of([[0, 1], [0, 1]])
    truth = pairs_from_lists([[0], []], 5)
    skipped, as_zero = scores(ranking, truth), scores(ranking, truth, "zero")
    assert (skipped.n_docs, skipped.n_skipped, skipped["P@1"]) == (1, 1, 1)
    assert (as_zero.n_docs, as_zero.n_skipped, as_zero["P@1"]) == (2, 0, 0.5)
    assert skipped["PSP@1"] == as_zero["PSP@1"]
    assert skipped.bands["head"]["F1@3"] == 1  # the skipped document's decisions are no mistakes
    assert as_zero.bands["head"]["F1@3"] == pytest.approx(2 / 3)
    with pytest.raises(ConfigError, match="'skip' or 'zero'"):
        find_hits(ranking, truth, empty="drop")  # type: ignore[arg-type]


def test_ties_stand_in_the_order_of_ids_and_rank_decides_not_score() -> None:
    tied = Ranking.from_csr(np.array([[0.5, 0.5, 0.5]]), 3)
    assert precision(find_hits(tied, pairs_from_lists([[0]], 3)), 1).value == 1
    assert precision(find_hits(tied, pairs_from_lists([[1]], 3)), 1).value == 0


def test_a_label_twice_is_an_error_that_names_the_row() -> None:
    with pytest.raises(DataError, match="row 1 of the ranking has label 2 twice"):
        scores(ranking_of([[0, 1, 2], [2, 1, 2], [0, 1]]))


def test_padding_is_never_a_hit() -> None:
    # the last label of document 0 is true: a naive row * n_labels + id would find it for document 1's -1
    hits = find_hits(ranking_of([[], []], 2), pairs_from_lists([[4], [1]], 5))
    assert not hits.hit.any()
    assert label_counts(hits, 2).decided.sum() == 0


def test_unseen_labels_that_a_beam_cannot_reach_are_misses() -> None:
    got = scores(ranking_of([[0], [1], [3]]))
    assert got["ZSR@10"] == 0
    assert got.bands["unseen"]["R@10"] == 0


def test_fewer_ranks_than_k_count_as_padding() -> None:
    short, padded = scores(RANKING.top(2)), scores(RANKING.top(2).top(8))
    assert short.to_json() == padded.to_json()
    assert short["P@3"] == pytest.approx((1 / 3 + 0 + 2 / 3) / 3)


def test_filter_pairs_leave_the_ranking_before_the_cut_and_the_truth() -> None:
    ranking, truth = ranking_of([[0, 1, 2]]), pairs_from_lists([[0, 1]], 5)
    hits = find_hits(ranking, truth, filter_labels=pairs_from_lists([[0]], 5))
    np.testing.assert_array_equal(hits.ids, [[1, 2, -1]])
    assert precision(hits, 1).value == 1
    assert recall(hits, 1).value == 1
    with pytest.raises(DataError, match=r"shape of the truth, \(1, 5\)"):
        find_hits(ranking, truth, filter_labels=pairs_from_lists([[0]], 4))


def test_restricting_moves_up_what_remains_and_cuts_again() -> None:
    mask = np.array([False, True, False, True, True])
    got = restrict(RANKING, mask, 2)
    np.testing.assert_array_equal(got.ids, [[4, -1], [1, 3], [3, 4]])
    np.testing.assert_array_equal(got.scores, [[-2, -np.inf], [0, -2], [0, -1]])
    assert got.ids.dtype == np.int32
    assert got.scores.dtype == np.float32


def test_unseen_only_ranks_the_unseen_labels_alone() -> None:
    counts = np.array([100, 10, 9, 0, 0])
    everything = ranking_of([[0, 3, 1, 4, 2], [1, 2, 0, 4, 3]])
    truth = pairs_from_lists([[0, 4], [3]], 5)
    alone = ranking_of([[3, 4], [4, 3]])
    hits = find_hits(everything, truth, labels=counts == 0)
    assert precision(hits, 1).value == 0
    assert precision(hits, 2).value == pytest.approx(0.5)
    assert ndcg(hits, 2).value == pytest.approx(1 / log2(3))
    for unseen_ranking in (everything, alone):
        got = evaluate(everything, truth, counts, 10, ks=(1, 2), unseen_ranking=unseen_ranking)
        assert (got["unseen-P@2"], got["unseen-nDCG@2"]) == pytest.approx((0.5, 1 / log2(3)))
    # a ranking of all labels that was cut too early gives a lower bound, not an error
    assert precision(find_hits(everything.top(3), truth, labels=counts == 0), 2).value == 0


def test_curve_runs_from_frequent_to_rare_and_shares_ties() -> None:
    curve = frequency_curve(np.array([0.0, 1.0, 0.5, 0.25]), np.array([1, 1, 7, 9]), 4)
    assert [point.train_count for point in curve] == [9, 7, 1, 1]
    assert [point.f1 for point in curve] == [0.25, 0.5, 0.5, 0.5]
    assert [point.labels for point in frequency_curve(np.zeros(5), np.zeros(5, int), 2)] == [3, 2]


def test_values_by_document_make_up_the_value() -> None:
    ratios = by_document(find_hits(RANKING, TRUTH), COUNTS, N_TRAIN, ks=(1, 3), recall_ks=(10,))
    np.testing.assert_allclose(ratios["P@3"].gained, [2 / 3, 0, 1])
    np.testing.assert_array_equal(ratios["ZSR@3"].possible, [1, 0, 1])
    values = scores().values
    assert {name: ratio.value for name, ratio in ratios.items()} == {name: values[name] for name in ratios}


def test_nothing_to_measure_is_nan_and_null_in_json() -> None:
    got = evaluate(ranking_of([[0]]), pairs_from_lists([[0]], 1), np.array([5]), 10)
    assert isnan(got["ZSR@10"])
    plain = json.loads(json.dumps(got.to_json(), allow_nan=False))
    assert plain["values"]["ZSR@10"] is None
    assert Scores.from_json(plain).to_json() == got.to_json()


def test_no_documents_at_all() -> None:
    got = evaluate(Ranking.empty(0, 3), pairs_from_lists([], 2), np.array([5, 0]), 10)
    assert got.n_docs == 0
    assert isnan(got["P@1"])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="2 documents and the truth 3"):
        scores(ranking_of([[0], [1]]))
    with pytest.raises(DataError, match=r"row 2 of the ranking has an id outside -1\.\.4"):
        scores(ranking_of([[0], [1], [5]]))
    with pytest.raises(DataError, match="one count a label, 5"):
        evaluate(RANKING, TRUTH, COUNTS[:4], N_TRAIN)
    with pytest.raises(ConfigError, match="at least 1; got 0"):
        evaluate(RANKING, TRUTH, COUNTS, N_TRAIN, ks=(0, 1))


def test_a_large_problem_takes_well_under_a_second() -> None:
    rng = np.random.default_rng(0)
    n_docs, n_labels, k = 6000, 4271, 100
    start = rng.integers(0, n_labels, (n_docs, 1))
    ids = ((start + np.arange(k) * 7) % n_labels).astype(np.int32)
    ranking = Ranking(ids, np.zeros(ids.shape, np.float32))
    truth = pairs_from_lists(rng.integers(0, n_labels, (n_docs, 5)).tolist(), n_labels)
    counts = rng.integers(0, 20, n_labels) ** 2
    before = time.process_time()
    evaluate(ranking, truth, counts, 15_000, unseen_ranking=ranking)
    assert time.process_time() - before < 1
