"""`everylabel compare`: several methods on the same data, each against the first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everylabel.cli.drawing import draw, ready_to_draw
from everylabel.cli.guard import guarded
from everylabel.cli.options import Data, Json, OnBadRow, Plots, Quiet, Split
from everylabel.cli.output import print_json
from everylabel.cli.progress import progress

if TYPE_CHECKING:
    from everylabel.cli.scoring import Evaluation
    from everylabel.data.dataset import Dataset
    from everylabel.methods.base import Method
    from everylabel.metrics.significance import Bootstrap

SHOWN = ("P@1", "P@5", "nDCG@5", "PSP@5", "R@10", "macro-F1@5")
COMPARED = ("P@1", "nDCG@5", "PSP@5")
MAIN = "nDCG@5"


@guarded
def compare(
    data: Data,
    methods: Annotated[str, typer.Option("--methods", "-m", metavar="A,B", help="Methods, separated by commas.")],
    split: Split = "test",
    json: Json = False,
    plots: Plots = None,
    on_bad_row: OnBadRow = "error",
    quiet: Quiet = False,
) -> None:
    """Fit each method on the training documents, evaluate it, and test its difference from the first one.

    The difference is a paired bootstrap over documents: 95 % interval and two-sided p. A line is printed as soon as a
    method is done; with --json it is one object a line.

    Example: everylabel compare DATA --methods xr-linear,knn,popularity
    """
    from everylabel.cli.settings import configured
    from everylabel.data import load_dataset

    names = [name.strip() for name in methods.split(",") if name.strip()]
    if not names or len(set(names)) != len(names):
        raise typer.BadParameter(
            f"expected different names such as xr-linear,knn; got {methods!r}", param_hint="--methods"
        )
    if plots is not None:
        ready_to_draw()
    unfitted = [configured(name, None, None) for name in names]
    with progress(quiet):
        train = load_dataset(data, "train", on_bad_row=on_bad_row)
        held_out = load_dataset(data, split, on_bad_row=on_bad_row)
    if not json:
        _print_heading(names, split, train, held_out)
    results: dict[str, Evaluation] = {}
    for method in unfitted:
        with progress(quiet):
            seconds, result = _run(method, train, held_out)
        first = results.get(names[0])
        differences = {key: _difference(result, first, key) for key in COMPARED} if first else {}
        results[method.name] = result
        if json:
            print_json(_as_json(method.name, names[0], seconds, result, differences), indent=None)
        else:
            _print_row(names, method.name, seconds, result, differences.get(MAIN))
    if plots is not None:
        draw(results, plots, quiet=quiet)


def _run(method: Method, train: Dataset, held_out: Dataset) -> tuple[float, Evaluation]:
    from everylabel.cli.scoring import score

    started = time.perf_counter()
    method.fit(train)
    seconds = time.perf_counter() - started
    return seconds, score(method, held_out)


def _difference(result: Evaluation, first: Evaluation, key: str) -> Bootstrap:
    from everylabel.metrics.significance import paired_bootstrap

    return paired_bootstrap(result.ratios[key], first.ratios[key])


def _as_json(
    name: str, first: str, seconds: float, result: Evaluation, differences: dict[str, Bootstrap]
) -> dict[str, Any]:
    about = {"method": name, "fit_seconds": round(seconds, 3), "docs_per_second": round(result.docs_per_second, 1)}
    against = {"first": first, **{key: value._asdict() for key, value in differences.items()}} if differences else None
    return about | {"difference": against, "calibration": result.calibration_json()} | result.scores.to_json()


def _print_heading(names: list[str], split: str, train: Dataset, held_out: Dataset) -> None:
    print(f"fitted on {len(train):,} documents, evaluated on {split}: {len(held_out):,} documents; metrics in %")
    columns = [*SHOWN, "fit s", "docs/s"]
    print(
        f"{'method':{_width(names)}}" + "".join(f"{column:>11}" for column in columns) + f"  {MAIN} against the first"
    )


def _print_row(names: list[str], name: str, seconds: float, result: Evaluation, difference: Bootstrap | None) -> None:
    from everylabel.metrics.scores import percent

    values = [percent(result.scores[key]) for key in SHOWN] + [f"{seconds:.2f}", f"{result.docs_per_second:,.0f}"]
    cells = "".join(f"{value:>11}" for value in values)
    against = ""
    if difference:
        low, high = 100 * difference.low, 100 * difference.high
        against = f"  {100 * difference.difference:+.1f} ({low:+.1f} to {high:+.1f}), p = {difference.p_value:.4f}"
    print(f"{name:{_width(names)}}{cells}{against}", flush=True)


def _width(names: list[str]) -> int:
    return max(len("method"), *map(len, names)) + 1
