"""`everylabel compare`: several methods on the same data, each against the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.options import (
    Data,
    Decided,
    Device,
    Json,
    Layout,
    OnBadRow,
    Plots,
    PropensityOf,
    Quiet,
    Split,
    use_device,
)
from everylabel.cli.output import draw, print_json, print_line
from everylabel.cli.progress import progress

if TYPE_CHECKING:
    from everylabel.data.dataset import Dataset
    from everylabel.workflow.compare import Compared, Differences

SHOWN = ("P@1", "P@5", "nDCG@5", "PSP@5", "R@10")
MAIN = "nDCG@5"


@guarded
@ungrouped
def compare(
    data: Data,
    *,
    methods: Annotated[str, typer.Option("--methods", "-m", metavar="A,B", help="Methods, separated by commas.")],
    split: Split = "test",
    json: Json = False,
    plots: Plots = None,
    layout: Layout,
    propensity: PropensityOf = "default",
    decided: Decided = 5,
    on_bad_row: OnBadRow = "error",
    device: Device = None,
    quiet: Quiet = False,
) -> None:
    """Fit each method on the training documents, evaluate it, and test its difference from the first one.

    The difference is a paired bootstrap over documents: 95 % interval and two-sided p; beside it the p of a sign test
    over the labels that only one of the two has in its top 5 (--f1-at). A line is printed as soon as a method is done;
    with --json it is one object a line, which also has the t-test over the F1 of labels seen 1 to 9 times.

    Example: everylabel compare DATA --methods xr-linear,knn,popularity
    """
    from everylabel.metrics.propensity import constants
    from everylabel.workflow.compare import compare as compare_method
    from everylabel.workflow.compare import compared_data
    from everylabel.workflow.evaluate import Protocol
    from everylabel.workflow.pictures import ready_to_draw
    from everylabel.workflow.settings import configured

    use_device(device)
    constants(propensity)  # a wrong name is said before any work
    protocol, shown = Protocol(propensity, decided), (*SHOWN, f"macro-F1@{decided}")
    names = [name.strip() for name in methods.split(",") if name.strip()]
    if not names or len(set(names)) != len(names):
        raise typer.BadParameter(
            f"expected different names such as xr-linear,knn; got {methods!r}", param_hint="--methods"
        )
    if plots is not None:
        ready_to_draw(plots)
    unfitted = [configured(name) for name in names]
    with progress(quiet) as run:
        train, held_out = compared_data(data, split, on_bad_row=on_bad_row, run=run, **layout.keywords)
    if not json:
        _print_heading(names, shown, split, train, held_out)
    done: list[Compared] = []
    for method in unfitted:
        with progress(quiet) as run:
            one = compare_method(method, train, held_out, done[0] if done else None, protocol=protocol, run=run)
        done.append(one)
        if json:
            print_json(one.to_json(), indent=None)
        else:
            _print_row(names, shown, one)
    if plots is not None:
        draw({one.name: one.evaluation for one in done}, plots, quiet)


def _print_heading(names: list[str], shown: Sequence[str], split: str, train: Dataset, held_out: Dataset) -> None:
    print_line(f"fitted on {len(train):,} documents, evaluated on {split}: {len(held_out):,} documents; metrics in %")
    columns = [*shown, "fit s", "docs/s"]
    print(
        f"{'method':{_width(names)}}" + "".join(f"{column:>11}" for column in columns) + f"  {MAIN} against the first"
    )


def _print_row(names: list[str], shown: Sequence[str], one: Compared) -> None:
    from everylabel.metrics.scores import percent

    found = one.evaluation
    values = [percent(found.scores[key]) for key in shown] + [f"{one.fit_seconds:.2f}", f"{found.docs_per_second:,.0f}"]
    cells = "".join(f"{value:>11}" for value in values)
    against = "" if one.differences is None else f"  {_against(one.differences)}"
    print(f"{one.name:{_width(names)}}{cells}{against}", flush=True)


def _against(differences: Differences) -> str:
    found, sign = differences.metrics[MAIN], differences.decisions
    between = f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"
    tested = f"{_spoken_p(found.p_value)}; sign test {_spoken_p(sign.p_value)}"
    return f"{100 * found.difference:+.1f} ({between}), {tested}"


def _spoken_p(p_value: float) -> str:
    return "p < 0.0001" if p_value < 0.0001 else f"p = {p_value:.4f}"


def _width(names: list[str]) -> int:
    return max(len("method"), *map(len, names)) + 1
