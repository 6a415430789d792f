"""What tasks on other machines tell of their progress, in the one display of the command; by Ray's queue."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from everylabel.distributed.cluster import on_this_node
from everylabel.run import Reporter, Run

EVERY = 0.5  # seconds between two messages about the same work
Told = tuple[Any, ...]


@dataclass
class Far:
    """The reporter of a task, sent to it: what it is told goes to the queue. Nobody waits for that."""

    queue: Any  # ray.util.queue.Queue
    prefix: str = ""
    _held: dict[object, tuple[int, float]] = field(default_factory=dict)  # not sent yet, and when something last was

    def start(self, name: str, total: int | None) -> object:
        key = uuid.uuid4().hex
        self._held[key] = (0, time.monotonic())
        self._send("start", key, f"{self.prefix}{name}", total)
        return key

    def advance(self, key: object, amount: int) -> None:
        held, sent = self._held.get(key, (0, 0.0))
        held, now = held + amount, time.monotonic()
        if now - sent >= EVERY:
            self._send("advance", key, held)
            held, sent = 0, now
        self._held[key] = (held, sent)

    def finish(self, key: object) -> None:
        held, _ = self._held.pop(key, (0, 0.0))
        if held:
            self._send("advance", key, held)
        self._send("finish", key)

    def say(self, message: str) -> None:
        self._send("say", f"{self.prefix}{message}")

    def _send(self, *told: Any) -> None:
        self.queue.actor.put_nowait.remote(told)

    def named(self, prefix: str) -> Far:
        return replace(self, prefix=prefix, _held={})


class _Display:
    """What was told, to the reporter here. `merged`: work of this name is one line, however many do it; other work is
    not shown then."""

    def __init__(self, reporter: Reporter, merged: str) -> None:
        self._reporter, self._merged = reporter, merged
        self._keys: dict[str, object] = {}
        self._one: object = None

    def tell(self, told: Told) -> None:
        kind, *about = told
        if kind == "say":
            self._reporter.say(about[0])
        elif kind == "start":
            if not self._merged:
                self._keys[about[0]] = self._reporter.start(about[1], about[2])
            elif about[1] == self._merged:
                self._one = self._one if self._one is not None else self._reporter.start(self._merged, None)
                self._keys[about[0]] = self._one
        elif about[0] in self._keys:
            if kind == "advance":
                self._reporter.advance(self._keys[about[0]], about[1])
            elif not self._merged:
                self._reporter.finish(self._keys.pop(about[0]))

    def close(self) -> None:
        """Who was killed has not finished."""
        for key in {id(key): key for key in self._keys.values()}.values():
            self._reporter.finish(key)


@contextmanager
def heard(run: Run, merged: str = "") -> Iterator[Far | None]:
    """The reporter to send to tasks while the block lasts; None where nobody listens."""
    if run.reporter is None:
        yield None
        return
    from ray.util.queue import Queue

    queue = Queue(actor_options={"num_cpus": 0, "scheduling_strategy": on_this_node()})
    display, stop = _Display(run.reporter, merged), threading.Event()
    thread = threading.Thread(target=_listen, args=(queue, display, stop), name="everylabel-progress", daemon=True)
    thread.start()
    try:
        yield Far(queue)
    finally:
        stop.set()
        thread.join()
        display.close()
        queue.shutdown(force=True)


def _listen(queue: Any, display: _Display, stop: threading.Event) -> None:
    from ray.exceptions import RayError
    from ray.util.queue import Empty

    while True:
        try:
            display.tell(queue.get(timeout=EVERY))
        except Empty:
            if stop.is_set():
                return
        except RayError:  # the cluster is gone, or the connection: who waits for results hears of it
            return
