"""Some hundred hostile requests of all kinds but slow ones: the same code as `benchmarks.run.hostile_requests`."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.run.hostile_requests import KINDS, SCHEMATHESIS, SLOW, n_finds, nothing_found, run
from benchmarks.run.hostile_requests_oracle import Oracle
from benchmarks.run.hostile_requests_texts import Known
from benchmarks.run.hostile_requests_wire import Answer, Sent

PROBLEM = {"content-type": "application/problem+json"}
TOLD = b'{"type": "about:blank", "title": "a", "detail": "b", "status": %d}'
DOCUMENT: dict[str, Any] = {"paths": {"/projects/{id}": {"get": {"responses": {"200": {}, "404": {}}}}}}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc for memory, threads and files")
@pytest.mark.timeout(300)
def test_nothing_but_documented_answers() -> None:
    found = nothing_found()
    saved: list[int] = []
    run(400, 7, [kind for kind in KINDS if kind != SLOW], lambda known: saved.append(n_finds(known)), found)
    assert n_finds(found) == 0, (found["finds"], {kind: one["finds"] for kind, one in found["kinds"].items()})
    assert saved == [0]
    assert sum(one["cases"] for one in found["kinds"].values()) >= 400
    assert found["canaries"]["asked"] == found["canaries"]["right"] > 0


def test_requests_are_the_same_for_a_seed() -> None:
    known = Known({scope: scope for scope in ("read", "learn", "admin", "all")}, ["a", "b"], Path("/secret"), 1)
    for kind, (_, make) in KINDS.items():
        if make is not None:
            assert make(random.Random(kind), known) == make(random.Random(kind), known)
            assert len({make(random.Random(i), known).data for i in range(20)}) > 1
    assert [kind for kind, (_, make) in KINDS.items() if make is None] == [SCHEMATHESIS, SLOW]


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (Answer(200, {"content-type": "application/json"}, b"{}"), ""),
        (Answer(404, PROBLEM, TOLD % 404), ""),
        (Answer(503, PROBLEM | {"retry-after": "1"}, TOLD % 503), ""),
        (Answer(500, PROBLEM, TOLD % 500), "status 500"),
        (Answer(503, PROBLEM, TOLD % 503), "status 503"),
        (Answer(422, PROBLEM, TOLD % 422), "status 422"),
        (Answer(404, {"content-type": "text/html"}, b"none"), "told as"),
        (Answer(404, PROBLEM, TOLD % 400), "another shape"),
        (Answer(404, PROBLEM, TOLD.replace(b"b", b"/srv/model") % 404), "insides"),
        (Answer(200, {"content-type": "application/json"}, b'"secret"'), "private"),
        (Answer(200, {"content-type": "application/json"}, b"NaN"), "no JSON"),
    ],
)
def test_what_is_not_right_is_found(answer: Answer, what: str) -> None:
    oracle = Oracle({"/v1": DOCUMENT}, [b"secret"], [b"/srv/model"])
    found = oracle.find(Sent(b"", "GET", "/v1/projects/x?a=b"), [answer])
    assert what in found
    assert bool(what) == bool(found)


def test_a_request_without_an_answer_is_found() -> None:
    oracle = Oracle({}, [], [])
    assert "0 answers" in oracle.find(Sent(b""), [])
    assert not oracle.find(Sent(b"", is_http=False), [])
