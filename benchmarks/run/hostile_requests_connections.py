"""Hostile first lines, headers, lengths and connections: what is not, or only just, HTTP."""

from __future__ import annotations

import random

from benchmarks.run.hostile_requests_server import PROJECT
from benchmarks.run.hostile_requests_texts import FORM, JSON, Known, sent
from benchmarks.run.hostile_requests_wire import MARKER, OPEN, Sent, Way, message

SUGGEST = f"/v1/projects/{PROJECT}/suggest"
TEXT = b"text=zq7marker+lifeboat"
HOST = b"Host: localhost\r\n"
OTHER_PROTOCOLS = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),  # TLS
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"SSH-2.0-OpenSSH_9.7\r\n",
    b"\x05\x01\x00",  # SOCKS
    b"EHLO zq7marker\r\n",
    b"*1\r\n$4\r\nPING\r\n",  # Redis
    b"\x00" * 500,
    b"\r\n\r\n\r\n",
    b"GET /\r\n\r\n",  # HTTP/0.9
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1 x\r\nHost: localhost\r\n\r\n",
    b"GET  /  HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / http/1.1\r\nHost: localhost\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
)


def paths(rng: random.Random, known: Known) -> Sent:
    """Addresses that lead up, twice as escaped, with zeros, line breaks, or without an end."""
    up = rng.choice(
        (
            "../",
            "..%2f",
            "%2e%2e/",
            "%2e%2e%2f",
            "..\\",
            "..%5c",
            "....//",
            "%252e%252e%252f",
            "..;/",
            "./",
            "//",
            "%c0%ae%c0%ae/",
        )
    )
    top = rng.choice(
        ("/static/", "/v1/", "/api/", "/", "/v1/projects/", "/api/models/", "/v1/ui/", "/api/models/sample/report/")
    )
    end = rng.choice(
        (
            "etc/passwd",
            "proc/self/environ",
            "keys.json",
            "model/manifest.json",
            "secret.txt",
            "projects",
            "",
            "openapi.json",
        )
    )
    odd = (
        "%00",
        "%0d%0aX-Injected:%20x",
        "%0a2026-01-01%20forged",
        "%ff",
        "%",
        "%zz",
        "?" * 50,
        "#x",
        ";a=b",
        "~",
        "%u0041",
        "%1b[2J",
    )
    slash = rng.choice(("/", "\\", "%2f", "%5c"))
    target = rng.choice(
        (
            f"{top}{up * rng.randrange(1, 12)}{end}",
            f"{top}{rng.choice(odd)}{end}",
            f"{top}{end}{rng.choice(odd)}",
            f"/{slash}evil.example{top}",
            f"//evil.example/v1{rng.choice(('', '/', '/projects/'))}",
            f"http://evil.example{top}{end}",
            f"{top}{'a' * rng.choice((300, 5_000, 60_000, 70_000))}",
            f"{top}{'a/' * rng.choice((300, 5_000))}",
            "".join(map(chr, rng.choices(range(33, 127), k=30))),
            f"/v1/projects/{rng.choice(odd)}/suggest",
            f"/V1/PROJECTS/{PROJECT}",
            f"/api/models/{PROJECT}/",
        )
    )
    method = rng.choice(("GET", "GET", "POST", "DELETE"))
    return sent(rng, known, method, target, way="fresh", is_http=False)


def headers(rng: random.Random, known: Known) -> Sent:
    """Long, many, twice, folded, without a name; asking for what is not offered."""
    given = rng.choice(
        (
            [("X-A", "b" * rng.choice((1_000, 60_000, 100_000, 1_000_000)))],
            [(f"X-{i}", MARKER) for i in range(rng.choice((50, 500, 3_000)))],
            [("X" * rng.choice((1_000, 70_000)), "a")],
            [("Range", "bytes=" + "0-," * 500), ("If-Range", "x")],
            [("Range", rng.choice(("bytes=0-0", "bytes=-1", "bytes=9-1", "bytes=0-99999999999999999999", "x=1")))],
            [("If-None-Match", "*"), ("If-Modified-Since", "x")],
            [("Cookie", f"a={MARKER};" * 500)],
            [("Accept", "*/*;q=" + "9" * 500), ("Accept-Language", "x-" * 500), ("Accept-Encoding", "gzip;q=-1")],
            [("X-Forwarded-For", rng.choice(("127.0.0.1", "evil", "::1," * 300))), ("X-Forwarded-Proto", "x")],
            [
                ("Connection", rng.choice(("Upgrade", "keep-alive, Upgrade", "Host", "close, close"))),
                ("Upgrade", rng.choice(("websocket", "h2c", "x"))),
            ],
            [
                ("Sec-WebSocket-Key", "eA=="),
                ("Upgrade", "websocket"),
                ("Connection", "Upgrade"),
                ("Sec-WebSocket-Version", "13"),
            ],
            [("Expect", rng.choice(("100-continue", "200-ok", "x")))],
            [("X-A", "a\r\n b"), ("X-B", "\t")],
            [("X-A", "a\0b")],
            [("X A", "b")],
            [("", "b")],
            [("X-A ", "b"), ("Content-Length ", "5")],
            [("Host", "evil.example")],
            [("Content-Disposition", MARKER), ("Content-Location", "/x"), ("TE", "trailers"), ("Trailer", "x")],
            [("X-A", "\x80\xff" * 50)],
            [("X-Request-ID", f"{MARKER}\r\nX-Injected: x")],
        )
    )
    target = rng.choice(("/livez", "/static/page.js", "/", "/api/models", "/v1/projects"))
    return sent(rng, known, "GET", target, given, way="fresh", is_http=False)


