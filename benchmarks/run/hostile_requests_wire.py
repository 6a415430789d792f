"""Hostile requests on the wire: what is sent, byte by byte, and what comes back, on sockets of our own.

No HTTP library sends what we want to send. Four threads keep their connections alive; slow senders, a hundred at a
time, are one event loop.
"""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

OPEN, KEYED = "open", "keyed"  # the servers: without keys, and with
HOME = "127.0.0.1"
PATIENCE = 60.0  # seconds for an answer; the server's own bounds are shorter
PIECE = 1 << 16
MARKER = "zq7marker"  # in everything that is no address: what a log may never have
Way = Literal["usual", "fresh", "half-closed", "cut"]
Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Sent:
    """What goes down a connection, and what may come back."""

    data: bytes
    method: str = "GET"
    target: str = "/"  # as it is in the first line
    server: str = OPEN
    statuses: frozenset[int] = frozenset()  # that are right; none: those that are documented
    n_answers: int = 1
    way: Way = "usual"
    source: str = HOME  # address it comes from
    is_http: bool = True  # else a plain 400, or an end without an answer, is right, too
    may_be_cut: bool = False  # before all of it is sent


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]  # names in small letters
    body: bytes


class UnreadableError(Exception):
    """What came is no HTTP."""


class CutShortError(UnreadableError):
    """An answer that ends before it is over."""


def message(
    method: str, target: str, headers: Headers = (), body: bytes | None = None, *, host: str | None = "localhost"
) -> bytes:
    """A request; with a body, of its length. Headers go as they are, whatever is in them."""
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"Host: {host}"] if host is not None else []
    lines += [f"{name}: {value}" for name, value in headers]
    lines += [f"Content-Length: {len(body)}"] if body is not None else []
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + (body or b"")


@dataclass
class Connection:
    port: int
    source: str = HOME
    socket: socket.socket = field(init=False)
    rest: bytes = b""
    n_sent: int = 0
    is_cut: bool = False  # answered before all was sent: what came next would be taken for the rest

    def __post_init__(self) -> None:
        self.socket = socket.create_connection((HOME, self.port), PATIENCE, source_address=(self.source, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self, *, rudely: bool = False) -> None:
        if rudely:  # a reset instead of a goodbye
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Who is answered before has said enough."""
        self.n_sent += 1
        for at in range(0, len(data), PIECE):
            self.is_cut = bool(at and select.select([self.socket], [], [], 0)[0])
            if self.is_cut:
                return
            try:
                self.socket.sendall(data[at : at + PIECE])
            except ConnectionError:
                self.is_cut = True
                return

    def answer(self, method: str) -> Answer | None:
        """The next one; None: the connection ends before it."""
        while True:
            head = self._until(b"\r\n\r\n")
            if head is None:
                return None
            first, *lines = head.decode("latin-1").split("\r\n")
            version, _, status = first.partition(" ")
            if not version.startswith("HTTP/1.") or not status[:3].isdigit():
                raise UnreadableError(f"an answer that begins with {first[:80]!r}")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            if int(status[:3]) >= 200:  # else 100 Continue
                return Answer(int(status[:3]), headers, self._body(method, int(status[:3]), headers))

    def _body(self, method: str, status: int, headers: dict[str, str]) -> bytes:
        if method == "HEAD" or status in (204, 304):
            return b""
        if headers.get("transfer-encoding") == "chunked":
            return self._chunks()
        if "content-length" not in headers:
            raise UnreadableError("an answer without its length")
        found = self._exactly(int(headers["content-length"]))
        if found is None:
            raise CutShortError("an answer that is shorter than it says")
        return found

    def _chunks(self) -> bytes:
        found = b""
        while True:
            line = self._until(b"\r\n")
            chunk = self._exactly(int(line, 16) + 2) if line else None
            if chunk is None:
                raise CutShortError("an answer whose chunks end too early")
            if len(chunk) == 2:
                return found
            found += chunk[:-2]

    def _until(self, end: bytes) -> bytes | None:
        while end not in self.rest:
            if not self._more():
                return None
        found, _, self.rest = self.rest.partition(end)
        return found

    def _exactly(self, n: int) -> bytes | None:
        while len(self.rest) < n:
            if not self._more():
                return None
        found, self.rest = self.rest[:n], self.rest[n:]
        return found

    def _more(self) -> bool:
        try:
            came = self.socket.recv(PIECE)
        except ConnectionError:
            return False
        self.rest += came
        return bool(came)


class Client:
    """Of one thread: a connection to each server, from each address, that is used again."""

    def __init__(self, ports: dict[str, int]) -> None:
        self._ports = ports
        self._open: dict[tuple[str, str], Connection] = {}

    def exchange(self, sent: Sent) -> list[Answer]:
        """As many answers as came. TimeoutError, UnreadableError: what must not be."""
        if sent.way != "usual":
            connection = Connection(self._ports[sent.server], sent.source)
            try:
                return self._exchange(connection, sent)
            finally:
                connection.close(rudely=sent.way == "cut")
        place = (sent.server, sent.source)
        is_kept = place in self._open
        connection = self._open.pop(place) if is_kept else Connection(self._ports[sent.server], sent.source)
        was_used = connection.n_sent > 0
        try:
            found = self._exchange(connection, sent)
            if not found and was_used:  # it has waited too long for us, and was closed
                connection.close()
                connection = Connection(self._ports[sent.server], sent.source)
                found = self._exchange(connection, sent)
            if connection.rest:
                raise UnreadableError(f"more than was asked for: {connection.rest[:40]!r}")
        except BaseException:
            connection.close()
            raise
        if len(found) == sent.n_answers and not connection.is_cut and not _says_close(found[-1]):
            self._open[place] = connection
        else:
            connection.close()
        return found

    def close(self) -> None:
        for connection in self._open.values():
            connection.close()
        self._open.clear()

    def _exchange(self, connection: Connection, sent: Sent) -> list[Answer]:
        connection.send(sent.data)
        if sent.way == "cut":
            return []
        if sent.way == "half-closed":
            try:
                connection.socket.shutdown(socket.SHUT_WR)
            except OSError:  # it is closed already
                return []
        found: list[Answer] = []
        try:
            while len(found) < sent.n_answers and (answer := connection.answer(sent.method)) is not None:
                found.append(answer)
        except CutShortError:
            if sent.way != "half-closed":  # who has said that it is going need not be told all
                raise
        return found


def _says_close(answer: Answer) -> bool:
    return answer.headers.get("connection", "").lower() == "close"
