"""Which methods for which data, and why: pure, from counts alone, so that it can be shown without training.

`choose_plan(Facts.of(dataset, dev), budget)`. What a method costs, for which data it is not, and what it is worth
beside others is said by its class (methods/traits.py). Experts are taken in the order of their worth as long as their
time fits into the budget (growth.py); those for which it does not come last, if the others were faster than planned;
what is left out, and why, is a part of the plan. Times are those of this machine: its speeds are among the facts.
An expert that needs more memory than a fit may take, beside the models of those that are worth more, is not planned;
one whose fits have no room side by side has them one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from everylabel.errors import ConfigError
from everylabel.memory import spoken_bytes
from everylabel.methods.facts import Facts
from everylabel.registry import method_class, method_classes
from everylabel.tagger.budget import default_budget, spoken
from everylabel.tagger.choice import Choice, choice_of, fits_of
from everylabel.tagger.growth import SAFETY, within
from everylabel.tagger.rehearsal import CROSS_FITTED, LEAST_DEV, LEAST_ROWS
from everylabel.tagger.room import in_turn_without_room, no_memory, peak_of, too_large_of
from everylabel.text.language import unread

if TYPE_CHECKING:
    from everylabel.methods.base import Method

RehearsalKind: TypeAlias = Literal["dev", "held out", "folds", "mean", "none"]
Accuracy: TypeAlias = Literal["default", "fast"]

TOO_SLOW = "takes longer for a document than a fast tagger may"


@dataclass(frozen=True)
class Plan:
    """`experts` in the order in which they are fitted, then those of `spare` that there is time for after all;
    `left_out`: names and reasons."""

    experts: tuple[Choice, ...]
    left_out: tuple[tuple[str, str], ...]
    budget: float  # seconds
    rehearsal: RehearsalKind
    reason: str
    spare: tuple[Choice, ...] = ()
    warning: str = ""  # of the language
    at_once: int = 1  # jobs that run at a time, on a cluster
    refit: tuple[str, ...] = ()  # experts that there is time to fit again on train and dev, in this order

    @property
    def seconds(self) -> float:
        """Of wall time, if jobs fill all machines."""
        return sum(choice.seconds for choice in self.experts) / self.at_once + self.refit_seconds

    @property
    def to_refit(self) -> list[list[Choice]]:
        """Who can be fitted again, step by step: first, together, those that know labels by their documents alone: they
        read alike and have to know the same labels. Then the others, the quickest first."""
        able = [choice for choice in self.experts if choice.again and self.rehearsal == "dev"]
        first = [choice for choice in able if method_class(choice.name).traits.label_by_label]
        others = sorted((choice for choice in able if choice not in first), key=lambda choice: choice.again)
        return ([first] if first else []) + [[choice] for choice in others]

    @property
    def refit_seconds(self) -> float:
        return sum(choice.again for choice in self.experts if choice.name in self.refit) / self.at_once

    @property
    def memory(self) -> float:
        """Bytes at the peak, beside the data."""
        return peak_of(self.experts)

    @property
    def names(self) -> list[str]:
        return [choice.name for choice in self.experts]

    def lines(self) -> list[str]:
        """For people."""
        missing: dict[str, list[str]] = {}  # by the reason, so that each is said once
        for name, why in self.left_out:
            missing.setdefault(why, []).append(name)
        alone = [names[0] for names in missing.values() if len(names) == 1]
        width = max(map(len, [*self.names, *(choice.name for choice in self.spare), *alone]), default=0)
        return [
            f"plan: {self.reason}",
            *([f"  warning: {self.warning}"] if self.warning else []),
            *(f"  {c.name:{width}}  {c.why} ({c.spoken_costs})" for c in self.experts),
            *(f"  {c.name:{width}}  if time is left: {c.why} ({c.spoken_costs})" for c in self.spare),
            *(f"  {', '.join(names):{width}}  left out: {why}" for why, names in missing.items()),
            f"  {REHEARSED[self.rehearsal]}",
            *([f"  {self._refitted()}"] if self.refit else []),
            *([f"  memory: about {spoken_bytes(self.memory)} at the peak, beside the data"] if self.memory else []),
            f"  time: about {spoken(self.seconds)} of a budget of {spoken(self.budget)}",
        ]

    def _refitted(self) -> str:
        return f"then fitted again on train and dev: {', '.join(self.refit)} (about {spoken(self.refit_seconds)})"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Plan:
        experts, spare = (tuple(Choice(**choice) for choice in values[key]) for key in ("experts", "spare"))
        left_out = tuple((name, why) for name, why in values["left_out"])
        names = ("budget", "rehearsal", "reason", "warning")
        known = {name: values[name] for name in names} | {"at_once": values.get("at_once", 1)}
        return cls(experts, left_out, spare=spare, refit=tuple(values.get("refit", ())), **known)

    def without(self, name: str, why: str) -> Plan:
        """An expert was planned, and cannot be had."""
        experts, spare = (tuple(one for one in part if one.name != name) for part in (self.experts, self.spare))
        refit = tuple(one for one in self.refit if one != name)
        return replace(self, experts=experts, spare=spare, refit=refit, left_out=(*self.left_out, (name, why)))

    def taking(self, name: str) -> Plan:
        """There is time for one of `spare`."""
        found = tuple(one for one in self.spare if one.name == name)
        rest = tuple(one for one in self.spare if one.name != name)
        return replace(self, experts=self.experts + found, spare=rest)


REHEARSED = {
    "dev": "blended on the dev documents, with some labels hidden from the experts",
    "held out": "blended on training documents that are held out, with some labels hidden; then fitted on all",
    "folds": "blended on all training documents, each held out once, with some labels hidden; then fitted on all",
    "mean": "too few labelled documents to hold some out: the mean of the experts' ranks decides",
    "none": "nothing to blend: one ranking",
}


def choose_plan(
    facts: Facts,
    budget: float | None = None,
    *,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    accuracy: Accuracy = "default",
    refit: bool = True,
) -> Plan:
    """`only`: these experts, whatever they cost; `without`: never these. An unknown name is an error. `refit`: with a
    dev split, experts are fitted again on train and dev in the time that is left."""
    for name in (*only, *without):
        if name == "tagger":
            raise ConfigError("a tagger cannot be an expert of a tagger; name other methods (everylabel methods)")
        method_class(name)
    budget = default_budget(facts) if budget is None else budget
    if facts.n_pairs == 0:
        return _without_pairs(facts, budget, only, without, accuracy)
    rehearsal = rehearsal_of(facts)
    able: list[Choice] = []
    left: list[tuple[str, str]] = []
    for method in [method_class(name) for name in dict.fromkeys(only)] if only else by_worth():
        why_not = "switched off" if method.name in without else "" if only else _unfit(method, facts, accuracy)
        if why_not:
            left.append((method.name, why_not))
        else:
            able.append(choice_of(method, facts, rehearsal, refit=refit))
    if not able:
        raise ConfigError("no expert is left to fit; switch off fewer of them, or give a larger budget")
    too_large = {} if only else too_large_of(able, facts)
    there = {c.name for c in able}
    roomy, able = able, able if only else in_turn_without_room(able, facts, rehearsal)
    if not only:
        later = {one.name: one.seconds - fast.seconds for one, fast in zip(able, roomy, strict=True)}
        there = within(budget, _wall_times(roomy, facts, rehearsal, budget), too_large, later)
    chosen = [choice for choice in able if choice.name in there]
    if not chosen:
        raise no_memory(able, facts)
    left += too_large.items()
    spare = []
    for choice in able:
        if choice.name not in there and choice.name not in too_large:
            why_not = _no_use(choice, there, budget)
            if not why_not and len(chosen) == 1:  # and nothing to blend it with
                why_not = f"takes about {spoken(choice.seconds)}, more than the budget leaves"
            if why_not:
                left.append((choice.name, why_not))
            else:
                spare.append(choice)
    reason = (
        f"{facts.n_labelled:,} labelled documents of about {facts.words:,.0f} words, {facts.n_seen:,} of "
        f"{facts.n_labels:,} labels have some, {_where(facts)}, language {facts.language!r}"
    )
    kind: RehearsalKind = rehearsal if len(chosen) > 1 else "none"
    plan = Plan(tuple(chosen), tuple(left), budget, kind, reason, tuple(spare), unread(facts.language), facts.at_once)
    return replace(plan, refit=_refitted_within(SAFETY * budget - plan.seconds, plan))


def _refitted_within(seconds: float, plan: Plan) -> tuple[str, ...]:
    """Of the plan's experts those that can be fitted again in so many seconds more."""
    found: list[str] = []
    left = seconds
    for step in plan.to_refit:
        left -= sum(choice.again for choice in step) / plan.at_once
        if left < 0 or max(choice.again for choice in step) > seconds:
            break
        found += [choice.name for choice in step]
    return tuple(found)


