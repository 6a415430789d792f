"""What holds for every request, around all routes: bounds of size, number and time, headers, a log without texts."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from everylabel.web.access import Guard, header
from everylabel.web.metrics import Metrics
from everylabel.web.problems import Problem, answer, busy, unexpected
from everylabel.web.settings import Settings

T = TypeVar("T")
UPLOAD = re.compile(r"/api/(text|records|data/[^/]+|models/[^/]+/records)")
ENVELOPE = 10_000  # bytes of a form around a file
CLOSE = {"Connection": "close"}
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
SENT = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
log = logging.getLogger("everylabel.access")


class Limits:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, settings: Settings, guard: Guard, metrics: Metrics) -> None:
        self._app, self._settings, self._guard, self._metrics = app, settings, guard, metrics
        self._n_requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send, self._settings.body_seconds, self._most_bytes(scope))
        started = time.monotonic()
        self._n_requests += 1
        try:
            await self._answered(exchange)
        finally:
            self._n_requests -= 1
            seconds = time.monotonic() - started
            path, status = str(scope["path"]), exchange.status
            self._metrics.request(_route(scope), str(scope["method"]), status, seconds)
            if log.isEnabledFor(logging.INFO):
                log.info("%s %s %d %.0f ms", scope["method"], _printable(path), status, 1000 * seconds)

    async def _answered(self, exchange: _Exchange) -> None:
        response: Response
        try:
            self._check(exchange)
            await self._app(exchange.scope, exchange.receive, exchange.send)
            return
        except Problem as problem:
            if problem.reason:
                self._metrics.refused(problem.reason)
            response = answer(problem.status, problem.detail, problem.title, problem.headers)
        except TimeoutError:  # the client does not take the answer
            self._metrics.refused("slow")
            response = answer(408, "the answer was not taken in time", headers=CLOSE)
        except Exception as error:
            if exchange.status == 500:  # answered and logged where it happened
                return
            response = unexpected(error)
        if not exchange.status:
            await response(exchange.scope, exchange.receive, exchange.send)

    def _check(self, exchange: _Exchange) -> None:
        self._guard.check_address(exchange.scope)
        if self._n_requests > self._settings.most_requests:
            raise busy(f"{self._settings.most_requests:,} requests are being answered already; ask again soon")
        exchange.check_length()

    def _most_bytes(self, scope: Scope) -> int:
        return (
            self._settings.most_upload_bytes + ENVELOPE
            if UPLOAD.fullmatch(scope["path"])
            else self._settings.most_bytes
        )


class _Exchange:
    """A request's two ends, watched: how much comes, how slowly, and what goes."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, seconds: float, most_bytes: int) -> None:
        self.scope, self.status = scope, 0
        self._receive, self._send, self._seconds, self._most_bytes = receive, send, seconds, most_bytes
        self._deadline = time.monotonic() + seconds
        self._n_bytes, self._is_complete = 0, False

    def check_length(self) -> None:
        length = header(self.scope, b"content-length")
        if length.isdecimal() and int(length[:20]) > self._most_bytes:
            raise self._too_long()

    async def receive(self) -> Message:
        if self._is_complete:  # all that can come now is that the client goes away
            return await self._receive()
        try:
            message = await _within(self._receive, self._deadline - time.monotonic())
        except TimeoutError:
            detail = f"the body has not come within {self._seconds:g} s; send it faster, or less of it"
            raise Problem(408, detail, headers=CLOSE, reason="slow") from None
        self._n_bytes += len(message.get("body", b""))
        self._is_complete = message["type"] != "http.request" or not message.get("more_body", False)
        if self._n_bytes > self._most_bytes:
            raise self._too_long()
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            own = list(message.get("headers", ()))
            said = {name for name, _ in own}
            message = {**message, "headers": own + [one for one in SENT if one[0] not in said]}
        await _within(lambda: self._send(message), self._seconds)

    def _too_long(self) -> Problem:
        detail = f"the body is longer than {self._most_bytes:,} bytes; send less at a time"
        return Problem(413, detail, headers=CLOSE, reason="size")


async def _within(ask: Callable[[], Awaitable[T]], seconds: float) -> T:
    async with asyncio.timeout(max(seconds, 0)):
        return await ask()


def _route(scope: Scope) -> str:
    """The route's pattern, of which there are few."""
    path = getattr(scope.get("route"), "path", None)
    return f"{_mount(scope)}{path}" if path else "other"


def _mount(scope: Scope) -> str:
    return next((prefix for prefix in ("/v1", "/api") if str(scope["path"]).startswith(prefix + "/")), "")


def _printable(path: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in path[:200])
