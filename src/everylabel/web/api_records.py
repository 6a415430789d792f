"""Catalogue files: their records to work through, and the same file with the subjects that people chose.

Nothing of them is kept: the page holds the file, and sends it again when it is to be written.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import TypeAdapter
from starlette.datastructures import UploadFile

from everylabel.web import api_models as shapes
from everylabel.web.access import needs
from everylabel.web.api_labels import Language, info
from everylabel.web.bodies import MULTIPART, content_type, read_multipart, validated
from everylabel.web.documents import problems
from everylabel.web.problems import Problem
from everylabel.web.server import ServerOf, ServingOf
from everylabel.web.serving import Loaded
from everylabel.web.shown_labels import is_shown
from everylabel.web.tagging import check_language, languages

READ = [needs("read")]
SUBJECTS = TypeAdapter(shapes.SubjectsOfRecords)
FILE = {"type": "string", "format": "binary"}
router = APIRouter()


def file_body(**others: Any) -> dict[str, Any]:
    """For `openapi_extra`: a form in parts with a file."""
    schema = {"type": "object", "properties": {"file": FILE, **others}, "required": ["file", *others]}
    return {"requestBody": {"required": True, "content": {MULTIPART: {"schema": schema}}}}


async def sent_file(request: Request, most_bytes: int) -> tuple[UploadFile, dict[str, Any]]:
    """The file of the field `file`, and the fields beside it. The request is to be closed afterwards."""
    found, _ = content_type(request)
    if found != MULTIPART:
        raise Problem(415, f"the body is {found[:80]!r}, expected {MULTIPART} with a field named file")
    form = await read_multipart(request, most_bytes)
    file = form.get("file")
    if not isinstance(file, UploadFile):
        raise Problem(400, "file: expected a file in a field of this name; send it with its name")
    return file, dict(form)


@router.post("/models/{project_id}/records", dependencies=READ, responses=problems(404, 415), openapi_extra=file_body())
async def records(request: Request, serving: ServingOf, server: ServerOf, language: Language = "") -> shapes.RecordList:
    """The records of a catalogue file: .mrc, .xml (MARCXML, Dublin Core), .ris, .bib, as the field `file` of a form in
    parts. Title and abstract are read; the subjects that a record has are labels where the vocabulary has them."""
    check_language(serving, language)
    try:
        file, _ = await sent_file(request, server.settings.most_bytes)
        name, stream = file.filename or "", file.file  # in memory only when it is its turn
        found = await server.file_turns.run(lambda: server.uploads.records(name, stream.read()))
    finally:
        await request.close()
    loaded = serving.current
    known = _Known(loaded, language or languages(serving, loaded)[0])
    return await run_in_threadpool(_listed, found, known)


@router.post(
    "/records",
    dependencies=READ,
    response_class=Response,
    responses={
        200: {
            "content": {"application/octet-stream": {"schema": FILE}},
            "description": "The file. `Subjects-Added` and `Records-Left-Out` say how many.",
        },
        **problems(415),
    },
    openapi_extra=file_body(subjects={"type": "string", "description": "JSON of the shape SubjectsOfRecords."}),
)
async def write_records(request: Request, server: ServerOf) -> Response:
    """The same file with these labels as subjects of its records (MARC: 650 _7 with $2 and $0, 883). Only what is new
    is added, and nothing else changes."""
    try:
        file, fields = await sent_file(request, server.settings.most_bytes)
        wanted = fields.get("subjects")
        if not isinstance(wanted, str):
            raise Problem(400, "subjects: expected JSON, which record is to get which labels")
        asked = validated(wanted.encode("utf-8", "replace"), SUBJECTS)
        subjects = {str(number): [one.as_list() for one in found] for number, found in asked.records.items()}
        name, stream, date = file.filename or "", file.file, datetime.now(UTC).strftime("%Y%m%d")
        how = {"subjects": subjects, "code": asked.source, "date": date}
        done = await server.file_turns.run(lambda: server.uploads.with_subjects(name, stream.read(), **how))
    finally:
        await request.close()
    counts = {"Subjects-Added": str(done.added), "Records-Left-Out": str(done.left_out)}
    return Response(done.data, media_type="application/octet-stream", headers=counts)


class _Known:
    """Subjects as labels: by their identifiers, else by a name that one label alone has."""

    def __init__(self, loaded: Loaded, language: str) -> None:
        self._loaded, self._language = loaded, language
        self._by_name: dict[str, int | None] = {}

    def label(self, name: str, ids: list[str]) -> shapes.LabelInfo | None:
        places = (self._loaded.place_of(one) for one in ids)
        at = next((one for one in places if one is not None and is_shown(self._loaded.model, one)), None)
        at = self._named(name) if at is None and name else at
        return None if at is None else info(self._loaded, at, self._language)

    def _named(self, name: str) -> int | None:
        if name not in self._by_name:
            exact = [one.place for one in self._loaded.search.find(name, 2, self._language) if one.exact]
            self._by_name[name] = exact[0] if len(exact) == 1 else None
        return self._by_name[name]


def _listed(found: dict[str, Any], known: _Known) -> shapes.RecordList:
    records = [
        shapes.RecordInfo(
            number=one["number"],
            document_id=one["id"],
            title=one["title"],
            text=one["text"],
            subjects=[
                shapes.SubjectOfRecord(name=own["name"] or own["ids"][0], label=known.label(own["name"], own["ids"]))
                for own in one["subjects"]
            ],
        )
        for one in found["records"]
    ]
    return shapes.RecordList(format=found["format"], left_out=found["left_out"], records=records)
