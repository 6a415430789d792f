"""Ranking quality: the rows of benchmarks/rows, fitted on train, reported on test.

python -m benchmarks.run.quality --data DIR [--rows eurlex57k-xr-linear ...] [--split dev] [--ray ADDRESS]

What a row may say: `benchmarks.rows`. Metrics by band and unseen labels go by all training pairs, also where the method
was shown less, but for rows with `dropped` labels or `bands = "shown"`. Rankings are kept in benchmarks/work, for
comparisons, and for rows that are made of others (`made_of`): with `ensemble` the mean over the seeds, which is what
the method with as many `members` gives, and with `rare_weight` the labels in the order that this setting gives them.
A row's cell (row, seed) whose result is there is skipped, so an interrupted run goes on where it stopped. Each cell
runs in a process of its own, so that its peak memory is its own. Times are those of seed 0, and count with all
documents only: other cells find the vectors of frozen transformers in the cache, and may run side by side. With --ray
cells are tasks of a cluster: what is said of times is then that of its machines, and of what runs beside on them.
"""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.record import WORK, read_result, write_result
from benchmarks.rows import all_rows, cell_name, read_row
from benchmarks.run.command import data_folder, data_parser, start, use_own_cache
from benchmarks.run.debian import required_folder
from benchmarks.run.fitting import fit, saved_and_loaded
from benchmarks.run.shown import counted, keep_ranking, load_train, ranking_path, read_ranking, some, supervised
from benchmarks.run.watch import Stages, Watch

if TYPE_CHECKING:
    from everylabel.data import Dataset
    from everylabel.methods.base import Method
    from everylabel.metrics.ranking import Ratio
    from everylabel.types import LongArray, Ranking

RECALL_KS = (10, 50, 100)
WITH_INTERVALS = ("P@1", "nDCG@5", "PSP@5", "R@100", "ZSR@10", "ZSR@100", "RP@5", "MRR")


def intervals(ratios: dict[str, Ratio]) -> dict[str, list[float]]:
    """95%, over documents; of metrics that count for one at least."""
    from everylabel.metrics.significance import interval

    counted = [key for key in WITH_INTERVALS if ratios[key].possible.any()]
    return {key: [round(end, 5) for end in interval(ratios[key])] for key in counted}


def calibration(method: Method, ranking: Ranking, test: Dataset, folder: Path, counts: LongArray) -> dict[str, Any]:
    """The expected calibration error of the top 10, as the scores come and after calibration on dev."""
    from everylabel.data import load_dataset
    from everylabel.metrics.reliability import by_seen

    method.calibrate(load_dataset(folder, "dev"))
    assert method.calibration_ is not None
    rankings = {"raw": ranking, "calibrated": method.calibration_.apply(ranking)}
    return {
        kind: {group: found.to_json()["ECE"] for group, found in by_seen(one, test.required_pairs, counts).items()}
        for kind, one in rankings.items()
    }


def run_cell(row: str, seed: int, data: Path, split: str) -> None:
    """Fit, save, load, rank and evaluate one row with one seed."""
    import everylabel

    spec, watch, costs = read_row(row), Watch(), Stages()
    use_own_cache(forget=seed == 0 and "documents" not in spec)
    folder = required_folder(data, spec["data"])
    with watch("read"):
        train, test = load_train(folder), everylabel.load_dataset(folder, split)
    test = some(test, spec.get("test_documents", len(test)))
    method = everylabel.method(spec["method"], random_state=seed, **spec.get("settings", {}))
    shown = supervised(train, spec, seed)
    checkpoints = WORK / "checkpoints" / Path(cell_name(row, seed, split)).name
    with watch("fit"):
        stages = fit(method, shown, costs, keep=checkpoints if hasattr(method, "encoder") else None)
    shutil.rmtree(checkpoints, ignore_errors=True)
    method, model_mb = saved_and_loaded(method, watch)
    method.rank(test.documents.subset(range(2)), k=100)  # loads the compiled kernels
    with watch("rank"):
        ranking = method.rank(test.documents, k=100)
    costs.note_peak()
    values: dict[str, Any] = {
        "train_documents": len(shown),
        "train_pairs": 0 if shown.pairs is None else shown.pairs.nnz,
        "seconds": watch.seconds,
        "stages": stages,
        "costs": {name: cost for name, cost in costs.costs.items() if cost["seconds"] >= 1},
        "documents_per_second": round(len(test) / watch.seconds["rank"], 1),
        "model_mb": round(model_mb, 1),
        "peak_gb": round(costs.peak, 2),
        "diagnostics": method.diagnostics(test) if hasattr(method, "diagnostics") else {},
    }
    history = getattr(method, "history_", [])
    if history:
        about_labels = [history[0]["projection"], history[-1]["projection"]]
        values["history"] = [{**row, "projection": None} for row in history]
        values["history"][0]["projection"], values["history"][-1]["projection"] = about_labels
    if spec["table"] == "pairs" and split == "test":
        values["calibration"] = calibration(method, ranking, test, folder, train.counts)
    write_cell(row, seed, split, values, ranking, counted(train, spec, seed), test)


