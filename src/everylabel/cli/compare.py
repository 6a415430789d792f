"""`everylabel compare`: several methods on the same data, each against the first."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from everylabel.cli.groups import ungrouped
from everylabel.cli.guard import guarded
from everylabel.cli.on_ray import jobs_on
from everylabel.cli.options import (
    Data,
    Decided,
    Device,
    Json,
    Layout,
    OnBadRow,
    OnRay,
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
    from everylabel.methods.base import Method
    from everylabel.workflow.compare import Compared, Differences
    from everylabel.workflow.evaluate import Protocol

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
    ray: OnRay = None,
    quiet: Quiet = False,
) -> None:
    """Fit each method on the training documents, evaluate it, and test its difference from the first one.

    The difference is a paired bootstrap over documents: 95 % interval and two-sided p; beside it the p of a sign test
    over the labels that only one of the two has in its top 5 (--f1-at). A line is printed as soon as a method is done;
    with --json it is one object a line, which also has the t-test over the F1 of labels seen 1 to 9 times.

    Example: everylabel compare DATA --methods xr-linear,knn,popularity

    A method a task of a cluster: everylabel compare DATA --methods svm,knn,zestxml --ray HOST:6379
    """
    from everylabel.metrics.propensity import constants
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
    for one in _compared(unfitted, train, held_out, protocol, ray, quiet):
        done.append(one)
        if json:
            print_json(one.to_json(), indent=None)
        else:
            _print_row(names, shown, one)
    if plots is not None:
        draw({one.name: one.evaluation for one in done}, plots, quiet)


def _compared(
    methods: Sequence[Method], train: Dataset, held_out: Dataset, protocol: Protocol, ray: str | None, quiet: bool
) -> Iterator[Compared]:
    """Here one after the other, each with bars that are gone before its line is printed; all at a time on a cluster."""
    from everylabel.workflow.compare import compare, compare_all

    if ray is not None:
        with progress(quiet or sys.stderr.isatty()) as own, jobs_on(ray, own) as run:
            yield from compare_all(methods, train, held_out, protocol=protocol, run=run)
        return
    first: Compared | None = None
    for method in methods:
        with progress(quiet) as run:
            one = compare(method, train, held_out, first, protocol=protocol, run=run)
        first = first or one
        yield one


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
