"""Pages: one for people, and the interactive documentation of both interfaces. Files of ours alone, in one folder.

They are in memory after the first time, and a look at a file's date is no wait: no thread is asked for it.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from everylabel.web.problems import Problem

STATIC = Path(__file__).parent / "static"
FRESH = {"Cache-Control": "no-cache"}  # asked about each time: modules of two versions never mix
KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
FILES = {file.name: KINDS[file.suffix] for file in STATIC.iterdir() if file.suffix in KINDS}
router = APIRouter(include_in_schema=False)


@router.get("/")
async def page(request: Request) -> Response:
    return _sent(request, "index.html")


@router.get("/v1/ui/")
@router.get("/api/ui/")
async def documentation(request: Request) -> Response:
    return _sent(request, "docs.html")


@router.get("/static/{name}")
async def file(request: Request, name: str) -> Response:
    """Only names that the folder had at the start: no path can lead out of it."""
    if name not in FILES:
        raise Problem(404, f"there is no file {name[:80]!r}")
    return _sent(request, name)


def _sent(request: Request, name: str) -> Response:
    """Packed for those who can take it: a third of the bytes."""
    packed = "gzip" in request.headers.get("accept-encoding", "")
    stamp = (STATIC / name).stat().st_mtime_ns
    content = _content(name, stamp, packed)
    etag = f'"{stamp:x}-{len(content):x}{"-gzip" if packed else ""}"'
    headers = {**FRESH, "ETag": etag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(content, media_type=FILES[name], headers=headers)


@lru_cache(maxsize=4 * len(FILES))
def _content(name: str, _stamp: int, packed: bool) -> bytes:
    content = (STATIC / name).read_bytes()
    return gzip.compress(content, mtime=0) if packed else content
