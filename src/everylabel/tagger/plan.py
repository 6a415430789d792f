"""Which methods for which data, and why: pure, from counts alone, so that it can be shown without training.

`choose_plan(Facts.of(dataset, dev), budget)`. Experts are taken in the order of what they are worth, as long as their
time fits into the budget; those for which it does not come last, if the others were faster than planned; what is left
out, and why, is a part of the plan. Times are those of this machine's number of cores, by what a fit costs for each
word, pair or label (measured on eurlex57k and cve-libraries with two cores).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias

from everylabel.errors import ConfigError
from everylabel.methods.facts import Facts
from everylabel.registry import method_class
from everylabel.tagger.candidates import LABEL_BY_LABEL

RehearsalKind: TypeAlias = Literal["dev", "held out", "folds", "mean", "none"]

UNITS = {"s": 1, "m": 60, "h": 3600, "": 1}
FEW = 2_000  # labelled documents, below which encoders learn nothing that words do not say
MANY_LABELS = 20_000  # from which on one classifier a label against all documents takes too long, and vectors are short
MANY_UNSEEN = 0.2  # of the labels: from so many without training documents on, slow readers of label texts are worth it
LITTLE = 0.1  # of the budget, for an expert that adds a tenth of a point to the others (depl, on dev of eurlex57k)
SAFETY = 0.8  # of the budget that estimates may fill
LEARNERS = ("zestxml", "of-de", "of-lan", "depl", "xml0")  # fitted again for the rehearsal: hidden labels change them
TRAINED = ("of-de", "of-lan", "depl", "matchxml")  # encoders, on the GPU where there is one
FASTER = 5.0  # so many times, there: a guess, as these costs were measured without one
NEEDS_TORCH = ("semantic", "hybrid", "of-de", "of-lan", "depl", "xml0", "maclr", "matchxml")


@dataclass(frozen=True)
class Choice:
    """An expert of the plan."""

    name: str
    why: str
    seconds: float  # of all its fits, by estimate
    settings: dict[str, Any] = field(default_factory=dict)


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

    @property
    def seconds(self) -> float:
        return sum(choice.seconds for choice in self.experts)

    @property
    def names(self) -> list[str]:
        return [choice.name for choice in self.experts]

    def lines(self) -> list[str]:
        """For people."""
        names = [*self.names, *(choice.name for choice in self.spare), *(name for name, _ in self.left_out)]
        width = max(map(len, names), default=0)
        return [
            f"plan: {self.reason}",
            *(f"  {c.name:{width}}  {c.why} (about {spoken(c.seconds)})" for c in self.experts),
            *(f"  {c.name:{width}}  if time is left: {c.why} (about {spoken(c.seconds)})" for c in self.spare),
            *(f"  {name:{width}}  left out: {why}" for name, why in self.left_out),
            f"  {REHEARSED[self.rehearsal]}",
            f"  time: about {spoken(self.seconds)} of a budget of {spoken(self.budget)}",
        ]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Plan:
        experts, spare = (tuple(Choice(**choice) for choice in values[key]) for key in ("experts", "spare"))
        left_out = tuple((name, why) for name, why in values["left_out"])
        return cls(experts, left_out, values["budget"], values["rehearsal"], values["reason"], spare)

    def without(self, name: str, why: str) -> Plan:
        """An expert was planned, and cannot be had."""
        experts, spare = (tuple(one for one in part if one.name != name) for part in (self.experts, self.spare))
        return replace(self, experts=experts, spare=spare, left_out=(*self.left_out, (name, why)))

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
WHY = {
    "tfidf": "label texts matched by words",
    "knn": "labels of similar documents",
    "svm": "one linear classifier a label",
    "xr-linear": "linear classifiers down a tree of labels, as there are many",
    "semantic": "label texts matched by meaning",
    "zestxml": "words of documents that go with words of labels",
    "of-de": "an encoder trained on the pairs, its label side frozen for labels nobody has used",
    "of-lan": "an encoder with attention, its label side frozen; shows passages",
    "depl": "an encoder that finds rare labels by keywords",
    "xml0": "labels nobody has used, made of those that similar documents have",
    "hybrid": "label texts matched by words, by meaning and by a transformer",
    "matchxml": "an encoder fine-tuned down a tree of labels beside TF-IDF",
}
ORDER = (
    *("tfidf", "knn", "svm", "xr-linear", "semantic", "hybrid", "zestxml", "of-de", "xml0", "depl", "of-lan"),
    "matchxml",
)


def choose_plan(
    facts: Facts, budget: float | None = None, *, only: Sequence[str] = (), without: Sequence[str] = ()
) -> Plan:
    """`only`: these experts, whatever they cost; `without`: never these. An unknown name is an error."""
    for name in (*only, *without):
        if name == "tagger":
            raise ConfigError("a tagger cannot be an expert of a tagger; name other methods (everylabel methods)")
        method_class(name)
    budget = default_budget(facts) if budget is None else budget
    rehearsal = rehearsal_of(facts)
    if facts.n_pairs == 0:
        return _without_pairs(facts, budget, only, without)
    chosen: list[Choice] = []
    spare: list[Choice] = []
    left: list[tuple[str, str]] = []
    for name in dict.fromkeys(only or ORDER):
        why_not = "switched off" if name in without else "" if only else _unfit(name, facts, budget)
        seconds = round(cost(name, facts, rehearsal), 1)
        choice = Choice(name, WHY.get(name, "asked for"), seconds, settings_for(name, facts))
        if why_not:
            left.append((name, why_not))
        elif not only and chosen and sum(c.seconds for c in chosen) + seconds > SAFETY * budget:
            spare.append(choice)
        else:
            chosen.append(choice)
    if len(chosen) == 1:  # and nothing to blend it with
        left += [(c.name, f"takes about {spoken(c.seconds)}, more than the budget leaves") for c in spare]
        spare = []
    if not chosen:
        raise ConfigError("no expert is left to fit; switch off fewer of them, or give a larger budget")
    reason = (
        f"{facts.n_labelled:,} labelled documents of about {facts.words:,.0f} words, {facts.n_seen:,} of "
        f"{facts.n_labels:,} labels have some, {facts.cores} cores{' and a GPU' if facts.gpu else ''}, "
        f"language {facts.language!r}"
    )
    kind = rehearsal if len(chosen) > 1 else "none"
    return Plan(tuple(chosen), tuple(left), budget, kind, reason, tuple(spare))


def _without_pairs(facts: Facts, budget: float, only: Sequence[str], without: Sequence[str]) -> Plan:
    names = [name for name in only or ("hybrid", "semantic", "tfidf") if name not in without]
    names = [
        name for name in names if not method_class(name).traits.needs_pairs and (facts.torch or name not in NEEDS_TORCH)
    ]
    if not names:
        raise ConfigError(
            "no expert is left to fit without labelled documents; switch off fewer of them, or name one that needs "
            "none: hybrid, semantic, tfidf"
        )
    name = names[0]
    choice = Choice(name, WHY.get(name, "asked for"), cost(name, facts, "none"), settings_for(name, facts))
    reason = (
        f"no labelled documents, {facts.n_docs:,} without labels, {facts.n_labels:,} labels, "
        f"language {facts.language!r}"
    )
    return Plan((choice,), (), budget, "none", reason)


def _unfit(name: str, facts: Facts, budget: float) -> str:
    """Why an expert is not for these data, or nothing."""
    if name not in LABEL_BY_LABEL and not facts.texts:
        return "needs texts, and these documents are a bag of words"
    if name not in LABEL_BY_LABEL and not facts.label_texts:
        return "needs label texts, and these labels are numbers"
    if name in NEEDS_TORCH and not facts.torch:
        return "needs an encoder: pip install 'everylabel[neural]'"
    if name in ("of-de", "of-lan", "depl", "matchxml", "xml0") and facts.n_labelled < FEW:
        return f"learns little from fewer than {FEW:,} labelled documents"
    linear = "xr-linear" if _many(facts, budget) else "svm"
    if name in ("svm", "xr-linear") and name != linear:
        return f"{linear} is there"
    if name == "hybrid" and facts.n_labelled >= FEW and facts.n_labels - facts.n_seen < MANY_UNSEEN * facts.n_labels:
        return "most labels have training documents, and a transformer takes longer for a text than all others do"
    if name in ("hybrid", "zestxml", "xml0", "depl") and facts.n_labels > MANY_LABELS:
        return f"takes too much memory or time with more than {MANY_LABELS:,} labels"
    if name == "depl" and cost(name, facts, rehearsal_of(facts)) > LITTLE * budget:
        return f"adds little to the others for about {spoken(cost(name, facts, rehearsal_of(facts)))}"
    if name == "of-lan":
        return "of-de is as good here, and far faster; ask for it to be shown passages by attention"
    return "svm on words is as good, and far faster" if name == "matchxml" else ""


def _many(facts: Facts, budget: float) -> bool:
    return facts.n_labels > MANY_LABELS or cost("svm", facts, rehearsal_of(facts)) > 0.25 * budget


def settings_for(name: str, facts: Facts) -> dict[str, Any]:
    """What differs from a method's own defaults, and why is in the table of the plan's file."""
    language = facts.language
    found: dict[str, dict[str, Any]] = {
        "tfidf": {"match": {"language": language}},
        "hybrid": {"match": {"language": language}},
        "zestxml": {"language": language},
        "depl": {"keywords": {"language": language}},
        "semantic": {"encoder": {"lexical": 256 if facts.n_labels > MANY_LABELS else 768}},
        "of-de": {"encoder": {"lexical": 256 if facts.n_labels > MANY_LABELS else 768}},
        "xml0": {"base": "knn", "search": "greedy", "label_encoder": "" if facts.n_labels > MANY_LABELS else "minilm"},
    }
    return found.get(name, {})


def rehearsal_of(facts: Facts) -> RehearsalKind:
    from everylabel.tagger.rehearsal import CROSS_FITTED, LEAST_DEV, LEAST_ROWS

    if facts.n_pairs == 0:
        return "none"
    if facts.n_dev >= LEAST_DEV:
        return "dev"
    if facts.n_labelled < LEAST_ROWS:
        return "mean"
    return "held out" if facts.n_labelled > CROSS_FITTED else "folds"


def default_budget(facts: Facts) -> float:
    """Seconds: five minutes for few documents, an hour for 45,000, never more than four."""
    return min(4 * 3600.0, 300 + 0.073 * facts.n_docs + 0.002 * facts.n_labels)


def cost(name: str, facts: Facts, rehearsal: str) -> float:
    """Seconds of all fits of an expert. Rough: what really is spent is watched while fitting."""
    words = facts.n_docs * max(facts.words, 1)
    steps = min(facts.n_docs * 5, 250_000)  # documents that an encoder sees
    once = {
        "tfidf": 1.1e-6 * words,
        "knn": 0.7e-6 * words,
        "svm": 2.6e-9 * words * facts.n_seen,
        "xr-linear": 3.5e-6 * words,
        "semantic": 1.2e-6 * words + 5e-4 * facts.n_labels,
        "zestxml": 1.1e-3 * facts.n_pairs,
        "of-de": steps * (8e-7 * min(facts.words, 1_000) + 2e-7 * min(facts.n_seen, 5_000)) + 5e-4 * facts.n_labels,
        "depl": steps * (1.2e-6 * min(facts.words, 1_000) + 2e-4) + 2.6e-9 * words * facts.n_seen,
        "xml0": 1.5e-6 * words + 1e-2 * facts.n_labels,
        "of-lan": steps * 6e-3,
        "matchxml": steps * 6e-3,
        "hybrid": 10 + 6e-6 * words + 5e-3 * facts.n_labels + 8e-3 * min(facts.n_docs, 5_000),
    }.get(name, 1e-5 * words)
    again = {"dev": float(name in LEARNERS), "held out": 0.9, "folds": 2.0}.get(rehearsal, 0.0)
    again *= name not in ("tfidf", "semantic", "hybrid")
    asked = {"dev": min(facts.n_dev, 6_000), "held out": 6_000, "folds": facts.n_labelled}.get(rehearsal, 0)
    for_each = 1.6e-2 if name == "hybrid" else 4e-3
    if facts.gpu and name in TRAINED:
        once /= FASTER
    return float((2 / max(facts.cores, 1)) ** 0.8) * (once * (1 + again) + 2 + for_each * asked)


def seconds_of(budget: str) -> float | None:
    """ "30m", "2h", "90s" or "90" in seconds; None of "": the default."""
    if not budget.strip():
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", budget.strip())
    if not found or float(found[1]) <= 0:
        raise ConfigError(f"budget must be a time such as 90s, 30m or 2h; got {budget!r}")
    return float(found[1]) * UNITS[found[2]]


def spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3600:.1f} h"
