"""The unit of a tagger's fit: one expert, fitted for one rehearsal or on everything, and what it says there.

What a rehearsal needs depends on the expert. One that does not look at pairs is the same in the rehearsal as later. One
whose labels are learned independently of each other needs no second fit for hidden labels, if held-out documents are no
training documents: hidden labels are taken out of its ranking. One that learns from label texts what goes
with what must be fitted without the hidden labels' pairs. So the job of a whole fit also answers for those rehearsals
that need no fit of their own. A job is a value: it can run here, beside others, or on another machine, and its result
is in the store's format, which is what an interrupted fit goes on from (job_cache.py). Once the blend is
learned there may be one job more: the expert on all data and dev (refit.py), which answers for no rehearsal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from everylabel.data.dataset import Dataset
from everylabel.methods.base import Method
from everylabel.parallel import Executor, InTurn, SideBySide, n_threads
from everylabel.registry import method_class
from everylabel.run import Run
from everylabel.tagger import job_cache
from everylabel.tagger.experts import fit_expert, new_expert, opinions, opinions_of_parts
from everylabel.tagger.job_cache import FittedJob, RankingsByRehearsal
from everylabel.tagger.prior import prior_among
from everylabel.tagger.rehearsal import Rehearsal, n_held_out
from everylabel.text.views import Views
from everylabel.types import Ranking

WHOLE, AGAIN = -1, -2  # in place of a rehearsal's number: the fit on all data; the one on dev, too


@dataclass(frozen=True)
class Job:
    """`rehearsal`: its number, WHOLE or AGAIN."""

    name: str
    settings: Mapping[str, Any]
    seed: int
    rehearsal: int

    @property
    def label(self) -> str:
        where = {WHOLE: "all", AGAIN: "all-and-dev"}.get(self.rehearsal, f"rehearsal-{self.rehearsal}")
        return f"{self.name.replace('+', '-')}-{where}"

    def new_expert(self) -> Method:
        return new_expert(self.name, self.settings, self.seed)


def jobs_of(name: str, settings: Mapping[str, Any], seed: int, rehearsals: Sequence[Rehearsal]) -> list[Job]:
    """All that an expert has to do: the whole fit last, as it is the one that others wait for least."""
    numbers = [i for i, one in enumerate(rehearsals) if not answers_whole(name, one)]
    return [Job(name, settings, seed, number) for number in (*numbers, WHOLE)]


def answers_whole(name: str, rehearsal: Rehearsal) -> bool:
    """Is the expert of the whole fit the one of this rehearsal, but for hidden labels?"""
    traits = method_class(name).traits
    return not traits.learns_from_pairs or (rehearsal.outside and traits.label_by_label)


def executor_of(name: str, n_jobs: int, at_once: int, run: Run) -> Executor:
    """Who runs an expert's jobs, if nobody was named."""
    if run.executor is not None:
        return run.executor
    together = at_once > 1 and method_class(name).traits.side_by_side(n_jobs, n_threads())
    return SideBySide() if together else InTurn()


def run_jobs(
    jobs: Sequence[Job], dataset: Dataset, rehearsals: Sequence[Rehearsal], run: Run, at_once: int = 1
) -> Iterator[FittedJob]:
    """Of one expert, in their order: from the cache, or fitted and put there as soon as they are; `at_once`: side by
    side where that is faster. An executor that works elsewhere begins at once."""
    keys = {job.label: cache_key(job, len(rehearsals)) for job in jobs}
    known = {job.label: job_cache.read(job.label, keys[job.label], run) for job in jobs}
    missing = [job for job in jobs if known[job.label] is None]
    work = partial(run_job, dataset=dataset, rehearsals=rehearsals, run=run)
    fitted = executor_of(jobs[0].name, len(missing), at_once, run).map(
        work, missing, lambda job, result: job_cache.write(job.label, keys[job.label], result, run)
    )
    return (known[job.label] or next(fitted) for job in jobs)


def run_job(job: Job, dataset: Dataset, rehearsals: Sequence[Rehearsal], run: Run) -> FittedJob:
    """Fitted, wherever that is."""
    started = run.clock()
    own, n_held = run.within(job.label), n_held_out(rehearsals)
    if job.rehearsal < 0:
        expert = fit_expert(job.new_expert(), dataset, own)
        rankings = {
            i: _asked(job.name, rehearsing(expert, one), one, n_held, run)
            for i, one in enumerate(rehearsals)
            if answers_whole(job.name, one)
        }
    else:
        one = rehearsals[job.rehearsal]
        expert = fit_expert(job.new_expert(), one.train, own)
        rankings = {job.rehearsal: _asked(job.name, expert, one, n_held, run)}
    return FittedJob(expert if job.rehearsal < 0 else None, rankings, run.clock() - started)


def _asked(name: str, expert: Method, rehearsal: Rehearsal, n_held: int, run: Run) -> dict[str, Ranking]:
    prior, documents = prior_among([expert], n_held), rehearsal.held.documents
    if run.others is not None:
        return opinions_of_parts({name: expert}, documents, prior, run)
    return opinions({name: expert}, Views.in_run(documents, run), prior)


def rehearsing(expert: Method, rehearsal: Rehearsal) -> Method:
    """A fitted expert as if it had never seen the hidden labels: one that learned them label by label lists none."""
    if not expert.traits.label_by_label:
        return expert
    hidden = expert.hidden_.copy()
    hidden[rehearsal.hidden] = True
    return expert.hiding(hidden)


def cache_key(job: Job, n_rehearsals: int) -> dict[str, Any]:
    """By what a finished job is found again, beside the data and the tagger's settings."""
    from everylabel.config import to_dict

    return {"settings": to_dict(job.new_expert()), "rehearsals": n_rehearsals}


def joined(parts: Sequence[RankingsByRehearsal], n_rehearsals: int) -> list[dict[str, Ranking]]:
    """All opinions of each rehearsal."""
    found: list[dict[str, Ranking]] = [{} for _ in range(n_rehearsals)]
    for part in parts:
        for number, rankings in part.items():
            found[number] |= rankings
    return found
