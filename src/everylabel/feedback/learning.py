"""The next model of a project from what people decided since the last one; taken only if it is no worse.

Which decisions check a model: one document in five, by its content (`NewDecision.held_out`), as long as its decision is
among the latest `MOST_HELD_OUT` of these. Meanwhile no model learns it. Then later ones have taken its part, and it is
learned as any other: nothing a person did is wasted, models are checked on what comes in now, and none is checked on
what it has learned. Of several decisions about one document the last one counts.

The next model is refused if its nDCG@5 is below the present one's by more than chance (check.py). What was refused is
tried again with the next decisions, all of it together, after these and on top of what they gave: so a few bad ones
cannot stop all learning, nor pass because good ones make up for them. After `MOST_REFUSED` refusals a decision is left
to the next full fit.

An undone decision that was learned: the model is built again from the last version without it, and the decisions that
are still valid. Which decisions a version has, its history says; the marks in the database follow it, so that a
process that was killed between the two, or a version that was taken back, leaves nothing wrong.
Cost: the experts' rankings of the new documents, a ranking of the held-out ones by both models, writing what changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from everylabel.data.dataset import Dataset, Documents, pairs_from_lists
from everylabel.feedback.check import Check, check
from everylabel.feedback.decisions import IN_FULL_FIT, Decision
from everylabel.feedback.store import DecisionStore
from everylabel.feedback.versions import BACK, REFUSED, Versions
from everylabel.run import QUIET, Run
from everylabel.workflow.learn import CANNOT_LEARN
from everylabel.workflow.settings import as_tagger

if TYPE_CHECKING:
    from everylabel.tagger.tagger import Tagger

MOST_HELD_OUT = 200
MOST_REFUSED = 3
AT_ONCE = 500  # documents whose candidates are there at a time: some 50 MB


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a learning."""

    taken: bool
    version: int  # the current one afterwards
    learned: tuple[int, ...] = ()  # decisions that the current model has now, and had not before
    refused: tuple[int, ...] = ()  # decisions that were tried, and are not in it
    without: tuple[int, ...] = ()  # undone decisions that it no longer has
    unknown_labels: int = 0  # labels of the decisions that the model does not know: left out
    checked_on: int = 0  # documents; 0: there were too few, and nothing was checked
    before: float | None = None  # nDCG@5 of the present model on them
    after: float | None = None  # and of the next one
    low: float | None = None  # interval of the difference
    high: float | None = None
    checks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # all that was asked (check.Compared)
    worse: tuple[str, ...] = ()  # the questions by which the last one that was refused is worse
    refit_due: str = ""  # why a full fit is worth it now

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def learn_waiting(
    store: DecisionStore, versions: Versions, project: str, *, least: int = 50, run: Run = QUIET
) -> Outcome | None:
    """Build the next model from what waits, and take it if it is no worse; None if there is less than `least`.

    Decisions that are held out, or were refused before, do not count for `least`. An undone decision is taken out of
    the model however few there are.
    """
    with versions.changing(run):
        version, _ = versions.current
        present = as_tagger(versions.load(version), CANNOT_LEARN, versions.path_of(version))
        undone = _follow_history(store, versions, project, present)
        held_out = _last_of_each(reversed(store.held_out(project, MOST_HELD_OUT)))
        held_ids = {decision.id for decision in held_out}
        waiting = [*store.waiting(project), *store.waiting(project, complete=False)]
        waiting = [one for one in waiting if one.id not in held_ids and one.refused < MOST_REFUSED]
        fresh = [one for one in waiting if not one.refused]
        if len(fresh) < max(least, 1):
            if not undone:
                return None
            waiting = fresh = []
        first = as_tagger(versions.load(0), CANNOT_LEARN) if version else None
        learning = _Learning(present, held_out, first)
        parent = version
        if undone:
            parent = _last_without(versions, undone)
            learning.rebuild(versions, parent, store.these(project, _valid_since(versions, parent, undone)), run)
        refused_before = [one for one in waiting if one.refused]
        taken = False
        for part in (fresh, refused_before):
            taken |= bool(part) and learning.try_to_learn(part, run)
        outcome = learning.outcome(version, taken, waiting, undone)
        about = outcome.to_json() | {"parent": parent}
        del about["version"], about["taken"]
        if taken or undone:
            version = versions.take(learning.model, about | {"decisions": about.pop("learned")})
            store.mark_learned(project, sorted(learning.learned), version)
            store.mark_learned(project, sorted(undone), 0)
        else:
            versions.note(REFUSED, version=version, **about)
        store.mark_refused(project, outcome.refused)
        return learning.outcome(version, taken or bool(undone), waiting, undone)


