"""The application: `create_app(projects, settings)` puts the parts together.

/            a page                     /livez /readyz /metrics
/v1          Annif's interface, and OpenRefine's below it
/api         our own
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool
from starlette.middleware.cors import CORSMiddleware

from everylabel import __version__
from everylabel.web import annif, api, health, pages
from everylabel.web.limits import Limits
from everylabel.web.problems import add_handlers
from everylabel.web.projects import Project
from everylabel.web.quick import Quick
from everylabel.web.server import Server
from everylabel.web.settings import Settings

THREADS = 8  # for what is short and may wait for a disk: no ranking is done there
METHODS = ("GET", "POST", "DELETE")
HEADERS = ("Authorization", "Content-Type", "X-API-Key", "Accept", "Accept-Language")


def create_app(
    projects: Sequence[Project], settings: Settings, ranked_by: Callable[..., Awaitable[Any]] | None = None
) -> FastAPI:
    """Loads the models; a model or a file of keys that cannot be read is an EverylabelError here. `ranked_by`: who
    ranks, if not this process (ranker.py)."""
    server = Server(projects, settings, ranked_by)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        current_default_thread_limiter().total_tokens = THREADS
        await run_in_threadpool(server.start)
        yield
        await run_in_threadpool(server.stop)

    app = FastAPI(
        title="everylabel", version=__version__, docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan
    )
    app.state.server, app.state.guard = server, server.guard
    add_handlers(app)
    app.include_router(health.router)
    app.include_router(pages.router)
    app.mount("/v1", annif.annif_app(server))
    app.mount("/api", api.api_app(server))
    app.add_middleware(Quick, server=server, routes=(annif.QUICK, api.QUICK))
    app.add_middleware(Limits, settings=settings, guard=server.guard, metrics=server.metrics)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=settings.origins,
        allow_methods=METHODS,
        allow_headers=HEADERS,
        expose_headers=("Retry-After",),
    )
    return app