def run_made(row: str, seed: int, data: Path, split: str) -> None:
    """From kept rankings. Time is the sum of its members', also of what they could have shared."""
    import everylabel
    from everylabel.methods.rare import reordered
    from everylabel.types import Ranking

    spec = read_row(row)
    folder, other = required_folder(data, spec["data"]), spec["made_of"]
    seeds = read_row(other)["seeds"] if spec.get("ensemble") else [seed]
    names = [cell_name(other, member, split) for member in seeds]
    cells = [cell for name in names if (cell := read_result(name)) is not None and ranking_path(name).exists()]
    if len(cells) < len(names):
        raise SystemExit(f"{row} is made of {other}: run it first, `python -m benchmarks.run.quality --rows {other}`")
    ranking = Ranking.mean([read_ranking(ranking_path(name)) for name in names], 100)
    train = load_train(folder)
    if spec.get("rare_weight"):
        counts = supervised(train, read_row(other), seed).counts
        ranking = reordered(ranking, counts, spec["rare_weight"], 100)
    seconds = {step: round(sum(cell["seconds"][step] for cell in cells), 3) for step in ("fit", "rank")}
    values: dict[str, Any] = {
        "train_documents": cells[0].get("train_documents"),
        "train_pairs": cells[0].get("train_pairs"),
        "members": [cell["name"] for cell in cells],
        "rare_weight": spec.get("rare_weight", 0.0),
        "seconds": seconds,
        "documents_per_second": round(len(ranking.ids) / seconds["rank"], 1),
        "model_mb": round(sum(cell["model_mb"] for cell in cells), 1),
        "peak_gb": max(cell["peak_gb"] for cell in cells),
    }
    write_cell(row, seed, split, values, ranking, train, everylabel.load_dataset(folder, split))


def write_cell(
    row: str, seed: int, split: str, values: dict[str, Any], ranking: Ranking, train: Dataset, test: Dataset
) -> None:
    """Keeps the ranking, and the result with its scores."""
    from everylabel.metrics.ranking import by_document, evaluate, find_hits

    spec, name = read_row(row), cell_name(row, seed, split)
    keep_ranking(name, ranking)
    scores = evaluate(ranking, test.required_pairs, train.counts, len(train), recall_ks=RECALL_KS)
    ratios = by_document(find_hits(ranking, test.required_pairs), train.counts, len(train), recall_ks=RECALL_KS)
    about: dict[str, Any] = {
        "row": row,
        "table": spec["table"],
        "data": spec["data"],
        "split": split,
        "method": spec["method"],
        "settings": spec.get("settings", {}),
        "seed": seed,
    }
    measured = {"scores": scores.to_json(), "intervals": intervals(ratios)}
    write_result(name, about | values | measured, f"python -m benchmarks.run.quality --rows {row} --split {split}")


class Cell(NamedTuple):
    """A job: a row with a seed, measured in a process of its own."""

    row: str
    seed: int

    @property
    def name(self) -> str:
        return str(read_row(self.row)["method"])

    @property
    def label(self) -> str:
        return f"{self.row}-seed{self.seed}"


def measure(cell: Cell, split: str, data: Path) -> None:
    print(f"{cell.row}, seed {cell.seed}", flush=True)
    start("run.quality", "--rows", cell.row, "--seed", cell.seed, "--split", split, "--data", data)


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--rows", nargs="*", default=list(all_rows()))
    parser.add_argument("--split", default="test")
    parser.add_argument("--seed", type=int, help="run only this seed, in this process")
    parser.add_argument("--ray", help="run cells as tasks of a cluster whose nodes all see this folder and the data")
    arguments = parser.parse_args()
    data = data_folder(arguments.data).resolve()
    if arguments.seed is not None:
        run = run_made if "made_of" in read_row(arguments.rows[0]) else run_cell
        run(arguments.rows[0], arguments.seed, data, arguments.split)
        return
    from everylabel.cli.on_ray import jobs_on
    from everylabel.parallel import InTurn
    from everylabel.run import QUIET

    cells = list[Cell]()
    for row in arguments.rows:
        for seed in read_row(row).get("seeds", [0]):
            if read_result(cell_name(row, seed, arguments.split)) is not None:
                print(f"{row}, seed {seed}: there already", flush=True)
            else:
                cells.append(Cell(row, seed))
    made = {cell for cell in cells if "made_of" in read_row(cell.row)}  # those that they are made of come before
    work = partial(measure, split=arguments.split, data=data)
    with jobs_on(arguments.ray, QUIET) as on:
        executor = on.executor or InTurn()
        for some_cells in ([cell for cell in cells if cell not in made], [cell for cell in cells if cell in made]):
            for _ in executor.map(work, some_cells):
                pass


if __name__ == "__main__":
    main()
