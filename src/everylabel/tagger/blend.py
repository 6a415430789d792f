"""The experts' opinions made one ranking: learning to rank with LightGBM on the candidates of held-out documents.

Pointwise, by the logistic loss, so that a margin is a log odds; what it is worth for labels of each band, and for those
that nobody has used, is learned on documents that the trees have not seen (probability.py). No label becomes worse by a
higher score or a better rank. Where there is too little to learn from, the mean of the experts' ranks decides.
Cost: fit O(rounds x rows x columns), twice, on at most `MOST_ROWS` rows; a document: candidates x rounds x depth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel import checks
from everylabel.data.enough import TO_LEARN_TREES
from everylabel.methods.calibrate import CALIBRATION_DEPTH
from everylabel.parallel import n_openmp_threads
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.tagger.blending_set import BlendingSet
from everylabel.tagger.candidates import EXPERT_COLUMNS, PRIOR, SHARED_COLUMNS, CandidateTable
from everylabel.tagger.probability import FIRM, LOOSE, NOTHING_KNOWN, Curve, Levels, fit_levels
from everylabel.tagger.trees import Trees
from everylabel.types import FloatArray, LongArray, Ranking
from everylabel.vectors import logistic

if TYPE_CHECKING:
    import lightgbm

Doubles = NDArray[np.float64]

LEAST_HITS = 100
ROUNDS = 400
PATIENCE = 30
MOST_ROWS = 2_000_000
NEGATIVES = 60  # of a document, at random, beside those that any expert has among its first ten
TIES = 1e-3  # of the experts' mean rank, beside the trees: they leave equal what they cannot tell apart
LARGEST = 1e6  # of a slope, a level, a weight
RANKS_BESIDE_PRIOR, USED_BESIDE_PRIOR = 0.5, 1.0  # as log odds (chosen on dev documents: benchmarks.run.few_pairs)
USUAL_RANK = 3.0  # the mean logarithm of ranks of a label that is as good as the prior says
UNSEEN_RANK_WEIGHT = 0.5  # of the mean rank among labels without training documents, beside the trees


@dataclass(frozen=True, eq=False)
class Blend:
    """`margins` of candidates, `scores` from them; `learn` makes one, `learned_from` the next one."""

    trees: Trees | None = None  # as LightGBM learned them; None: the mean of the experts' ranks decides
    levels: Levels = field(default_factory=Levels)
    rare_weight: float = 0.0  # of order.py
    gains: dict[str, float] = field(default_factory=dict)  # of each column: what it adds, together 1
    n_documents: int = 0  # that it was learned from

    def margins(self, table: CandidateTable) -> Doubles:
        if self.trees is None or len(table.labels) == 0:
            return without_trees(table)
        return with_ranks(self.trees.sums(table.columns), table)

    def scores(self, table: CandidateTable, counts: LongArray) -> FloatArray:
        """From 0 to 1, one scale for all labels; `counts`: training documents of each label."""
        return self.scores_of(self.margins(table), counts[table.labels])

    def scores_of(self, margins: Doubles, counts: LongArray) -> FloatArray:
        """`counts`: of each candidate's label; ADDED of one that came after the fit."""
        return np.asarray(logistic(self.levels.log_odds(margins, counts)), np.float32)

    def with_trees(self, booster: lightgbm.Booster) -> Blend:
        return replace(self, trees=Trees.of_text(booster.model_to_string()))

    def learned_from(self, new: BlendingSet) -> Blend:
        """The next blend, which has learned from a few documents more: the trees stay, their leaves move by the
        documents' share."""
        n_documents = self.n_documents + new.table.n_documents
        more = replace(self, n_documents=n_documents)
        weights = new.weights
        known = np.ones(len(new.hits), np.bool_) if weights is None else weights > 0
        is_said = new.hits.any() if weights is None else known.any()  # what a person rejected is said, too
        if self.trees is None or not is_said:
            return more
        kept = max(0.5, 1 - new.table.n_documents / n_documents)
        columns, hits = (new.table.columns, new.hits) if known.all() else (new.table.columns[known], new.hits[known])
        return replace(
            more, trees=self.trees.refitted(columns, hits, kept, None if weights is None else weights[known])
        )

    def state(self) -> dict[str, Any]:
        plain = {
            "curves": {name: list(curve) for name, curve in self.levels.curves.items()},
            "rare_weight": self.rare_weight,
            "gains": self.gains,
            "n_documents": self.n_documents,
        }
        trees = {} if self.trees is None else add_prefix("trees", self.trees.state())
        return {"about": plain, **trees}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Blend:
        about, trees = state["about"], strip_prefix(state, "trees")
        levels = Levels({name: Curve(*curve) for name, curve in about["curves"].items()})
        read: dict[str, Any] = {"trees": Trees.restored(trees)} if trees else {}
        numbers = {key: about[key] for key in ("rare_weight", "gains", "n_documents")}
        return cls(levels=levels, **numbers, **read)

    def check(self, n_columns: int) -> None:
        """Of one that was restored: numbers, so that nothing is ranked by NaN."""
        checks.require(set(self.levels.curves) == set(NOTHING_KNOWN), "a blend without a curve for each band")
        numbers = (value for curve in self.levels.curves.values() for value in curve)
        for value in (*numbers, self.rare_weight):
            checks.number(value, "a number of the blend", -LARGEST, LARGEST)
        checks.require(isinstance(self.gains, dict), "gains must be a table")
        for gain in self.gains.values():
            checks.number(gain, "gains", 0, 1)
        checks.whole(self.n_documents, "documents of the blend")
        if self.trees is not None:
            self.trees.check(n_columns)


