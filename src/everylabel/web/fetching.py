"""A page or file by its address, for its text: off unless an administrator says otherwise, and never from within.

Whoever has a server fetch something speaks with its voice: to the machine itself, to its neighbours, to the metadata of
a cloud. So only http and https at their own ports, no names or passwords in addresses, and only hosts all of whose
addresses are public: of IPv6 what is assigned to the internet and holds no IPv4 address. A host is looked up once, and
the connection goes to the address that was looked at: a name that is someone else a moment later (rebinding) leads
nowhere. A redirect is an address as any other, and begins anew. Size, time and redirects have bounds; no proxy of the
environment, no cookie, no packed content is taken. Which host exists behind a firewall is not told: what is not public
and what is not found have one answer.
"""

from __future__ import annotations

import http.client
import ipaddress
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

from everylabel import __version__
from everylabel.data.formats.reading import READERS
from everylabel.web.problems import Problem

PORTS = {"http": 80, "https": 443}
LONGEST = 2_000  # characters of an address
MOST_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
CHUNK = 1 << 16
SAFE = "/%:@!$&'()*+,;=~-._"  # of a path, as it is sent
KINDS = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "application/pdf": ".pdf",
    "application/epub+zip": ".epub",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
}
INTERNET = ipaddress.ip_network("2000::/3")  # all of IPv6 that is assigned to it
EMBEDDING = [ipaddress.ip_network(one) for one in ("2001::/23", "2002::/16", "2001:db8::/32", "3fff::/20")]
NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)
NOT_PUBLIC = "url: the host is not found, or has an address that is not public; only public ones are fetched"

Address = tuple[Any, ...]  # as getaddrinfo has it
Resolve = Callable[[str, int], list[Address]]
Connect = Callable[[Address, float], socket.socket]


class Fetched(NamedTuple):
    name: str  # of a file: what it is can be told by its end
    data: bytes


