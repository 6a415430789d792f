"""Decisions of people about tags, what is learned from them, versions of the model, and the review queue."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import TypeAdapter

from everylabel.data.dataset import Documents
from everylabel.feedback.decisions import Decision, NewDecision
from everylabel.feedback.review import DEPTH, doubt
from everylabel.web import api_models as shapes
from everylabel.web.access import needs
from everylabel.web.bodies import read_json
from everylabel.web.documents import json_body, problems
from everylabel.web.problems import Problem
from everylabel.web.server import Server, ServerOf, ServingOf, may_learn
from everylabel.web.serving import Serving
from everylabel.web.tagging import Text, check_lengths

LEARN, ADMIN = [needs("learn")], [needs("admin")]
DECISION = TypeAdapter(shapes.DecisionRequest)
QUEUE = TypeAdapter(shapes.QueueRequest)
Number = Annotated[int, Path(ge=0, lt=2**31)]
router = APIRouter(prefix="/models/{project_id}", tags=["decisions"])


@router.post(
    "/decisions",
    dependencies=LEARN,
    status_code=201,
    responses=problems(404, 415),
    openapi_extra=json_body(shapes.DecisionRequest),
)
async def decide(request: Request, serving: ServingOf, server: ServerOf) -> shapes.DecisionInfo:
    """Store what a person has decided about a document. It is on disk when the answer comes."""
    asked = await read_json(request, DECISION)
    check_lengths(server, [Text(asked.text, asked.title)])
    decision = NewDecision(**asked.model_dump())
    (stored,) = await run_in_threadpool(server.feedback.add, serving, [decision])
    return _info(stored)


@router.get("/decisions", dependencies=LEARN, responses=problems(404))
def decisions(
    serving: ServingOf,
    server: ServerOf,
    after: Annotated[int, Query(ge=0, lt=2**31, description="The last id that you have.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    include_undone: bool = False,
) -> shapes.DecisionList:
    """Decisions in the order they came."""
    store, project = server.feedback.store, serving.project.id
    found = store.list(project, after=after, limit=limit, include_undone=include_undone)
    return shapes.DecisionList(decisions=[_info(one) for one in found], counts=store.counts(project))


@router.get(
    "/decisions/export",
    dependencies=LEARN,
    responses={**problems(404), 200: {"content": {"application/x-ndjson": {"schema": {"type": "string"}}}}},
    response_class=StreamingResponse,
)
def export(serving: ServingOf, server: ServerOf, include_undone: bool = False) -> StreamingResponse:
    """All decisions as JSON lines, which `everylabel fit` and `learn` read."""
    found = server.feedback.store.every(serving.project.id, include_undone=include_undone)
    return StreamingResponse(_lines(found), media_type="application/x-ndjson")


@router.get("/decisions/{decision_id}", dependencies=LEARN, responses=problems(404))
def decision(serving: ServingOf, server: ServerOf, decision_id: Number) -> shapes.DecisionInfo:
    found = server.feedback.store.get(serving.project.id, decision_id)
    if found is None:
        raise Problem(404, f"there is no decision {decision_id} in this project", "Decision not found")
    return _info(found)


@router.post("/decisions/{decision_id}/undo", dependencies=LEARN, responses=problems(404))
def undo(
    serving: ServingOf, server: ServerOf, decision_id: Number, by: Annotated[str, Query(max_length=2_000)] = ""
) -> shapes.DecisionInfo:
    """It counts no more; a model that has learned it is built again without."""
    store, project = server.feedback.store, serving.project.id
    if store.get(project, decision_id) is None:
        raise Problem(404, f"there is no decision {decision_id} in this project", "Decision not found")
    return _info(store.undo(project, decision_id, by))


@router.post("/learn", dependencies=[*LEARN, Depends(may_learn)], status_code=202, responses=problems(404))
def learn(serving: ServingOf, server: ServerOf) -> shapes.LearningInfo:
    """Learn from what waits, beside serving. GET the same address for what came of it."""
    server.feedback.learn_soon(serving)
    return _learning(serving, server)


@router.get("/learn", dependencies=LEARN, responses=problems(404))
def learning(serving: ServingOf, server: ServerOf) -> shapes.LearningInfo:
    """What learning is doing, and what came of the last one."""
    return _learning(serving, server)


@router.get("/versions", dependencies=LEARN, responses=problems(404))
def versions(serving: ServingOf) -> shapes.VersionList:
    """Models of this project that were made by learning, or by labels that came and went."""
    return _versions(serving)


@router.post("/versions/{version}", dependencies=ADMIN, responses=problems(404))
def back_to(serving: ServingOf, server: ServerOf, version: Number) -> shapes.VersionList:
    """Serve an earlier version again; 0 is the model that the project began with."""
    if version not in serving.versions.kept():
        raise Problem(404, f"version {version} is not kept", "Version not found")
    server.feedback.back_to(serving, version)
    return _versions(serving)


@router.post(
    "/review",
    dependencies=LEARN,
    status_code=201,
    responses=problems(404, 415),
    openapi_extra=json_body(shapes.QueueRequest),
)
async def queue(request: Request, serving: ServingOf, server: ServerOf) -> shapes.Queued:
    """Documents for a person's eyes; those whose tags are least certain come first."""
    asked = (await read_json(request, QUEUE)).documents
    texts = [Text(one.text, one.title) for one in asked]
    doubts = await server.batches.results(
        (serving.project.id, "doubt"), lambda part: _doubts(serving, part), texts, check_lengths(server, texts)
    )
    return shapes.Queued(ids=await run_in_threadpool(_queued, server, serving, asked, doubts))


