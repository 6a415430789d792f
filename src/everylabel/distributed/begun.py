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
    """An actor, one for all files of a pass. A file is over when its row has come, not when somebody is done with it:
    who is stopped in between gives none."""

    def __init__(self, files: Sequence[Shard]) -> None:
        self._new = set(files)
        self._begun: Counter[Shard] = Counter()
        self._at_work: dict[Shard, tuple[str, float]] = {}  # its node, and when it was begun
        self._helped: dict[Shard, float] = {}  # when it was begun again elsewhere, last
        self._seconds: list[float] = []
        self._last = time.monotonic()  # when a file was begun or over

    def begin(self, file: Shard, node: str) -> int:
        """How often it was begun, but for help."""
        self._new.discard(file)
        self._begun[file] += 1
        self._last = time.monotonic()
        self._at_work[file] = node, self._last
        return self._begun[file]

    def end(self, file: Shard) -> None:
        self._new.discard(file)
        self._last = time.monotonic()
        if file in self._at_work:
            self._seconds.append(self._last - self._at_work.pop(file)[1])

    def slow(self, node: str) -> Shard | None:
        """A file to begin again on this node; None: there is none as yet. Files are given out before help is asked for:
        one that was not begun for so long was given to somebody who is stuck."""
        if not self._seconds:
            return None
        long, now = max(LEAST, TIMES * median(self._seconds)), time.monotonic()
        since = {file: begun for file, (where, begun) in self._at_work.items() if where != node}
        since |= dict.fromkeys(self._new, self._last)
        for file, begun in since.items():
            if now - max(begun, self._helped.get(file, begun)) > long:
                self._helped[file] = now
                return file
        return None
