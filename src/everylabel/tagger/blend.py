"""The experts' opinions made one ranking: learning to rank with LightGBM on the candidates of held-out documents.

Pointwise, by the logistic loss, so that a margin is a log odds. No label becomes worse by a
higher score or a better rank. Learned from candidates of rehearsals, where some labels were hidden: they were far more
frequent there than labels that nobody has used are. So labels with and without training documents have a straight line
each from margins to log odds, the level of the second one by those labels of held-out documents that training has not;
a label that is added later is taken for as frequent as the hidden ones. Rare labels come a little before frequent ones
that are hardly more probable (methods/rare.py), and unseen labels as far up as the first five
places do not suffer: both are chosen on documents that the trees have not seen. Below, every second place at least is
theirs (`every`): by probability alone they would come last, and nobody would find them. Where there is too little to
learn from, the mean of the experts' ranks decides.
Cost: fit O(rounds x rows x columns), twice, on at most `MOST_ROWS` rows; a document: candidates x rounds x depth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, vstack

from everylabel.methods.calibrate import CALIBRATION_DEPTH
from everylabel.metrics.ranking import find_hits, inverse_propensity, ndcg, psp, weigh
from everylabel.parallel import n_openmp_threads
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.tagger.candidates import ADDED, EXPERT_COLUMNS, SHARED_COLUMNS, CandidateTable
from everylabel.tagger.trees import Trees
from everylabel.types import Csr, FloatArray, LongArray, Ranking
from everylabel.vectors import logistic

if TYPE_CHECKING:
    import lightgbm

Doubles = NDArray[np.float64]

LEAST_DOCUMENTS = 60  # held out, with labels: fewer are not learned from
LEAST_HITS = 100
ROUNDS = 400
PATIENCE = 30
MOST_ROWS = 2_000_000
NEGATIVES = 60  # of a document, at random, beside those that any expert has among its first ten
RARE_WEIGHTS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.3)
UNSEEN_LIFTS = tuple(np.arange(-2, 8.25, 0.25).tolist())
COST_OF_RARE = 0.005  # of nDCG@5, that rare labels may take from frequent ones
COST_OF_LIFT = 0.0005  # of nDCG@5, that labels without training documents may take from the others
TIES = 1e-3  # of the experts' mean rank, beside the trees: they leave equal what they cannot tell apart
UNSEEN_RANK_WEIGHT = 0.5  # of the mean rank among labels without training documents, beside the trees
FIRST_PLACES = 6  # of a document, by probability alone
_K = 5


class BlendingSet(NamedTuple):
    """Candidates of held-out documents, and what is true of them."""

    table: CandidateTable
    counts: LongArray  # of each row: training documents of its label, as the experts know them
    hidden: NDArray[np.bool_]  # of each row: its label was hidden on purpose
    truth: Csr  # (documents, labels), all pairs
    truth_without_hidden: Csr  # the same without those of labels that were hidden

    @property
    def hits(self) -> NDArray[np.bool_]:
        if not len(self.table.labels):  # scipy has no empty selection of entries
            return np.zeros(0, np.bool_)
        return np.asarray(self.truth[self.table.documents, self.table.labels]).ravel() > 0

    @classmethod
    def joined(cls, parts: Sequence[BlendingSet]) -> BlendingSet:
        rows = (np.concatenate([getattr(part, name) for part in parts]) for name in ("counts", "hidden"))
        names = ("truth", "truth_without_hidden")
        pairs = (csr_matrix(vstack([getattr(part, name) for part in parts])) for name in names)
        return cls(CandidateTable.joined([part.table for part in parts]), *rows, *pairs)


class Line(NamedTuple):
    """From margins to log odds."""

    slope: float
    level: float

    def of(self, margins: Doubles) -> Doubles:
        return self.slope * margins + self.level


@dataclass(frozen=True, eq=False)
class Blend:
    """`margins` of candidates, `scores` from them; `learn` makes one, `learned_from` the next one."""

    model: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))  # LightGBM's own text
    trees: Trees | None = None  # the same, to be read; None: the mean of the experts' ranks decides
    seen: Line = field(default_factory=lambda: Line(1.0, 0.0))
    unseen: Line = field(default_factory=lambda: Line(1.0, -1.0))
    added: Line = field(default_factory=lambda: Line(1.0, 0.0))
    rare_weight: float = 0.0
    unseen_lift: float = 0.0
    gains: dict[str, float] = field(default_factory=dict)  # of each column: what it adds, together 1
    n_documents: int = 0  # that it was learned from
    every: int = 2  # below the first places, each such place is for unseen labels; 0: none is

    def margins(self, table: CandidateTable) -> Doubles:
        if self.trees is None or len(table.labels) == 0:
            return starts(table)
        return with_ranks(self.trees.sums(table.columns), table)

    def scores(self, table: CandidateTable, counts: LongArray) -> FloatArray:
        """From 0 to 1, one scale for all labels; `counts`: training documents of each label."""
        row_counts = counts[table.labels]
        return self.reserve_for_unseen(table, self.scores_of(self.margins(table), row_counts), row_counts)

    def reserve_for_unseen(self, table: CandidateTable, scores: FloatArray, counts: LongArray) -> FloatArray:
        """Below the first places unseen labels have some of their own. `counts`: of each row."""
        return table.reserve_for_unseen(scores, counts <= 0, FIRST_PLACES, self.every) if self.every else scores

    def scores_of(self, margins: Doubles, counts: LongArray) -> FloatArray:
        """`counts`: of each candidate's label; ADDED of one that came after the fit."""
        seen = self.seen.of(margins) - self.rare_weight * np.log1p(np.maximum(counts, 0))
        unseen = np.where(counts == ADDED, self.added.of(margins), self.unseen.of(margins) + self.unseen_lift)
        return np.asarray(logistic(np.where(counts > 0, seen, unseen)), np.float32)

    def with_trees(self, booster: lightgbm.Booster) -> Blend:
        text = booster.model_to_string()
        return replace(self, model=np.frombuffer(text.encode(), np.uint8), trees=Trees.of_text(text))

    def learned_from(self, new: BlendingSet) -> Blend:
        """The next blend, which has learned from a few documents more: the trees stay, their leaves move by the
        documents' share."""
        n_documents = self.n_documents + new.table.n_documents
        more = replace(self, n_documents=n_documents)
        if self.trees is None or not new.hits.any():
            return more
        import lightgbm

        kept = 1 - new.table.n_documents / n_documents
        booster = lightgbm.Booster(model_str=self.model.tobytes().decode())
        moved = booster.refit(
            new.table.columns,
            new.hits.astype(np.float32),
            decay_rate=max(0.5, kept),
            dataset_params={"verbose": -1},
            verbose=-1,
        )
        return more.with_trees(moved)

    def state(self) -> dict[str, Any]:
        plain = {
            "lines": [list(self.seen), list(self.unseen), list(self.added)],
            "weights": [self.rare_weight, self.unseen_lift],
            "gains": self.gains,
            "n_documents": self.n_documents,
            "every": self.every,
        }
        trees = {} if self.trees is None else {"model": self.model, **add_prefix("trees", self.trees.state())}
        return {"about": plain, **trees}

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Blend:
        about, trees = state["about"], strip_prefix(state, "trees")
        seen, unseen, added = (Line(*line) for line in about["lines"])
        rare, lift = about["weights"]
        read = {"model": state["model"], "trees": Trees.restored(trees)} if trees else {}
        numbers = {key: about[key] for key in ("gains", "n_documents", "every")}
        return cls(seen=seen, unseen=unseen, added=added, rare_weight=rare, unseen_lift=lift, **numbers, **read)


