"""Requests of those who may not: guessed keys, keys of other scopes, names (DNS rebinding) and pages of others."""

from __future__ import annotations

import base64
import random

from benchmarks.run.hostile_requests_server import HIDDEN, PRIVATE, PROJECT
from benchmarks.run.hostile_requests_texts import JSON, Known, json_requests, sent, text
from benchmarks.run.hostile_requests_wire import KEYED, MARKER, OPEN, Sent, message

READ = (
    ("GET", f"/v1/projects/{PROJECT}"),
    ("GET", "/api/models"),
    ("GET", "/metrics"),
    ("POST", f"/v1/projects/{PROJECT}/suggest"),
)
LEARN = (
    ("GET", f"/api/models/{PROJECT}/decisions"),
    ("GET", f"/api/models/{PROJECT}/decisions/export"),
    ("POST", f"/api/models/{PROJECT}/decisions"),
    ("POST", f"/v1/projects/{PROJECT}/learn"),
    ("GET", f"/api/models/{PROJECT}/review"),
    ("POST", f"/api/models/{PROJECT}/learn"),
)
ADMIN = (
    ("POST", "/api/models/reload"),
    ("POST", "/api/jobs"),
    ("GET", "/api/jobs"),
    ("POST", f"/api/models/{PROJECT}/versions/0"),
    ("DELETE", f"/api/models/{PROJECT}/label?id=archaeology"),
    ("POST", f"/api/models/{PROJECT}/labels"),
)
NEEDED = {"read": READ, "learn": LEARN, "admin": ADMIN}
OTHERS = (
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.nip.io",
    "0.0.0.0",
    "10.0.0.1",
    "[::ffff:10.0.0.1]",
    "evil",
    "localhost@evil.example",
    "",
    "a" * 3_000,
    "\xff",
)
GUESSER = "127.0.0.2"  # where guesses come from: others of this machine are not locked out by them


def guessed_keys(rng: random.Random, known: Known) -> Sent:
    """Brute force: 401, and soon 429."""
    right = known.keys["all"]
    guess = rng.choice(
        (
            "el_" + "".join(rng.choices("abcdefghijklmnopqrstuvwxyz0123456789_-", k=43)),
            right[:-1],
            right + "x",
            right.swapcase(),
            "x" * 8_000,
            "é\xff",
            "' OR 1=1 --",
            MARKER,
        )
    )
    basic = base64.b64encode(f"user:{guess}".encode("latin-1")).decode()
    header = rng.choice(
        (
            ("Authorization", f"Bearer {guess}"),
            ("authorization", f"bearer   {guess}"),
            ("X-API-Key", guess),
            ("Authorization", f"Basic {basic}"),
            ("Authorization", "Basic \xff==="),
        )
    )
    method, target = rng.choice(READ + LEARN + ADMIN)
    source = f"127.0.0.{rng.randrange(2, 6)}"
    data = message(method, target, [header], b"" if method == "POST" else None)
    return Sent(data, method, target, KEYED, frozenset({401, 429}), source=source)


def other_scopes(rng: random.Random, known: Known) -> Sent:
    """No key at all, or the key of a scope that this does not belong to; private projects are not even there."""
    needed = rng.choice(list(NEEDED))
    method, target = rng.choice(NEEDED[needed])
    body = b'{"text": "zq7marker"}' if method == "POST" else None
    scope = rng.choice([one for one in NEEDED if one != needed] + [""])
    headers = [("Authorization", f"Bearer {known.keys[scope]}")] if scope else []
    statuses = {403 if scope else 401}
    if rng.random() < 0.2:
        method, target, body, statuses = "GET", f"/v1/projects/{PRIVATE}", None, {404}
        headers = [("X-API-Key", known.keys["read"])]
    if not scope and rng.random() < 0.5:
        headers = [
            (
                rng.choice(("Authorization", "Proxy-Authorization", "Cookie")),
                rng.choice(("", "Bearer", "Digest a", "Basic", "a=b")),
            )
        ]
        statuses |= {401, 429} if method else set()
    headers = [*headers, ("Content-Type", JSON)]
    source = "127.0.0.6" if not scope else "127.0.0.1"
    return Sent(message(method, target, headers, body), method, target, KEYED, frozenset(statuses), source=source)


def other_names(rng: random.Random, known: Known) -> Sent:
    """Host: a name of somebody else's that leads here. Without keys 403, whatever is asked for."""
    target, _ = json_requests(rng, known)
    method = rng.choice(("GET", "POST", "DELETE"))
    name: str | None = rng.choice(OTHERS) + rng.choice(("", ":8000", ":x", ":99999"))
    more = rng.choice(
        ([], [("X-Forwarded-Host", "localhost")], [("Forwarded", "host=localhost")], [("Host", "localhost")])
    )
    if rng.random() < 0.1:  # no name at all
        name, more = None, []
    data = message(method, target, [*more, ("Content-Type", JSON)], b"{}", host=name)
    return Sent(data, method, target, OPEN, frozenset({400, 403}), way="fresh", is_http=False)


def other_origins(rng: random.Random, known: Known) -> Sent:
    """From pages of others, without keys: nothing is changed, no decision is read."""
    origin = rng.choice(
        (
            "https://evil.example",
            "null",
            "http://localhost.evil.example",
            "file://",
            "http://localhost:1",
            text(rng)[:30].split("\r")[0],
        )
    )
    if rng.random() < 0.4:
        asked = [
            ("Access-Control-Request-Method", rng.choice(("POST", "DELETE", "PUT", "TRACE", ""))),
            ("Origin", origin),
        ]
        asked += [
            (
                "Access-Control-Request-Headers",
                rng.choice(("authorization", "x-evil", "content-type, accept", "*", "x" * 2_000)),
            )
        ]
        target = rng.choice(LEARN + ADMIN)[1]
        return sent(rng, known, "OPTIONS", target, _clean(asked), way="fresh", is_http=False)
    method, target = rng.choice(LEARN + ADMIN)
    headers = (
        [("Origin", origin)]
        if rng.random() < 0.8
        else [("Sec-Fetch-Site", rng.choice(("cross-site", "same-site", "x")))]
    )
    kind = rng.choice((JSON, "text/plain", "multipart/form-data; boundary=x"))
    body = b'{"text": "zq7marker"}' if method == "POST" else None
    data = message(method, target, [*_clean(headers), ("Content-Type", kind)], body)
    return Sent(data, method, target, OPEN, frozenset({400, 403}), way="fresh", is_http=False)


def methods(rng: random.Random, known: Known) -> Sent:
    """Methods that an address does not take, that do not exist, or that a header asks for."""
    target = rng.choice(
        ("/", "/livez", f"/v1/projects/{HIDDEN}", "/api/models", "/api/text", "/static/page.js", "/v1/ui/", "*")
    )
    names = [
        "HEAD",
        "PUT",
        "PATCH",
        "DELETE",
        "TRACE",
        "CONNECT",
        "OPTIONS",
        "PROPFIND",
        "MKCOL",
        "LOCK",
        "SUBSCRIBE",
        "QUERY",
        "get",
        "Post",
        "FOO",
        "A",
    ]
    method = rng.choice((*names, "X" * 500, "GE T", "G\0T", ""))
    more = rng.choice(([], [("X-HTTP-Method-Override", "DELETE")], [("X-Method-Override", "PUT")]))
    return sent(rng, known, method, target, more, rng.choice((None, b"", b"zq7marker")), way="fresh", is_http=False)


def _clean(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """In one line each: what several do is the matter of others."""
    return [(name, "".join(one if one.isprintable() else "?" for one in value)) for name, value in headers]