def enough_for_trees(data: BlendingSet, hits: NDArray[np.bool_]) -> bool:
    return data.table.n_documents >= TO_LEARN_TREES and int(hits.sum()) >= LEAST_HITS


def starts(table: CandidateTable) -> Doubles:
    """All there is without trees, and what breaks their ties: the mean of the logarithms of the experts' ranks."""
    return -table.shared("mean rank").astype(np.float64)


def without_trees(table: CandidateTable) -> Doubles:
    """What decides where there is too little to learn from: the experts' ranks; and first, where there is a prior, the
    log odds of other corpora, that the label is used here, and that the experts who have learned from pairs agree."""
    prior = table.shared(PRIOR).astype(np.float64)
    if np.isnan(prior).all():
        return starts(table)
    known = np.where(np.isnan(prior), np.nanmin(prior), prior)
    used = table.shared("unseen").astype(np.float64) < 1
    return known + RANKS_BESIDE_PRIOR * (starts(table) + USUAL_RANK) + USED_BESIDE_PRIOR * used


def with_ranks(trees: Doubles, table: CandidateTable) -> Doubles:
    """The trees' margins and what the experts' ranks say beside them. The trees know hidden labels only; ranks among
    labels without training documents hold for those that nobody has used as well."""
    among = table.shared("rank among unseen").astype(np.float64)
    found: Doubles = trees + TIES * starts(table) - UNSEEN_RANK_WEIGHT * np.nan_to_num(among)
    return found


def learn(
    data: BlendingSet,
    counts: LongArray,
    unseen_rate: float,
    names: list[str],
    seed: int,
    run: Run = QUIET,
) -> tuple[Blend, Ranking]:
    """The blend, and how it ranks the held-out documents by trees that have not seen them, hidden labels left out.

    `counts`: training documents of each label in all data; `unseen_rate`: of `rate_of_unseen`; `names`: of the columns.
    """
    margins, hits = without_trees(data.table), data.hits
    blend = Blend(n_documents=data.table.n_documents)
    if enough_for_trees(data, hits):
        with run.task("blend", 3) as advance:
            margins, rounds = cross_fitted(data, hits, seed, advance)
            booster = _learned_trees(data, hits, np.arange(data.table.n_documents), rounds, seed)
            shares = booster.feature_importance("gain")
            gains = dict(zip(names, (shares / max(shares.sum(), 1e-12)).round(5).tolist(), strict=True))
            blend = replace(blend.with_trees(booster), gains=gains)
            advance(1)
    pull = LOOSE if blend.trees is not None or np.isnan(data.table.shared(PRIOR)).all() else FIRM
    blend = replace(blend, levels=fit_levels(data, hits, margins, counts, unseen_rate, pull))
    shown = ~data.hidden
    scores = blend.scores_of(margins[shown], data.counts[shown])
    return blend, data.table.take(shown).ranking(scores, CALIBRATION_DEPTH)


