"""Where jobs are done: here, or on a Ray cluster; what `fit` and `compare` share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everylabel.run import Run


@contextmanager
def jobs_on(address: str | None, run: Run) -> Iterator[Run]:
    """The run to hand down; without an address it is the one that was given."""
    if address is None:
        yield run
        return
    from everylabel.distributed.cluster import connected
    from everylabel.distributed.executor import on_ray
    from everylabel.distributed.fit import NeedsOfJobs

    with connected(address) as there, on_ray(there, NeedsOfJobs, run) as on_cluster:
        yield on_cluster
