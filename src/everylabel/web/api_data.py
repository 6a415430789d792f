"""Data sets for jobs that come over the network: a folder of files each, below the state folder.

Files are kept as they were sent, under their own names, and are read by the job alone, in its own process. A data set
is there as a whole or not at all; it is not changed: who has a better one removes it, or takes another name.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile

from everylabel.atomic import replaced
from everylabel.web import api_models as shapes
from everylabel.web.access import needs
from everylabel.web.api_records import FILE
from everylabel.web.bodies import MULTIPART, content_type, read_multipart
from everylabel.web.documents import problems
from everylabel.web.problems import Problem
from everylabel.web.projects import ID
from everylabel.web.server import Server, ServerOf
from everylabel.web.settings import Settings

ADMIN = [needs("admin")]
MOST_SETS = 100  # that are kept
Name = Annotated[str, Path(max_length=200, description="Of the data set: letters, digits, '.', '_' and '-'.")]
BODY = {
    "requestBody": {
        "required": True,
        "content": {
            MULTIPART: {
                "schema": {
                    "type": "object",
                    "properties": {"file": {"type": "array", "items": FILE, "minItems": 1, "maxItems": 4}},
                    "required": ["file"],
                }
            }
        },
    }
}
router = APIRouter(tags=["jobs"])


@router.get("/data", dependencies=ADMIN)
def data_sets(server: ServerOf) -> shapes.DataSets:
    """Data sets that jobs may name: those of the server's folder, and those that were sent."""
    named, sent = _names(server.settings.data), _names(_sent(server.settings))
    found = {name: shapes.DataSet(name=name, sent=name not in named) for name in (*sent, *named)}
    return shapes.DataSets(data=[found[name] for name in sorted(found)])


@router.post(
    "/data/{data_id}", dependencies=ADMIN, status_code=201, responses=problems(404, 409, 415), openapi_extra=BODY
)
async def send(request: Request, server: ServerOf, data_id: Name) -> shapes.DataSet:
    """A data set for jobs: up to four files as fields `file` of a form in parts, such as train.jsonl and labels.ttl."""
    if not ID.fullmatch(data_id):
        raise Problem(400, "data_id: expected letters, digits, '.', '_' and '-'")
    if (found := content_type(request)[0]) != MULTIPART:
        raise Problem(415, f"the body is {found[:80]!r}, expected {MULTIPART} with fields named file")
    try:
        files = _files(await read_multipart(request, server.settings.most_bytes))
        await run_in_threadpool(_store, server, data_id, files)
    finally:
        await request.close()
    return shapes.DataSet(name=data_id, sent=True)


@router.delete("/data/{data_id}", dependencies=ADMIN, status_code=204, responses=problems(404))
def remove(server: ServerOf, data_id: Name) -> None:
    """One that was sent; those of the server's folder are not ours to remove."""
    if data_id not in _names(_sent(server.settings)):
        raise Problem(404, f"there is no data set {data_id[:80]!r} that was sent", "Data set not found")
    shutil.rmtree(_sent(server.settings) / data_id)


def path_of(settings: Settings, name: str) -> FilePath:
    """Where a data set is that a job names; those of the server's folder first."""
    for root in (settings.data, _sent(settings)):
        if root is not None and ID.fullmatch(name) and (root / name).exists():
            return root / name
    if settings.data is None and not _names(_sent(settings)):
        raise Problem(403, "this server has no data sets; start it with --data FOLDER, or send one to /api/data/NAME")
    raise Problem(400, f"data: there is no data set {name[:80]!r}; GET /api/data lists them")


def _sent(settings: Settings) -> FilePath:
    return settings.state / "data-sets"


def _names(root: FilePath | None) -> set[str]:
    return (
        {one.name for one in root.iterdir() if ID.fullmatch(one.name)} if root is not None and root.is_dir() else set()
    )


def _files(form: Mapping[str, str | UploadFile]) -> dict[str, UploadFile]:
    """By their names, each once."""
    assert isinstance(form, FormData)
    sent = [one for one in form.getlist("file") if isinstance(one, UploadFile)]
    if not sent:
        raise Problem(400, "file: expected files in fields of this name; send them with their names")
    names = [(one.filename or "").replace("\\", "/").rpartition("/")[2] for one in sent]
    if wrong := [name for name in names if not ID.fullmatch(name)]:
        raise Problem(400, f"file: {wrong[0][:80]!r} is no name of letters, digits, '.', '_' and '-'")
    if len(set(names)) < len(names):
        raise Problem(400, "file: two files have the same name")
    return dict(zip(names, sent, strict=True))


def _store(server: Server, name: str, files: Mapping[str, UploadFile]) -> None:
    settings = server.settings
    known: Sequence[set[str]] = (_names(settings.data), _names(_sent(settings)))
    if any(name in own for own in known):
        raise Problem(409, f"there is a data set {name!r} already; remove it, or choose another name")
    if len(known[1]) >= MOST_SETS:
        raise Problem(409, f"{MOST_SETS} data sets are kept already; remove one")
    with replaced(_sent(settings) / name) as folder:
        folder.mkdir()
        for own, file in files.items():
            with (folder / own).open("wb") as out:
                shutil.copyfileobj(file.file, out)