def not_http(rng: random.Random, known: Known) -> Sent:  # noqa: ARG001
    """Other protocols, first lines that are none, single bytes changed."""
    data = rng.choice(OTHER_PROTOCOLS)
    if rng.random() < 0.5:
        found = bytearray(message("POST", SUGGEST, [("Content-Type", FORM)], TEXT))
        for _ in range(rng.randrange(1, 4)):
            found[rng.randrange(len(found))] = rng.randrange(256)
        data = bytes(found)
    return Sent(data, "POST", "", OPEN, way="half-closed", is_http=False)


def lengths(rng: random.Random, known: Known) -> Sent:  # noqa: ARG001
    """Content-Length and chunks that do not agree with each other or with what comes: the tricks of smugglers."""
    hidden = b"GET /api/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
    given = rng.choice(
        (
            (b"Content-Length: -1\r\n", TEXT),
            (b"Content-Length: +5\r\n", TEXT),
            (b"Content-Length: 0x5\r\n", TEXT),
            (b"Content-Length: 5, 5\r\n", TEXT),
            (b"Content-Length: 5\r\nContent-Length: 6\r\n", TEXT),
            (b"Content-Length: " + b"9" * rng.choice((19, 20, 30, 5_000)) + b"\r\n", TEXT),
            (b"Content-Length: 11000000\r\n", TEXT),
            (b"Content-Length: 5\r\n", TEXT + hidden),
            (b"Content-Length: 500\r\n", TEXT),
            (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + hidden),
            (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", b"0\r\n\r\n" + hidden),
            (b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
            (b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
            (b"Transfer-Encoding:\x0bchunked\r\n", b"0\r\n\r\n"),
            (b"Transfer-Encoding: chunked\r\n", b"%x\r\n" % len(TEXT) + TEXT + b"\r\n0\r\n\r\n"),
            (b"Transfer-Encoding: chunked\r\n", b"ffffffffffffffff\r\n" + TEXT),
            (b"Transfer-Encoding: chunked\r\n", b"fffffffffffffffff1\r\n" + TEXT),
            (b"Transfer-Encoding: chunked\r\n", b"-5\r\n" + TEXT),
            (b"Transfer-Encoding: chunked\r\n", b"5;" + b"a" * 50_000 + b"\r\ntext=\r\n0\r\n\r\n"),
            (b"Transfer-Encoding: chunked\r\n", b"5\r\ntext=XX0\r\n\r\n"),
            (b"Transfer-Encoding: chunked\r\n", b"1\r\na\r\n" * 3_000 + b"0\r\n\r\n"),
            (b"Transfer-Encoding: chunked\r\n", b"0\r\nX-A: b\r\n" + b"X-B: c\r\n" * 500 + b"\r\n"),
        )
    )
    kind = f"Content-Type: {rng.choice((FORM, JSON))}\r\n".encode()
    data = f"POST {SUGGEST} HTTP/1.1\r\n".encode() + HOST + kind + given[0] + b"\r\n" + given[1]
    return Sent(data, "POST", SUGGEST, OPEN, way="half-closed", is_http=False)


def pipelined(rng: random.Random, known: Known) -> Sent:  # noqa: ARG001
    """Several requests before the first answer; each is answered, in their order."""
    n = rng.randrange(2, 12)
    one = message("POST", SUGGEST, [("Content-Type", FORM)], TEXT)
    two = message("GET", "/livez")
    data = b"".join(rng.choices((one, two), k=n))
    return Sent(data, "POST", SUGGEST, OPEN, frozenset({200}), n_answers=n, way="fresh")


def gone_away(rng: random.Random, known: Known) -> Sent:
    """Who asks and goes, or closes one half of the connection, in the middle of headers or body, or behind them."""
    target, kind, body = rng.choice(
        (
            (SUGGEST, FORM, TEXT * rng.choice((1, 50))),
            (f"/api/models/{PROJECT}/tag", JSON, b'{"text": "zq7marker lifeboat"}'),
            (f"/api/models/{PROJECT}/decisions/export", JSON, b""),
            (
                "/api/text",
                "multipart/form-data; boundary=x",
                b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nzq7marker\r\n--x--',
            ),
        )
    )
    method = "GET" if target.endswith("export") else "POST"
    whole = sent(rng, known, method, target, [("Content-Type", kind)], body)
    n = len(whole.data) if rng.random() < 0.4 else rng.randrange(len(whole.data))
    way: Way = "cut" if rng.random() < 0.5 else "half-closed"
    return Sent(whole.data[:n], method, target, whole.server, way=way, is_http=False)
