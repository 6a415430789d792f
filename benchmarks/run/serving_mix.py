"""Mixed traffic of a soak: everything that people and their programs ask a server for, in a random order."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import quote

from benchmarks.run.serving_corpus import Corpus
from benchmarks.run.serving_process import HOST, Reply, ask_by
from benchmarks.run.serving_traffic import SECONDS, Body, Ledger, decision_bodies

THREADS = 4
PAUSE = 0.1  # seconds, on average, between two requests of a thread
SHARES = {  # of 100 requests
    "tag": 40,
    "suggest": 15,
    "batch": 5,
    "explain": 5,
    "labels": 8,
    "label": 4,
    "reconcile": 4,
    "language": 3,
    "model": 3,
    "decisions": 2,
    "review": 2,
    "queue": 3,
    "decide": 5,
    "undo": 1,
}


class Mix:
    """Threads from `start` to `stop`; what is expected of each kind of request is its status."""

    def __init__(self, project: str, corpus: Corpus) -> None:
        self.ledger, self.total, self.failed = Ledger(), Counter[str](), Counter[str]()
        self._project, self._port, self._stop, self._lock = project, 0, threading.Event(), threading.Lock()
        self._bodies, self._ids = decision_bodies(corpus.train), corpus.train.labels.ids
        self._names = [name for name in corpus.train.labels.names if name]
        self._texts = corpus.test.documents.texts
        self._waits: dict[str, list[float]] = {}
        self._counts: Counter[str] = Counter()
        self._n_decisions = self._n_undone = 0
        self._threads = [threading.Thread(target=self._work, args=(i,), daemon=True) for i in range(THREADS)]

    def start(self, port: int) -> None:
        self._port = port
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def taken(self) -> tuple[dict[str, list[float]], Counter[str]]:
        """Waits by kind, and counts, since the last time."""
        with self._lock:
            found = self._waits, self._counts
            self._waits, self._counts = {}, Counter()
        return found

    def take_back(self) -> None:
        """The model that the project began with, which has nothing to learn: decisions so far count no more."""
        connection = HTTPConnection(HOST, self._port, timeout=SECONDS)
        decided = list(self.ledger.ids.values())
        for number in decided[self._n_undone :]:
            begun = time.perf_counter()
            found = ask_by(connection, f"/api/models/{self._project}/decisions/{number}/undo", method="POST")
            self._note("undo", 200, found, time.perf_counter() - begun)
        self._n_undone = len(decided)
        found = ask_by(connection, f"/api/models/{self._project}/versions/0", method="POST")
        self._note("back", 200, found, 0.0)
        connection.close()

    def _work(self, seed: int) -> None:
        rng, connection = random.Random(seed), HTTPConnection(HOST, self._port, timeout=SECONDS)
        kinds, shares = list(SHARES), list(SHARES.values())
        while not self._stop.wait(rng.expovariate(1 / PAUSE)):
            (kind,) = rng.choices(kinds, shares)
            begun = time.perf_counter()
            try:
                expected, found = self._asked(kind, connection, rng)
            except (OSError, HTTPException) as error:
                connection.close()  # opens again by itself
                with self._lock:
                    self.failed[f"{kind}: {type(error).__name__}"] += 1
                continue
            self._note(kind, expected, found, time.perf_counter() - begun)
        connection.close()

    def _note(self, kind: str, expected: int, found: Reply, wait: float) -> None:
        with self._lock:
            self._waits.setdefault(kind, []).append(wait)
            self._counts[kind] += 1
            self.total[kind] += 1
            if found.status != expected:
                self.failed[f"{kind}: {found.status} {found.said[:80]}"] += 1

    def _asked(self, kind: str, connection: HTTPConnection, rng: random.Random) -> tuple[int, Reply]:
        """The status that is right, and what came."""
        own, annif = f"/api/models/{self._project}", f"/v1/projects/{self._project}"
        text, name = rng.choice(self._texts), rng.choice(self._names)
        several = {"documents": [{"text": one} for one in rng.choices(self._texts, k=8)]}
        plain: dict[str, Callable[[], tuple[str, Body | None]]] = {
            "tag": lambda: (f"{own}/tag", {"text": text}),
            "suggest": lambda: (f"{annif}/suggest", {"text": text}),
            "batch": lambda: (f"{annif}/suggest-batch", several),
            "explain": lambda: (f"{own}/tag", {"text": text, "explain": True, "best": True}),
            "labels": lambda: (f"{own}/labels?prefix={quote(name[:3])}", None),
            "label": lambda: (f"{own}/label?id={quote(rng.choice(self._ids), safe='')}", None),
            "reconcile": lambda: (f"{annif}/reconcile?queries={quote(_query(name))}", None),
            "language": lambda: ("/v1/detect-language", {"text": text, "languages": ["en", "fi", "de"]}),
            "model": lambda: (own, None),
            "decisions": lambda: (f"{own}/decisions?limit=50", None),
            "review": lambda: (f"{own}/review", None),
        }
        if kind in plain:
            return 200, ask_by(connection, *plain[kind]())
        if kind == "queue":
            return 201, ask_by(connection, f"{own}/review", several)
        if kind == "undo":
            return self._undo(connection, own, rng)
        return self._decide(connection, own, rng)

    def _decide(self, connection: HTTPConnection, own: str, rng: random.Random) -> tuple[int, Reply]:
        with self._lock:
            self._n_decisions += 1
            key = f"s{self._n_decisions}"
        sent = {**rng.choice(self._bodies), "key": key}
        found = ask_by(connection, f"{own}/decisions", sent)
        if found.status == 201:
            with self._lock:
                self.ledger.note(sent, found.body)
        return 201, found

    def _undo(self, connection: HTTPConnection, own: str, rng: random.Random) -> tuple[int, Reply]:
        with self._lock:
            ids: list[Any] = list(self.ledger.ids.values())[-50:]
        if not ids:
            return 200, ask_by(connection, own)
        return 200, ask_by(connection, f"{own}/decisions/{rng.choice(ids)}/undo", method="POST")


def _query(name: str) -> str:
    return json.dumps({"q0": {"query": name, "limit": 3}})
