"""What a tagger's fit consists of, as a cluster would see it: python -m benchmarks.run.cluster_tasks --data DIR

One fit of the default tagger by one core here, for each corpus of --only: its jobs, inside them what they would hand
out (`Run.spread`), item by item, and what is done before and after by the command itself. In seconds of the processor,
so that other work on the machine counts for little. Results: cluster-tasks-CORPUS, from which
`python -m benchmarks.run.cluster_simulated` computes how long the same fit takes with more nodes.
"""

from __future__ import annotations

import io
import os
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from benchmarks.record import write_result
from benchmarks.run.command import chosen_conditions
from everylabel.data import load_dataset
from everylabel.run import Run
from everylabel.tagger.tagger import Tagger

CORPORA = ("eurlex57k", "wordnet-reverse", "wiktionary-translations")
BUDGET = "60m"
COMMAND = "python -m benchmarks.run.cluster_tasks"


class Spread:
    """Who helps with a job: nobody, but it is noted what they would have been given. See `Run.spread`."""

    def __init__(self) -> None:
        self.noted: list[dict[str, Any]] = []

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        began = time.process_time()
        noted: dict[str, Any] = {"began": began, "seconds": [], "sent": size(work), "results": 0}
        noted["counting"] = time.process_time() - began
        self.noted.append(noted)
        for item in items:
            started = time.process_time()
            found = work(item)
            ended = time.process_time()
            noted["seconds"].append(ended - started)
            noted["results"] += size(found)
            noted["counting"] += time.process_time() - ended
            yield found


class Jobs:
    """An executor: in turn, here."""

    def __init__(self) -> None:
        self.done: list[dict[str, Any]] = []
        self.began = time.process_time()
        self.before: float | None = None

    def map(
        self, work: Callable[[Any], Any], jobs: Sequence[Any], done: Callable[[Any, Any], None] | None = None
    ) -> Iterator[Any]:
        assert isinstance(work, partial)
        for job in jobs:
            if self.before is None:
                self.before = time.process_time() - self.began
            spread, started = Spread(), time.process_time()
            run = replace(work.keywords["run"], others=spread, reporter=None)
            found = partial(work.func, *work.args, **work.keywords | {"run": run})(job)
            self.done.append(
                {
                    "name": job.label,
                    "sent": size({name: value for name, value in work.keywords.items() if name != "run"}),
                    "result": size(found),
                    "steps": steps(spread.noted, started, time.process_time()),
                }
            )
            print(job.label, round(time.process_time() - started, 1), flush=True)
            if done is not None:
                done(job, found)
            yield found


def steps(noted: list[dict[str, Any]], started: float, ended: float) -> list[dict[str, Any]]:
    """What the job does by itself, and what it would hand out, in turn."""
    found, at = list[dict[str, Any]](), started
    for one in noted:
        seconds = [round(value, 5) for value in one["seconds"]]
        found.append({"alone": round(one["began"] - at, 3)})
        found.append({"spread": joined(seconds), "sent": one["sent"], "results": one["results"]})
        at = one["began"] + sum(one["seconds"]) + one["counting"]
    return [*found, {"alone": round(ended - at, 3)}]


def joined(seconds: list[float], most: int = 500) -> list[float]:
    """Neighbours together where there are many: a cluster does not take them one by one, either."""
    edges = [len(seconds) * i // most for i in range(most + 1)] if len(seconds) > most else range(len(seconds) + 1)
    return [round(sum(seconds[first:last]), 4) for first, last in pairwise(edges)]


class _Counted(io.RawIOBase):
    """A file that is only as long as what was written."""

    length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        n = memoryview(data).nbytes
        self.length += n
        return n


def size(value: Any) -> int:
    """Bytes on the way to another process."""
    counted = _Counted()
    pickle.Pickler(counted, protocol=5).dump(value)
    return counted.length


def main() -> None:
    data, corpora = chosen_conditions(__doc__, CORPORA)
    os.environ |= {"EVERYLABEL_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for corpus in corpora:
        jobs, started = Jobs(), time.process_time()
        train, dev = load_dataset(data / corpus, "train"), load_dataset(data / corpus, "dev")
        reading = time.process_time() - started
        tagger, started = Tagger(budget=BUDGET), time.process_time()
        names = tuple(choice.name for choice in tagger.plan(train, dev).experts)
        jobs.began = time.process_time()
        Tagger(budget="1000h", experts=names).fit(train, dev, run=Run(executor=jobs))
        ended = time.process_time()
        in_jobs = sum(step.get("alone", 0) + sum(step.get("spread", ())) for job in jobs.done for step in job["steps"])
        values = {
            "corpus": corpus,
            "experts": names,
            "before": round(reading + (jobs.before or 0), 1),
            "after": round(ended - jobs.began - (jobs.before or 0) - in_jobs, 1),
            "jobs": jobs.done,
        }
        write_result(f"cluster-tasks-{corpus}", values, COMMAND)


if __name__ == "__main__":
    main()
