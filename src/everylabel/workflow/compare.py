"""Several methods on the same documents, and whether they differ by more than chance."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from everylabel.data import load_dataset
from everylabel.data.bands import in_band
from everylabel.data.dataset import Dataset
from everylabel.methods.base import Method
from everylabel.metrics.ranking import label_counts
from everylabel.metrics.significance import (
    Bootstrap,
    SignTest,
    TTest,
    interval,
    macro_t_test,
    paired_bootstrap,
    sign_test,
)
from everylabel.parallel import InTurn
from everylabel.report.differences import Change
from everylabel.run import QUIET, Run
from everylabel.workflow.doubts import doubts
from everylabel.workflow.evaluate import USUAL, Evaluation, Protocol, evaluate
from everylabel.workflow.training import TRAIN

if TYPE_CHECKING:
    from everylabel.data.formats.layout import Layout
    from everylabel.data.formats.rows import OnBadRow

COMPARED = ("P@1", "nDCG@5", "PSP@5")
REPORTED = ("nDCG@5", "PSP@5", "ZSR@100")
TAIL = "tail-F1@5"


class Differences(NamedTuple):
    """One system minus another: metrics by document, and the decisions of the top 5 in which they differ."""

    metrics: dict[str, Bootstrap]
    decisions: SignTest
    decided: int = 5
    tail: TTest | None = None  # of the F1 of labels with 1 to 9 training documents; None: there are not two

    def to_json(self) -> dict[str, Any]:
        tested = {key: found._asdict() for key, found in self.metrics.items()}
        by_label = {}
        if self.tail is not None:  # without t, which is infinite where all labels differ by the same
            tail = {"difference": self.tail.difference, "p_value": self.tail.p_value}
            by_label = {f"tail-F1@{self.decided}": tail}
        return {**tested, **by_label, f"sign_test@{self.decided}": self.decisions.to_json()}


@dataclass(frozen=True)
class Compared:
    """A method that was fitted and evaluated; the differences are those from the first one, which has none."""

    name: str
    fit_seconds: float
    evaluation: Evaluation
    first: str
    differences: Differences | None = None

    def to_json(self) -> dict[str, Any]:
        found = self.evaluation
        about = {
            "method": self.name,
            "fit_seconds": round(self.fit_seconds, 3),
            "docs_per_second": round(found.docs_per_second, 1),
        }
        against = None if self.differences is None else {"first": self.first, **self.differences.to_json()}
        return about | {"difference": against, "calibration": found.calibration_json()} | found.scores.to_json()


def compared_data(
    data: Path, split: str, *, on_bad_row: OnBadRow = "error", run: Run = QUIET, **layout: Unpack[Layout]
) -> tuple[Dataset, Dataset]:
    """What methods are fitted on, and what they are held against; says what is doubtful about the two."""
    train = load_dataset(data, TRAIN, on_bad_row=on_bad_row, run=run, **layout)
    held_out = load_dataset(data, split, on_bad_row=on_bad_row, labels=train.labels, run=run, **layout)
    for doubt in doubts({TRAIN: train, split: held_out}, blended=False):
        run.say(doubt)
    return train, held_out


def compare(
    method: Method,
    train: Dataset,
    held_out: Dataset,
    first: Compared | None = None,
    *,
    protocol: Protocol = USUAL,
    run: Run = QUIET,
) -> Compared:
    """Fit a method on the training documents, evaluate it on the held-out ones, and test it against the first one."""
    found = run_row(Row(method), train=train, held_out=held_out, protocol=protocol, run=run)
    return _against(found, first, protocol)


class Row(NamedTuple):
    """A job of a comparison: a method that is not fitted yet."""

    method: Method

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def label(self) -> str:
        return f"compare-{self.name}"


def compare_all(
    methods: Sequence[Method], train: Dataset, held_out: Dataset, *, protocol: Protocol = USUAL, run: Run = QUIET
) -> Iterator[Compared]:
    """Each against the first one, in their order; beside each other if the run's executor can do that."""
    work = partial(run_row, train=train, held_out=held_out, protocol=protocol, run=run)
    first: Compared | None = None
    for found in (run.executor or InTurn()).map(work, [Row(method) for method in methods]):
        one = _against(found, first, protocol)
        first = first or one
        yield one


def run_row(row: Row, train: Dataset, held_out: Dataset, protocol: Protocol, run: Run) -> Compared:
    """Fitted and evaluated, held against nothing yet."""
    started = time.perf_counter()
    row.method.fit(train, run=run)
    seconds = time.perf_counter() - started
    found = evaluate(row.method, held_out, protocol=protocol, run=run)
    return Compared(row.name, seconds, found, row.name)


def _against(one: Compared, first: Compared | None, protocol: Protocol) -> Compared:
    if first is None:
        return one
    found = differences(one.evaluation, first.evaluation, decided=protocol.decided)
    return replace(one, first=first.name, differences=found)


def differences(
    one: Evaluation, other: Evaluation, keys: Sequence[str] = COMPARED, *, decided: int = USUAL.decided
) -> Differences:
    """The paired bootstrap of each metric (the mean of the documents); of the ranks that are decisions the micro sign
    test, and the macro t-test over the tail's labels."""
    found = {key: paired_bootstrap(one.ratios[key], other.ratios[key]) for key in keys}
    return Differences(found, sign_test(one.hits, other.hits, decided), decided, _tail_test(one, other, decided))


def _tail_test(one: Evaluation, other: Evaluation, decided: int = USUAL.decided) -> TTest | None:
    tail = in_band(one.truth.train_counts, "tail")
    if tail.sum() < 2:
        return None
    return macro_t_test(label_counts(one.hits, decided).f1[tail], label_counts(other.hits, decided).f1[tail])


def changes(one: Evaluation, other: Evaluation, seed: int) -> dict[str, Change]:
    """For a page: one's metrics minus another's; those that nothing can be said about are left out."""
    found = {}
    for key in _measured(one):
        test = paired_bootstrap(one.ratios[key], other.ratios[key], random_state=seed)
        found[key] = Change(test.difference, test.p_value, (test.low, test.high))
    by_label = _tail_test(one, other)
    if by_label is not None:
        found[TAIL] = Change(by_label.difference, by_label.p_value)
    return found


def intervals(one: Evaluation, seed: int) -> dict[str, tuple[float, float]]:
    """The 95 % interval of each metric that a page compares."""
    return {key: interval(one.ratios[key], random_state=seed) for key in _measured(one)}


def _measured(one: Evaluation) -> list[str]:
    return [key for key in REPORTED if one.ratios[key].possible.any()]
