"""A server for an hour: python -m benchmarks.run.serving_soak [--minutes 60] [--data DIR --model MODEL | the sample]

Mixed traffic, at a rate that leaves the server some rest: tags by all interfaces, one document and several, with
evidence; searches of labels, reconciliation, languages, the review queue, decisions, and learning, which is switched on
and makes a new model every minute or so. Every tenth minute all decisions are undone and the first model is taken back,
so that the models of each ten minutes are alike, and a picture shows whether memory is, too. Every five seconds the
server's memory, threads and file handles are written down, every minute the p95 of the waits. Results and picture:
serving-soak.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import RESULTS, WORK, write_result
from benchmarks.run.serving_corpus import Corpus, chosen_corpus, corpus_parser
from benchmarks.run.serving_kills import DATABASE
from benchmarks.run.serving_mix import Mix
from benchmarks.run.serving_process import Memory, Served
from everylabel.feedback.store import DecisionStore
from everylabel.feedback.versions import Versions

NAME = "serving-soak"
COMMAND = "python -m benchmarks.run.serving_soak"
SAMPLE_SECONDS, BACK = 5.0, 10  # between two looks; minutes between two returns to the first model
WARM_UP = 1 / 6  # of the time, which verdicts leave out
Row = dict[str, Any]


def soak(corpus: Corpus, model: Path, seconds: float, work: Path, *, minute: float = 60.0) -> Row:
    """`minute`: of how many seconds one is, for who tries it."""
    shutil.rmtree(work, ignore_errors=True)
    state, mix = work / "state", Mix(model.name, corpus)
    samples: list[Row] = []
    minutes: list[Row] = []
    with Served([model], state, "--allow-learn", log=work / "log") as served:
        mix.start(served.port)
        begun = time.monotonic()
        try:
            while (now := time.monotonic() - begun) < seconds:
                samples.append({"second": round(now, 1), **Memory.of(served.pid)._asdict()})
                if now >= minute * (len(minutes) + 1):
                    minutes.append({"minute": len(minutes) + 1, **summary(*mix.taken())})
                    print(f"{minutes[-1]} {samples[-1]}", flush=True)
                    if len(minutes) % BACK == 0:
                        mix.take_back()
                time.sleep(min(SAMPLE_SECONDS, minute / 6))
        finally:
            mix.stop()
        metrics = served.ask("/metrics").body
    store = DecisionStore(f"sqlite:///{state / DATABASE}")
    wrong = mix.ledger.check(store, model.name)
    store.close()
    events = Counter(event["what"] for event in Versions(state / model.name, model).history())
    return {
        "samples": samples,
        "minutes": minutes,
        "requests": dict(mix.total),
        "failed": {key: n for key, n in mix.failed.items() if n},
        "decisions": len(mix.ledger.acknowledged),
        "lost": dict(wrong),
        "models": dict(events),
        "errors_500": sum(
            float(line.rsplit(" ", 1)[1]) for line in metrics.splitlines() if 'status="5' in line and "_count" in line
        ),
    }


def summary(waits: dict[str, list[float]], counts: Counter[str]) -> Row:
    """Of a minute: requests, and the p95 in ms of tagging one document, and of all."""
    every = [wait for part in waits.values() for wait in part]
    one = waits.get("tag", [])
    return {
        "requests": sum(counts.values()),
        "p95_ms": _ms(every, 95),
        "tag_p50_ms": _ms(one, 50),
        "tag_p95_ms": _ms(one, 95),
    }


def _ms(seconds: list[float], percentile: float) -> float | None:
    return round(1e3 * float(np.percentile(seconds, percentile)), 1) if seconds else None


def verdicts(found: Row) -> Row:
    """After a warm-up: the mean of the last third against that of all before it, and the extremes."""
    samples = found["samples"][int(WARM_UP * len(found["samples"])) :]
    minutes = found["minutes"][int(WARM_UP * len(found["minutes"])) :]

    def change(rows: list[Row], name: str) -> float:
        values = [row[name] for row in rows if row[name] is not None]
        third = max(1, len(values) // 3)
        return round(float(np.mean(values[-third:]) / np.mean(values[: max(1, len(values) - third)])), 3)

    result: Row = {f"{name}_last_of_before": change(samples, name) for name in ("rss", "pss", "anonymous")}
    result["p95_last_of_before"] = change(minutes, "tag_p95_ms")
    result |= {
        f"{name}_extremes": [min(x := [row[name] for row in samples]), max(x)] for name in ("threads", "handles")
    }
    return result


def picture(found: Row) -> None:
    """Memory, threads and handles, waits, by minute."""
    from matplotlib.figure import Figure

    from everylabel.report.plots import STYLES, save_plots

    figure = Figure(figsize=(7.0, 7.5), layout="constrained")
    panels = figure.subplots(3, 1, sharex=True)
    minutes = [row["second"] / 60 for row in found["samples"]]
    shown = (("rss", "pss", "anonymous"), ("threads", "handles"))
    for axes, names, label in zip(panels, shown, ("MB", "number"), strict=False):
        for style, name in zip(STYLES, names, strict=False):
            axes.plot(minutes, [row[name] for row in found["samples"]], color=style.colour, ls=style.line, label=name)
        axes.set(ylabel=label, ylim=(0, None))
    for style, name in zip(STYLES, ("tag_p95_ms", "tag_p50_ms"), strict=False):
        values = [row[name] for row in found["minutes"]]
        at = [row["minute"] for row in found["minutes"]]
        panels[2].plot(at, values, color=style.colour, ls=style.line, marker=style.marker, ms=3, label=name[4:7])
    panels[2].set(ylabel="ms to tag a document", xlabel="minutes", ylim=(0, None))
    for axes in panels:
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8, ncols=3)
    figure.suptitle("A server under mixed traffic that learns")
    save_plots({NAME: figure}, RESULTS / "figures")


def main() -> None:
    parser = corpus_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--try", action="store_true", dest="is_try", help="nothing is written")
    options = parser.parse_args()
    options.sample = options.sample or options.model is None
    corpus = chosen_corpus(options)
    found = soak(corpus, corpus.model(options.model), 60 * options.minutes, WORK / "serving" / "soak")
    found |= {"data": corpus.name, "asked_minutes": options.minutes, "verdicts": verdicts(found)}
    print(json.dumps({key: value for key, value in found.items() if key not in ("samples", "minutes")}, indent=1))
    if not options.is_try:
        write_result(NAME, found, f"{COMMAND} --minutes {options.minutes:g}")
        picture(found)


if __name__ == "__main__":
    main()
