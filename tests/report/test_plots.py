"""Pictures: valid PNG and SVG, with the names and numbers in them, and told apart without colour."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest

from everylabel.errors import DataError
from everylabel.metrics.reliability import Bin, Reliability
from everylabel.metrics.scores import CurvePoint, Scores
from everylabel.report.plots import (
    STYLES,
    band_plot,
    frequency_plot,
    history_plot,
    projection_plot,
    reliability_plot,
    save_plots,
    trade_off_plot,
    training_plot,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def scores(level: float) -> Scores:
    bands = {"head": 10, "middle": 20, "tail": 40, "unseen": 30, "all": 100}
    return Scores(
        values={},
        n_docs=1,
        n_skipped=0,
        n_zero_shot_docs=0,
        bands={name: {"labels": n, "F1@5": level, "P@5": level * n / 100} for name, n in bands.items()},
        curve=[CurvePoint(50, 80.0, level), CurvePoint(30, 5.0, level / 2), CurvePoint(20, 0.0, level / 4)],
    )


NAMES = ["xr-linear", "a<b & c", "method_with_$", "knn"]
SYSTEMS = {name: scores(0.2 * (i + 1)) for i, name in enumerate(NAMES)}
RELIABLE = {
    name: Reliability((Bin(0.1, 0.2, 50), Bin(0.5 + i / 10, 0.4, 50))) for i, name in enumerate(("all", "tail"))
}
LINES = [{"step": i, "loss": 2 / i, "lr": 0.1} | ({"score": i / 99} if i % 10 == 0 else {}) for i in range(1, 100)]
CURVES = {"stage-1": LINES, "stage-2": LINES[:50]}
WATCHED = [
    {
        "step": step,
        "ndcg@5": 0.5 + step / 100,
        "zsr@100": None if step == 0 else 0.4,
        "unseen_participation": 9.0 - step,
        "unseen_isolation": step / 10 - 0.1,
        "projection": {"seen": [[0.1, 0.2], [0.3, -0.2]], "unseen": [[0.5, step / 10]] if step else []},
    }
    for step in (0, 4, 8)
]
HISTORIES = {"of-de": WATCHED, "dexml": WATCHED[:2]}


def figures() -> dict[str, Figure]:
    return {
        "frequency": frequency_plot(SYSTEMS),
        "bands": band_plot(SYSTEMS),
        "reliability": reliability_plot(RELIABLE, 10),
        "training": training_plot(CURVES),
        "history": history_plot(HISTORIES),
        "projection": projection_plot(HISTORIES),
        "trade-off": trade_off_plot({"of-de": (0.8, 0.5), "svm": (0.84, 0.0)}),
    }


def texts(file: Path) -> list[str]:
    return [text.strip() for text in ElementTree.parse(file).getroot().itertext() if text.strip()]


def test_files_are_what_their_names_say(tmp_path: Path) -> None:
    from matplotlib.image import imread

    written = save_plots(figures(), tmp_path / "new")
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(path.name for path in written)
    assert len(written) == 2 * len(figures())
    for file in written:
        if file.suffix == ".png":
            pixels = imread(file)
            assert min(pixels.shape[:2]) > 400
            assert 0.5 < pixels.mean() < 0.999  # mostly white, and not all of it
        else:
            assert ElementTree.parse(file).getroot().tag.endswith("svg")


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        ("frequency", [*NAMES, "macro-F1@5 in %", "labels, rare to common in training", "unseen", "tail", "head"]),
        ("bands", [*NAMES, "P@5 in %", "band of the labels", "100 labels"]),
        ("reliability", ["all: ECE 10.0 %, 100 suggestions", "share of them that is right", "a perfect probability"]),
        ("training", ["stage-1", "stage-2", "step", "loss (running mean)", "score of the evaluation"]),
        ("history", ["of-de", "dexml", "step", "nDCG@5 in %", "ZSR@100 in %", "unseen labels' directions"]),
        ("projection", ["of-de, before", "dexml, after", "seen labels", "unseen labels"]),
        ("trade-off", ["of-de", "svm", "overall: nDCG@5 in %"]),
    ],
)
def test_names_axes_and_numbers_can_be_read(tmp_path: Path, picture: str, expected: list[str]) -> None:
    save_plots(figures(), tmp_path)
    assert set(expected) <= set(texts(tmp_path / f"{picture}.svg"))


def test_the_same_numbers_give_the_same_bytes(tmp_path: Path) -> None:
    one, other = (save_plots(figures(), tmp_path / name) for name in ("one", "other"))
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in other]


def test_the_curve_goes_from_rare_to_common() -> None:
    (axes,) = frequency_plot({"a": scores(0.8)}).axes
    np.testing.assert_allclose(np.asarray(axes.lines[0].get_xydata(), float), [[10, 20], [35, 40], [75, 80]])
    assert [line.get_xdata()[0] for line in axes.lines[1:]] == [30, 70, 90]  # type: ignore[index]


def test_bars_are_each_band_s_part() -> None:
    (axes,) = band_plot({"a": scores(0.5), "b": scores(1.0)}).axes
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers]
    np.testing.assert_allclose(heights, [[5, 10, 20, 15, 50], [10, 20, 40, 30, 100]])


def test_readable_without_colour() -> None:
    (lines,) = frequency_plot(SYSTEMS).axes
    curves = lines.lines[: len(SYSTEMS)]
    assert len({str(line._unscaled_dash_pattern) for line in curves}) == len(SYSTEMS)  # type: ignore[attr-defined]
    assert len({line.get_marker() for line in curves}) == len(SYSTEMS)
    (bars,) = band_plot(SYSTEMS).axes
    assert len({group[0].get_hatch() for group in bars.containers}) == len(SYSTEMS)
    for part in ("line", "marker", "hatch", "colour"):
        assert len({str(getattr(style, part)) for style in STYLES}) == len(STYLES)


def test_more_systems_than_styles_can_be_drawn(tmp_path: Path) -> None:
    many = {f"method-{i}": scores(i / 20) for i in range(len(STYLES) + 3)}
    save_plots({"many": frequency_plot(many), "bars": band_plot(many)}, tmp_path)
    assert set(many) <= set(texts(tmp_path / "many.svg"))


def test_a_loss_is_smoothed_and_steps_without_one_are_left_out() -> None:
    lines = [{"step": i, "loss": 1.0 + (-1) ** i} for i in range(1, 1001)] + [{"step": 1001, "loss": None}]
    (axes,) = training_plot({"a": lines}).axes
    values = np.asarray(axes.lines[0].get_ydata())
    assert len(values) == 1000
    assert np.abs(values - 1).max() < 0.15


def test_groups_without_a_suggestion_are_left_out() -> None:
    (axes,) = reliability_plot({"all": RELIABLE["all"], "unseen": Reliability(())}, 5).axes
    assert [line.get_label() for line in axes.lines] == ["a perfect probability", "all: ECE 10.0 %, 100 suggestions"]


def test_nothing_to_draw() -> None:
    for draw in (frequency_plot, band_plot, training_plot, partial(reliability_plot, k=10)):
        with pytest.raises(DataError, match="nothing to draw"):
            draw({})
    with pytest.raises(DataError, match="nothing to draw"):
        reliability_plot({"all": Reliability(())}, 10)
    with pytest.raises(DataError, match="no precision by band"):
        band_plot({"old": Scores({}, 1, 0, 0, bands={"all": {"labels": 3}})})


def test_no_pyplot_and_nothing_before_use(tmp_path: Path) -> None:
    """pyplot chooses a screen and keeps every figure: neither belongs into a library."""
    code = (
        "import sys, everylabel.report.plots as plots\n"
        "assert 'matplotlib' not in sys.modules\n"
        f"plots.save_plots({{'a': plots.training_plot({{'a': [{{'step': 1, 'loss': 1.0}}]}})}}, {str(tmp_path)!r})\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "import matplotlib\n"
        "assert matplotlib.rcParams['svg.fonttype'] == matplotlib.rcParamsDefault['svg.fonttype']\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not re.search("warning", done.stderr, re.IGNORECASE)


def test_no_line_of_a_history_is_cut_off() -> None:
    higher = [{**row, "zsr@100": 0.9} for row in WATCHED]
    panel = history_plot({"low": WATCHED, "high": higher}).axes[1]
    assert panel.get_ylim()[1] >= 90


def test_names_of_close_systems_do_not_cover_each_other() -> None:
    figure = trade_off_plot({f"system {i}": (0.8, 0.5) for i in range(4)})
    offsets = sorted(text.xyann[1] for text in figure.axes[0].texts)  # type: ignore[attr-defined]
    assert all(after - before >= 8 for before, after in pairwise(offsets))
