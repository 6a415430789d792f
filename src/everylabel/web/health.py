"""Whether the server lives and is ready, and its numbers for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Response

from everylabel.web.access import needs
from everylabel.web.metrics import MEDIA_TYPE
from everylabel.web.problems import busy
from everylabel.web.server import ServerOf

router = APIRouter(include_in_schema=False)


@router.get("/livez")
def live() -> dict[str, str]:
    return {"status": "alive"}


@router.get("/readyz")
def ready(server: ServerOf) -> dict[str, str]:
    """All models are loaded and warm, and the server is not about to stop."""
    if not server.is_ready:
        raise busy("not ready: models are being loaded, or the server stops", reason="")
    return {"status": "ready"}


@router.get("/metrics", dependencies=[needs("read")])
def metrics(server: ServerOf) -> Response:
    return Response(server.metrics.text(), media_type=MEDIA_TYPE)
