"""This code beside an older checkout of it, in one run: the same rankings, and how much faster and smaller.

python -m benchmarks.run.house --data DIR --before CHECKOUT [--documents 2000] [--fit]
    [--model-before MODEL --model-after MODEL] [--parts sample rankings tagger costs] [--again]

`sample`: every method on the embedded sample, with small settings of training. `rankings`: some methods fitted on 2,000
documents of eurlex57k, 500 of dev ranked 100 deep. `tagger`: speed, size, start and memory of a Tagger of eurlex57k
that each code has saved (`--fit`: fits and saves both, half an hour each). `costs`: what each of its experts takes, by
this code alone. The checkouts take turns, a process a step,
so that a busy moment of the machine hits both. Rankings of a commit that are there are not made again.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import everylabel
from benchmarks.record import read_result, write_result
from benchmarks.run.command import data_folder, data_parser
from benchmarks.run.house_sides import Side
from benchmarks.run.house_worker import folder_of, spread
from benchmarks.run.shown import read_ranking
from benchmarks.run.watch import size_mb
from everylabel import config
from everylabel.metrics.ranking import evaluate
from everylabel.registry import METHODS, method_class
from everylabel.types import Ranking

PARTS = ("sample", "rankings", "tagger", "costs")
EXPERTS = ["tfidf", "knn", "svm", "semantic", "zestxml", "of-de", "xml0"]  # given, so that no clock has a say
COMPARED: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("xr-linear", "svm", "knn", "tfidf", "semantic", "of-de", "xml0", "zestxml")},
    "tagger": {"experts": EXPERTS},
}
ROUNDS = 3
MORE_IS_BETTER = ("documents_per_second",)
Values = dict[str, Any]


def small(name: str) -> dict[str, Any]:
    """Without dimensions and steps that the sample does not need."""
    found: dict[str, Any] = {}
    for key, value in config.to_dict(method_class(name)()).items():
        if isinstance(value, dict) and value.get("lexical", 0) > 64:
            found[key] = {"lexical": 64}
        if isinstance(value, dict) and "steps" in value:
            found[key] = {"steps": 40}
        if key == "label_encoder":
            found[key] = ""
        if key == "experts":
            found[key] = ["tfidf", "knn", "svm", "zestxml"]
    return found


def rankings(sides: tuple[Side, Side], spec: Values, methods: Sequence[dict[str, Any]]) -> Values:
    """Both codes' rankings of the same documents, compared. Each of `methods` is a process, and has some methods."""
    name = Path(spec["data"]).name
    for some in methods:
        for side in sides:
            to = side.work / name
            missing = {method: settings for method, settings in some.items() if not (to / f"{method}.npz").exists()}
            if missing:
                print(f"{name}, {side.name}: {', '.join(missing)}", flush=True)
                side.ask("rankings", {**spec, "methods": missing, "to": str(to)})
    return {method: compared(sides, spec, method) for some in methods for method in some}


def compared(sides: tuple[Side, Side], spec: Values, method: str) -> Values:
    """How far the rankings agree; nDCG@5, and the seconds of fit and ranking, as [before, after]."""
    name, folder = Path(spec["data"]).name, folder_of(spec["data"])
    train = spread(everylabel.load_dataset(folder, "train"), spec["documents"])
    others = spread(everylabel.load_dataset(folder, spec["split"]), spec["ranked"])
    paths = [side.work / name / f"{method}.npz" for side in sides]
    both = [read_ranking(path) for path in paths]
    fits, ranks = zip(*(read_seconds(path) for path in paths), strict=True)
    scores = [evaluate(one, others.required_pairs, train.counts, len(train)) for one in both]
    return agreement(*both) | {
        "nDCG@5": [round(one["nDCG@5"], 5) for one in scores],
        "fit_seconds": list(fits),
        "rank_seconds": list(ranks),
    }


def read_seconds(path: Path) -> list[float]:
    with np.load(path) as kept:
        return [round(float(one), 3) for one in kept["seconds"]]


def agreement(before: Ranking, after: Ranking) -> Values:
    k = min(before.ids.shape[1], after.ids.shape[1])
    ids, others = before.ids[:, :k], after.ids[:, :k]
    same = ids == others
    labels = same & (ids >= 0)
    apart = np.abs(before.scores[:, :k][labels].astype(np.float64) - after.scores[:, :k][labels])
    return {
        "equal_rows": round(float(same.all(axis=1).mean()), 5),
        "equal_ids": round(float(same.mean()), 5),
        "largest_score_difference": float(apart.max(initial=0.0)),
    }


