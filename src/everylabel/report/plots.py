"""Pictures of results, PNG and SVG, readable without colour: each system has its own line, marker and hatch.

`save_plots({"frequency": frequency_plot(systems)}, "folder")`. matplotlib (extra `plots`) is loaded on use; its pyplot,
and with it the state that a whole process shares, is never touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from everylabel.atomic import replaced
from everylabel.errors import ConfigError, DataError
from everylabel.metrics.scores import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from everylabel.metrics.reliability import Reliability

KINDS = ("png", "svg")
WIDE = (7.0, 4.2)  # inches
BANDS = ("unseen", "tail", "middle", "head")  # rare to common, as the frequency curve goes
SMALL = 8  # points: a name in a picture
NARROW = 0.07  # of the axis: a band that has no room for its name
SMOOTHED = 50  # a training curve is a running mean over this part of its steps
SVG: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "everylabel",
}  # text stays text; the same numbers give the same bytes


class Style(NamedTuple):
    """What tells a system from the others: any one of these alone would do."""

    line: Any
    marker: str
    hatch: str
    colour: str  # of Okabe and Ito's palette, which colour-blind readers can tell apart


STYLES = (
    Style("-", "o", "", "#0072b2"),
    Style("--", "s", "///", "#d55e00"),
    Style("-.", "^", "...", "#009e73"),
    Style(":", "D", "xx", "#cc79a7"),
    Style((0, (6, 1, 1, 1, 1, 1)), "v", "\\\\\\", "#000000"),
    Style((0, (8, 3)), "P", "++", "#e69f00"),
    Style((0, (1, 3)), "X", "oo", "#56b4e9"),
    Style((0, (4, 1, 1, 3)), "*", "--", "#777777"),
)


def require_matplotlib() -> None:
    """Worth asking before long work, not only after it."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"plots need matplotlib ({error}); install it: pip install 'everylabel[plots]'") from None


def save_plots(figures: Mapping[str, Figure], folder: str | Path) -> list[Path]:
    """Write each figure as NAME.png and NAME.svg; the text of an SVG is text, so it can be searched and edited."""
    from matplotlib import rc_context

    folder, written = Path(folder), []
    for name, figure in figures.items():
        for kind in KINDS:
            file = folder / f"{name}.{kind}"
            about = {"Date": None} if kind == "svg" else {}
            with replaced(file) as fresh, rc_context(SVG):
                figure.savefig(fresh, format=kind, dpi=150, metadata=about)
            written.append(file)
    return written


def inline_svg(figure: Figure, name: str) -> str:
    """The figure for the middle of an HTML page: no outside address, and ids that no other picture there has."""
    from matplotlib import rc_context

    stream = StringIO()
    with rc_context(SVG):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(stream.getvalue())
    for child in list(root):  # who drew it, and a style that would hold for the whole page
        if child.tag.endswith("metadata") or child.find("{*}style") is not None:
            root.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # HTML knows its SVG without a namespace
        old, element.attrib = element.attrib, {}
        for key, value in old.items():
            key = key.rpartition("}")[2]
            if key == "id":
                value = f"{name}-{value}"
            element.set(key, value.replace("url(#", f"url(#{name}-") if key != "href" else f"#{name}-{value[1:]}")
    return ElementTree.tostring(root, encoding="unicode")


def frequency_plot(systems: Mapping[str, Scores]) -> Figure:
    """Macro-F1 over the labels from rare to common; dotted lines where a band ends.

    Figure 1 of "Long-tailed Extreme Multi-label Text Classification by the Retrieval of Generated Pseudo Label
    Descriptions".
    """
    figure, (axes,) = _new(systems)
    for style, (name, scores) in zip(_styles(systems), systems.items(), strict=True):
        middles, last = [], 0
        for point in reversed(scores.curve):
            middles.append(last + point.labels / 2)
            last += point.labels
        axes.plot(middles, [100 * point.f1 for point in reversed(scores.curve)], label=name, **_line(style))
    first = next(iter(systems.values()))
    _mark_bands(axes, first)
    metric = next((key for key in first.bands.get("all", {}) if key.startswith("F1@")), "F1")
    axes.set(xlabel="labels, rare to common in training", ylabel=f"macro-{metric} in %", ylim=(0, None))
    axes.set_xlim(0, sum(point.labels for point in first.curve))
    return _finished(figure, [axes], "F1 by how often a label was seen")


def band_plot(systems: Mapping[str, Scores]) -> Figure:
    """The part of P@k that comes from the labels of each band, and their sum."""
    figure, (axes,) = _new(systems)
    names = [*reversed(BANDS), "all"]
    first = next(iter(systems.values()))
    metric = next((key for key in first.bands.get("all", {}) if key.startswith("P@")), None)
    if metric is None:
        raise DataError("these results have no precision by band; evaluate again with this version")
    width = 0.8 / len(systems)
    for i, (style, (name, scores)) in enumerate(zip(_styles(systems), systems.items(), strict=True)):
        heights = [100 * scores[f"{band}/{metric}"] for band in names]
        places = [at + (i - (len(systems) - 1) / 2) * width for at in range(len(names))]
        bars = axes.bar(
            places, heights, width, label=name, hatch=style.hatch, facecolor=style.colour + "55", ec="black"
        )
        if len(systems) <= 3:
            axes.bar_label(bars, fmt="%.1f", fontsize=8, padding=1)
    counts = [f"{name}\n{first.bands[name]['labels']:,.0f} labels" for name in names]
    axes.set_xticks(range(len(names)), counts)
    axes.set(ylabel=f"{metric} in %", xlabel="band of the labels")
    axes.margins(y=0.1)
    return _finished(figure, [axes], f"{metric}: what each band adds to it", grid="y")