@dataclass
class _Learning:
    """The model so far, and what is known of the last attempt to make a better one."""

    model: Tagger
    held_out: Sequence[Decision]
    first: Tagger | None = None  # that the project began with, if it is another
    learned: set[int] = field(default_factory=set)  # since the parent version
    unknown_labels: int = 0
    refit_due: str = ""
    check: Check = field(
        default_factory=lambda: Check({})
    )  # of the last attempt that was no worse; of the last one, if
    # none was
    worse: tuple[str, ...] = ()
    was_taken: bool = False  # an attempt was no worse

    def rebuild(self, versions: Versions, parent: int, decisions: Sequence[Decision], run: Run) -> None:
        """The present model without what was undone: a person's word, which nothing is held against."""
        base = as_tagger(versions.load(parent), CANNOT_LEARN)
        self.model = self._next(_with_vocabulary_of(base, self.model), decisions, run)
        self.learned |= {one.id for one in decisions}

    def try_to_learn(self, decisions: Sequence[Decision], run: Run) -> bool:
        """Whether the model that has learned them is no worse; then it is the model."""
        found = self._next(self.model, decisions, run)
        with run.task("checking", 1) as advance:
            checked = self._check(found, decisions)
            advance(1)
        if checked.worse:
            self.worse = tuple(checked.worse)
        if not checked.worse or not self.was_taken:
            self.check = checked
        if checked.worse:
            return False
        self.was_taken, self.model = True, found
        self.learned |= {one.id for one in decisions}
        return True

    def outcome(self, version: int, taken: bool, tried: Iterable[Decision], undone: set[int]) -> Outcome:
        shown = self.check.shown
        values = {} if shown is None else shown._asdict()
        return Outcome(
            taken=taken,
            version=version,
            learned=tuple(sorted(self.learned)),
            refused=tuple(one.id for one in tried if one.id not in self.learned),
            without=tuple(sorted(undone)),
            unknown_labels=self.unknown_labels,
            checked_on=values.get("documents", 0),
            **{name: values.get(name) for name in ("before", "after", "low", "high")},
            checks={name: one._asdict() for name, one in self.check.answers.items()},
            worse=self.worse,
            refit_due=self.refit_due,
        )

    def _next(self, model: Tagger, decisions: Sequence[Decision], run: Run) -> Tagger:
        decisions = _last_of_each(decisions)
        self.unknown_labels += sum(len(one.labels) - len(_known(model, one)) for one in decisions)
        useful = [one for one in decisions if _known(model, one) or one.rejected]
        for first in run.steps("learning", range(0, len(useful), AT_ONCE)):
            part = useful[first : first + AT_ONCE]
            # none of its labels known: what was rejected teaches the blend, but no neighbour is without labels
            complete = [one.complete and bool(_known(model, one)) for one in part]
            model, learned = model.with_pairs(as_dataset(model, part), [one.rejected for one in part], complete)
            self.refit_due = learned.refit_due
        return model

    def _check(self, found: Tagger, decisions: Sequence[Decision]) -> Check:
        unknown, due = self.unknown_labels, self.refit_due  # of what is learned, not of what checks it
        learn = partial(self._next, run=QUIET)
        try:
            return check(self.model, found, self.first, self.held_out, _last_of_each(decisions), learn, as_dataset)
        finally:
            self.unknown_labels, self.refit_due = unknown, due


