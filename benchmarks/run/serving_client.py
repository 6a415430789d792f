"""Many clients of a server in one cheap process: python -m benchmarks.run.serving_client SPEC

One thread waits for the sockets of all clients. Requests are made before the clock starts, answers are read to their
end and no further, so that on a small machine the client takes little from the server it measures; what it took is in
its result. Prints JSON. SPEC is a file, JSON:

    port, clients, requests: file of JSON lines {path, type, body}; answers: file that gets the answers, in their order
    seconds: at most this long; again: the requests over and over, until then, or until stdin is closed
"""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple, TextIO

HOST = "127.0.0.1"
LONGEST = 60.0  # seconds that an answer may take
_RECEIVED = 1 << 18


class Request(NamedTuple):
    path: str
    type: str
    body: str

    def encoded(self) -> bytes:
        body = self.body.encode()
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Type: {self.type}\r\nContent-Length: {len(body)}\r\n"
        )
        return f"{head}Accept: application/json\r\n\r\n".encode() + body


class Answer(NamedTuple):
    request: int  # its number
    status: int  # 0: the connection was lost, or nothing came
    wait: float  # seconds
    body: str


def is_complete(received: bytes | bytearray) -> bool:
    """Has all of an answer come? By its length, or the empty chunk at its end."""
    head, end, body = received.partition(b"\r\n\r\n")
    if not end:
        return False
    names = head.lower()
    if b"content-length:" in names:
        length = names.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0]
        return len(body) >= int(length)
    return body.endswith(b"0\r\n\r\n") if b"chunked" in names else status_of(received) in (204, 304)


def status_of(received: bytes | bytearray) -> int:
    return int(received[9:12]) if received[:5] == b"HTTP/" else 0


def text_of(received: bytes | bytearray) -> str:
    head, _, body = received.partition(b"\r\n\r\n")
    if b"chunked" not in head.lower():
        return bytes(body).decode()
    parts = []
    while body:
        size, _, body = body.partition(b"\r\n")
        n = int(size.split(b";")[0], 16)
        parts.append(bytes(body[:n]))
        body = body[n + 2 :]
    return b"".join(parts).decode()


class Client:
    """One that asks, waits for the answer, and asks again; it connects anew when it has to."""

    def __init__(self, port: int) -> None:
        self._port, self._socket = port, socket.create_connection((HOST, port), LONGEST)
        self.request, self.sent, self._is_lost = -1, 0.0, False
        self._received = bytearray()

    def fileno(self) -> int:
        return self._socket.fileno()

    def ask(self, number: int, request: bytes) -> None:
        self.request, self.sent = number, time.perf_counter()
        self._received = bytearray()
        self._socket.sendall(request)

    def hear(self) -> Answer | None:
        """The answer, if all of it is there."""
        try:
            part = self._socket.recv(_RECEIVED)
        except OSError:
            part = b""
        self._received += part
        if part and not is_complete(self._received):
            return None
        wait = time.perf_counter() - self.sent
        if not part:
            self._is_lost = True
            return Answer(self.request, 0, wait, "")
        return Answer(self.request, status_of(self._received), wait, text_of(self._received))

    @property
    def is_over(self) -> bool:
        """The server has closed the connection, or is about to."""
        return self._is_lost or b"\r\nconnection: close" in self._received.partition(b"\r\n\r\n")[0].lower()

    def close(self) -> None:
        self._socket.close()


def driven(
    port: int, requests: Sequence[bytes], n_clients: int, seconds: float, *, again: bool = False, stop: int = -1
) -> Iterator[Answer]:
    """The answers as they come. `stop`: a file number; once it can be read, nothing more is asked."""
    todo: Iterator[tuple[int, bytes]] = cycle(enumerate(requests)) if again else iter(enumerate(requests))
    poll, clients = select.epoll(), dict[int, Client]()
    until = time.perf_counter() + seconds
    if stop >= 0:
        poll.register(stop, select.EPOLLIN | select.EPOLLHUP)

    def next_of(client: Client | None) -> None:
        following = next(todo, None) if time.perf_counter() < until else None
        if client is not None and (following is None or client.is_over):
            del clients[client.fileno()]
            poll.unregister(client)
            client.close()
            client = None
        if following is None:
            return
        if client is None:
            client = Client(port)
            clients[client.fileno()] = client
            poll.register(client, select.EPOLLIN)
        client.ask(*following)

    for _ in range(n_clients):
        next_of(None)
    while clients:
        ready = poll.poll(LONGEST)
        if not ready:
            raise SystemExit(f"no answer within {LONGEST:g} seconds")
        for number, _ in ready:
            if number == stop:
                until = 0.0
                poll.unregister(stop)
                continue
            client = clients[number]
            if (answer := client.hear()) is not None:
                yield answer
                next_of(client)
    poll.close()


def run(spec: dict[str, Any], out: TextIO) -> dict[str, Any]:
    lines = Path(spec["requests"]).read_text(encoding="utf-8").splitlines()
    requests = [Request(**json.loads(line)).encoded() for line in lines]
    again = spec.get("again", False)
    waits, statuses = [], dict[str, int]()
    own, begun = time.process_time(), time.perf_counter()
    stop = sys.stdin.fileno() if again else -1
    for one in driven(spec["port"], requests, spec["clients"], spec["seconds"], again=again, stop=stop):
        waits.append(round(one.wait, 6))
        statuses[str(one.status)] = statuses.get(str(one.status), 0) + 1
        out.write(json.dumps(one) + "\n")
    seconds = time.perf_counter() - begun
    return {
        "answers": len(waits),
        "seconds": round(seconds, 3),
        "statuses": statuses,
        "client_cpu": round((time.process_time() - own) / seconds, 3),  # of one core
        "waits": waits,
    }


class Driven:
    """Clients in a process of their own. `result()` waits for it; those that ask again are told to end."""

    def __init__(
        self, port: int, requests: Sequence[Request], folder: Path, *, clients: int, seconds: float, again: bool = False
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._answers = folder / "answers.jsonl"
        asked, spec = folder / "requests.jsonl", folder / "spec.json"
        asked.write_text("".join(json.dumps(one._asdict()) + "\n" for one in requests), encoding="utf-8")
        about = {"port": port, "clients": clients, "seconds": seconds, "again": again}
        spec.write_text(json.dumps(about | {"requests": str(asked), "answers": str(self._answers)}), encoding="utf-8")
        command = [sys.executable, "-m", "benchmarks.run.serving_client", str(spec)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def result(self) -> dict[str, Any]:
        output, _ = self._process.communicate()  # closes its stdin
        if self._process.returncode:
            raise SystemExit(f"the clients ended with {self._process.returncode}; their error is above")
        found: dict[str, Any] = json.loads(output.splitlines()[-1])
        return found

    def answers(self) -> Iterator[Answer]:
        with self._answers.open(encoding="utf-8") as lines:
            for line in lines:
                yield Answer(*json.loads(line))


def main() -> None:
    spec = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with Path(spec["answers"]).open("w", encoding="utf-8") as out:
        found = run(spec, out)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
