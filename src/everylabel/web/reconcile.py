"""OpenRefine's reconciliation, version 0.2: cells of a table to labels, by their names, or by texts that are tagged.

https://www.w3.org/community/reports/reconciliation/CG-FINAL-specs-0.2-20230410/. By names, `match` says that one label
alone has this very name; by texts nothing is a match until a person says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field, TypeAdapter, model_validator

from everylabel.web.access import needs
from everylabel.web.alike import Alike, labels_alike
from everylabel.web.bodies import FORM, JSON, MULTIPART, read_fields, validated
from everylabel.web.documents import problems
from everylabel.web.problems import Problem
from everylabel.web.server import ServerOf, ServingOf
from everylabel.web.serving import Loaded, Serving
from everylabel.web.shown_labels import have_addresses, shown
from everylabel.web.tagging import Asked, Tagged, Text, languages, tag_texts

READ = [needs("read")]
CONCEPT = {"id": "http://www.w3.org/2004/02/skos/core#Concept", "name": "Concept"}
MOST_QUERIES, MOST_RESULTS = 100, 50
DEFAULT_RESULTS = 5
QUERIES_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            kind: {"schema": {"type": "object", "properties": {"queries": {"type": "string"}}, "required": ["queries"]}}
            for kind in (FORM, MULTIPART, JSON)
        },
    }
}
router = APIRouter(tags=["reconciliation"])


class ReconcileQuery(BaseModel):
    query: str | None = Field(None, max_length=1_000_000)
    type: str | list[str] | None = None
    limit: int | None = Field(None, ge=1)
    properties: list[Any] | None = None  # labels have none

    @model_validator(mode="after")
    def one_of_both(self) -> Self:
        if self.query is None and not self.properties:
            raise ValueError("give a query, or properties")
        return self

    @property
    def text(self) -> str:
        """Who gives properties alone finds nothing."""
        return self.query or ""


class QueriesField(BaseModel):
    queries: str | None = None


class Type(BaseModel):
    id: str
    name: str


class Candidate(BaseModel):
    id: str
    name: str
    description: str = ""
    score: float
    match: bool
    type: list[Type]


class Candidates(BaseModel):
    result: list[Candidate]


class Suggested(BaseModel):
    id: str
    name: str
    description: str = ""


class SuggestedEntities(BaseModel):
    result: list[Suggested]


class View(BaseModel):
    url: str


class SuggestService(BaseModel):
    service_url: str
    service_path: str


class SuggestServices(BaseModel):
    entity: SuggestService


class Manifest(BaseModel):
    versions: list[str]
    name: str
    identifierSpace: str  # noqa: N815 (the specification's)
    schemaSpace: str  # noqa: N815
    defaultTypes: list[Type]  # noqa: N815
    view: View
    suggest: SuggestServices
    batchSize: int  # noqa: N815


QUERIES_FIELD = TypeAdapter(QueriesField)
QUERIES = TypeAdapter(dict[str, ReconcileQuery])
QueriesParameter = Annotated[str | None, Query(description='JSON: {"q0": {"query": "a name", "limit": 5}}')]


@router.get("/projects/{project_id}/reconcile", dependencies=READ, responses=problems(404))
async def manifest_or_names(
    request: Request, serving: ServingOf, queries: QueriesParameter = None
) -> Manifest | dict[str, Candidates]:
    """Without `queries` what this service is; with them, labels by their names."""
    if queries is None:
        return _manifest(request, serving, "names")
    return await run_in_threadpool(_by_names, serving, _parsed(queries))


@router.post(
    "/projects/{project_id}/reconcile", dependencies=READ, responses=problems(404, 415), openapi_extra=QUERIES_BODY
)
async def names(request: Request, serving: ServingOf, server: ServerOf) -> dict[str, Candidates]:
    """Labels by their names."""
    return await run_in_threadpool(_by_names, serving, await _posted(request, server.settings.most_bytes))


@router.get("/projects/{project_id}/reconcile/tag", dependencies=READ, responses=problems(404))
async def manifest_or_texts(
    request: Request, serving: ServingOf, server: ServerOf, queries: QueriesParameter = None
) -> Manifest | dict[str, Candidates]:
    """Without `queries` what this service is; with them, labels of texts."""
    if queries is None:
        return _manifest(request, serving, "texts")
    return await _by_texts(serving, server, _parsed(queries))


@router.post(
    "/projects/{project_id}/reconcile/tag", dependencies=READ, responses=problems(404, 415), openapi_extra=QUERIES_BODY
)
async def texts(request: Request, serving: ServingOf, server: ServerOf) -> dict[str, Candidates]:
    """Labels of texts."""
    return await _by_texts(serving, server, await _posted(request, server.settings.most_bytes))


@router.get("/projects/{project_id}/reconcile/suggest/entity", dependencies=READ, responses=problems(404))
def suggest_entity(
    serving: ServingOf,
    prefix: Annotated[str, Query(max_length=200)],
    cursor: Annotated[int, Query(ge=0, le=1_000)] = 0,
) -> SuggestedEntities:
    """Labels whose names begin so, while somebody types."""
    loaded = serving.current
    language = languages(serving, loaded)[0]
    found = loaded.search.find(prefix, cursor + 10, language)[cursor:]
    labels = [shown(loaded.model.labels_, one.place, language) for one in found]
    return SuggestedEntities(
        result=[Suggested(id=one.id, name=one.name, description=one.description) for one in labels]
    )


async def _posted(request: Request, most_bytes: int) -> dict[str, ReconcileQuery]:
    fields = await read_fields(request, most_bytes, QUERIES_FIELD)
    queries = fields.get("queries")
    if queries is None:
        raise Problem(400, 'queries: expected JSON such as {"q0": {"query": "a name"}}')
    return _parsed(queries)


def _parsed(queries: str) -> dict[str, ReconcileQuery]:
    found = validated(queries.encode("utf-8", "replace"), QUERIES)
    if (n := len(found)) > MOST_QUERIES:
        raise Problem(413, f"there are {n:,} queries; send at most {MOST_QUERIES} at a time", reason="size")
    return found


def _by_names(serving: Serving, queries: dict[str, ReconcileQuery]) -> dict[str, Candidates]:
    loaded = serving.current
    language = languages(serving, loaded)[0]
    return {key: Candidates(result=_candidates(loaded, query, language)) for key, query in queries.items()}


def _candidates(loaded: Loaded, query: ReconcileQuery, language: str) -> list[Candidate]:
    if not _is_wanted(query):
        return []
    found = labels_alike(loaded.search, query.text[:500], max(2, _limit(query)), language)
    is_unique = sum(one.score == 1 for one in found) == 1
    return [_candidate(loaded, one, language, is_unique and one.score == 1) for one in found[: _limit(query)]]


def _candidate(loaded: Loaded, found: Alike, language: str, is_match: bool) -> Candidate:
    one = shown(loaded.model.labels_, found.label.place, language)
    score = round(100 * found.score, 1)
    return Candidate(
        id=one.id, name=one.name, description=one.description, score=score, match=is_match, type=[Type(**CONCEPT)]
    )


async def _by_texts(serving: Serving, server: Any, queries: dict[str, ReconcileQuery]) -> dict[str, Candidates]:
    asked = {key: query for key, query in queries.items() if _is_wanted(query) and query.text.strip()}
    most = max(map(_limit, asked.values()), default=1)
    found: Sequence[Tagged] = await tag_texts(server, serving, [Text(one.text) for one in asked.values()], Asked(most))
    by_key = dict(zip(asked, found, strict=True))
    return {
        key: Candidates(result=[_tagged(one) for one in by_key[key].labels[: _limit(query)]] if key in by_key else [])
        for key, query in queries.items()
    }


def _tagged(label: dict[str, Any]) -> Candidate:
    score = round(100 * label["score"], 2)
    return Candidate(id=label["id"], name=label["name"], score=score, match=False, type=[Type(**CONCEPT)])


def _is_wanted(query: ReconcileQuery) -> bool:
    """There is one type; who wants others gets nothing."""
    kinds = list(filter(None, [query.type] if isinstance(query.type, str) else query.type or []))
    return not kinds or CONCEPT["id"] in kinds


def _limit(query: ReconcileQuery) -> int:
    return min(query.limit or DEFAULT_RESULTS, MOST_RESULTS)


def _manifest(request: Request, serving: Serving, by: str) -> Manifest:
    project = serving.project
    base = str(request.base_url).rstrip("/")
    own = f"{base}/api/models/{project.id}/label?id={{{{id}}}}"
    suggest = SuggestService(service_url=f"{base}/v1", service_path=f"/projects/{project.id}/reconcile/suggest/entity")
    return Manifest(
        versions=["0.2"],
        name=f"{project.title} ({'labels by their names' if by == 'names' else 'labels of texts'})",
        identifierSpace=f"{base}/v1/projects/{project.id}",
        schemaSpace="http://www.w3.org/2004/02/skos/core#",
        defaultTypes=[Type(**CONCEPT)],
        view=View(url="{{id}}" if have_addresses(serving.current.model.labels_) else own),
        suggest=SuggestServices(entity=suggest),
        batchSize=MOST_QUERIES,
    )
