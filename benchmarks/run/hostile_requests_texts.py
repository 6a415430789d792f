"""Hostile values: texts, numbers and JSON that programs stumble over; and requests that carry them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.run.hostile_requests_server import HIDDEN, PRIVATE, PROJECT
from benchmarks.run.hostile_requests_wire import KEYED, MARKER, OPEN, Headers, Sent, message

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
WORDS = [
    "lifeboat",
    "crew",
    "wreck",
    "lighthouse",
    "gale",
    "harbour",
    "pilot",
    "herring",
    "net",
    "slate",
    "schooner",
    "tide",
    "chart",
]


@dataclass(frozen=True)
class Known:
    """What an attacker knows of the servers."""

    keys: dict[str, str]
    labels: list[str]
    secret: Path  # a file on the server's machine
    sink: int  # port of this machine at which nobody may ask


Make = Callable[[random.Random, Known], Sent]


def text(rng: random.Random) -> str:
    """With the marker: what may never be logged."""
    sentence = " ".join(rng.choices(WORDS, k=rng.randrange(1, 20)))
    odd = rng.choice(
        (
            "",
            "\0" * rng.randrange(1, 9),
            "".join(map(chr, rng.choices(range(32), k=8))),
            "".join(map(chr, rng.choices(range(0x7F, 0xA0), k=8))),
            "\u202e\u2066\ufeff\u200b\u2028\u2029",
            "\ud800\udfff"[:: rng.choice((1, -1))],
            "a" + "\u0301" * rng.randrange(2_000),
            chr(rng.choice((0xFFFF, 0x10FFFF, 0x1F469, 0xE0001, 0x3000))) * 5,
            "x" * rng.randrange(20_000),
            "'; DROP TABLE decisions; --",
            "{{7*7}} ${7*7} %s%n%x <script>alert(1)</script>",
            f"\r\n2026-01-01 00:00:00,000 INFO everylabel.access: {MARKER}",
            "\x1b[2J\x1b]0;title\x07",
            "\u0130\ufb03\u1e9e\u212b" * 20,
            " ".join(f"w{rng.getrandbits(40):x}" for _ in range(rng.randrange(300))),
        )
    )
    return f"{MARKER} {sentence} {odd}"


def number(rng: random.Random) -> Any:
    sizes = (0, 1, 2**31, 2**32, 2**53, 2**63, 2**64, 10**30, 1e308, 5e-324, 0.5)
    return rng.choice((-1, 1)) * rng.choice(sizes)


def value(rng: random.Random, depth: int = 0) -> Any:
    """Of any type."""
    kind = rng.randrange(9)
    if kind < 2:
        return number(rng)
    if kind < 4:
        return text(rng)
    if kind == 4:
        return rng.choice((None, True, False, "", "null", "1", "-1", "NaN", [], {}))
    if kind == 5:
        return rng.choice((float("nan"), float("inf"), float("-inf")))
    if depth > 3:
        return None
    if kind < 8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {text(rng)[:40]: value(rng, depth + 1) for _ in range(rng.randrange(4))}


def changed(rng: random.Random, whole: Any) -> Any:
    """With one part put in the place of another, taken away or added, anywhere in it."""
    if isinstance(whole, dict) and whole and rng.random() < 0.8:
        name = rng.choice(list(whole))
        kind = rng.randrange(8)
        if kind == 0:
            return {key: one for key, one in whole.items() if key != name}
        if kind == 1:
            return {**whole, rng.choice((text(rng)[:60], "", "__proto__", "__class__", "$ref")): value(rng)}
        return {**whole, name: changed(rng, whole[name])}
    if isinstance(whole, list) and whole and rng.random() < 0.7:
        at = rng.randrange(len(whole))
        if rng.random() < 0.1:
            return whole * rng.choice((2, 40, 400))
        return [*whole[:at], changed(rng, whole[at]), *whole[at + 1 :]]
    return value(rng)


def dumped(rng: random.Random, whole: Any) -> bytes:
    """Sometimes with what JSON does not know (NaN), or with half surrogate pairs as bytes."""
    return json.dumps(whole, ensure_ascii=rng.random() < 0.7).encode("utf-8", "surrogatepass")


def project(rng: random.Random) -> str:
    return rng.choice((PROJECT, PROJECT, PROJECT, PROJECT, HIDDEN, PRIVATE, "none"))


def json_requests(rng: random.Random, known: Known) -> tuple[str, Any]:
    """(an address, a body that is right)."""
    own, label = project(rng), rng.choice(known.labels)
    document = {"text": text(rng), "document_id": "a", "metadata": {"title": text(rng)[:80]}}
    tag = {
        "text": text(rng),
        "title": text(rng)[:100],
        "k": rng.choice((1, 10, 1_000)),
        "threshold": rng.random(),
        "best": rng.random() < 0.5,
        "explain": rng.random() < 0.3,
        "new_labels": "group",
        "language": "",
        "broader": rng.random() < 0.3,
        "only": [label],
        "exclude": [],
        "below": [],
        "types": [],
        "schemes": [],
    }
    decision = {
        "text": text(rng),
        "title": text(rng)[:100],
        "document_id": "d",
        "accepted": [label],
        "rejected": [],
        "added": [rng.choice(known.labels)],
        "complete": rng.random() < 0.9,
        "by": text(rng)[:50],
        "key": str(rng.randrange(1_000)),
    }
    new = {"id": f"{MARKER}-{rng.randrange(1_000)}", "name": text(rng)[:80], "alternatives": [], "parents": [label]}
    requests: list[tuple[str, Any]] = [
        (f"/v1/projects/{own}/suggest", {"text": text(rng), "limit": 5, "threshold": 0.1, "language": ""}),
        (f"/v1/projects/{own}/suggest-batch?limit=3", {"documents": [document] * rng.choice((0, 1, 2, 32, 33))}),
        (
            f"/v1/projects/{own}/learn",
            [{"text": text(rng), "metadata": {}, "subjects": [{"uri": label, "label": "x"}]}],
        ),
        ("/v1/detect-language", {"text": text(rng), "languages": ["en", "de", "fi"]}),
        (f"/v1/projects/{own}/reconcile", {"queries": {"q0": {"query": text(rng), "limit": 3, "type": None}}}),
        (f"/v1/projects/{own}/reconcile/tag", {"queries": {"q0": {"query": text(rng), "limit": 3}}}),
        (f"/api/models/{own}/tag", tag),
        (f"/api/models/{own}/decisions", decision),
        (f"/api/models/{own}/review", {"documents": [{"text": text(rng), "title": "", "document_id": None}]}),
        ("/api/jobs", {"kind": rng.choice(("fit", "refit", "evaluate", "report")), "project": own, "data": "../data"}),
        ("/api/detect-language", {"text": text(rng), "languages": ["en", "zz"]}),
    ]
    if rng.random() < 0.02:  # it makes a new version of the model, and takes a while
        return f"/api/models/{PROJECT}/labels", {"labels": [new]}
    return rng.choice(requests)


def sent(
    rng: random.Random,
    known: Known,
    method: str,
    target: str,
    headers: Headers = (),
    body: bytes | None = None,
    **more: Any,
) -> Sent:
    """To one of the servers, with a key that opens all."""
    server = rng.choice((OPEN, KEYED))
    if server == KEYED:
        headers = [*headers, ("Authorization", f"Bearer {known.keys['all']}")]
    return Sent(message(method, target, headers, body), method, target, server, **more)