def as_dataset(model: Tagger, decisions: Sequence[Decision]) -> Dataset:
    """Documents and labels of decisions, as far as the model knows these."""
    labels = model.labels_
    documents = Documents(
        ids=[one.document_id or f"decision {one.id}" for one in decisions],
        texts=[one.text for one in decisions],
        titles=[one.title for one in decisions],
    )
    lists = [[labels.index[label] for label in _known(model, one)] for one in decisions]
    return Dataset(documents, labels, pairs_from_lists(lists, len(labels)), name="decisions")


def _known(model: Tagger, decision: Decision) -> list[str]:
    """Its labels that are in the vocabulary, and have not been removed."""
    index, hidden = model.labels_.index, model.hidden_
    return [label for label in decision.labels if label in index and not hidden[index[label]]]


def _last_of_each(decisions: Iterable[Decision]) -> list[Decision]:
    """Of each document, in the order they came."""
    latest = {one.content: one for one in sorted(decisions, key=lambda one: one.id)}
    return sorted(latest.values(), key=lambda one: one.id)


def _follow_history(store: DecisionStore, versions: Versions, project: str, present: Tagger) -> set[int]:
    """Set the marks in the database to what the current version has; the undone decisions that are in it.

    Decisions of a version that was taken back are as if refused: nobody wants them learned again at once.
    """
    version, _ = versions.current
    learned = {one: event["version"] for event in versions.line_of(version) for one in event["decisions"]}
    fitted = _fitted_with(present, project)
    by_version: dict[int, list[int]] = {}
    undone = set()
    left = {event["before"] for event in versions.history() if event["what"] == BACK}
    taken_back = []
    for mark in store.marks(project):
        wanted = learned.get(mark.id, IN_FULL_FIT if mark.id in fitted else 0)
        if mark.undone and mark.id in learned:
            undone.add(mark.id)
        elif mark.learned_in != wanted and not mark.undone:
            by_version.setdefault(wanted, []).append(mark.id)
            taken_back += [mark.id] if not wanted and mark.learned_in in left else []
    for wanted, ids in by_version.items():
        store.mark_learned(project, ids, wanted)
    store.mark_refused(project, taken_back)
    return undone


def _fitted_with(model: Tagger, project: str) -> set[int]:
    """Decisions that a full fit had among its training documents (workflow/refit.py)."""
    found = (event.get("decisions", {}) for event in model.history() if event["what"] == "refitted")
    return {one for about in found if about.get("project") == project for one in about["ids"]}


def _last_without(versions: Versions, undone: set[int]) -> int:
    """The last version in the current one's line that is kept and has none of them."""
    kept = set(versions.kept())
    line = versions.line_of(versions.current[0])
    oldest = max(at for at, event in enumerate(line) if undone & set(event["decisions"]))
    return next((event["version"] for event in line[oldest + 1 :] if event["version"] in kept), 0)


def _valid_since(versions: Versions, parent: int, undone: set[int]) -> list[int]:
    """Decisions that the current version has and that one has not."""
    older = {event["version"] for event in versions.line_of(parent)}
    line = [event for event in versions.line_of(versions.current[0]) if event["version"] not in older]
    return sorted({one for event in line for one in event["decisions"]} - undone)


def _with_vocabulary_of(base: Tagger, present: Tagger) -> Tagger:
    """Labels that came or went since are not decisions, and stay as they are."""
    missing = [label for label in present.labels_.labels if label.id not in base.labels_.index]
    if missing:
        base = base.with_labels(missing)
    gone = present.labels_.subset(present.hidden_.nonzero()[0]).ids
    hidden = [label for label in gone if not base.hidden_[base.labels_.index[label]]]
    return base.without_labels(hidden) if hidden else base.model_
