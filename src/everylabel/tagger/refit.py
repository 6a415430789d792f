"""Experts fitted again on train and dev, once the blend is learned: what is labelled should be learned from, too.

The blend, the probabilities and the order of rare labels come from what the experts said of dev documents that they had
not read, and stay as they are; as do those of a fit without dev, whose experts are fitted on all documents after a
rehearsal on parts of them. Those who learn from pairs are fitted again in the time that is left: first, together, those
that know labels by their documents alone (what one of them reads the others read, too), then the others, the quickest
first. Who learns from no pairs would be the same but for the weights of words, and keeps its first fit.
What the blend knows of a label's frequency stays, too: how much it trusts whom goes by counts of train, and with those
of both P@1 on cve-libraries, where dev is a quarter of them, falls by three points (benchmarks.run.refit). But labels
that dev has and train has not are seen from then on; unless one of those that cannot rank unseen labels failed: then
they stay unseen for the blend, which would take them for this one's last.
Cost: of each expert a fit on train and dev. The texts are those of the two lists; of the rest a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, vstack

from everylabel.data.dataset import Dataset, Documents
from everylabel.methods.base import Method
from everylabel.run import Run
from everylabel.tagger.budget import spoken
from everylabel.tagger.choice import Choice
from everylabel.tagger.clock import Clock
from everylabel.tagger.experts import why_unfitted
from everylabel.tagger.explain import Training, beginnings
from everylabel.tagger.job_cache import FittedJob
from everylabel.tagger.jobs import AGAIN, Job, run_jobs
from everylabel.tagger.plan import Plan
from everylabel.types import LongArray

if TYPE_CHECKING:
    from everylabel.tagger.tagger import Tagger

WHAT = "fitted again on train and dev"  # in a tagger's history
Jobs: TypeAlias = Iterator[FittedJob]


def fit_again(tagger: Tagger, train: Dataset, dev: Dataset, clock: Clock, run: Run) -> None:
    """The experts of a tagger that is being fitted: whoever there is time for; what it knows of documents follows."""
    both = with_dev(train, dev)
    if both is None:
        run.say(f"not {WHAT}: not the same kind of features")
        return
    if run.shared is not None:
        run.shared.clear()  # what was read of train alone: nobody reads it any more
    started = clock.seconds

    def begin(choice: Choice) -> Jobs:
        return run_jobs([Job(choice.name, tagger._settings(choice), tagger.random_state, AGAIN)], both, (), run)

    found, failed = fitted_again(tagger.plan_, tagger.experts_, begin, clock, run)
    for name, why in failed.items():
        tagger._note(f"not {WHAT}", expert=name, why=why)
    if not found:
        return
    tagger.experts_ = tagger.experts_ | found
    tagger.counts_, tagger.n_train_ = both.counts, len(both)
    tagger.fitted_counts_ = counts_for_blend(train.counts, both.counts, tagger.experts_, found)
    if "knn" in found or "knn" not in tagger.experts_:  # else they would not be where its neighbours are
        tagger.training_ = Training.of(both.documents.ids, beginnings(both.documents))
    seconds = round(clock.seconds - started, 1)
    tagger._note(WHAT, experts=", ".join(found), documents=len(both), seconds=seconds)


def with_dev(train: Dataset, dev: Dataset) -> Dataset | None:
    """The documents of train, then the labelled ones of dev, in train's vocabulary; None of bags of other words."""
    own, rows = train.documents, np.flatnonzero(np.diff(dev.required_pairs.indptr))
    new = dev.documents.subset(rows)
    features = None
    if own.features is not None and new.features is not None:
        if own.features.shape[1] != new.features.shape[1]:
            return None
        features = csr_matrix(vstack([own.features, new.features], format="csr"))
    elif own.features is not None or new.features is not None:
        return None
    documents = Documents([*own.ids, *new.ids], [*own.texts, *new.texts], [*own.titles, *new.titles], features)
    pairs = csr_matrix(vstack([train.required_pairs, dev.required_pairs[rows]], format="csr"))
    return Dataset(documents, train.labels, pairs, name=train.name)


def fitted_again(
    plan: Plan,
    experts: Mapping[str, Method],
    begin: Callable[[Choice], Jobs],
    clock: Clock,
    run: Run,
) -> tuple[dict[str, Method], dict[str, str]]:
    """Those that there was time for, and why others failed: they keep their first fit. On a cluster all planned ones
    `begin` at once, else each one when it is its turn."""
    found, failed = dict[str, Method](), dict[str, str]()
    steps = [there for step in plan.to_refit if (there := [choice for choice in step if choice.name in experts])]
    planned = [choice for step in steps for choice in step if choice.name in plan.refit]
    ahead = {} if run.executor is None else {choice.name: begin(choice) for choice in planned}
    for step in steps:
        longest = max(step, key=lambda choice: choice.again)
        rest = sum(choice.again for choice in step) - longest.again
        if longest.name not in ahead and not clock.has_time_for(longest.again, rest, longest.kind):
            names = ", ".join(choice.name for choice in step)
            run.say(f"{names}: not {WHAT}: {spoken(clock.seconds)} of the budget are gone")
            break
        for choice in step:
            try:
                found[choice.name] = _fitted(choice, ahead, begin, clock)
            except Exception as error:  # of whatever kind: the first fit is there
                failed[choice.name] = why_unfitted(error)
                run.say(f"{choice.name}: not {WHAT}: {failed[choice.name]}")
    return found, failed


def _fitted(choice: Choice, ahead: Mapping[str, Jobs], begin: Callable[[Choice], Jobs], clock: Clock) -> Method:
    """The expert of the one job, from the cache or fitted, here or `ahead` elsewhere."""
    stage = f"{choice.name}, again"
    with clock.watch(stage, 0.0 if choice.name in ahead else choice.again, choice.kind) as watched:
        (result,) = ahead.get(choice.name) or begin(choice)
        watched.before = result.seconds if result.from_cache else 0.0
    if choice.name in ahead:  # others were waited for, too
        clock.costs[stage] = round(result.seconds, 2)
    assert result.expert is not None
    return result.expert


def counts_for_blend(
    before: LongArray, now: LongArray, experts: Mapping[str, Method], again: Collection[str]
) -> LongArray:
    """Training documents of each label, as the blend is told: those that it learned with; of labels that had none those
    that there are `now`, if all who know labels by their documents alone were fitted `again`."""
    all_know = all(name in again or expert.traits.ranks_unseen for name, expert in experts.items())
    return np.where(before > 0, before, now if all_know else 0)
