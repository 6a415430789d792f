"""The simulated cluster: cases that can be counted by hand, and bounds that no schedule breaks."""

from __future__ import annotations

from typing import Any

import pytest
from benchmarks.run.cluster_simulated import BANDWIDTH, CORES, OVERHEAD, simulated
from hypothesis import given
from hypothesis import strategies as st


def job(name: str, *steps: dict[str, Any], sent: float = 0.0, result: float = 0.0) -> dict[str, Any]:
    return {"name": name, "sent": sent, "result": result, "steps": list(steps)}


def test_jobs_that_are_as_many_as_cores_take_as_long_as_one() -> None:
    jobs = [job(f"{i}", {"alone": 10.0}) for i in range(2 * CORES)]
    assert simulated(jobs, 2)[0] == pytest.approx(10 + OVERHEAD)
    assert simulated(jobs, 1)[0] == pytest.approx(2 * (10 + OVERHEAD))


def test_what_is_sent_is_sent_once_to_a_node() -> None:
    jobs = [job(f"{i}", {"alone": 1.0}, sent=5 * BANDWIDTH) for i in range(2 * CORES)]
    assert simulated(jobs, 1)[0] == pytest.approx(5 + 2 * (1 + OVERHEAD))


def test_parts_of_one_job_use_all_cores() -> None:
    """Between two steps that cannot be split."""
    steps = {"alone": 2.0}, {"spread": [0.5] * 48, "sent": BANDWIDTH, "results": 0.0}, {"alone": 3.0}
    parts = 24 / (4 * CORES) + 3 * OVERHEAD + 1  # three parts a core, after what is sent
    assert simulated([job("one", *steps)], 4)[0] == pytest.approx(5 + 2 * OVERHEAD + parts)


works = st.lists(st.floats(0, 20), min_size=1, max_size=40)


@given(st.lists(st.tuples(works, st.floats(0, 5)), min_size=1, max_size=6), st.integers(1, 20))
def test_never_faster_than_all_cores_nor_slower_than_one(given: list[tuple[list[float], float]], nodes: int) -> None:
    steps = [({"alone": a}, {"spread": s, "sent": 0.0, "results": 0.0}, {"alone": a}) for s, a in given]
    jobs = [job(f"{i}", *one) for i, one in enumerate(steps)]
    total = sum(sum(s) + 2 * a for s, a in given)
    alone = max(2 * a for _, a in given)
    seconds, done = simulated(jobs, nodes)
    n_tasks = sum(2 + len(s) for s, _ in given)
    assert max(alone, total / (nodes * CORES)) <= seconds + 1e-6
    assert seconds <= total + n_tasks * OVERHEAD + 1e-6
    assert max(one.ended for one in done) == seconds