def reliability_plot(groups: Mapping[str, Reliability], k: int) -> Figure:
    """Share of right suggestions over their score, a line for each group of labels that has suggestions.

    On the diagonal a score is a probability.
    """
    shown = {name: found for name, found in groups.items() if found.bins}
    figure, (axes,) = _new(shown, size=(5.6, 5.7 + 0.19 * len(shown)))  # a square, and the legend below it
    axes.plot([0, 1], [0, 1], color="#999999", linewidth=1, label="a perfect probability")
    for style, (name, found) in zip(_styles(shown), shown.items(), strict=True):
        label = f"{name}: ECE {100 * found.ece:.1f} %, {found.pairs:,} suggestions"
        x, y = [one.probability for one in found.bins], [one.share for one in found.bins]
        axes.plot(x, y, label=label, clip_on=False, zorder=3, **_line(style))
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.set(xlabel=f"mean score of the suggestions (top {k})", ylabel="share of them that is right")
    return _finished(figure, [axes], "Are the scores probabilities?", columns=1)


def training_plot(curves: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """Loss over steps, a running mean; below it the scores of the evaluations during training, where there are any."""
    evaluated = any(line.get("score") is not None for lines in curves.values() for line in lines)
    figure, panels = _new(curves, size=(7, 6.4) if evaluated else WIDE, n_panels=1 + evaluated)
    for style, (name, lines) in zip(_styles(curves), curves.items(), strict=True):
        for panel, key in zip(panels, ("loss", "score"), strict=False):
            points = [(line["step"], line[key]) for line in lines if line.get(key) is not None]
            steps, values = [step for step, _ in points], [value for _, value in points]
            smooth = _running_mean(values) if key == "loss" else values
            panel.plot(steps, smooth, label=name, markevery=max(1, len(steps) // 10), **_line(style))
    for panel, label in zip(panels, ("loss (running mean)", "score of the evaluation"), strict=False):
        panel.set(ylabel=label)
    panels[-1].set(xlabel="step")
    return _finished(figure, panels, "Training")


def history_plot(histories: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """What one-sided methods watch while they learn: nDCG@5, ZSR@100, and whether unseen labels are a heap apart.

    Figures 3 and 8 of "Preserving Zero-shot Capability in Supervised Fine-tuning for Multi-label Text Classification".
    """
    keys = {
        "ndcg@5": "nDCG@5 in %",
        "zsr@100": "ZSR@100 in %",
        "unseen_participation": "unseen labels' directions",
        "unseen_isolation": "their isolation in %",
    }
    watched = {key for rows in histories.values() for row in rows for key in row}  # not all of it by earlier versions
    keys = {key: label for key, label in keys.items() if key in watched}
    figure, panels = _new(histories, size=(7, 1 + 2.2 * len(keys)), n_panels=len(keys))
    for style, (name, rows) in zip(_styles(histories), histories.items(), strict=True):
        for panel, (key, label) in zip(panels, keys.items(), strict=True):
            scale = 100 if label.endswith("%") else 1
            points = [(row["step"], scale * row[key]) for row in rows if row.get(key) is not None]
            panel.plot([step for step, _ in points], [value for _, value in points], label=name, **_line(style))
    for panel, label in zip(panels, keys.values(), strict=True):  # after all lines: a limit holds for those before it
        panel.set(ylabel=label)
        if label != keys.get("unseen_isolation"):  # which may be below 0
            panel.set(ylim=(0, None))
    panels[-1].set(xlabel="step")
    return _finished(figure, panels, "Seen and unseen labels while training", columns=3)


def projection_plot(histories: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """Seen and unseen labels' vectors before and after training, two of their dimensions: have the unseen collapsed?

    Figures 4 and 7 of the same paper.
    """
    figure, _ = _new(histories, size=(6.4, 0.6 + 3 * len(histories)), n_panels=0)
    panels = figure.subplots(len(histories), 2, squeeze=False, sharex=True, sharey=True)
    for row, (name, rows) in zip(panels, histories.items(), strict=True):
        for axes, state, when in zip(row, (rows[0], rows[-1]), ("before", "after"), strict=True):
            for kind, marker, colour in (("seen", ".", "#999999"), ("unseen", "x", "#d55e00")):
                x, y = zip(*(state["projection"][kind] or [(float("nan"), float("nan"))]), strict=True)
                axes.scatter(x, y, s=14, marker=marker, color=colour, label=f"{kind} labels", linewidths=0.8)
            axes.set_title(f"{name}, {when}", fontsize=9)
            axes.set_aspect("equal")
    return _finished(figure, list(panels.ravel()), "Vectors of labels, first two directions")


def trade_off_plot(points: Mapping[str, tuple[float, float]]) -> Figure:
    """Each system as (overall, zero-shot), from 0 to 1: up and to the right is better. Figure 1 of the same paper.

    Names stand beside their points, those of near ones below each other: there are more systems than styles.
    """
    figure, (axes,) = _new(points, size=(7.2, 5.4))
    places = [(100 * overall, 100 * unseen, name) for name, (overall, unseen) in points.items()]
    places.sort(key=lambda place: (-place[1], place[0]))
    axes.plot([x for x, _, _ in places], [y for _, y, _ in places], **(_line(STYLES[0]) | {"linestyle": ""}))
    axes.set(xlabel="overall: nDCG@5 in %", ylabel="labels nobody has used: ZSR@100 in %", ylim=(-10, None))
    axes.margins(x=0.25)
    at_points = 72 / figure.dpi * axes.transData.transform([(x, y) for x, y, _ in places])
    taken = [(x - 4, x + 4, y) for x, y in at_points]  # left and right end of a marker or a name, and its height
    for (left, height), (x, y, name) in zip(at_points, places, strict=True):
        left, down = left + 9, 0.0
        right = left + 0.6 * SMALL * len(name)
        while any(
            left < other[1] and right > other[0] and abs(height - down - other[2]) < 1.2 * SMALL for other in taken
        ):
            down += 2.0
        taken.append((left, right, height - down))
        line = {"arrowstyle": "-", "color": "#888888", "linewidth": 0.6, "relpos": (0, 0.5)} if down else None
        at = (9, -3 - down)
        axes.annotate(name, (x, y), xytext=at, textcoords="offset points", fontsize=SMALL, arrowprops=line)
    return _finished(figure, [axes], "Overall and zero-shot")


def learning_curve_plot(points: Sequence[tuple[int, float]], name: str, goals: Mapping[str, float]) -> Figure:
    """nDCG@5, from 0 to 1, of one method over its number of training documents; each goal is a level line."""
    figure, (axes,) = _new({name: points} if points else {})
    axes.plot([size for size, _ in points], [100 * value for _, value in points], label=name, **_line(STYLES[0]))
    for style, (goal, value) in zip(STYLES[1:], goals.items(), strict=False):
        axes.axhline(100 * value, color=style.colour, linestyle=style.line, label=goal)
    axes.set_xscale("log", base=2)
    sizes = [size for size, _ in points]
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set(xlabel="training documents", ylabel="nDCG@5 in %", ylim=(0, None))
    axes.margins(y=0.1)
    return _finished(figure, [axes], "What more training documents bring")


def _running_mean(values: Sequence[float]) -> list[float]:
    """Over a part of the steps around each one; fewer at both ends. O(n)."""
    sums = [0.0]
    for value in values:
        sums.append(sums[-1] + value)
    reach = len(values) // (2 * SMOOTHED)
    spans = ((max(i - reach, 0), min(i + reach + 1, len(values))) for i in range(len(values)))
    return [(sums[stop] - sums[start]) / (stop - start) for start, stop in spans]


def _mark_bands(axes: Axes, scores: Scores) -> None:
    edge, total = 0.0, sum(point.labels for point in scores.curve)
    for band in BANDS:
        n_labels = scores.bands.get(band, {}).get("labels", 0)
        if n_labels >= NARROW * total:
            middle = (edge + n_labels / 2) / total
            axes.text(middle, 1.01, band, transform=axes.transAxes, ha="center", va="bottom", style="italic")
        edge += n_labels
        if 0 < edge < total:
            axes.axvline(edge, color="#555555", linestyle=":", linewidth=1)


def _styles(shown: Iterable[str]) -> list[Style]:
    return [STYLES[i % len(STYLES)] for i, _ in enumerate(shown)]


def _line(style: Style) -> dict[str, Any]:
    return {
        "linestyle": style.line,
        "marker": style.marker,
        "color": style.colour,
        "markersize": 5,
        "markerfacecolor": "white",
    }


def _new(shown: Mapping[str, Any], size: tuple[float, float] = WIDE, n_panels: int = 1) -> tuple[Figure, list[Axes]]:
    require_matplotlib()
    from matplotlib.figure import Figure

    if not shown:
        raise DataError("there is nothing to draw; expected at least one result")
    figure = Figure(figsize=size, layout="constrained")
    if n_panels == 0:  # the caller makes its own
        return figure, []
    return figure, list(figure.subplots(n_panels, 1, sharex=True, squeeze=False)[:, 0])


def _finished(figure: Figure, panels: Sequence[Axes], title: str, *, grid: Any = "both", columns: int = 4) -> Figure:
    for axes in panels:
        axes.grid(axis=grid, color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=11)
    handles, labels = panels[0].get_legend_handles_labels()
    if labels:
        figure.legend(
            handles, labels, loc="outside lower center", ncols=min(len(labels), columns), handlelength=4, fontsize=9
        )
    return figure
