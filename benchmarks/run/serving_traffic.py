"""Traffic of threads against a server that may die, stop or refuse: what was acknowledged is written down here first.

A ledger has every decision that the server has acknowledged, by its key; afterwards the database must have each of them
once, as it was sent. A decision that was sent and not acknowledged is sent again with the same key, as a careful client
does. Tagging is counted by what came of it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from typing import Any

from benchmarks.run.serving_process import HOST, Reply, ask_by
from everylabel.data import Dataset
from everylabel.feedback.decisions import Decision
from everylabel.feedback.store import DecisionStore

PAUSE = 0.02  # seconds between two requests of a thread
LEARN = 0.3  # seconds between two wishes to learn
SECONDS = 30.0  # that an answer may take
Body = dict[str, Any]


@dataclass
class Ledger:
    """Decisions that were acknowledged; those that were not may be there, too, but none twice."""

    acknowledged: dict[str, Body] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)

    def note(self, sent: Body, answered: Body) -> None:
        self.ids[sent["key"]] = answered["id"]
        self.acknowledged[sent["key"]] = sent

    def check(self, store: DecisionStore, project: str) -> Counter[str]:
        """What is wrong, and how often: nothing, if all is well."""
        found: dict[str, Decision] = {}
        wrong: Counter[str] = Counter()
        for one in store.every(project, include_undone=True):
            wrong["lost: stored twice"] += one.key in found
            found[one.key] = one
        for key, sent in dict(self.acknowledged).items():
            there = found.get(key)
            if there is None:
                wrong["lost: an acknowledged decision"] += 1
            elif any(_plain(getattr(there, name)) != value for name, value in sent.items()):
                wrong["lost: a decision is another"] += 1
            elif there.id != self.ids[key]:
                wrong["lost: a decision has another number"] += 1
        return +wrong


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


class Traffic:
    """Threads that tag and decide, from `start` to `stop`. `port` may change meanwhile."""

    def __init__(self, project: str, data: Dataset, *, taggers: int = 2, deciders: int = 2, learners: int = 1) -> None:
        self.port, self.project, self.ledger = 0, project, Ledger()
        self.counts: Counter[str] = Counter()
        self.said: Counter[str] = Counter()  # sentences of refusals
        self._bodies, self._numbers = decision_bodies(data), count()
        self._lock, self._stop = threading.Lock(), threading.Event()
        roles = [self._tag] * taggers + [self._decide] * deciders + [self._learn] * learners
        self._threads = [threading.Thread(target=self._work, args=(role,), daemon=True) for role in roles]

    def start(self, port: int) -> None:
        self.port = port
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def taken(self) -> tuple[Counter[str], Counter[str]]:
        """What was counted and said since the last time."""
        with self._lock:
            found = self.counts, self.said
            self.counts, self.said = Counter(), Counter()
        return found

    def _work(self, role: Callable[[HTTPConnection, Body | None], Body | None]) -> None:
        """`role` asks once; what it gives back is asked again."""
        connection, again = HTTPConnection(HOST, self.port, timeout=SECONDS), None
        while not self._stop.wait(PAUSE):
            if connection.port != self.port:
                connection.close()
                connection = HTTPConnection(HOST, self.port, timeout=SECONDS)
            try:
                again = role(connection, again)
            except _NoAnswerError as without:  # the server is not there, or went while it answered
                again = without.sent
                connection.close()  # opens again by itself
                self._count("no answer")
        connection.close()

    def _tag(self, connection: HTTPConnection, _again: Body | None) -> None:
        body = self._bodies[next(self._numbers) % len(self._bodies)]
        found = _asked(connection, f"/api/models/{self.project}/tag", {"text": body["text"], "k": 5})
        is_right = found.status == 200 and len(found.body["documents"]) == 1 and found.body["documents"][0]["labels"]
        self._count("tagged" if is_right else f"not tagged: {found.status}", found)

    def _decide(self, connection: HTTPConnection, again: Body | None) -> Body | None:
        number = next(self._numbers)
        own = {"key": f"d{number}", "by": "benchmark"}
        sent = again or {**self._bodies[number % len(self._bodies)], **own}
        found = _asked(connection, f"/api/models/{self.project}/decisions", sent, again=sent)
        if found.status == 201:
            with self._lock:
                self.ledger.note(sent, found.body)
            self._count("decisions acknowledged")
            return None
        self._count("decisions refused: 503" if found.status == 503 else f"decisions failed: {found.status}", found)
        time.sleep(5 * PAUSE)
        return sent

    def _learn(self, connection: HTTPConnection, _again: Body | None) -> None:
        """However few decisions wait: so that models are written all the time."""
        found = _asked(connection, f"/api/models/{self.project}/learn", method="POST")
        if found.status not in (202, 503):
            self._count(f"learning failed: {found.status}", found)
        self._stop.wait(LEARN)

    def _count(self, what: str, found: Reply | None = None) -> None:
        with self._lock:
            self.counts[what] += 1
            if found is not None and found.status >= 400:
                self.said[found.said or "nothing"] += 1


class _NoAnswerError(Exception):
    def __init__(self, sent: Body | None) -> None:
        self.sent = sent  # what is to be sent again


def _asked(
    connection: HTTPConnection, path: str, body: Body | None = None, *, method: str = "", again: Body | None = None
) -> Reply:
    try:
        return ask_by(connection, path, body, method=method)
    except (OSError, HTTPException):
        raise _NoAnswerError(again) from None


def decision_bodies(data: Dataset) -> Sequence[Body]:
    """What a careful person decides about each document: its labels, and one that is wrong."""
    ids, pairs = data.labels.ids, data.required_pairs
    found = []
    for row, (text, title) in enumerate(zip(data.documents.texts, data.documents.titles, strict=True)):
        labels = [ids[label] for label in pairs[row].indices]
        wrong = next(label for label in ids if label not in labels)
        own = {"text": text, "title": title, "accepted": labels[:1], "added": labels[1:], "rejected": [wrong]}
        found += [own] if labels else []
    return found
