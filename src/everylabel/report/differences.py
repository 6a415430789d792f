"""The part of a page that says whether a model is better than its parts, or whether that is luck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from everylabel.metrics.scores import Scores
from everylabel.metrics.significance import SignTest
from everylabel.report.page_parts import Html, bullets, joined, paragraph, safe, table, tag

COMPARED = ("nDCG@5", "PSP@5", "ZSR@100", "tail-F1@5")
SIGN_TEST = "sign_test@5"  # its name in JSON
LEVEL = 0.05  # a difference is called one when chance alone would be this rare


class Change(NamedTuple):
    """The model's value minus another system's; the interval is that of the bootstrap, None for a t-test."""

    difference: float
    p_value: float
    interval: tuple[float, float] | None = None

    @property
    def verdict(self) -> str:
        return verdict_of(self.difference, self.p_value)


def verdict_of(difference: float, p_value: float) -> str:
    if not p_value < LEVEL or difference == 0:
        return "unclear"
    return "better" if difference > 0 else "worse"


@dataclass(frozen=True)
class System:
    """A ranking of the documents that was measured; `changes` and `decisions` are the model's, against this one."""

    scores: Scores
    docs_per_second: float
    changes: Mapping[str, Change] = field(default_factory=dict)
    decisions: SignTest | None = None  # of the top 5, where the two differ

    def differences_json(self) -> dict[str, Any]:
        sign = {} if self.decisions is None else {SIGN_TEST: self.decisions.to_json()}
        return {**{key: change._asdict() for key, change in self.changes.items()}, **sign}


def differences(others: Mapping[str, System]) -> list[Html]:
    """What is better by more than chance, in words and as a table."""
    if not others:
        return [_soft("This model has no parts, and it is the floor itself: there is nothing to compare it with.")]
    keys = [key for key in COMPARED if any(key in system.changes for system in others.values())]
    rows = [
        [name, *(_change(system.changes.get(key)) for key in keys), _decisions(system.decisions)]
        for name, system in others.items()
    ]
    n_tests = sum(len(system.differences_json()) for system in others.values())
    return [
        bullets(
            sentence(key, {name: system.changes[key] for name, system in others.items() if key in system.changes})
            for key in keys
        ),
        table(["the model minus", *keys, "decisions"], rows),
        _soft(
            "In points of percent, with the 95 % interval of a paired bootstrap over documents; tail-F1@5 by a paired "
            "t-test over the labels of the tail. Decisions: of the labels that only one of the two has in its top 5, "
            "those that the model decides rightly to those that the other one does, by a sign test. Called a "
            f"difference when p < {LEVEL}: if nothing differed, {max(1, round(LEVEL * n_tests)):,} or so of the "
            f"{n_tests:,} comparisons would be called one by chance."
        ),
    ]


def sentence(key: str, changes: Mapping[str, Change]) -> Html:
    """What is better by more than chance in one metric, what is worse, and what cannot be told."""
    words = {"better": "better than", "worse": "worse than", "unclear": "no difference beyond chance from"}
    parts = []
    for verdict, word in words.items():
        names = [
            f"{name} ({100 * change.difference:+.1f})" for name, change in changes.items() if change.verdict == verdict
        ]
        if names:
            parts.append(joined([tag("span", word, class_=verdict), " " + ", ".join(names)]))
    return joined([tag("b", key), ": ", joined(parts, "; "), "."])


def _change(change: Change | None) -> Html:
    if change is None:
        return safe("-")
    between = "{:+.1f} to {:+.1f}, ".format(*(100 * end for end in change.interval)) if change.interval else ""
    return _tested(f"{100 * change.difference:+.1f}", change.verdict, f"{between}{_spoken_p(change.p_value)}")


def _decisions(found: SignTest | None) -> Html:
    if found is None:
        return safe("-")
    verdict = verdict_of(found.wins_a - found.wins_b, found.p_value)
    return _tested(f"{found.wins_a:,} to {found.wins_b:,}", verdict, _spoken_p(found.p_value))


def _spoken_p(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def _tested(value: str, verdict: str, how_sure: str) -> Html:
    arrow = {"better": "▲ ", "worse": "▼ ", "unclear": ""}[verdict]
    return joined([tag("span", f"{arrow}{value}", class_=verdict), tag("small", how_sure)])


def _soft(text: str) -> Html:
    return paragraph(text, class_="soft")
