"""Documents of many requests, ranked together: one batch at a time, by all cores, while the next one collects.

A batch of 32 documents takes far less than 32 batches of one, and a second batch beside the first would have to share
its cores. So there is one thread that ranks, and what is compiled uses the cores (everylabel.parallel): together never
more threads than cores. What waits is taken as it is; a single client never waits for company. Only where the batch
before had several requests, whose senders are about to ask again, is a moment given to them: `PATIENCE`, at most a part
of what the last batch took. A request is never divided, so that one model answers all of it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from everylabel.web.metrics import Metrics
from everylabel.web.problems import Problem, busy

D = TypeVar("D")
R = TypeVar("R")
MOST_TOGETHER = 64  # documents of a batch: more are hardly faster, and make others wait
MOST_CHARACTERS = 2_000_000  # of a batch
PATIENCE = 0.004  # seconds
PATIENT_SHARE = 0.1  # of the time that the last batch took
IDLE = 1.0  # seconds after which nobody is about to ask again


@dataclass(eq=False)
class _Request:
    key: Hashable  # requests with the same key are ranked by one call
    work: Callable[[list[Any]], Sequence[Any]]
    documents: Sequence[Any]
    characters: int
    came: float = field(default_factory=time.monotonic)
    results: Future[Sequence[Any]] = field(default_factory=Future)


class Batches:
    """`most_waiting` documents wait at most; what comes beyond is sent away with 503."""

    def __init__(self, metrics: Metrics, *, most_waiting: int, seconds: float) -> None:
        self._metrics, self._most_waiting, self._seconds = metrics, most_waiting, seconds
        self._waiting: deque[_Request] = deque()
        self._n_waiting = 0  # documents
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._last_requests, self._last_seconds = 0, 0.0
        self._seconds_a_document = 0.01

    async def results(
        self, key: Hashable, work: Callable[[list[D]], Sequence[R]], documents: Sequence[D], characters: int
    ) -> Sequence[R]:
        """`work(documents)`, one result a document, possibly together with other requests of the same key."""
        if not documents:
            return []
        request = _Request(key, work, documents, characters)
        self._enter(request)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(request.results), self._seconds)
        except TimeoutError:  # whoever gives up is passed over
            detail = f"no answer within {self._seconds:g} s: too much to do; ask again later, or with less text"
            raise busy(detail, self._estimate()) from None

    def close(self) -> None:
        """What waits is still ranked."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _enter(self, request: _Request) -> None:
        n = len(request.documents)
        with self._changed:
            if self._closed:
                raise busy("the server is stopping; ask again soon", 5)
            if self._n_waiting and self._n_waiting + n > self._most_waiting:
                raise busy(f"{self._n_waiting:,} documents are waiting already; ask again later", self._estimate())
            self._waiting.append(request)
            self._count(n)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="everylabel-ranking", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _work(self) -> None:
        while batch := self._next():
            started = time.monotonic()
            for request in batch:
                self._metrics.waited(started - request.came)
            documents = [document for request in batch for document in request.documents]
            try:
                found = list(batch[0].work(documents))
                if len(found) != len(documents):
                    raise RuntimeError(f"{len(found)} results for {len(documents)} documents")
            except BaseException as error:
                self._failed(batch, error)
            else:
                _deliver(batch, found)
                self._measure(batch, len(documents), time.monotonic() - started)
            del batch, documents  # an idle server keeps no text

    def _next(self) -> list[_Request]:
        """The oldest request, and others that are asked alike; none when all is done and the server stops."""
        with self._changed:
            while True:
                while not self._waiting:
                    if self._closed:
                        return []
                    if not self._changed.wait(IDLE):
                        self._last_requests = 0  # nobody is about to ask again
                self._be_patient()
                if batch := self._take():
                    return batch

    def _be_patient(self) -> None:
        until = time.monotonic() + min(PATIENCE, PATIENT_SHARE * self._last_seconds)
        while len(self._waiting) < self._last_requests and not self._closed:
            if (left := until - time.monotonic()) <= 0 or not self._changed.wait(left):
                return

    def _take(self) -> list[_Request]:
        batch: list[_Request] = []
        others: list[_Request] = []
        n_documents = characters = 0
        while self._waiting:
            request = self._waiting.popleft()
            n, size = n_documents + len(request.documents), characters + request.characters
            if batch and (request.key != batch[0].key or n > MOST_TOGETHER or size > MOST_CHARACTERS):
                others.append(request)
                continue
            self._count(-len(request.documents))
            if request.results.set_running_or_notify_cancel():  # else its sender has given up
                batch.append(request)
                n_documents, characters = n, size
        self._waiting.extend(others)
        return batch

    def _failed(self, batch: list[_Request], error: BaseException) -> None:
        """Of a batch of several each is tried alone: one text that cannot be ranked is not the others' fault."""
        if len(batch) == 1 or isinstance(error, Problem):
            for request in batch:
                request.results.set_exception(error)
            return
        for request in batch:
            try:
                request.results.set_result(list(request.work(list(request.documents))))
            except BaseException as own:
                request.results.set_exception(own)

    def _measure(self, batch: list[_Request], n_documents: int, seconds: float) -> None:
        self._metrics.ranked(n_documents, seconds)
        self._last_requests, self._last_seconds = len(batch), seconds
        if n_documents:
            self._seconds_a_document += 0.2 * (seconds / n_documents - self._seconds_a_document)

    def _estimate(self) -> float:
        """Seconds until what waits is done."""
        return self._n_waiting * self._seconds_a_document

    def _count(self, n: int) -> None:
        self._n_waiting += n
        self._metrics.waiting(self._n_waiting)


def _deliver(batch: list[_Request], found: list[Any]) -> None:
    at = 0
    for request in batch:
        request.results.set_result(found[at : at + len(request.documents)])
        at += len(request.documents)
