"""How a tagger's fit gets faster with more nodes than there are here: python -m benchmarks.run.cluster_simulated

By simulation, from what `benchmarks.run.cluster_tasks` measured of one fit. A node has two cores, and is sent what a
task needs once, at 1 GB/s; results come back at that, too; each task costs 20 ms more. Jobs begin in the order of the
plan, as cores are free, and hand out parts as `distributed/others.py` does. What the command does itself (reading,
blending) is done by one core. Results: cluster-simulated.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from benchmarks.record import read_results, write_result
from benchmarks.run.command import plain_parser
from everylabel.distributed.others import LEAST, PARTS, WORTH

COMMAND = "python -m benchmarks.run.cluster_simulated"
NODES = (1, 4, 16, 64)
CORES = 2  # of a node
BANDWIDTH = 1e9  # bytes a second
OVERHEAD = 0.02  # seconds of a task


@dataclass
class Work:
    """A task: a step of a job that is done alone, or a part of one that was handed out."""

    job: _Job
    seconds: float
    needs: tuple[str, float]  # what a node is sent before, once: a name, and bytes
    returns: float = 0.0  # bytes


@dataclass
class _Job:
    name: str
    steps: deque[dict[str, Any]]
    sent: float
    result: float
    waits_for: int = 0  # parts that are not done
    number: int = 0  # of things handed out
    ended: float = 0.0


@dataclass
class Cluster:
    """So many nodes; cores that are free, by node."""

    nodes: int
    free: list[int] = field(default_factory=list)
    known: list[dict[str, float]] = field(default_factory=list)  # what each node was sent, and when it is there
    waiting: deque[Work] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.free, self.known = [CORES] * self.nodes, [{} for _ in range(self.nodes)]

    def node_for(self, work: Work) -> int:
        """One that has what is needed, if any is free, else the one with most free cores; -1: none."""
        there = [node for node in range(self.nodes) if self.free[node]]
        return max(there, key=lambda node: (work.needs[0] in self.known[node], self.free[node]), default=-1)


def simulated(jobs: Sequence[dict[str, Any]], nodes: int) -> tuple[float, list[_Job]]:
    """Seconds until all jobs are done, and the jobs, with when each was."""
    cluster = Cluster(nodes)
    all_jobs = [_Job(one["name"], deque(one["steps"]), one["sent"], one["result"]) for one in jobs]
    for job in all_jobs:
        _go_on(job, cluster)
    now, running = 0.0, list[tuple[float, int, int, Work]]()
    n_begun = 0
    while cluster.waiting or running:
        while cluster.waiting and (node := cluster.node_for(cluster.waiting[0])) >= 0:
            work = cluster.waiting.popleft()
            cluster.free[node] -= 1
            there = cluster.known[node].setdefault(work.needs[0], now + work.needs[1] / BANDWIDTH)
            ends = max(now, there) + OVERHEAD + work.seconds + work.returns / BANDWIDTH
            n_begun += 1
            heapq.heappush(running, (ends, n_begun, node, work))
        now, _, node, work = heapq.heappop(running)
        cluster.free[node] += 1
        work.job.waits_for -= 1
        if work.job.waits_for == 0:
            work.job.ended = now
            _go_on(work.job, cluster)
    return now, all_jobs


def _go_on(job: _Job, cluster: Cluster) -> None:
    """The next step of a job is ready: a job that had begun is in front of those that have not."""
    if not job.steps:
        return
    begun, step = job.number > 0, job.steps.popleft()
    job.number += 1
    if "alone" in step:
        works = [Work(job, step["alone"], ("data", job.sent), 0.0 if job.steps else job.result)]
    else:
        parts = _parts(step["spread"], cluster.nodes * CORES)
        needs = (f"{job.name} {job.number}", step["sent"])
        works = [Work(job, seconds, needs, step["results"] / len(parts)) for seconds in parts]
    job.waits_for = len(works)
    if begun:
        cluster.waiting.extendleft(reversed(works))
    else:
        cluster.waiting.extend(works)


def _parts(seconds: Sequence[float], cores: int) -> list[float]:
    """As `Others` makes them: of one part if little is to do."""
    total = sum(seconds)
    if total < WORTH or len(seconds) < 2:
        return [total]
    n = max(2, min(len(seconds), PARTS * cores, int(total / LEAST)))
    edges = [len(seconds) * i // n for i in range(n + 1)]
    return [sum(seconds[first:last]) for first, last in pairwise(edges)]


def row(measured: dict[str, Any], nodes: int) -> dict[str, Any]:
    seconds, jobs = simulated(measured["jobs"], nodes)
    last = max(jobs, key=lambda job: job.ended)
    alone = {one["name"]: sum(step.get("alone", 0.0) for step in one["steps"]) for one in measured["jobs"]}
    longest = max(alone, key=lambda name: alone[name])
    return {
        "nodes": nodes,
        "seconds": round(measured["before"] + seconds + measured["after"], 1),
        "jobs": round(seconds, 1),
        "last": last.name,
        "longest": longest,  # of what one core does alone
        "longest_seconds": round(alone[longest], 1),
    }


def main() -> None:
    plain_parser(__doc__).parse_args()
    corpora = []
    for measured in read_results("cluster-tasks-*"):
        rows = [row(measured, nodes) for nodes in NODES]
        for one in rows:
            one["times"] = round(rows[0]["seconds"] / one["seconds"], 2)
            print(measured["corpus"], one, flush=True)
        about = {name: measured[name] for name in ("corpus", "experts", "before", "after")}
        corpora.append({**about, "rows": rows})
    write_result("cluster-simulated", {"cores": CORES, "bandwidth": BANDWIDTH, "corpora": corpora}, COMMAND)


if __name__ == "__main__":
    main()
