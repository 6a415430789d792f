"""Pages: a small one to try a model, and the interactive documentation of both interfaces. Files of ours alone."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse

STATIC = Path(__file__).parent / "static"
HOUR = {"Cache-Control": "max-age=3600"}
FILES = {"page.js": "text/javascript", "docs.js": "text/javascript", "style.css": "text/css"}
router = APIRouter(include_in_schema=False)


@router.get("/")
def page() -> FileResponse:
    return FileResponse(STATIC / "index.html", media_type="text/html")


@router.get("/v1/ui/")
@router.get("/api/ui/")
def documentation() -> FileResponse:
    return FileResponse(STATIC / "docs.html", media_type="text/html")


def _add(name: str, media_type: str) -> None:
    @router.get(f"/static/{name}")
    def file() -> FileResponse:
        return FileResponse(STATIC / name, media_type=media_type, headers=HOUR)


for _name, _media_type in FILES.items():
    _add(_name, _media_type)