def cross_fitted(
    data: BlendingSet, hits: Any, seed: int, advance: Callable[[int], None] = lambda _: None
) -> tuple[Doubles, int]:
    """Margins by trees of the other half of the documents, and how many trees were best for both halves."""
    half = np.random.default_rng(seed).permutation(data.table.n_documents) % 2
    margins, best = np.empty(len(hits)), []
    for part in (0, 1):
        others, these = np.flatnonzero(half != part), np.flatnonzero(half == part)
        booster = _learned_trees(data, hits, others, ROUNDS, seed, stop_on=these)
        best.append(booster.best_iteration)
        rows = half[data.table.documents] == part
        table = data.table.take(rows)
        found = booster.predict(table.columns, raw_score=True, num_iteration=best[-1])
        margins[rows] = with_ranks(np.asarray(found), table)
        advance(1)
    return margins, max(1, round(sum(best) / 2 * 1.1))  # more documents bear a few more trees


def _learned_trees(
    data: BlendingSet, hits: Any, documents: LongArray, rounds: int, seed: int, stop_on: LongArray | None = None
) -> lightgbm.Booster:
    import lightgbm

    rows = _rows(data.table, hits, documents, seed)
    small = rows.n < 50_000
    settings = {
        "objective": "binary",
        "metric": "binary_logloss",
        "learning_rate": 0.05,
        "num_leaves": 8 if small else 31,
        "min_data_in_leaf": 20 if small else 50,
        "feature_fraction": 0.7,
        "monotone_constraints": _directions(data.table.columns.shape[1]),
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1 if small else n_openmp_threads(),
        "seed": seed,
        "verbose": -1,
    }
    if stop_on is None:
        return lightgbm.train(settings, rows.data, rounds)
    valid = _rows(data.table, hits, stop_on, seed)
    stop = lightgbm.early_stopping(PATIENCE, verbose=False)
    return lightgbm.train(settings, rows.data, rounds, valid_sets=[valid.data], callbacks=[stop])


class _Rows(NamedTuple):
    data: lightgbm.Dataset
    n: int


def _rows(table: CandidateTable, hits: Any, documents: LongArray, seed: int) -> _Rows:
    """Rows of these documents; of the wrong labels that no expert puts among its first only a part."""
    import lightgbm

    chosen = np.zeros(table.n_documents, np.bool_)
    chosen[documents] = True
    first = table.shared("agreement") > 0
    n_all = np.bincount(table.documents, minlength=table.n_documents)
    share = NEGATIVES / np.maximum(n_all, 1)
    lucky = np.random.default_rng(seed).random(len(hits)) < share[table.documents]
    rows = np.flatnonzero(chosen[table.documents] & (hits | first | lucky))[:MOST_ROWS]
    data = lightgbm.Dataset(
        table.columns[rows],
        hits[rows].astype(np.float32),
        params={"verbose": -1},
    )
    return _Rows(data, len(rows))


def _directions(n_columns: int) -> list[int]:
    """A higher score, or a better rank, never makes a label worse: what holds for documents of any kind."""
    n_experts = (n_columns - len(SHARED_COLUMNS)) // len(EXPERT_COLUMNS)
    experts = [{"score": 1, "rank": -1, "gap": 1}[column] for column in EXPERT_COLUMNS] * n_experts
    shared = {"agreement": 1, "best rank": -1, "mean rank": -1, "rank among unseen": -1, PRIOR: 1}
    return experts + [shared.get(name, 0) for name in SHARED_COLUMNS]
