"""The two routes that are asked most, `suggest` and `tag`, without the framework around them.

Matching a route, resolving what it depends on, two applications in each other and the validation of what we have just
made ourselves take longer than all that the request needs. So a POST to one of them goes straight to its function,
with the same checks before it; everything else goes on to the application, which has the same functions as its routes,
and the documents that describe them. JSON is written by pydantic's serializer.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from fastapi import Request, Response
from pydantic_core import to_json
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from everylabel.errors import EverylabelError
from everylabel.web.problems import gone, ours
from everylabel.web.server import Server, serving_for
from everylabel.web.serving import Serving

LONGEST_ID = 100  # characters of a project's id; a longer one is refused by the application
Endpoint = Callable[[Request, Serving, Server], Awaitable[Response]]


class QuickRoute(NamedTuple):
    """`path` as the application's route has it: /projects/{project_id}/suggest, mounted at /v1."""

    mount: str
    path: str
    endpoint: Endpoint

    @property
    def pattern(self) -> re.Pattern[str]:
        before, after = map(re.escape, f"{self.mount}{self.path}".split("{project_id}"))
        return re.compile(f"{before}([^/]{{1,{LONGEST_ID}}}){after}")


class Quick:
    """An ASGI application around the one with all routes."""

    def __init__(self, app: ASGIApp, server: Server, routes: Sequence[QuickRoute]) -> None:
        self._app, self._server = app, server
        self._routes = [(route, route.pattern) for route in routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            for route, pattern in self._routes:
                if found := pattern.fullmatch(scope["path"]):
                    await self._answer(route, found[1], scope, receive, send)
                    return
        await self._app(scope, receive, send)

    async def _answer(self, route: QuickRoute, project_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = route  # for the metrics
        request = Request(scope, receive)
        try:
            self._server.guard.check(request, "read")
            serving = serving_for(self._server, request, project_id)
            response = await route.endpoint(request, serving, self._server)
        except EverylabelError as error:
            response = ours(error)
        except ClientDisconnect:
            response = gone()
        await response(scope, receive, send)


def as_json(value: Any) -> Response:
    """Of plain values that are as the route's documentation says."""
    return Response(to_json(value), media_type="application/json")
