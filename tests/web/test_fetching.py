"""Fetching an address: nothing within is reached, by whatever trick; sizes, times and redirects have bounds.

The internet is a stand-in on this machine: names are looked up in a table, and public addresses lead to its port.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import Serve

from everylabel.web.fetching import Address, Fetcher, checked, is_public
from everylabel.web.problems import Problem

PUBLIC, OTHER = "93.184.216.34", "2606:2800:220:1::1"
PAGE = b"<html><head><title>A page</title></head><body><p>A lifeboat and a wreck.</p></body></html>"


class Site(BaseHTTPRequestHandler):
    """Does what the path says."""

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Host"]))  # type: ignore[attr-defined]
        kind, _, about = self.path[1:].partition("/")
        if kind == "to":
            self.send_response(302)
            self.send_header("Location", about)
            self.end_headers()
        elif kind == "slow":
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self._drip(b"a word ", about)
        elif kind == "headers":
            self._drip(b"HTTP/1.1 200 OK\r\nX: ", about)
        else:
            body = {"huge": b"x" * 300_000, "endless": b"x" * 300_000}.get(kind, PAGE)
            self.send_response(int(about) if kind == "status" else 200)
            self.send_header("Content-Type", about if kind == "type" else "text/html; charset=utf-8")
            if kind == "packed":
                self.send_header("Content-Encoding", "gzip")
            if kind != "endless":
                self.send_header("Content-Length", str(len(body) + (50 if kind == "short" else 0)))
            self.end_headers()
            self.wfile.write(body)

    def _drip(self, part: bytes, seconds: str) -> None:
        until = time.monotonic() + float(seconds)
        while time.monotonic() < until:
            try:
                self.wfile.write(part)
            except OSError:
                return
            time.sleep(0.02)

    def log_message(self, *_: Any) -> None:
        return


class Internet:
    """`names`: what a name is, at each asking the next of its answers."""

    def __init__(self, port: int) -> None:
        self.port, self.connected = port, list[str]()
        self.names: dict[str, list[list[str]]] = {"public.example": [[PUBLIC]]}
        self.asked: list[tuple[str, str]] = []

    def resolve(self, host: str, port: int) -> list[Address]:
        if host not in self.names:
            return [one[4] for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        answers = self.names[host]
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(one, port) for one in found]

    def connect(self, address: Address, seconds: float) -> socket.socket:
        self.connected.append(address[0])
        return socket.create_connection(("127.0.0.1", self.port), seconds)

    def fetcher(self, seconds: float = 5.0, most_bytes: int = 100_000, **more: Any) -> Fetcher:
        return Fetcher(seconds, most_bytes, self.resolve, self.connect, **more)


Start = Callable[..., Internet]


@pytest.fixture
def start() -> Iterator[Start]:
    servers = []

    def started(tls: ssl.SSLContext | None = None) -> Internet:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
        server.daemon_threads = True
        server.asked = []  # type: ignore[attr-defined]
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        servers.append(server)
        found = Internet(server.server_address[1])
        found.asked = server.asked  # type: ignore[attr-defined]
        return found

    yield started
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def internet(start: Start) -> Internet:
    return start()


def refusal(fetcher: Fetcher, url: str) -> Problem:
    with pytest.raises(Problem) as found:
        fetcher.fetch(url)
    return found.value


def test_a_page_is_fetched(internet: Internet) -> None:
    found = internet.fetcher().fetch("http://public.example/a b?q=ä".replace(" ", "%20"))
    assert found == ("fetched.html", PAGE)
    assert internet.asked == [("/a%20b?q=%C3%A4", "public.example")]
    assert internet.connected == [PUBLIC]


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.8.9.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
        ),
        *("192.0.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1"),
        *("255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1"),
        *("64:ff9b:1::1", "2002:7f00:1::", "2001:0:7f00:1::", "2001:db8::1", "fc00::1", "fd12::1", "fe80::1"),
        *("fe80::1%lo", "fec0::1", "ff02::1", "100::1", "5f00::1", "not an address", ""),
    ],
)
def test_what_is_not_public_is_not_reached(internet: Internet, address: str) -> None:
    assert not is_public(address)
    internet.names["inner.example"] = [[address]]
    assert "not public" in refusal(internet.fetcher(), "http://inner.example/").detail
    internet.names["inner.example"] = [[PUBLIC, address]]  # one of several
    assert "not public" in refusal(internet.fetcher(), "http://inner.example/").detail
    internet.names["start.example"] = [[OTHER]]
    assert "not public" in refusal(internet.fetcher(), "http://start.example/to/http://inner.example/").detail
    assert internet.connected == [OTHER]
    assert is_public(PUBLIC)
    assert is_public(OTHER)


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "017700000001", "127.1", "0x7f.1", "127.0.0.1.", "0"),
        *("[::1]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:ffff:7f00:1]", "localhost", "LOCALHOST", "localhost."),
        *("3627734734", "010.8.8.8", "１２７.0.0.1"),  # noqa: RUF001
    ],
)
def test_numbers_and_names_of_this_machine_are_not_reached(internet: Internet, host: str) -> None:
    assert refusal(internet.fetcher(), f"http://{host}/").status == 400
    assert refusal(internet.fetcher(), f"http://public.example/to/http://{host}/").status == 400
    assert internet.connected == [PUBLIC]


def test_a_name_that_changes_leads_nowhere_else(internet: Internet) -> None:
    """It is asked for once, and the connection goes to what was looked at."""
    internet.names["changing.example"] = [[PUBLIC], ["127.0.0.1"]]
    assert internet.fetcher().fetch("http://changing.example/").data == PAGE
    assert internet.connected == [PUBLIC]
    internet.names["changing.example"] = [[PUBLIC], ["127.0.0.1"]]
    refusal(internet.fetcher(), "http://changing.example/to/http://changing.example/")
    assert internet.connected == [PUBLIC, PUBLIC]


@pytest.mark.parametrize(
    "url",
    [
        *(
            "ftp://public.example/",
            "file:///etc/passwd",
            "gopher://public.example/",
            "//public.example/",
            "public.example",
        ),
        *(
            "http://",
            "http:///x",
            "data:text/plain,a",
            "javascript:alert(1)",
            "http://user@public.example/",
            "http://[",
        ),
        *("http://user:secret@public.example/", "http://public.example@127.0.0.1/", "http://public.example:22/"),
        *("http://public.example:443/", "https://public.example:80/", "http://public.example:0/", "http://a:99999/"),
        *(
            "http://public.example\\@127.0.0.1/",
            "http://public.example/\r\nHost: x",
            "http://a b/",
            "http://a/\0",
            "x" * 3_000,
        ),
    ],
)
def test_other_addresses_are_refused(internet: Internet, url: str) -> None:
    assert refusal(internet.fetcher(), url).status == 400
    with suppress(Problem):  # of a redirect some are addresses beside the last one
        internet.fetcher().fetch(f"http://public.example/to/{url}")
    assert set(internet.connected) <= {PUBLIC}
    assert all(host == "public.example" for _, host in internet.asked)


def test_redirects_are_followed_some_times_and_not_out_of_tls(internet: Internet) -> None:
    assert internet.fetcher().fetch("http://public.example/to//to//page").data == PAGE
    n = len(internet.connected)
    assert "more than" in refusal(internet.fetcher(), "http://public.example" + "/to/" * 9).detail
    assert len(internet.connected) - n == 6


@pytest.mark.parametrize(("path", "status"), [("huge", 413), ("endless", 413), ("short", 400), ("packed", 400)])
def test_sizes_have_a_bound_and_must_be_true(internet: Internet, path: str, status: int) -> None:
    assert refusal(internet.fetcher(), f"http://public.example/{path}/").status == status


@pytest.mark.parametrize("path", ["slow", "headers"])
def test_a_slow_answer_is_cut_off(internet: Internet, path: str) -> None:
    started = time.monotonic()
    assert "within 0.3 s" in refusal(internet.fetcher(0.3), f"http://public.example/{path}/20").detail
    assert time.monotonic() - started < 10


def test_kinds_and_statuses(internet: Internet) -> None:
    fetch = internet.fetcher().fetch
    assert fetch("http://public.example/type/application/pdf").name == "fetched.pdf"
    assert fetch("http://public.example/type/text/plain").name == "fetched.txt"
    assert refusal(internet.fetcher(), "http://public.example/type/image/png").status == 415
    assert "is 404" in refusal(internet.fetcher(), "http://public.example/status/404").detail


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes the certificate")
def test_certificates_are_checked(start: Start, tmp_path: Path) -> None:
    key, own = tmp_path / "key.pem", tmp_path / "own.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=public.example"]
    command += ["-addext", "subjectAltName=DNS:public.example", "-keyout", str(key), "-out", str(own)]
    subprocess.run(command, check=True, capture_output=True)
    serving, knowing = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context(cafile=str(own))
    serving.load_cert_chain(own, key)
    internet = start(serving)
    internet.names["other.example"] = [[PUBLIC]]
    assert internet.fetcher(tls=knowing).fetch("https://public.example/").data == PAGE
    assert refusal(internet.fetcher(tls=knowing), "https://other.example/").status == 400
    assert refusal(internet.fetcher(), "https://public.example/").status == 400
    leaving = refusal(internet.fetcher(tls=knowing), "https://public.example/to/http://public.example/")
    assert "https to http" in leaving.detail


def test_the_server_fetches_only_where_it_was_told_to(serve: Serve, fitted: Path, internet: Internet) -> None:
    client = serve(fitted)
    refused = client.post("/api/url", json={"url": "http://public.example/"})
    assert refused.status_code == 403
    assert refused.json()["title"] == "Fetching not allowed"
    client = serve(fitted, allow_fetch=True)
    assert client.post("/api/url", json={"url": "http://localhost/"}).status_code == 400
    client.app.state.server.fetcher = internet.fetcher()  # type: ignore[attr-defined]
    found = client.post("/api/url", json={"url": "http://public.example/"})
    assert found.json() == {"title": "A page", "text": "A lifeboat and a wreck."}
    foreign = client.post("/api/url", json={"url": "http://public.example/"}, headers={"Origin": "http://evil.example"})
    assert foreign.status_code == 403  # no page of others has this server fetch
    assert client.post("/api/url", json={"url": "http://public.example/type/text/plain"}).status_code == 200


def test_checked_addresses_are_those_of_browsers() -> None:
    assert checked("https://public.example:443/a").hostname == "public.example"
    assert checked(f"http://{PUBLIC}/").hostname == PUBLIC
