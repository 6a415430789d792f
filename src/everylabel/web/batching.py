"""Documents of many requests, ranked together: a batch a core, while the next ones collect.

A batch of 16 documents takes far less than 16 batches of one, and a batch on each of two cores less than one batch that
both share: who is done need not wait for the other, and requests are read and answered by the core that waits for the
next ones. So there is a thread a core, each of which ranks a batch by itself (`parallel.one_core`). A request that is
alone has all cores, and nobody else is ranked meanwhile: together never more threads than cores.

What waits is taken as it is; a single client never waits for company. Only where several asked lately, who are about to
ask again, is a moment given to them: until a core's share of them is there, or none has come for `PAUSE`, at most
`PATIENCE` and a part of what the last batch took. A request is never divided, so that one model answers all of it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeVar

from everylabel.parallel import n_threads, one_core
from everylabel.web.metrics import Metrics
from everylabel.web.problems import Problem, busy

D = TypeVar("D")
R = TypeVar("R")
MOST_TOGETHER = 64  # documents of a batch: more are hardly faster, and make others wait
MOST_CHARACTERS = 2_000_000  # of a batch
PAUSE, PATIENCE = 0.003, 0.02
PATIENT_SHARE = 0.25  # of the time that the last batch took
IDLE = 1.0  # seconds after which nobody is about to ask again


@dataclass(eq=False)
class _Request:
    key: Hashable  # requests with the same key are ranked by one call
    work: Callable[[list[Any]], Sequence[Any]]
    documents: Sequence[Any]
    characters: int
    came: float = field(default_factory=time.monotonic)
    results: asyncio.Future[Sequence[Any]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def is_waited_for(self) -> bool:
        """Read beside the loop: who gives up just now is told nothing, later."""
        return not self.results.done()


class Batches:
    """`most_waiting` documents wait at most; what comes beyond is sent away with 503."""

    def __init__(self, metrics: Metrics, *, most_waiting: int, seconds: float) -> None:
        self._metrics, self._most_waiting, self._seconds = metrics, most_waiting, seconds
        self._waiting: deque[_Request] = deque()
        self._n_waiting = 0  # documents
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._n_cores = n_threads()
        self._closed = False
        self._n_working, self._n_ranked = 0, 0  # threads that rank, and the requests that they rank
        self._has_all_cores = False  # the one that ranks
        self._n_asking = 0  # clients: requests that waited or were ranked when the last batch was taken
        self._last_seconds = 0.0  # of a batch
        self._seconds_a_document = 0.01
        metrics.waiting(lambda: self._n_waiting)

    async def results(
        self, key: Hashable, work: Callable[[list[D]], Sequence[R]], documents: Sequence[D], characters: int
    ) -> Sequence[R]:
        """`work(documents)`, one result a document, possibly together with other requests of the same key."""
        if not documents:
            return []
        request = _Request(key, work, documents, characters)
        self._enter(request)
        try:
            async with asyncio.timeout(self._seconds):
                return await request.results
        except TimeoutError:  # whoever gives up is passed over
            detail = f"no answer within {self._seconds:g} s: too much to do; ask again later, or with less text"
            raise busy(detail, self._estimate()) from None

    def close(self) -> None:
        """What waits is still ranked."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            threads = list(self._threads)
        for thread in threads:
            thread.join()

    def _enter(self, request: _Request) -> None:
        n = len(request.documents)
        with self._changed:
            if self._closed:
                raise busy("the server is stopping; ask again soon", 5)
            if self._n_waiting and self._n_waiting + n > self._most_waiting:
                raise busy(f"{self._n_waiting:,} documents are waiting already; ask again later", self._estimate())
            self._waiting.append(request)
            self._n_waiting += n
            if len(self._waiting) == 1 or len(self._waiting) >= self._share:  # else nobody would take it yet
                self._changed.notify_all()
            while len(self._threads) < self._n_cores:
                name = f"everylabel-ranking-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._threads[-1].start()

    def _work(self) -> None:
        while batch := self._next():
            started = time.monotonic()
            self._metrics.waited([started - request.came for request in batch])
            with nullcontext() if self._has_all_cores else one_core():
                results = _results(batch)
            self._measure(batch, time.monotonic() - started)
            _deliver(results)  # last: whoever has an answer may ask at once, and finds the core free
            del batch, results  # an idle server keeps no text

    def _measure(self, batch: list[_Request], seconds: float) -> None:
        n_documents = sum(len(request.documents) for request in batch)
        self._metrics.ranked(n_documents, seconds)
        with self._changed:
            self._n_working -= 1
            self._n_ranked -= len(batch)
            self._has_all_cores, self._last_seconds = False, seconds
            self._seconds_a_document += 0.2 * (seconds / n_documents - self._seconds_a_document)
            self._changed.notify_all()

    def _next(self) -> list[_Request]:
        """The oldest request, and others that are asked alike; none when all is done and the server stops."""
        with self._changed:
            while True:
                while not self._waiting or self._has_all_cores:
                    if self._closed and not self._waiting:
                        return []
                    if not self._changed.wait(IDLE) and not self._n_working:
                        self._n_asking = 0  # nobody is about to ask again
                self._be_patient()
                if batch := self._take():
                    return batch

    @property
    def _share(self) -> int:
        """Of a core, of the clients that are about to ask."""
        return -(-self._n_asking // self._n_cores)

    def _be_patient(self) -> None:
        started = time.monotonic()
        longest = min(PATIENCE, PATIENT_SHARE * self._last_seconds)
        while 0 < (n := len(self._waiting)) < self._share and not self._closed and not self._has_all_cores:
            left = started + longest - time.monotonic()
            if left <= 0 or (not self._changed.wait(min(left, PAUSE)) and len(self._waiting) <= n):
                return

    def _take(self) -> list[_Request]:
        """None where another thread was faster."""
        if not self._waiting or self._has_all_cores:
            return []
        batch: list[_Request] = []
        others: list[_Request] = []
        n_documents = characters = 0
        most = max(self._share, -(-len(self._waiting) // (self._n_cores - self._n_working)))  # requests
        while self._waiting:
            request = self._waiting.popleft()
            if not request.is_waited_for:  # its sender has given up
                self._n_waiting -= len(request.documents)
                continue
            n, size = n_documents + len(request.documents), characters + request.characters
            is_full = len(batch) >= most or n > MOST_TOGETHER or size > MOST_CHARACTERS
            if batch and (is_full or request.key != batch[0].key):
                others.append(request)
                continue
            self._n_waiting -= len(request.documents)
            batch.append(request)
            n_documents, characters = n, size
        self._waiting.extend(others)
        if batch:
            self._n_asking = self._n_ranked + len(batch) + len(others)
            self._has_all_cores = self._n_asking == 1
            self._n_working += 1
            self._n_ranked += len(batch)
        return batch

    def _estimate(self) -> float:
        """Seconds until what waits is done."""
        return self._n_waiting * self._seconds_a_document


def _results(batch: list[_Request]) -> list[tuple[_Request, list[Any] | BaseException]]:
    """Of a batch that fails each request is tried alone: one text that cannot be ranked is not the others' fault."""
    documents = [document for request in batch for document in request.documents]
    try:
        found = list(batch[0].work(documents))
        if len(found) != len(documents):
            raise RuntimeError(f"{len(found)} results for {len(documents)} documents")
    except BaseException as error:
        if len(batch) == 1 or isinstance(error, Problem):
            return [(request, error) for request in batch]
        return [result for request in batch for result in _results([request])]
    ends = list(accumulate(len(request.documents) for request in batch))
    return [(request, found[end - len(request.documents) : end]) for request, end in zip(batch, ends, strict=True)]


def _deliver(results: Sequence[tuple[_Request, list[Any] | BaseException]]) -> None:
    """To the loops that wait for them: each is woken up once, not once a request."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Request, list[Any] | BaseException]]] = {}
    for request, result in results:
        by_loop.setdefault(request.results.get_loop(), []).append((request, result))
    for loop, own in by_loop.items():
        with suppress(RuntimeError):  # it was closed: nobody waits
            loop.call_soon_threadsafe(_set, own)


def _set(results: Sequence[tuple[_Request, list[Any] | BaseException]]) -> None:
    for request, result in results:
        if request.results.done():  # its sender has given up
            continue
        if isinstance(result, BaseException):
            request.results.set_exception(result)
        else:
            request.results.set_result(result)
