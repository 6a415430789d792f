"""Labels of a model: found while somebody types, looked at, added and removed.

Adding and removing make the next version of the model (feedback/versions.py); the folder it began with stays as it is.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import TypeAdapter

from everylabel.data.dataset import Label
from everylabel.web import api_models as shapes
from everylabel.web.access import needs
from everylabel.web.bodies import read_json
from everylabel.web.documents import json_body, problems
from everylabel.web.problems import Problem
from everylabel.web.server import ServerOf, ServingOf
from everylabel.web.serving import Loaded
from everylabel.web.shown_labels import (
    broader_of,
    is_shown,
    keywords_of,
    narrower_of,
    related_of,
    replacements_of,
    shown,
)
from everylabel.web.tagging import check_language, languages
from everylabel.workflow.labels import n_shown

READ, ADMIN = [needs("read")], [needs("admin")]
NEW = TypeAdapter(shapes.NewLabelsRequest)
MOST_NARROWER = 500  # that are shown
LabelId = Annotated[str, Query(alias="id", max_length=2_000, description="A label's id.")]
Language = Annotated[str, Query(max_length=40, description="Of names; empty: the project's.")]
router = APIRouter(prefix="/models/{project_id}", tags=["labels"])


@router.get("/labels", dependencies=READ, responses=problems(404))
def search(
    serving: ServingOf,
    prefix: Annotated[str, Query(max_length=200, description="How words of a name or notation begin.")] = "",
    language: Language = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    cursor: Annotated[int, Query(ge=0, le=1_000, description="How many to pass over.")] = 0,
) -> shapes.LabelList:
    """Labels with a text that has these words, or their beginnings: the very name first, then the most used."""
    check_language(serving, language)
    loaded = serving.current
    language = language or languages(serving, loaded)[0]
    found = loaded.search.find(prefix, cursor + limit, language)[cursor:]
    return shapes.LabelList(labels=[info(loaded, one.place, language) for one in found])


@router.get("/label", dependencies=READ, responses=problems(404))
def details(serving: ServingOf, label_id: LabelId, language: Language = "") -> shapes.LabelDetails:
    """One label, with what is broader, narrower and related; of a deprecated one also what has replaced it."""
    check_language(serving, language)
    loaded = serving.current
    labels = loaded.model.labels_
    at = loaded.place_of(label_id)
    if at is None or not (is_shown(loaded.model, at) or labels.deprecated[at]):
        raise Problem(404, f"there is no label {label_id[:200]!r} in the vocabulary", "Label not found")
    language = language or languages(serving, loaded)[0]
    one = shown(labels, at, language)
    return shapes.LabelDetails(
        **info(loaded, at, language).model_dump(),
        description=one.description,
        alternatives=list(one.alternatives),
        broader=[info(loaded, other, language) for other in broader_of(labels, at)],
        narrower=[info(loaded, other, language) for other in narrower_of(labels, at)[:MOST_NARROWER]],
        related=[info(loaded, other, language) for other in related_of(labels, at)],
        deprecated=bool(labels.deprecated[at]),
        replaced_by=[info(loaded, other, language) for other in replacements_of(labels, at)],
        schemes=list(one.schemes),
        keywords=[shapes.Keyword(word=word, weight=weight) for word, weight in keywords_of(loaded.model, one.id)],
    )


@router.post(
    "/labels",
    dependencies=ADMIN,
    status_code=201,
    responses=problems(404, 415),
    openapi_extra=json_body(shapes.NewLabelsRequest),
)
async def add(request: Request, serving: ServingOf, server: ServerOf) -> shapes.VocabularyChanged:
    """New labels, which are suggested from now on, by their texts, without training."""
    asked = await read_json(request, NEW)
    labels = [
        Label(one.id, one.name, one.description, tuple(one.alternatives), tuple(one.parents)) for one in asked.labels
    ]
    note = {"change": "labels added", "labels": len(labels)}
    loaded = await run_in_threadpool(server.feedback.change, serving, lambda model: model.with_labels(labels), note)
    return shapes.VocabularyChanged(changed=len(labels), labels=n_shown(loaded.model), version=loaded.version)


@router.delete("/label", dependencies=ADMIN, responses=problems(404))
async def remove(serving: ServingOf, server: ServerOf, label_id: LabelId) -> shapes.VocabularyChanged:
    """A label that is not suggested any more."""
    at = serving.current.place_of(label_id)
    if at is None or serving.current.model.hidden_[at]:
        raise Problem(404, f"there is no label {label_id[:200]!r} in the vocabulary", "Label not found")
    note = {"change": "labels removed", "labels": 1}
    loaded = await run_in_threadpool(
        server.feedback.change, serving, lambda model: model.without_labels([model.labels_.ids[at]]), note
    )
    return shapes.VocabularyChanged(changed=1, labels=n_shown(loaded.model), version=loaded.version)


def info(loaded: Loaded, at: int, language: str) -> shapes.LabelInfo:
    one = shown(loaded.model.labels_, at, language)
    return shapes.LabelInfo(
        id=one.id, name=one.name, uri=one.uri, notation=one.notation, documents=int(loaded.model.counts_[at])
    )
