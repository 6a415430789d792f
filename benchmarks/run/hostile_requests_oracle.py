"""What is right about an answer, whatever was asked: a status that is documented, a problem that is told as one, and
nothing of the server's insides."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from benchmarks.run.hostile_requests_wire import Answer, Sent

PROBLEM = "application/problem+json"
ELSEWHERE = frozenset(
    {200, 206, 304, 307, 400, 401, 403, 404, 405, 408, 413, 416, 429, 503}
)  # pages, and what is nowhere
WRONG_METHOD = frozenset({400, 401, 403, 404, 405, 413, 503, 307})
INSIDES = (
    b"Traceback",
    b'File "',
    b"site-packages",
    b"sqlalchemy",
    b"object at 0x",
    b"/tmp/everylabel-",
    b"/everylabel/web/",
)


class _Operation(NamedTuple):
    path: re.Pattern[str]
    method: str
    statuses: frozenset[int]


class Oracle:
    """`documents`: by prefix. `private`: what no answer may have, `folders`: what no error may."""

    def __init__(
        self, documents: dict[str, dict[str, Any]], private: Sequence[bytes], folders: Sequence[bytes]
    ) -> None:
        self._operations = [
            _Operation(_pattern(prefix + path), method.upper(), frozenset(map(int, operation["responses"])))
            for prefix, document in documents.items()
            for path, operations in document["paths"].items()
            for method, operation in operations.items()
        ]
        self._private, self._insides = tuple(private), (*INSIDES, *folders)

    def find(self, sent: Sent, answers: Sequence[Answer]) -> str:
        """What is wrong; "": nothing."""
        if len(answers) < sent.n_answers and sent.is_http and not sent.may_be_cut:
            return f"{len(answers)} answers to {sent.n_answers} requests"
        for answer in answers:
            if found := self._wrong(sent, answer):
                return found
        return ""

    def _wrong(self, sent: Sent, answer: Answer) -> str:
        status = answer.status
        if not sent.is_http and _is_uvicorns(answer):
            return ""
        if status >= 500 and (status != 503 or "retry-after" not in answer.headers):
            return f"status {status}: {_shown(answer)}"
        if status not in (allowed := sent.statuses or self._documented(sent)) and status != 503:
            return f"status {status}, documented: {sorted(allowed)}: {_shown(answer)}"
        if status in (429, 503) and not answer.headers.get("retry-after", "").isdigit():
            return f"status {status} without Retry-After"
        return self._told_wrongly(sent, answer) or self._leaking(answer)

    def _documented(self, sent: Sent) -> frozenset[int]:
        if not sent.target:  # bytes of any kind: they may have become a request after all
            return ELSEWHERE | {415}
        path = unquote(urlsplit(sent.target).path if sent.target.startswith("http") else sent.target.partition("?")[0])
        here = [one for one in self._operations if one.path.fullmatch(path.partition("#")[0])]
        for one in here:
            if one.method == sent.method:
                return one.statuses
        return WRONG_METHOD if here and sent.method != "OPTIONS" else ELSEWHERE

    def _told_wrongly(self, sent: Sent, answer: Answer) -> str:
        kind = answer.headers.get("content-type", "")
        if sent.method == "HEAD" or (sent.method == "OPTIONS" and answer.status in (200, 400)):  # CORS asks
            return ""
        if answer.status >= 400:
            if kind != PROBLEM:
                return f"status {answer.status} is told as {kind!r}: {_shown(answer)}"
            told = json.loads(answer.body)
            if set(told) != {"type", "title", "detail", "status"} or told["status"] != answer.status:
                return f"a problem of another shape: {_shown(answer)}"
        elif kind.startswith("application/json") and answer.status != 204:
            try:
                json.loads(answer.body, parse_constant=_refuse)
            except ValueError as error:
                return f"no JSON: {error}"
        if answer.status in (301, 302, 303, 307, 308):
            away = urlsplit(answer.headers.get("location", ""))
            if away.netloc not in ("", "localhost"):
                return f"leads away: {answer.headers['location'][:100]}"
        return ""

    def _leaking(self, answer: Answer) -> str:
        if "x-injected" in answer.headers:
            return "a header of the request's making"
        if answer.headers.get("access-control-allow-credentials") == "true":
            return "pages of others may use credentials"
        if any(one in answer.body for one in self._private):
            return f"something private is in the answer: {_shown(answer)}"
        found = [one for one in self._insides if one in answer.body] if answer.status >= 400 else []
        return f"insides are in the answer ({found[0]!r}): {_shown(answer)}" if found else ""


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\{[^}]*\})", path)
    return re.compile("".join("[^/]+" if part.startswith("{") else re.escape(part) for part in parts), re.DOTALL)


def _is_uvicorns(answer: Answer) -> bool:
    """Said of what is no HTTP, for which there is no route."""
    return (
        answer.status == 400
        and answer.headers.get("content-type", "").startswith("text/plain")
        and len(answer.body) < 100
    )


def _shown(answer: Answer) -> str:
    return answer.body[:300].decode("utf-8", "replace")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is none of JSON's")