def look_up(host: str, port: int) -> list[Address]:
    return [one[4] for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def connected(address: Address, seconds: float) -> socket.socket:
    """To this address and no other: nothing is looked up again."""
    family = socket.AF_INET6 if ":" in str(address[0]) else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.settimeout(seconds)
        found.connect(address)
    except OSError:
        found.close()
        raise
    return found


def is_public(address: str) -> bool:
    """A unicast address of the internet, by which no other kind of address is meant."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # with a scope, too: fe80::1%eth0
        return False
    if found.version == 6 and (found not in INTERNET or any(found in one for one in EMBEDDING)):
        return False
    return found.is_global and not found.is_multicast and not found.is_reserved


class _Line:
    """A connection that is cut off when its time is over, whatever is being waited for: a handshake, a header, the rest
    of a body."""

    def __init__(self, plain: socket.socket, seconds: float) -> None:
        self.socket, self.is_late = plain, False
        self._timer = threading.Timer(seconds, self._cut_off)
        self._timer.daemon = True
        self._timer.start()

    def encrypt(self, tls: ssl.SSLContext, host: str) -> None:
        encrypted = tls.wrap_socket(self.socket, server_hostname=host, do_handshake_on_connect=False)
        self.socket = encrypted
        encrypted.do_handshake()

    def close(self) -> None:
        self._timer.cancel()
        self.socket.close()

    def _cut_off(self) -> None:
        self.is_late = True
        with suppress(OSError):  # it has ended by itself
            self.socket.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True)
class Fetcher:
    seconds: float
    most_bytes: int
    resolve: Resolve = look_up
    connect: Connect = connected
    tls: ssl.SSLContext = field(default_factory=ssl.create_default_context)

    def fetch(self, url: str) -> Fetched:
        """Seconds: for a thread. A Problem says why there is nothing."""
        until = time.monotonic() + self.seconds
        was_encrypted = False
        for _ in range(MOST_REDIRECTS + 1):
            parts = checked(url)
            if was_encrypted and parts.scheme == "http":
                raise Problem(400, "url: it leads from https to http; that is not followed")
            was_encrypted = parts.scheme == "https"
            found = self._asked(parts, until)
            if isinstance(found, Fetched):
                return found
            url = urljoin(url, found)
        raise Problem(400, f"url: it leads elsewhere more than {MOST_REDIRECTS} times; give the last address")

    def _asked(self, parts: SplitResult, until: float) -> Fetched | str:
        """What is there, or where it leads."""
        address = self._address(parts)
        left = until - time.monotonic()
        if left <= 0:
            raise self._too_slow()
        try:
            plain = self.connect(address, left)
        except OSError:
            raise Problem(400, "url: no connection could be made; try again later") from None
        line = _Line(plain, max(until - time.monotonic(), 0))
        try:
            return self._answer(parts, line)
        except (OSError, http.client.HTTPException, ValueError):
            raise Problem(400, "url: the answer cannot be read, or the connection was lost; try again later") from None
        finally:
            line.close()
            if line.is_late:  # what was cut off may look like an end
                raise self._too_slow()

    def _address(self, parts: SplitResult) -> Address:
        host = str(parts.hostname)
        try:
            found = self.resolve(host, PORTS[parts.scheme])
        except (OSError, UnicodeError):
            found = []
        if not found or not all(is_public(str(one[0])) for one in found):
            raise Problem(400, NOT_PUBLIC, reason="address")
        return found[0]

    def _answer(self, parts: SplitResult, line: _Line) -> Fetched | str:
        host = str(parts.hostname)
        if parts.scheme == "https":
            line.encrypt(self.tls, host)
        connection = http.client.HTTPConnection(host, PORTS[parts.scheme])
        connection.sock = line.socket
        target, query = quote(parts.path or "/", safe=SAFE), quote(parts.query, safe=SAFE + "?")
        headers = {"Host": f"[{host}]" if ":" in host else host, "Accept": ", ".join(KINDS), "Connection": "close"}
        headers["User-Agent"] = f"everylabel/{__version__}"
        connection.request("GET", f"{target}?{query}" if query else target, headers=headers)
        with connection.getresponse() as response:
            if response.status in REDIRECTS:
                return response.getheader("Location") or "/"
            if response.status != 200:
                raise Problem(400, f"url: the answer there is {response.status}; check the address")
            if response.getheader("Content-Encoding", "identity").lower() != "identity":
                raise Problem(400, "url: the answer is packed, which was not asked for; save it and send the file")
            return Fetched(_name(parts, response), self._body(response))

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        """Piece by piece: whatever length it says, and however little comes at a time."""
        length = response.getheader("Content-Length", "")
        found = bytearray()
        while len(found) <= self.most_bytes and not (length.isdecimal() and int(length[:20]) > self.most_bytes):
            part = response.read1(CHUNK)
            if not part:
                if length.isdecimal() and len(found) < int(length[:20]):
                    raise http.client.IncompleteRead(b"")
                return bytes(found)
            found += part
        raise Problem(413, f"url: there are more than {self.most_bytes:,} bytes; save it and send a part of it")

    def _too_slow(self) -> Problem:
        return Problem(400, f"url: it has not come within {self.seconds:g} s; try again later")


def checked(url: str) -> SplitResult:
    """Only http and https, a host that is a name or a plain number, nothing beside it."""
    try:
        if len(url) > LONGEST or not url.isprintable() or "\\" in url or " " in url:
            raise ValueError
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise Problem(400, f"url: expected an address of at most {LONGEST:,} characters, as browsers show it") from None
    if parts.scheme not in PORTS or not host:
        raise Problem(400, "url: expected an address that begins with http:// or https://")
    if "@" in parts.netloc:
        raise Problem(400, "url: has a name or password in it; leave it out")
    if port not in (None, PORTS[parts.scheme]):
        raise Problem(400, f"url: port {port} is not fetched from; only 80 by http, and 443 by https")
    if NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) and not _is_plain(host):
        raise Problem(400, NOT_PUBLIC, reason="address")
    return parts


def _is_plain(host: str) -> bool:
    """An IPv4 address as everybody writes it: neither one number, nor octal, nor short."""
    try:
        return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False


def _name(parts: SplitResult, response: http.client.HTTPResponse) -> str:
    kind = response.getheader("Content-Type", "").partition(";")[0].strip().lower()
    own = unquote(parts.path).rpartition("/")[2]
    suffix = f".{own.rpartition('.')[2].lower()}" if "." in own else ""
    if kind in ("", "application/octet-stream") and suffix in (*READERS, *KINDS.values()):
        return own
    if kind not in KINDS:
        raise Problem(415, f"url: what is there is {kind[:80]!r}, which is not read; there are: {', '.join(KINDS)}")
    return f"fetched{suffix if kind == 'text/plain' and suffix == '.md' else KINDS[kind]}"
