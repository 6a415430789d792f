"""A Tagger and its experts on texts that are not English, by this code and by an older checkout of it.

python -m benchmarks.run.languages --data DIR --before CHECKOUT [--rows tibkat-de finna-fi] [--sides before after]

tibkat-de: a German catalogue, all training documents; finna-fi: titles of Finnish records, 50,000 of the training
documents, spread evenly. Fitted on train, blended on dev, measured on test. The experts are given by name, so that no
clock has a say: those of the plan but for the trained encoder, and, in rows that end in "-trained", with it (two passes
over the documents instead of five). A side that is measured of a commit is not measured again.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import everylabel
from benchmarks.record import read_result, write_result
from benchmarks.run.command import data_folder, data_parser
from benchmarks.run.house_sides import Side
from benchmarks.run.house_worker import folder_of, spread
from benchmarks.run.shown import read_ranking
from everylabel.metrics.ranking import by_document, evaluate, find_hits
from everylabel.metrics.significance import paired_bootstrap

MOST = {"tibkat-de": 1_000_000, "finna-fi": 50_000}  # training documents
UNTRAINED = ["tfidf", "knn", "xr-linear", "semantic"]
ROWS: dict[str, dict[str, Any]] = {
    **{data: {"experts": UNTRAINED} for data in MOST},
    **{
        f"{data}-trained": {"experts": [*UNTRAINED, "of-de"], "settings": {"of-de": {"learn": {"epochs": 2.0}}}}
        for data in MOST
    },
}
SHOWN = ("P@1", "nDCG@5", "PSP@5", "R@100", "ZSR@10")


def data_of(row: str) -> str:
    return row.removesuffix("-trained")


def measured(side: Side, row: str, data: Path) -> dict[str, Any]:
    """What the worker says, and the rankings beside it."""
    to = side.work / row
    answer = to / "answer.json"
    if not answer.exists():
        print(f"{row}, {side.name}", flush=True)
        name = data_of(row)
        spec = {"data": str(data / name), "documents": MOST[name], "settings": ROWS[row], "to": str(to)}
        found = side.ask("experts", spec)
        answer.write_text(json.dumps(found), encoding="utf-8")
    values: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return values


def compared(sides: tuple[Side, Side], row: str, data: Path) -> dict[str, Any]:
    """[before, after] of each metric, and the difference of nDCG@5 with its interval, over documents."""
    folder = folder_of(str(data / data_of(row)))
    train = spread(everylabel.load_dataset(folder, "train"), MOST[data_of(row)])
    truth = everylabel.load_dataset(folder, "test").required_pairs
    answers = [measured(side, row, data) for side in sides]
    result: dict[str, Any] = {}
    for name in [*answers[1]["experts"], "tagger"]:
        both = [read_ranking(side.work / row / f"{name}.npz") for side in sides]
        scores = [evaluate(one, truth, train.counts, len(train)) for one in both]
        ndcg = [by_document(find_hits(one, truth), train.counts, len(train))["nDCG@5"] for one in both]
        result[name] = {key: [round(one[key], 5) for one in scores] for key in SHOWN}
        result[name]["difference"] = paired_bootstrap(ndcg[1], ndcg[0])._asdict()
    return {
        "train_documents": len(train),
        "test_documents": int(truth.shape[0]),
        "labels": len(train.labels),
        "commits": {side.name: side.commit for side in sides},
        "fit_seconds": [answer["fit_seconds"] for answer in answers],
        "plans": [answer["plan"] for answer in answers],
        "methods": result,
    }


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--before", type=Path, required=True, help="folder of the older checkout")
    parser.add_argument("--after", type=Path, default=Path(everylabel.__file__).parents[2], help="[default: this one]")
    parser.add_argument("--rows", nargs="*", choices=ROWS, default=list(ROWS))
    parser.add_argument("--sides", nargs="*", choices=("before", "after"), default=["before", "after"])
    arguments = parser.parse_args()
    data = data_folder(arguments.data)
    sides = Side("before", arguments.before), Side("after", arguments.after)
    for side in sides:
        side.begin(again=False)
    for row in arguments.rows:
        for side in sides:
            if side.name in arguments.sides:
                measured(side, row, data)
        if len(arguments.sides) == len(sides):
            rows = (read_result("languages") or {}).get("rows", {})
            command = "python -m benchmarks.run.languages --before CHECKOUT"
            write_result("languages", {"rows": rows | {row: compared(sides, row, data)}}, command)


if __name__ == "__main__":
    main()