def starts(table: CandidateTable) -> Doubles:
    """All there is without trees, and what breaks their ties: the mean of the logarithms of the experts' ranks."""
    return -table.shared("mean rank").astype(np.float64)


def with_ranks(trees: Doubles, table: CandidateTable) -> Doubles:
    """The trees' margins and what the experts' ranks say beside them. The trees know hidden labels only; ranks among
    labels without training documents hold for those that nobody has used as well."""
    among = table.shared("rank among unseen").astype(np.float64)
    found: Doubles = trees + TIES * starts(table) - UNSEEN_RANK_WEIGHT * np.nan_to_num(among)
    return found


def learn(
    data: BlendingSet,
    counts: LongArray,
    names: list[str],
    n_train: int,
    seed: int,
    every: int = 2,
    run: Run = QUIET,
) -> tuple[Blend, Ranking]:
    """The blend, and how it ranks the held-out documents by trees that have not seen them, hidden labels left out.

    `counts`: training documents of each label in all data; `names`: of the columns.
    """
    margins, hits = starts(data.table), data.hits
    blend = Blend(n_documents=data.table.n_documents, every=every)
    if data.table.n_documents >= LEAST_DOCUMENTS and hits.sum() >= LEAST_HITS:
        with run.task("blend", 3) as advance:
            margins, rounds = cross_fitted(data, hits, seed, advance)
            booster = _learned_trees(data, hits, np.arange(data.table.n_documents), rounds, seed)
            shares = booster.feature_importance("gain")
            gains = dict(zip(names, (shares / max(shares.sum(), 1e-12)).round(5).tolist(), strict=True))
            blend = replace(blend.with_trees(booster), gains=gains)
            advance(1)
    blend = fit_levels(blend, data, hits, margins, inverse_propensity(counts, n_train))
    shown = ~data.hidden
    table, row_counts = data.table.take(shown), data.counts[shown]
    scores = blend.reserve_for_unseen(table, blend.scores_of(margins[shown], row_counts), row_counts)
    return blend, table.ranking(scores, CALIBRATION_DEPTH)


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
    shared = {"agreement": 1, "best rank": -1, "mean rank": -1, "rank among unseen": -1}
    return experts + [shared.get(name, 0) for name in SHARED_COLUMNS]


