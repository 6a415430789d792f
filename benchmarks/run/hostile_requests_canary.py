"""Beside hostile requests: ones of an honest client, whose answers may not change, and a port where nobody may ask."""

from __future__ import annotations

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from benchmarks.run.hostile_requests_server import PROJECT, STEADY
from benchmarks.run.hostile_requests_texts import FORM, JSON, Known
from benchmarks.run.hostile_requests_wire import HOME, KEYED, OPEN, Answer, Client, Sent, UnreadableError, message

TEXT = b"text=The+lifeboat+crew+rowed+out+twice+to+the+wreck+below+the+lighthouse+in+a+rising+gale."
LONGEST = 30.0  # seconds that an honest client may be asked to come back
N_WARM = 24  # requests at once, so that pools of threads and of connections to the database are as full as they get


class Canary:
    """The same question to a project that nobody changes."""

    def __init__(self, ports: dict[str, int], key: str) -> None:
        self._asked = {
            server: Sent(
                message("POST", f"/v1/projects/{STEADY}/suggest", [*headers, ("Content-Type", FORM)], TEXT),
                "POST",
                server=server,
                source="127.0.0.1",
            )
            for server, headers in ((OPEN, []), (KEYED, [("Authorization", f"Bearer {key}")]))
        }
        self._lock = threading.Lock()
        self._n, self._n_busy, self._longest, self._seconds = 0, 0, 0.0, 0.0
        self.finds: list[str] = []
        client = Client(ports)
        self._right = {server: client.exchange(asked)[0].body for server, asked in self._asked.items()}
        client.close()
        if any(not json.loads(body)["results"] for body in self._right.values()):
            raise RuntimeError("the canary has no results before anything hostile was sent")

    def check(self, client: Client) -> None:
        """Both servers answer as before the first hostile request."""
        for server, asked in self._asked.items():
            begun = time.monotonic()
            find, n_busy = self._asked_until(client, asked, self._right[server])
            seconds = time.monotonic() - begun
            with self._lock:
                self._n += 1
                self._n_busy += n_busy
                self._seconds += seconds
                self._longest = max(self._longest, seconds)
                if find:
                    self.finds.append(f"{server}: an honest request: {find}")
                    print(f"  {self.finds[-1]}", flush=True)

    def counts(self, before: dict[str, Any]) -> dict[str, Any]:
        """With those of earlier runs."""
        with self._lock:
            n = before.get("asked", 0) + self._n
            seconds = before.get("seconds", 0.0) + self._seconds
            found = {
                "asked": n,
                "right": before.get("right", 0) + self._n - len(self.finds),
                "came_back_later": before.get("came_back_later", 0) + self._n_busy,
                "seconds": round(seconds, 3),
                "longest_ms": max(before.get("longest_ms", 0.0), round(1000 * self._longest, 1)),
            }
            self._n, self._n_busy, self._longest, self._seconds = 0, 0, 0.0, 0.0
            self.finds.clear()
            return found

    def _asked_until(self, client: Client, asked: Sent, right: bytes) -> tuple[str, int]:
        until, n_busy = time.monotonic() + LONGEST, 0
        while True:
            try:
                found = client.exchange(asked)
            except (UnreadableError, OSError) as error:
                return f"{type(error).__name__}: {error}", n_busy
            if not found:
                return "no answer", n_busy
            if found[0].status != 503 or time.monotonic() > until:
                return ("" if found[0].body == right else f"status {found[0].status}: {found[0].body[:200]!r}"), n_busy
            n_busy += 1
            time.sleep(float(found[0].headers.get("retry-after", "1")))


class Sink:
    """A port of this machine that requests name, and nobody may ask at."""

    def __init__(self) -> None:
        self._socket = socket.create_server((HOME, 0))
        self.port: int = self._socket.getsockname()[1]
        self.n_asked = 0
        threading.Thread(target=self._count, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _count(self) -> None:
        with suppress(OSError):
            while True:
                self._socket.accept()[0].close()
                self.n_asked += 1


def get_json(port: int, target: str) -> dict[str, Any]:
    client = Client({OPEN: port})
    answer = client.exchange(Sent(message("GET", target), "GET", target, OPEN))[0]
    client.close()
    found: dict[str, Any] = json.loads(answer.body)
    return found


def warm_up(ports: dict[str, int], key: str, known: Known) -> None:
    """Everything once, and much of it at once: what is there afterwards is what a server needs."""
    file = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.docx"\r\n\r\nnothing\r\n--x--\r\n'
    decision = json.dumps({"text": "boats", "accepted": [known.labels[0]]}).encode()
    requests = [
        ("GET", f"/api/models/{PROJECT}", "", None),
        ("GET", f"/api/models/{PROJECT}/decisions", "", None),
        ("POST", f"/v1/projects/{PROJECT}/suggest", FORM, b"text=boats"),
        ("POST", f"/api/models/{PROJECT}/decisions", JSON, decision),
        ("POST", "/api/text", "multipart/form-data; boundary=x", file),
        ("GET", f"/api/models/{PROJECT}/labels?prefix=a", "", None),
        ("GET", "/api/jobs", "", None),
        ("POST", "/v1/detect-language", JSON, b'{"text": "boats", "languages": ["en", "de", "fi"]}'),
    ]

    def ask(server: str, method: str, target: str, kind: str, body: bytes | None) -> Answer:
        client = Client(ports)
        headers = [("Authorization", f"Bearer {key}"), ("Content-Type", kind)]
        found = client.exchange(Sent(message(method, target, headers, body), method, target, server))
        client.close()
        return found[0]

    with ThreadPoolExecutor(N_WARM) as pool:
        waiting = [pool.submit(ask, server, *one) for server in ports for one in requests * (N_WARM // 8)]
    wrong = [one.result() for one in waiting if one.result().status >= 500]
    if wrong:
        raise RuntimeError(f"it is not ready: {wrong[0]}")
