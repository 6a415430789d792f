"""A task that takes more memory than its node has: tried again a few times, then one clear error."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.distributed.conftest import node

from everylabel.distributed.cluster import OF_MEMORY, connected
from everylabel.distributed.errors import plain, said_where
from everylabel.distributed.executor import Needs, OnRay
from everylabel.errors import ClusterError

pytestmark = [pytest.mark.timeout(300), pytest.mark.slow]


class Job(NamedTuple):
    label: str


def working(_job: Job, seconds: float = 5.0) -> str | None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    return os.environ.get(OF_MEMORY[0])


@pytest.fixture
def full() -> Iterator[Any]:
    """A node that takes everything for too much."""
    from ray.cluster_utils import Cluster

    settings = {"RAY_memory_usage_threshold": "0.001", "RAY_memory_monitor_refresh_ms": "100"}
    found = Cluster(initialize_head=True, head_node_args=node() | {"env_vars": settings})
    yield found
    found.shutdown()


def test_it_is_tried_again_a_few_times(full: Any) -> None:
    with connected(full.address), pytest.raises(ClusterError, match=r"large: the memory of a node was not enough"):
        list(OnRay(lambda _job, _given: Needs(1), None).map(working, [Job("large")]))


def test_tasks_of_tasks_are_bounded_too(alone: Any) -> None:
    with connected(alone.address):
        assert list(OnRay(lambda _job, _given: Needs(1), None).map(working, [Job("small")])) == ["3"]


def test_what_ray_says_is_one_line() -> None:
    from ray.exceptions import OutOfDiskError, OutOfMemoryError, TaskUnschedulableError, WorkerCrashedError

    said = {
        OutOfMemoryError("Memory on the node was 7.9GB\nand more"): "memory of a node was not enough",
        OutOfDiskError("no room\nin /tmp"): "has no room on a node (no room in /tmp",
        WorkerCrashedError(): "a worker or a node was lost",
        TaskUnschedulableError("no node has 8 GPUs"): "Ray could not do it: TaskUnschedulableError (",
    }
    for error, expected in said.items():
        found = plain(error, "svm-all")
        assert isinstance(found, ClusterError)
        assert str(found).startswith("svm-all: ")
        assert expected in str(found)
        assert "\n" not in str(found)
    with pytest.raises(ClusterError, match=r"memory was not enough: 9 GB .on node"), said_where():
        raise MemoryError("9 GB")
