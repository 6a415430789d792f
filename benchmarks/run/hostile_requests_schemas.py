"""Requests that schemathesis makes of the OpenAPI documents: right ones, and ones that break what a document says."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

import hypothesis
import schemathesis
from hypothesis.errors import Unsatisfiable
from schemathesis.core import NOT_SET
from schemathesis.generation import GenerationMode

from benchmarks.run.hostile_requests_server import PROJECT
from benchmarks.run.hostile_requests_texts import Known, sent
from benchmarks.run.hostile_requests_wire import Sent

AT_ONCE = 25  # examples of an operation and mode: hypothesis takes a while to begin
BOUNDARY = "schemathesis"


class Schemas:
    """The operations of both documents, each asked rightly and wrongly, in turn."""

    def __init__(self, documents: dict[str, dict[str, Any]], seed: int) -> None:
        self._seed = seed
        self._kinds = [
            (prefix, operation, mode)
            for prefix, document in documents.items()
            for operation in _operations(document)
            for mode in GenerationMode
        ]
        self._examples = lru_cache(maxsize=4)(self._made)

    def request(self, number: int, rng: random.Random, known: Known) -> Sent:
        turn, at = divmod(number, AT_ONCE)
        batch, kind = divmod(turn, len(self._kinds))
        prefix, _, _ = self._kinds[kind]
        cases = self._examples(kind, batch)
        return _sent(rng, known, prefix, cases[at % len(cases)])

    def _made(self, kind: int, batch: int) -> Sequence[Any]:
        _, operation, mode = self._kinds[kind]
        for chosen in (mode, GenerationMode.POSITIVE):  # what takes no field cannot be asked wrongly
            try:
                return _drawn(operation.as_strategy(generation_mode=chosen), f"{self._seed} {kind} {batch}")
            except Unsatisfiable:
                continue
        raise RuntimeError(f"schemathesis has no example of {operation.label}")


def _operations(document: dict[str, Any]) -> list[Any]:
    results: Any = schemathesis.openapi.from_dict(document).get_all_operations()
    return [result.ok() for result in results]


def _drawn(strategy: Any, seed: str) -> list[Any]:
    found: list[Any] = []

    @hypothesis.seed(random.Random(seed).getrandbits(64))
    @hypothesis.settings(
        max_examples=AT_ONCE,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def draw(case: Any) -> None:
        found.append(case)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draw()
    return found


def _sent(rng: random.Random, known: Known, prefix: str, case: Any) -> Sent:
    path = str(case.formatted_path)
    if rng.random() < 0.75 and "{project_id}" in case.path:  # else nearly all would be 404
        parameters = {**(case.path_parameters or {}), "project_id": PROJECT}
        path = case.path
        for name, value in parameters.items():
            path = path.replace(f"{{{name}}}", _plain(value))
    target = prefix + "".join(one if "!" <= one <= "~" else quote(one, errors="replace") for one in path)
    if case.query:
        target += "?" + urlencode(dict(case.query), doseq=True, errors="replace")
    headers = [(str(name), _line(value)) for name, value in (case.headers or {}).items()]
    body = None
    if case.body is not NOT_SET:
        kind, body = _body(case.media_type, case.body)
        headers.append(("Content-Type", kind))
    if case.cookies:
        headers.append(("Cookie", _line("; ".join(f"{name}={value}" for name, value in case.cookies.items()))))
    return sent(rng, known, case.method.upper(), target, headers, body, is_http=False, way="fresh")


def _body(media_type: str | None, body: Any) -> tuple[str, bytes]:
    kind = media_type or "application/json"
    if isinstance(body, bytes):
        return kind, body
    if kind == "application/json" or not isinstance(body, dict):
        return kind, json.dumps(body, default=str).encode()
    if kind == "multipart/form-data":
        parts = [
            f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{_line(name)}"; filename="a.txt"\r\n\r\n{value}\r\n'
            for name, value in body.items()
        ]
        return f"{kind}; boundary={BOUNDARY}", "".join([*parts, f"--{BOUNDARY}--\r\n"]).encode("utf-8", "replace")
    return kind, urlencode(body, doseq=True, errors="replace").encode()


def _plain(value: Any) -> str:
    return value if isinstance(value, str) and "%" in value else quote(str(value), safe="", errors="replace")


def _line(value: Any) -> str:
    return "".join(one for one in str(value) if one.isprintable())