def tagger(sides: tuple[Side, Side], data: Path) -> Values:
    """In turns; speeds are medians over the rounds, the start is the best of them."""
    rounds: dict[str, list[Values]] = {side.name: [] for side in sides}
    for _ in range(ROUNDS):
        for side in sides:
            found = side.ask("speed", {"model": str(side.model), "data": str(data)})
            rounds[side.name].append(found | {"tag_seconds": side.tag_seconds()})
            print(side.name, rounds[side.name][-1], flush=True)
    result: Values = {}
    for side in sides:
        ones = rounds[side.name]
        result[side.name] = {key: statistics.median(one[key] for one in ones) for key in ones[0]}
        result[side.name]["tag_seconds"] = min(one["tag_seconds"] for one in ones)
        assert side.model is not None
        result[side.name]["model_mb"] = round(size_mb(side.model), 1)
        result[side.name]["second_process_mb"] = side.second_process_mb()
    return result


def fitted(sides: tuple[Side, Side], data: Path) -> dict[str, Values]:
    """The two Taggers, saved where `tagger` looks for them, and how long they took; what is there is not fitted."""
    found = {}
    for side in sides:
        taken = side.work / "fit.json"
        if not taken.exists():
            spec = {"data": str(data), "settings": {"experts": EXPERTS}, "model": str(side.model)}
            taken.write_text(json.dumps(side.ask("fit", spec)), encoding="utf-8")
        found[side.name] = json.loads(taken.read_text(encoding="utf-8"))
        print(side.name, found[side.name], flush=True)
    return found


def ratios(before: Values, after: Values) -> dict[str, float]:
    """Times better: above 1 this code is faster or smaller."""
    return {
        key: round(after[key] / before[key] if key in MORE_IS_BETTER else before[key] / after[key], 2) for key in after
    }


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--before", type=Path, required=True, help="folder of the older checkout")
    parser.add_argument("--after", type=Path, default=Path(everylabel.__file__).parents[2], help="[default: this one]")
    parser.add_argument("--model-before", type=Path, help="a Tagger of eurlex57k that the older code has saved")
    parser.add_argument("--model-after", type=Path, help="the same by this code")
    parser.add_argument("--documents", type=int, default=2_000, help="training documents of the part `rankings`")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--fit", action="store_true", help="fit and save both models, and measure that, too")
    parser.add_argument("--again", action="store_true", help="make rankings again that are there")
    arguments = parser.parse_args()
    before = Side("before", arguments.before, arguments.model_before)
    after = Side("after", arguments.after, arguments.model_after)
    if arguments.fit:
        before, after = (replace(side, model=side.work / "tagger") for side in (before, after))
    sides = (before, after)
    for side in sides:
        side.begin(again=arguments.again)
    measured: Values = (read_result("house") or {}).get("parts", {})
    commits = {side.name: side.commit for side in sides}
    for part in arguments.parts:
        if found := measure(part, sides, arguments):
            measured[part] = {"commits": commits, **found}
            command = "python -m benchmarks.run.house --before CHECKOUT --model-before MODEL --model-after MODEL"
            write_result("house", {"parts": measured}, command)


def measure(part: str, sides: tuple[Side, Side], arguments: Any) -> Values:
    if part == "sample":
        spec = {"data": "sample", "documents": 1_000, "split": "test", "ranked": 500}
        return {"methods": rankings(sides, spec, [{name: small(name) for name in METHODS}])}
    data = data_folder(arguments.data) / "eurlex57k"
    if part == "rankings":
        spec = {"data": str(data), "documents": arguments.documents, "split": "dev", "ranked": 500}
        each = [{name: settings} for name, settings in COMPARED.items()]
        return {"documents": arguments.documents, "methods": rankings(sides, spec, each)}
    if part == "costs":
        after = sides[1]
        return {} if after.model is None else after.ask("parts", {"model": str(after.model), "data": str(data)})
    taken = fitted(sides, data) if arguments.fit else {}
    if any(side.model is None for side in sides):
        print("tagger: left out, it needs --model-before and --model-after, or --fit", flush=True)
        return {}
    found = tagger(sides, data)
    found = {name: taken.get(name, {}) | values for name, values in found.items()}
    return found | {"ratios": ratios(found["before"], found["after"])}


if __name__ == "__main__":
    main()
