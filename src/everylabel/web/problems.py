"""Errors as `application/problem+json` (RFC 9457): the same four fields everywhere, and nothing of our insides."""

from __future__ import annotations

import http
import logging
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from everylabel.errors import EverylabelError, ModelError, NotFittedError, StoreError

MEDIA_TYPE = "application/problem+json"
SHOWN = 5  # fields that are wrong
LATER = 10  # seconds after which it is worth asking again, where nobody knows better

log = logging.getLogger("everylabel.server")


class ProblemBody(BaseModel):
    """What went wrong."""

    type: str = "about:blank"
    title: str = Field(description="The kind of problem.")
    detail: str = Field(description="What was expected, what came, and what to do.")
    status: int


class Problem(Exception):  # noqa: N818 (as RFC 9457 calls it)
    """Raised anywhere below a route; it becomes the answer."""

    def __init__(
        self, status: int, detail: str, title: str = "", *, headers: Mapping[str, str] | None = None, reason: str = ""
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.title = status, detail, title
        self.headers, self.reason = dict(headers or {}), reason


def busy(detail: str, seconds: float = 1, *, status: int = 503, reason: str = "queue") -> Problem:
    """Come back later."""
    return Problem(status, detail, headers={"Retry-After": str(max(1, round(seconds)))}, reason=reason)


def answer(status: int, detail: str, title: str = "", headers: Mapping[str, str] | None = None) -> Response:
    title = title or http.HTTPStatus(status).phrase
    content = ProblemBody(title=title, detail=detail, status=status).model_dump()
    return JSONResponse(content, status, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def spoken(errors: Sequence[Any]) -> str:
    """Which fields are wrong, and why; never what was in them, which may be a text of somebody's."""
    found = [f"{'.'.join(str(part)[:80] for part in error['loc']) or 'body'}: {error['msg']}" for error in errors]
    more = f"; and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
    return "; ".join(found[:SHOWN]) + more


def status_of(error: EverylabelError) -> int:
    """What a client can mend is 400; a model or a database that is away is ours, and may be back soon."""
    return 503 if isinstance(error, (ModelError, StoreError, NotFittedError)) else 400


def add_handlers(app: FastAPI) -> None:
    app.add_exception_handler(Problem, _problem)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(EverylabelError, _ours)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _unexpected)


def unexpected(error: BaseException) -> Response:
    """Logged by where it happened: its message might have a text in it."""
    places = [f"{one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(error.__traceback__)[-8:]]
    log.error("unexpected %s, at\n  %s", type(error).__name__, "\n  ".join(places))
    return answer(500, "something went wrong here; it is in the server's log, and others are served on")


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    if error.reason:
        request.app.state.server.metrics.refused(error.reason)
    return answer(error.status, error.detail, error.title, error.headers)


async def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = {
        404: "there is nothing at this address; see /v1/ui/ and /api/ui/ for what there is",
        405: "this address does not take that method; see /v1/ui/ and /api/ui/",
    }.get(error.status_code, str(error.detail))
    return answer(error.status_code, detail, headers=error.headers)


async def _invalid(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return answer(400, spoken(error.errors()))


def ours(error: EverylabelError) -> Response:
    status = status_of(error)
    if status == 503:
        log.warning("%s", error)  # of models and databases: it names no text
    return answer(status, str(error), headers={"Retry-After": str(LATER)} if status == 503 else None)


def gone() -> Response:
    """Nobody hears it, but the log has a status."""
    return answer(400, "the connection has ended before the body did")


async def _ours(_request: Request, error: Exception) -> Response:
    assert isinstance(error, EverylabelError)
    return ours(error)


async def _gone(_request: Request, _error: Exception) -> Response:
    return gone()


async def _unexpected(_request: Request, error: Exception) -> Response:
    return unexpected(error)
