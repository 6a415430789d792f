"""Margins become probabilities: curves by band, and how often labels occur that nobody has used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from everylabel.data.bands import in_band
from everylabel.data.dataset import pairs_from_lists
from everylabel.tagger import probability as module
from everylabel.tagger.blending_set import BlendingSet
from everylabel.tagger.candidates import ADDED, CandidateTable
from everylabel.tagger.probability import AS_THEY_ARE, Curve, Levels, fit_levels, fitted_curve, levelled, rate_of_unseen

N_LABELS, N_DOCS = 60, 2_000
COUNTS = np.repeat([500, 50, 5, 0], 15)
HIDDEN = (np.arange(N_LABELS) >= 40) & (COUNTS > 0)  # some of the tail


def held_out(seed: int, curves: dict[str, Curve], unseen: Curve, n_docs: int = N_DOCS) -> tuple[BlendingSet, Any]:
    """Documents whose labels are true by these curves of made-up margins; hidden labels by that of the tail."""
    rng = np.random.default_rng(seed)
    documents, labels = np.repeat(np.arange(n_docs), N_LABELS), np.tile(np.arange(N_LABELS), n_docs)
    margins = rng.normal(-2, 2, len(labels))
    odds = Levels({**curves, "unseen": unseen, "added": AS_THEY_ARE}).log_odds(margins, COUNTS[labels])
    hits = rng.random(len(labels)) < expit(odds)
    truth = pairs_from_lists([labels[(documents == d) & hits].tolist() for d in range(n_docs)], N_LABELS)
    table = CandidateTable(documents, labels, np.zeros((len(labels), 0), np.float32), n_docs)
    known = np.where(HIDDEN, 0, COUNTS)
    without = truth.multiply(~HIDDEN).tocsr()
    n_unseen = int((known[truth.indices] == 0).sum())
    return BlendingSet(table, known[labels], HIDDEN[labels], truth, without, n_unseen), margins


def test_each_band_has_a_curve_of_its_own() -> None:
    curves = {"head": Curve(1.0, 1.0, 0.0), "middle": Curve(0.8, 0.8, -0.5), "tail": Curve(0.6, 0.6, -1.5)}
    data, margins = held_out(0, curves, Curve(0.6, 0.6, -4.0))
    found = fit_levels(data, data.hits, margins, COUNTS, 0.01).curves
    for band, curve in curves.items():
        np.testing.assert_allclose(expit(found[band].of(margins)), expit(curve.of(margins)), atol=0.07)


def test_a_band_without_documents_has_the_curve_of_all() -> None:
    curves = dict.fromkeys(module.SEEN_BANDS, Curve(0.7, 0.7, -1.0))
    data, margins = held_out(1, curves, Curve(0.7, 0.7, -5.0))
    few = in_band(data.counts, "middle") & (data.table.documents > 3)  # next to nothing is known of these
    some = data._replace(table=data.table.take(~few), counts=data.counts[~few], hidden=data.hidden[~few])
    found = fit_levels(some, some.hits, margins[~few], COUNTS, 0.01).curves
    np.testing.assert_allclose(found["middle"], found["head"], atol=0.3)


def test_labels_nobody_has_used_are_as_probable_as_held_out_documents_have_them() -> None:
    """Hidden ones are far more frequent: their level says nothing about the others. Of all suggestions that are shown
    with 5 % as many must be right."""
    curves = dict.fromkeys(module.SEEN_BANDS, Curve(1.0, 1.0, 0.0))
    data, margins = held_out(2, curves, Curve(1.0, 1.0, -5.0))
    never = COUNTS[data.table.labels] == 0
    hits = data.hits
    levels = fit_levels(data, hits, margins, COUNTS, float(hits[never].sum()) / N_DOCS)
    shown = expit(levels.log_odds(margins, data.counts))[never]
    assert shown.sum() == pytest.approx(hits[never].sum(), rel=0.15)
    assert levels.curves["added"].level > levels.curves["unseen"].level + 3  # as frequent as the hidden ones
    assert levels.log_odds(margins[:1], np.array([ADDED])) > levels.log_odds(margins[:1], np.array([0]))


# --- how often a label occurs that nobody has used


def vocabulary(seed: int, n_labels: int = 4_000) -> Any:
    """The share of documents that have each label: a few are frequent, most are not."""
    return np.random.default_rng(seed).pareto(0.7, n_labels) * 2e-5


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_labels_that_were_used_once_say_how_often_new_ones_come(seed: int) -> None:
    rng, shares = np.random.default_rng(seed), np.minimum(vocabulary(seed), 0.5)
    n_train = 20_000
    counts = rng.binomial(n_train, shares)
    truth = float(shares[counts == 0].sum())  # pairs a document
    assert rate_of_unseen(counts, n_train, None) == pytest.approx(truth, rel=0.15)


def test_dev_documents_have_the_last_word_and_few_of_them_a_small_one() -> None:
    counts = np.array([1] * 20 + [0] * 50 + [9] * 30)
    guess = rate_of_unseen(counts, 1_000, None)
    assert guess == pytest.approx(0.0205)

    def after(n_docs: int, n_pairs: int) -> float:
        return rate_of_unseen(counts, 1_000, pairs_from_lists([[99, 20]] * n_pairs + [[99]] * (n_docs - n_pairs), 100))

    assert after(10_000, 3_000) == pytest.approx(0.3, rel=0.01)
    assert after(10_000, 0) < 0.001
    assert guess / 3 < after(20, 0) < guess  # what was to be expected
    assert after(20, 6) > 5 * guess
    assert rate_of_unseen(counts, 1_000, pairs_from_lists([[], []], 100)) == pytest.approx(guess)


def test_without_anything() -> None:
    assert 0 < rate_of_unseen(np.array([5, 5]), 10, None) < 0.1
    assert rate_of_unseen(np.zeros(0, np.int64), 0, None) > 0


# --- curves


@pytest.mark.parametrize(("slope", "level"), [(1.0, 0.0), (0.4, -3.0), (2.5, 1.0)])
def test_of_straight_odds_a_curve_is_the_straight_line(slope: float, level: float) -> None:
    rng = np.random.default_rng(0)
    margins = rng.normal(0, 2, 20_000)
    hits = rng.random(20_000) < expit(slope * margins + level)
    found = fitted_curve(margins, hits)
    np.testing.assert_allclose(expit(found.of(margins)), expit(slope * margins + level), atol=0.03)


def test_a_curve_is_logistic_regression_on_the_logarithms_of_both_probabilities() -> None:
    """Steep below, flat above: improbable labels are overrated, and so are those that seem certain."""
    from sklearn.linear_model import LogisticRegression

    rng, truth = np.random.default_rng(0), Curve(1.6, 0.5, -0.3)
    margins = rng.normal(-1, 3, 30_000)
    hits = rng.random(30_000) < expit(truth.of(margins))
    parts = np.stack([np.log(expit(margins)), -np.log(expit(-margins))], axis=1)
    reference = LogisticRegression(C=1e6, tol=1e-8).fit(parts, hits)
    found = fitted_curve(margins, hits)
    np.testing.assert_allclose(found[:2], reference.coef_[0], rtol=0.02)
    assert found.level == pytest.approx(float(reference.intercept_[0]), abs=0.02)
    np.testing.assert_allclose(found, truth, atol=0.1)


def test_a_curve_of_ones_changes_nothing() -> None:
    margins = np.array([-50.0, -3.0, 0.0, 2.0, 40.0])
    np.testing.assert_allclose(AS_THEY_ARE.of(margins), margins, atol=1e-12)


def test_a_curve_never_falls_and_copes_with_little() -> None:
    margins = np.linspace(-2, 2, 400)
    assert (np.diff(fitted_curve(margins, margins < 0).of(margins)) > 0).all()
    for hits in (np.ones(400, np.bool_), np.zeros(400, np.bool_)):
        assert np.isfinite(fitted_curve(margins, hits)).all()
    other = Curve(0.5, 0.7, -2.0)
    assert fitted_curve(margins[:0], margins[:0] > 0) == AS_THEY_ARE
    assert fitted_curve(margins[:0], margins[:0] > 0, other) == other
    assert np.isfinite(fitted_curve(margins[:1], margins[:1] > 0)).all()


@pytest.mark.parametrize("n_hits", [3, 20, 100])
def test_a_level_is_that_of_the_hits(n_hits: int) -> None:
    margins = np.random.default_rng(1).normal(-1, 1, 1_000)
    curve = Curve(0.8, 0.9, -1.0)
    found = levelled(curve, margins, n_hits)
    assert found[:2] == curve[:2]
    assert expit(found.of(margins)).sum() == pytest.approx(n_hits, rel=0.02)
    assert levelled(curve, margins[:0], n_hits) == curve


def test_without_a_hit_a_level_is_low_but_not_out_of_sight() -> None:
    margins = np.random.default_rng(1).normal(-1, 1, 5_000)
    found = levelled(AS_THEY_ARE, margins, 0)
    assert 0 < expit(found.of(margins)).sum() < 100
    assert found.level > -10
