"""What is at work, where and since when: who is killed each time is known by it, and who takes much longer elsewhere.

A node may be slow, or cut off, without being dead. Files that are still at work there when there is nothing else to do
are begun again elsewhere: the first result counts, and both would be the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from statistics import median

from everylabel.distributed.shards import Shard

TIMES = 3.0  # as long as the median: then it is slow
LEAST = 5.0  # seconds; nothing is slow before


class Begun:
    """An actor, one for all files of a pass."""

    def __init__(self, files: Sequence[Shard]) -> None:
        self._new = set(files)
        self._begun: Counter[Shard] = Counter()
        self._at_work: dict[Shard, tuple[str, float]] = {}  # its node, and when it was begun
        self._helped: dict[Shard, float] = {}  # when it was begun again elsewhere, last
        self._seconds: list[float] = []

    def begin(self, file: Shard, node: str) -> int:
        """How often it was begun, but for help."""
        self._new.discard(file)
        self._begun[file] += 1
        self._at_work[file] = node, time.monotonic()
        return self._begun[file]

    def end(self, file: Shard) -> None:
        if file in self._at_work:
            self._seconds.append(time.monotonic() - self._at_work.pop(file)[1])

    def slow(self, node: str) -> Shard | tuple[()] | None:
        """A file to begin again on this node; None: there is none as yet, (): nobody needs help before all have
        begun."""
        if self._new:
            return ()
        long = max(LEAST, TIMES * median(self._seconds)) if self._seconds else float("inf")
        now = time.monotonic()
        for file, (where, begun) in self._at_work.items():
            if where != node and now - max(begun, self._helped.get(file, begun)) > long:
                self._helped[file] = now
                return file
        return None
