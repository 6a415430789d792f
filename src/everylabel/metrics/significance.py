"""Whether two systems differ, or the difference is luck.

The micro sign test and the macro t-test are those of Yang and Liu (SIGIR 1999). The paired bootstrap resamples
documents and serves every metric that is a `Ratio`, also ratios of sums such as PSP, which are no mean of documents.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everylabel.errors import ConfigError, DataError
from everylabel.metrics.ranking import BoolArray, DoubleArray, Hits, Ratio
from everylabel.types import LongArray

_EXACT = 14  # documents whose signs are all tried
CHUNK = 2_000_000  # draws held at once by the bootstrap: about 50 MB


class SignTest(NamedTuple):
    """Of the decisions that differ, how many each system has right; p is two-sided."""

    wins_a: int
    wins_b: int
    p_value: float

    def to_json(self) -> dict[str, float]:
        return {"wins": self.wins_a, "losses": self.wins_b, "p_value": self.p_value}


class TTest(NamedTuple):
    """Mean over labels of a - b; p is two-sided."""

    difference: float
    t: float
    p_value: float


class Bootstrap(NamedTuple):
    """Metric of a minus metric of b, its interval, and a two-sided p."""

    difference: float
    low: float
    high: float
    p_value: float


def sign_test(a: Hits, b: Hits, k: int = 5) -> SignTest:
    """Micro sign test over the (document, label) decisions in which the top k of a and b differ.

    A decision that only one of them takes is a win for it when the label is true, and for the other one when not.
    """
    from scipy.special import bdtr

    _same_truth(a, b)
    keys_a, right_a = _decisions(a, k)
    keys_b, right_b = _decisions(b, k)
    only_a = right_a[~np.isin(keys_a, keys_b)]
    only_b = right_b[~np.isin(keys_b, keys_a)]
    wins_a = int(only_a.sum() + (~only_b).sum())
    wins_b = int(only_b.sum() + (~only_a).sum())
    p_value = 2 * float(bdtr(min(wins_a, wins_b), wins_a + wins_b, 0.5))  # exact, by symmetry
    return SignTest(wins_a, wins_b, min(1.0, p_value))


def _decisions(hits: Hits, k: int) -> tuple[LongArray, BoolArray]:
    """A number for each decided pair, and whether it is right."""
    ids = hits.ids[:, :k]
    keys = np.arange(len(ids), dtype=np.int64)[:, None] * hits.truth.shape[1] + ids
    decided = (ids >= 0) & hits.counted[:, None]
    return keys[decided], hits.hit[:, :k][decided]


def _same_truth(a: Hits, b: Hits) -> None:
    same = a.truth.shape == b.truth.shape and np.array_equal(a.counted, b.counted)
    if not (
        same and np.array_equal(a.truth.indptr, b.truth.indptr) and np.array_equal(a.truth.indices, b.truth.indices)
    ):
        raise DataError("the two systems were held against different truths; rank the same documents and vocabulary")


def macro_t_test(f1_a: DoubleArray, f1_b: DoubleArray) -> TTest:
    """Paired t-test over the labels' F1 (`label_counts(hits, k).f1`, or a band's part of it)."""
    from scipy.special import stdtr

    if f1_a.shape != f1_b.shape or len(f1_a) < 2:
        raise DataError(f"expected the F1 of the same two or more labels twice; got {f1_a.shape} and {f1_b.shape}")
    difference = f1_a - f1_b
    mean = float(difference.mean())
    error = float(difference.std(ddof=1)) / np.sqrt(len(difference))
    if np.ptp(difference) == 0:  # no spread: equal everywhere, or better by the same everywhere
        return TTest(mean, float(np.copysign(np.inf, mean)) if mean else 0.0, 0.0 if mean else 1.0)
    t = mean / error
    return TTest(mean, float(t), float(2 * stdtr(len(difference) - 1, -abs(t))))


def paired_bootstrap(
    a: Ratio, b: Ratio, *, n_resamples: int = 2000, confidence: float = 0.95, random_state: int = 0
) -> Bootstrap:
    """Difference of a metric between two systems on the same documents, with its percentile interval.

    p is twice the share of resamples on the wrong side of 0 (each counted once more, so that p is never 0).
    """
    if n_resamples < 1 or not 0 < confidence < 1:
        raise ConfigError(f"need n_resamples >= 1 and 0 < confidence < 1; got {n_resamples} and {confidence}")
    if not np.array_equal(a.possible, b.possible):
        raise DataError("the two systems were not evaluated on the same documents and truth; evaluate both on the same")
    counts = a.possible > 0  # a document with nothing to gain is no observation
    if not counts.any():
        raise DataError("no document counts for this metric; there is nothing to compare")
    columns = np.stack([(a.gained - b.gained)[counts], a.possible[counts]], axis=1)
    gained, possible = columns.sum(axis=0)
    sums = _resampled_sums(columns, n_resamples, random_state)
    differences = sums[:, 0] / sums[:, 1]
    low, high = np.quantile(differences, [(1 - confidence) / 2, (1 + confidence) / 2])
    wrong_side = min((differences <= 0).sum(), (differences >= 0).sum())
    p_value = min(1.0, 2 * (int(wrong_side) + 1) / (n_resamples + 1))
    return Bootstrap(float(gained / possible), float(low), float(high), p_value)


def sign_flip_test(a: Ratio, b: Ratio, *, n_resamples: int = 20_000, random_state: int = 0) -> float:
    """How likely it is that a is so much worse than b, if each document's difference had either sign as often: p,
    one-sided, by Fisher's randomisation. Exact for up to 14 documents that differ (2^14 sums), drawn for more; of m
    that differ, p is 2^-m at least. It holds for any number of documents, where a bootstrap's interval is too narrow.
    """
    if not np.array_equal(a.possible, b.possible):
        raise DataError("the two systems were not evaluated on the same documents and truth; evaluate both on the same")
    differences = a.gained - b.gained
    sizes = np.abs(differences[differences != 0])
    total, tolerance = float(differences.sum()), 1e-9
    if len(sizes) <= _EXACT:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate([sums - size, sums + size])
        return float((sums <= total + tolerance).mean())
    rng = np.random.default_rng(random_state)
    signs = 2.0 * rng.integers(0, 2, (n_resamples, len(sizes)), np.int8) - 1
    return (int((signs @ sizes <= total + tolerance).sum()) + 1) / (n_resamples + 1)


def interval(a: Ratio, *, n_resamples: int = 2000, random_state: int = 0) -> tuple[float, float]:
    """The 95% percentile interval over documents of one system's metric."""
    nothing = Ratio(np.zeros_like(a.gained), a.possible)
    found = paired_bootstrap(a, nothing, n_resamples=n_resamples, random_state=random_state)
    return found.low, found.high


def _resampled_sums(columns: DoubleArray, n_resamples: int, random_state: int) -> DoubleArray:
    """Column sums of documents drawn with replacement, a row for each resample."""
    rng = np.random.default_rng(random_state)
    n_docs = len(columns)
    sums = np.empty((n_resamples, columns.shape[1]))
    step = max(1, CHUNK // n_docs)
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        drawn = rng.integers(0, n_docs, (size, n_docs)) + np.arange(size)[:, None] * n_docs
        times = np.bincount(drawn.ravel(), minlength=size * n_docs).reshape(size, n_docs)
        sums[start : start + size] = times.astype(np.float64) @ columns
    return sums
