"""The tables that more than one command prints, in percent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everylabel.cli.output import print_table
from everylabel.metrics.reliability import K, Reliability
from everylabel.metrics.scores import Scores, band_rows, percent

OVERALL = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "PSP@5", "R@10", "R@100")
BAND_COUNTS = {"labels": "labels", "tested": "tested", "pairs": "pairs"}


def print_overall(scores: Scores, decided: int = 5) -> None:
    """`decided`: the ranks that F1 takes for decisions."""
    columns = (*OVERALL, f"macro-F1@{decided}")
    print_table(columns, [[percent(scores[key]) for key in columns]], left=())


def print_bands(scores: Scores, decided: int = 5) -> None:
    """`tested` is how many of the band's labels a document of the data has."""
    metrics = (f"F1@{decided}", f"F1-tested@{decided}", *(f"R@{k}" for k in sorted({decided, 10, 100})))
    columns = ("band", *BAND_COUNTS, *metrics)
    rows = [
        [name, *(f"{values[key]:,.0f}" for key in BAND_COUNTS), *(percent(values[key]) for key in metrics)]
        for name, values in band_rows(scores)
    ]
    print_table(columns, rows)


def print_calibration(groups: Mapping[str, Reliability], calibrated: bool) -> None:
    """How far the scores are from probabilities; a dash where nothing is suggested."""
    ece = {name: percent(found.ece) for name, found in groups.items()}
    parts = f"seen labels {ece['seen']}, tail {ece['tail']}, unseen {ece['unseen']}"
    state = "calibrated" if calibrated else "not calibrated"
    print(f"expected calibration error of the top {K}, {state}: {ece['all']} ({parts})")


def print_annif(values: Mapping[str, float]) -> None:
    """As `annif eval` prints them."""
    for name, value in values.items():
        print(f"{name + ':':<31}{value:,}" if isinstance(value, int) else f"{name + ':':<31}{value:.4f}")


def print_diagnostics(values: dict[str, Any]) -> None:
    """What a method has to say about itself, a line a number or a row of them; nothing where it has nothing to say."""
    for name, value in values.items():
        numbers = value.items() if isinstance(value, dict) else [("", value)]
        print(f"{name.replace('_', ' ')}: " + ", ".join(f"{key} {number:.4g}".strip() for key, number in numbers))