def fit_levels(blend: Blend, data: BlendingSet, hits: Any, margins: Doubles, weights: Any) -> Blend:
    """The two lines, then how far rare and unseen labels are favoured. `weights`: of a hit of each label in PSP."""
    unseen = data.counts == 0
    blend = replace(blend, seen=fitted_line(margins[~unseen], hits[~unseen]))
    if unseen.any():
        line, never_used = fitted_line(margins[unseen], hits[unseen]), unseen & ~data.hidden
        level = levelled(line, margins[never_used], hits[never_used])
        blend = replace(blend, unseen=level, added=line if hits[unseen].any() else blend.seen)
    rows = _likely(data, margins)
    chooser = _Chooser(data.table.take(rows), data.counts[rows], margins[rows], data.truth_without_hidden, weights)
    blend = replace(blend, rare_weight=chooser.rare_weight(blend))
    return replace(blend, unseen_lift=chooser.unseen_lift(blend))


def _likely(data: BlendingSet, margins: Doubles) -> LongArray:
    """Rows that may come to stand among the first five, whatever is favoured; hidden labels never."""
    kind = data.table.documents * 2 + (data.counts == 0)
    order = np.lexsort((-margins, data.hidden, kind))
    begins = np.searchsorted(kind[order], kind[order])
    room = np.where(data.counts[order] == 0, _K, 4 * _K)
    chosen = order[(np.arange(len(order)) - begins < room) & ~data.hidden[order]]
    return np.sort(chosen)


class _Chooser:
    """nDCG@5 and PSP@5 of the held-out documents, for one weight after the other."""

    def __init__(self, table: CandidateTable, counts: LongArray, margins: Doubles, truth: Csr, weights: Any) -> None:
        self.table, self.counts, self.margins, self.truth, self.weights = table, counts, margins, truth, weights

    def measured(self, blend: Blend) -> tuple[float, float]:
        scores = blend.scores_of(self.margins, self.counts)
        hits = find_hits(self.table.ranking(scores, _K), self.truth)
        return ndcg(hits, _K).value, psp(weigh(hits, self.weights, _K), _K).value

    def rare_weight(self, blend: Blend) -> float:
        """Best for the sum of both, of frequent and of rare labels alike, that costs the first little."""
        found = [self.measured(replace(blend, rare_weight=weight)) for weight in RARE_WEIGHTS]
        overall, rare = np.transpose(found)
        if np.isnan(overall + rare).all():
            return 0.0
        cheap = overall >= np.nanmax(overall) - COST_OF_RARE
        return RARE_WEIGHTS[int(np.nanargmax(np.where(cheap, overall + rare, np.nan)))]

    def unseen_lift(self, blend: Blend) -> float:
        """The largest that costs the first five places next to nothing."""
        found = [self.measured(replace(blend, unseen_lift=lift))[0] for lift in UNSEEN_LIFTS]
        if np.isnan(found).all():
            return 0.0
        return float(UNSEEN_LIFTS[int(np.flatnonzero(np.array(found) >= max(found) - COST_OF_LIFT)[-1])])


def fitted_line(margins: Doubles, hits: NDArray[np.bool_]) -> Line:
    """Logistic regression on one number, a little drawn to a slope of 1; never falling. O(rows)."""
    from scipy.optimize import minimize
    from scipy.special import log_expit

    if not len(hits):
        return Line(1.0, 0.0)
    signs = np.where(hits, 1.0, -1.0)

    def loss(line: Doubles) -> tuple[float, Doubles]:
        odds = signs * (line[0] * margins + line[1])
        pull = -signs * logistic(-odds)
        value = -log_expit(odds).sum() + (line[0] - 1) ** 2 + 0.01 * line[1] ** 2
        return float(value), np.array([pull @ margins + 2 * (line[0] - 1), pull.sum() + 0.02 * line[1]])

    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0.05, None), (None, None)])
    return Line(float(found.x[0]), float(found.x[1]))


def levelled(line: Line, margins: Doubles, hits: NDArray[np.bool_]) -> Line:
    """The line moved up or down until it expects as many hits as there are; half a hit is added to both."""
    if not len(hits):
        return line
    level = line.level
    for _ in range(30):
        expected = float(logistic(line.slope * margins + level).sum())
        level += np.log((hits.sum() + 0.5) / (expected + 0.5))
    return Line(line.slope, float(np.clip(level, line.level - 6, line.level + 3)))