def _unfit(method: type[Method], facts: Facts, accuracy: Accuracy) -> str:
    """Why it is not for such data, or not for so many documents a second."""
    return method.unfit(facts) or ("" if _is_wanted(method, accuracy) else TOO_SLOW)


def _is_wanted(method: type[Method], accuracy: Accuracy) -> bool:
    return accuracy != "fast" or method.traits.quick


def _where(facts: Facts) -> str:
    here = f"{facts.cores} cores{' and a GPU' if facts.gpu else ''}"
    return f"a cluster of {facts.machines}: {facts.at_once} jobs at a time, each {here}" if facts.machines else here


def _wall_times(able: Sequence[Choice], facts: Facts, rehearsal: str, budget: float) -> dict[str, float]:
    """Of each expert: its part of the time of all machines; one with a job that alone is too long never ends in time.

    Which experts there are depends on the machines so, as it does on one machine's speed: with the same experts the
    model is the same.
    """
    found = {}
    for choice in able:
        job = choice.seconds / fits_of(method_class(choice.name), rehearsal)[1]
        found[choice.name] = choice.seconds / facts.at_once if job <= SAFETY * budget else choice.seconds
    return found


def by_worth() -> list[type[Method]]:
    """The methods that a plan takes by itself."""
    return _in_order({method: method.traits.worth for method in method_classes()})