@router.get("/review", dependencies=LEARN, responses=problems(404))
def review(serving: ServingOf, server: ServerOf, limit: Annotated[int, Query(ge=1, le=100)] = 10) -> shapes.ReviewQueue:
    """The most doubtful documents first. A decision about one takes it out."""
    found = server.feedback.store.review(serving.project.id, limit)
    return shapes.ReviewQueue(documents=[shapes.QueuedInfo(**one._asdict()) for one in found])


@router.delete("/review/{queued_id}", dependencies=LEARN, status_code=204, responses=problems(404))
def unqueue(serving: ServingOf, server: ServerOf, queued_id: Number) -> None:
    """Take a document out of the queue; nothing happens if it is not there."""
    server.feedback.store.unqueue(serving.project.id, queued_id)


def _info(one: Decision) -> shapes.DecisionInfo:
    return shapes.DecisionInfo(**{name: _plain(getattr(one, name)) for name in shapes.DecisionInfo.model_fields})


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _lines(found: Iterator[Decision]) -> Iterator[str]:
    return (json.dumps(one.to_json(), ensure_ascii=False) + "\n" for one in found)


def _learning(serving: Serving, server: Server) -> shapes.LearningInfo:
    found = server.feedback.learning[serving.project.id]
    waiting = server.feedback.store.counts(serving.project.id)["waiting"]
    return shapes.LearningInfo(
        state=found.state, waiting=waiting, version=serving.current.version, last=found.last, error=found.error
    )


def _versions(serving: Serving) -> shapes.VersionList:
    own = serving.versions
    return shapes.VersionList(current=own.current[0], kept=own.kept(), history=own.history())


def _doubts(serving: Serving, texts: list[Text]) -> list[float]:
    documents = Documents.of([one.text for one in texts], [one.title for one in texts])
    return [float(one) for one in doubt(serving.current.model.rank(documents, DEPTH))]


def _queued(
    server: Server, serving: Serving, asked: Sequence[shapes.TagDocument], doubts: Sequence[float]
) -> list[int]:
    store, project = server.feedback.store, serving.project.id
    return [
        store.queue_document(project, one.text, title=one.title, document_id=one.document_id or "", doubt=found)
        for one, found in zip(asked, doubts, strict=True)
    ]
