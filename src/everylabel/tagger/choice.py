"""An expert of a plan, and what all of its fits cost: by what its class says of one fit, and how often it is fitted."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from everylabel.config import merge
from everylabel.memory import spoken_bytes
from everylabel.methods.facts import Facts, Work
from everylabel.tagger.budget import spoken
from everylabel.tagger.rehearsal import MOST_HELD

if TYPE_CHECKING:
    from everylabel.methods.base import Method

BY_TRANSFORMER = 8e-3  # seconds a text, of a small one
KEPT = 0.15  # of a fit's peak: the model that it leaves, and what others read of the documents, too
OVERHEAD = 1.0  # seconds of an expert beside its fits and rankings


@dataclass(frozen=True)
class Choice:
    """An expert of the plan."""

    name: str
    why: str
    seconds: float  # of all its fits, by estimate
    settings: dict[str, Any] = field(default_factory=dict)
    kind: str = ""  # of work that most of them are: what takes longer than planned says how long the like of it takes
    again: float = 0.0  # seconds to fit it on train and dev, once the blend is learned; 0: it keeps its first fit
    memory: float = 0.0  # bytes at the peak of its fits, those that run side by side together; 0: a plan of long ago
    at_once: int = 1  # fits that run side by side here; the others would be slower so, or have no room

    @property
    def kept(self) -> float:
        """Bytes that stay once it is fitted."""
        return KEPT * self.memory / self.at_once

    @property
    def spoken_costs(self) -> str:
        memory = [spoken_bytes(self.memory)] if self.memory else []
        return ", ".join([f"about {spoken(self.seconds)}", *memory])


def choice_of(method: type[Method], facts: Facts, rehearsal: str, *, refit: bool = False) -> Choice:
    work = asdict(method.cost(facts))
    again = refit and rehearsal == "dev" and method.traits.learns_from_pairs
    at_once = _at_once(method, facts, rehearsal)
    return Choice(
        method.name,
        method.traits.why,
        round(cost(method, facts, rehearsal), 1),
        merge(method.settings_for(facts), method.with_encoder(facts.encoder)),
        max(work, key=lambda kind: work[kind]),
        round(OVERHEAD + _once(method, _with_dev(facts)), 1) if again else 0.0,
        round(at_once * method.fit_memory(facts)),
        at_once,
    )


def cost(method: type[Method], facts: Facts, rehearsal: str, *, in_turn: bool = False) -> float:
    """Seconds of all fits of an expert, on this machine, `in_turn` one after the other even if they were faster side by
    side. Rough: what really is spent is watched while fitting."""
    fits, jobs = fits_of(method, rehearsal)
    if method.traits.side_by_side(jobs, facts.cores) and not in_turn:
        fits *= method.traits.on_one_core / facts.cores
    asked = {"dev": min(facts.n_dev, MOST_HELD), "held out": MOST_HELD, "folds": facts.n_labelled}.get(rehearsal, 0)
    ranking = Work(reading=method.seconds_per_document(facts) * asked).seconds(facts)
    return OVERHEAD + _once(method, facts) * fits + ranking


def _once(method: type[Method], facts: Facts) -> float:
    """Seconds of one fit."""
    work = method.cost(facts)
    if facts.encoder and method.with_encoder(facts.encoder):
        work = replace(work, reading=work.reading + BY_TRANSFORMER * (facts.n_docs + facts.n_labels))
    return work.seconds(facts)


def _at_once(method: type[Method], facts: Facts, rehearsal: str) -> int:
    """Fits that run at a time in a process: jobs.py. On a cluster each has its own."""
    jobs = fits_of(method, rehearsal)[1]
    together = not facts.machines and method.traits.side_by_side(jobs, facts.cores)
    return min(jobs, facts.cores) if together else 1


def fits_of(method: type[Method], rehearsal: str) -> tuple[float, int]:
    """How many times as long as one fit all of them take, and how many there are."""
    traits = method.traits
    if not traits.learns_from_pairs or (rehearsal == "dev" and traits.label_by_label):
        return 1.0, 1
    return {"dev": (2.0, 2), "held out": (1.9, 2), "folds": (3.0, 4)}.get(rehearsal, (1.0, 1))


def _with_dev(facts: Facts) -> Facts:
    """The counts of train and dev together, as far as they are known without a look at the documents."""
    grown = 1 + facts.n_dev / max(facts.n_labelled, 1)
    n_docs, n_labelled = facts.n_docs + facts.n_dev, facts.n_labelled + facts.n_dev
    return replace(facts, n_docs=n_docs, n_labelled=n_labelled, n_pairs=round(facts.n_pairs * grown), n_dev=0)