def _in_order(places: Mapping[type[Method], int | None]) -> list[type[Method]]:
    known = {method: place for method, place in places.items() if place is not None}
    return sorted(known, key=lambda method: (known[method], method.name))


def _no_use(choice: Choice, there: Collection[str], budget: float) -> str:
    """Why an expert is not taken even if time is left, or nothing."""
    traits = method_class(choice.name).traits
    if traits.better_than in there:
        return f"{traits.better_than} is there"
    better = next((name for name in there if method_class(name).traits.better_than == choice.name), "")
    if better:
        return f"{better} is there"
    if choice.seconds > traits.most_of_budget * budget and traits.most_of_budget < 1:
        return f"adds little to the others for about {spoken(choice.seconds)}"
    return ""


def _without_pairs(
    facts: Facts, budget: float, only: Sequence[str], without: Sequence[str], accuracy: Accuracy
) -> Plan:
    alone = _in_order({method: method.traits.worth_alone for method in method_classes()})
    methods = [method_class(name) for name in only] or [method for method in alone if _is_wanted(method, accuracy)]
    able = [
        method
        for method in methods
        if method.name not in without
        and not method.traits.needs_pairs
        and (facts.torch or not method.traits.needs_torch)
    ]
    if not able:
        raise ConfigError(
            "no expert is left to fit without labelled documents; switch off fewer of them, or name one that needs "
            f"none: {', '.join(method.name for method in alone)}"
        )
    reason = (
        f"no labelled documents, {facts.n_docs:,} without labels, {facts.n_labels:,} labels, "
        f"language {facts.language!r}"
    )
    choices = [choice_of(method, facts, "none") for method in able]
    choice = next((one for one in choices if only or one.memory <= facts.memory), None)
    if choice is None:
        raise no_memory(choices, facts)
    return Plan((choice,), (), budget, "none", reason, warning=unread(facts.language))


def rehearsal_of(facts: Facts) -> RehearsalKind:
    if facts.n_pairs == 0:
        return "none"
    if facts.n_dev >= LEAST_DEV:
        return "dev"
    if facts.n_labelled < LEAST_ROWS:
        return "mean"
    return "held out" if facts.n_labelled > CROSS_FITTED else "folds"
