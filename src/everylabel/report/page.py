"""A report as one HTML page: from measured numbers, pictures and examples to a text; nothing is measured here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan
from typing import Any

from everylabel.data.bands import BANDS
from everylabel.metrics.reliability import K as CALIBRATED_K
from everylabel.metrics.reliability import Reliability
from everylabel.metrics.scores import percent
from everylabel.report.differences import System, differences
from everylabel.report.examples import Example, Missed, Suggestion
from everylabel.report.page_parts import (
    Html,
    document,
    facts,
    figure,
    joined,
    paragraph,
    section,
    table,
    tag,
)

SHOWN = ("P@1", "nDCG@5", "PSP@5", "R@100", "tail-F1@5", "ZSR@10", "ZSR@100")
SHOWN_BY_BAND = ("F1@5", "R@10", "R@100")
TILES = {
    "nDCG@5": "order of the top 5",
    "PSP@5": "top 5, rare labels count more",
    "tail-F1@5": "labels seen 1 to 9 times",
    "ZSR@100": "labels nobody has used",
}
MEANING = (
    "In %, more is better. P@1: how often the first suggestion is right. nDCG@5: quality and order of the top 5. "
    "PSP@5: precision of the top 5, rare labels weigh more. R@k: share of the true labels in the top k. "
    "tail-F1@5: mean F1 over the labels with 1 to 9 training documents, the top 5 as decisions. "
    "ZSR@k: R@k of the labels that no training document has"
)
NEW_LABELS = "new labels (not used yet)"
SECTIONS = {
    "results": "Results",
    "trade-off": "Known and new labels",
    "calibration": "Calibration",
    "frequency": "By label frequency",
    "learning-curve": "Learning curve",
    "examples": "Examples",
    "cost": "Cost",
    "plan": "Plan and history",
}


@dataclass(frozen=True, kw_only=True)
class Report:
    """Everything that is on the page. Texts are plain: the page escapes them."""

    title: str
    about: Mapping[str, str]
    systems: Mapping[str, System]  # the model first
    reliability: Mapping[str, Reliability]
    pictures: Mapping[str, str]  # by section, as `plots.inline_svg` makes them
    examples: Sequence[Example]
    depth: int  # ranks that were looked at
    footer: Mapping[str, str]
    remarks: Sequence[str] = ()
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    calibration_remark: str = ""
    learning_curve: Sequence[tuple[int, float]] = ()
    learning_curve_remark: str = ""
    costs: Mapping[str, float] = field(default_factory=dict)
    plan: Sequence[str] = ()
    history: Sequence[Mapping[str, Any]] = ()

    @property
    def own(self) -> System:
        return next(iter(self.systems.values()))

    @property
    def others(self) -> dict[str, System]:
        return dict(list(self.systems.items())[1:])


def render(report: Report) -> str:
    """The page. It needs nothing from outside, and can be sent as a file."""
    content = {
        "results": _results(report),
        "trade-off": [_trade_off(report)],
        "calibration": _calibration(report),
        "frequency": _frequency(report),
        "learning-curve": _learning_curve(report),
        "examples": _examples(report),
        "cost": _cost(report),
        "plan": _plan(report),
    }
    return document(
        report.title,
        tag("header", tag("h1", report.title), facts(report.about.items()), *map(_remark, report.remarks)),
        tag("nav", *(tag("a", title, href=f"#{anchor}") for anchor, title in SECTIONS.items())),
        tag("main", *(section(anchor, title, *content[anchor]) for anchor, title in SECTIONS.items())),
        tag("footer", facts(report.footer.items())),
    )


def _remark(text: str) -> Html:
    return paragraph(text, class_="soft")


def _results(report: Report) -> list[Html]:
    scores = report.own.scores
    rows = {name: [system.scores[key] for key in SHOWN] for name, system in report.systems.items()}
    unseen = (
        f", over the {scores.n_zero_shot_docs:,} documents with one." if scores.n_zero_shot_docs else "; none here."
    )
    return [
        tag("div", *(_tile(report, key) for key in TILES), class_="tiles"),
        table(["", *SHOWN], _marked(rows), first_strong=True),
        _remark(f"{MEANING}{unseen} Bold: the best of a column."),
        tag("h3", "Better by more than chance?"),
        *differences(report.others),
        tag("h3", "By band", id="by-band"),  # web/static/report.js reads the table below it
        *_by_band(report),
    ]


def _tile(report: Report, key: str) -> Html:
    low, high = report.intervals.get(key, (nan, nan))
    between = "" if isnan(low) else tag("small", f"{percent(low)} to {percent(high)}")
    value = tag("b", percent(report.own.scores[key]))
    return tag("div", tag("span", key), value, between, tag("span", tag("small", TILES[key])))


def _marked(rows: Mapping[str, Sequence[float]]) -> list[list[object]]:
    """Percentages, the best of each column in bold when there is something to choose from."""
    best = [max((percent(value) for value in column), key=_number) for column in zip(*rows.values(), strict=True)]
    marked: list[list[object]] = []
    for name, values in rows.items():
        cells = [percent(value) for value in values]
        strong = [len(rows) > 1 and _number(cell) > 0 and cell == top for cell, top in zip(cells, best, strict=True)]
        marked.append(
            [name, *(tag("b", cell) if is_best else cell for cell, is_best in zip(cells, strong, strict=True))]
        )
    return marked


def _number(cell: str) -> float:
    return -1.0 if cell == "-" else float(cell)


def _by_band(report: Report) -> list[Html]:
    first = report.own.scores.bands
    rows = {
        name: [system.scores[f"{band}/{key}"] for band in BANDS for key in SHOWN_BY_BAND]
        for name, system in report.systems.items()
    }
    over = [(_band_heading(band, first[band]), len(SHOWN_BY_BAND)) for band in BANDS]
    text = ", ".join(f"{band} {_spoken_band(*limits)}" for band, limits in BANDS.items())
    return [
        table(
            ["", *(key for _ in BANDS for key in SHOWN_BY_BAND)],
            _marked(rows),
            groups=[("", 1), *over],
            first_strong=True,
        ),
        _remark(
            f"By a label's number of training documents: {text}. R@k is over the documents with a label of the band."
        ),
        figure(report.pictures["bands"], "Precision of the top 5 by band") if "bands" in report.pictures else Html(),
    ]


def _band_heading(band: str, values: Mapping[str, float]) -> Html:
    return joined(
        [tag("b", band), tag("small", f" {_of(values['labels'], 'label')}, {_of(values['docs'], 'document')}")]
    )


def _of(n: float, what: str) -> str:
    return f"{n:,.0f} {what}{'' if n == 1 else 's'}"


def _spoken_band(fewest: int, most: float) -> str:
    if fewest == most:
        return str(fewest)
    return f"{fewest} to {most:.0f}" if most < float("inf") else f"{fewest} and more"


def _trade_off(report: Report) -> Html:
    if "trade-off" not in report.pictures:
        return _remark("No document here has a label that is new: there is no zero-shot recall to draw.")
    return figure(report.pictures["trade-off"], "nDCG@5 against ZSR@100", "Up and to the right is better.")


def _calibration(report: Report) -> list[Html]:
    rows = [
        [name, percent(found.ece), percent(found.by_chance), f"{found.pairs:,}"]
        for name, found in report.reliability.items()
    ]
    text = (
        "Of all suggestions with a probability of about 0.3, 30 % should be right. The expected calibration error "
        f"(ECE) is the mean distance from that, over the top {CALIBRATED_K} of each document; less is better. "
        "By chance: what probabilities that are exactly right would have, from so many suggestions."
    )
    parts = [paragraph(text), *([_remark(report.calibration_remark)] if report.calibration_remark else [])]
    if "calibration" in report.pictures:
        parts.append(figure(report.pictures["calibration"], "Share of right suggestions over their probability"))
    return [*parts, table(["labels", "ECE in %", "by chance", "suggestions"], rows)]


def _frequency(report: Report) -> list[Html]:
    text = "F1 of labels from those that nobody has used to the most frequent ones."
    caption = "The model, and the best of the others by nDCG@5." if report.others else ""
    return [paragraph(text), figure(report.pictures["frequency"], "F1 over label frequency", caption)]


def _learning_curve(report: Report) -> list[Html]:
    if not report.learning_curve:
        return [_remark(report.learning_curve_remark)]
    rows = [[f"{size:,}", percent(value)] for size, value in report.learning_curve]
    picture = figure(report.pictures["learning-curve"], "nDCG@5 over training documents", report.learning_curve_remark)
    return [picture, table(["training documents", "nDCG@5"], rows)]


def _examples(report: Report) -> list[Html]:
    intro = (
        "Documents drawn at random, with a label of the band among the first five suggestions, or one that is missing "
        "there. A suggestion marked wrong may still be sensible: it is wrong by the labels the document has. "
        "New labels are those that no document has had so far; a tagger shows some that fit beside its suggestions."
    )
    parts = [paragraph(intro)]
    for band in BANDS:
        shown = [example for example in report.examples if example.band == band]
        parts.append(tag("h3", f"{band.capitalize()}: {_spoken_band(*BANDS[band])} training documents"))
        cards = tag("div", *(_example(example, report.depth) for example in shown), class_="cards")
        parts.append(cards if shown else _remark("No document has such a label."))
    return parts


def _example(example: Example, depth: int) -> Html:
    kind = tag("span", "Hit", class_="better") if example.found else tag("span", "Miss", class_="worse")
    title = example.title or f"Document {example.document}"
    suggested = [_suggestion(one) for one in example.suggestions]
    missed = [_missed(one, depth) for one in example.missed]
    new = [_suggestion(one) for one in example.new]
    return tag(
        "article",
        tag("h4", title, dir="auto"),
        paragraph(kind, ": ", ", ".join(example.focus)),
        tag("blockquote", example.text or "(no text)", dir="auto"),
        tag("ol", *suggested) if suggested else _remark("No suggestion."),
        joined([tag("small", NEW_LABELS), tag("ol", *new)]) if new else "",
        joined([tag("small", "missed"), tag("ul", *missed)]) if missed else _remark("Nothing missed."),
        tag("small", f"true labels: {', '.join(example.true)}", dir="auto"),
    )


def _suggestion(one: Suggestion) -> Html:
    right = tag("span", "✓ right", class_="better") if one.right else tag("span", "✗ wrong", class_="worse")
    by_kind: dict[tuple[str, str], list[str]] = {}
    for kind, text, weight, source in one.evidence:
        by_kind.setdefault((kind, source), []).append(f"{text} {weight:.2f}")
    evidence = [
        tag("small", f"{kind} ({source}): {'; '.join(found)}", class_="evidence", dir="auto")
        for (kind, source), found in by_kind.items()
    ]
    name = tag("span", tag("span", one.name, dir="auto"), " ", tag("small", one.band), *evidence)
    return tag("li", right, tag("span", f"{one.probability:.2f}", class_="share"), name)


def _missed(one: Missed, depth: int) -> Html:
    where = f"rank {one.rank}" if one.rank is not None else f"not in the top {depth}"
    if not one.known:
        where = "not in the model's vocabulary"
    return tag("li", tag("span", one.name, dir="auto"), " ", tag("small", f"{one.band}, {where}"))


def _cost(report: Report) -> list[Html]:
    speeds = [[name, _rate(system.docs_per_second)] for name, system in report.systems.items()]
    parts = [tag("h3", "Fitting")]
    if report.costs:
        total = sum(report.costs.values())
        rows = [
            [stage, f"{seconds:,.1f}", percent(seconds / total if total else 0.0)]
            for stage, seconds in report.costs.items()
        ]
        parts.append(table(["stage", "seconds", "% of all"], [*rows, ["all", f"{total:,.1f}", "100.0"]]))
    else:
        parts.append(_remark("This model does not keep what its fitting cost."))
    return [
        *parts,
        tag("h3", "Ranking"),
        table(["", "documents a second"], speeds, first_strong=True),
        _remark("Measured while this report was made, on the machine below; vectors of texts may come from a cache."),
    ]


def _rate(rate: float) -> str:
    return "-" if isnan(rate) else f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"


def _plan(report: Report) -> list[Html]:
    plan = tag("pre", "\n".join(report.plan)) if report.plan else _remark("This model is one method and has no plan.")
    columns = list(dict.fromkeys(["when", "what", *(key for entry in report.history for key in entry)]))
    rows = [[_plain(entry.get(key)) for key in columns] for entry in report.history]
    history = table(columns, rows, words=len(columns)) if rows else _remark("Nothing was changed since it was fitted.")
    return [plan, tag("h3", "History"), history]


def _plain(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
