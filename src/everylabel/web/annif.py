"""Annif's REST interface under `/v1`: its clients, and Annif's own `http` backend, work with it unchanged.

Where we differ: forms may also come in parts or as JSON, `limit` beyond 1,000 is 1,000, and what is to be learned is
stored at once and learned with the next batch of decisions (feedback/), not within the request. Subjects that the
vocabulary does not have are passed over there, as Annif does.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field, TypeAdapter, ValidationError

from everylabel import __version__
from everylabel.feedback.decisions import NewDecision
from everylabel.web import annif_models as shapes
from everylabel.web.access import needs
from everylabel.web.bodies import read_fields, read_json
from everylabel.web.documents import describe, json_body, problems, ref
from everylabel.web.problems import Problem, add_handlers, spoken
from everylabel.web.quick import QuickRoute, as_json
from everylabel.web.reconcile import router as reconciliation
from everylabel.web.server import Server, ServerOf, ServingOf, may_learn
from everylabel.web.serving import Loaded, Serving
from everylabel.web.shown_labels import is_shown
from everylabel.web.tagging import Asked, Tagged, Text, languages, tag_texts
from everylabel.workflow.labels import n_shown
from everylabel.workflow.languages import detect_language

READ = [needs("read")]
SUGGEST, BATCH = TypeAdapter(shapes.SuggestJson), TypeAdapter(shapes.Batch)
LEARN = TypeAdapter(Annotated[list[shapes.LearnDocument], Field(max_length=1_000)])
QUESTION = TypeAdapter(shapes.LanguageQuestion)
LEARN_SCHEMA = {"type": "array", "items": ref(shapes.LearnDocument), "maxItems": 1_000}
router = APIRouter()


def annif_app(server: Server) -> FastAPI:
    app = FastAPI(
        title="everylabel, Annif's interface",
        version=__version__,
        description="The REST interface of Annif, answered by everylabel.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        servers=[{"url": "/v1"}],
        root_path_in_servers=False,
    )
    app.state.server, app.state.guard = server, server.guard
    add_handlers(app)
    app.include_router(router)
    app.include_router(reconciliation)
    describe(app, (shapes.SuggestForm, shapes.Batch, shapes.LearnDocument, shapes.LanguageQuestion))
    return app


@router.get("/", dependencies=READ, summary="What this is")
def info() -> shapes.ApiInfo:
    return shapes.ApiInfo(title="everylabel", version=__version__)


@router.get("/vocabs", dependencies=READ, summary="Vocabularies of the projects")
def vocabs(request: Request, server: ServerOf) -> shapes.Vocabs:
    found = [_vocab(serving) for serving in server.listed(request)]
    return shapes.Vocabs(vocabs=list({one.vocab_id: one for one in found}.values()))


@router.get("/projects", dependencies=READ, summary="The projects")
def projects(request: Request, server: ServerOf) -> shapes.AnnifProjects:
    return shapes.AnnifProjects(projects=[_project(serving) for serving in server.listed(request)])


@router.get("/projects/{project_id}", dependencies=READ, responses=problems(404), summary="One project")
def project(serving: ServingOf) -> shapes.AnnifProject:
    return _project(serving)


@router.post(
    "/projects/{project_id}/suggest",
    dependencies=READ,
    responses=problems(404, 415),
    openapi_extra=json_body(shapes.SuggestForm, forms=True),
    response_model=shapes.Hits,
    summary="Suggest subjects for a text",
)
async def suggest(request: Request, serving: ServingOf, server: ServerOf) -> Response:
    fields = await read_fields(request, server.settings.most_bytes, SUGGEST)
    try:
        form = shapes.SuggestForm.model_validate(
            {name: fields[name] for name in fields if _is_said(name, fields[name])}
        )
    except ValidationError as error:
        raise Problem(400, spoken(error.errors(include_input=False, include_url=False))) from None
    asked = Asked(form.limit, form.threshold, language=form.language)
    (found,) = await tag_texts(server, serving, [Text(form.text, form.metadata_title)], asked)
    return as_json({"results": _hits(found, form.limit)})


@router.post(
    "/projects/{project_id}/suggest-batch",
    dependencies=READ,
    responses=problems(404, 415),
    openapi_extra=json_body(shapes.Batch),
    response_model=list[shapes.DocumentHits],
    summary="Suggest subjects for several texts",
)
async def suggest_batch(
    request: Request,
    serving: ServingOf,
    server: ServerOf,
    limit: Annotated[shapes.Limit, Query()] = 10,
    threshold: Annotated[shapes.Threshold, Query()] = 0.0,
    language: Annotated[shapes.Language, Query()] = "",
) -> Response:
    documents = (await read_json(request, BATCH)).documents
    texts = [Text(one.text, one.metadata.title or "") for one in documents]
    found = await tag_texts(server, serving, texts, Asked(limit, threshold, language=language))
    both = zip(documents, found, strict=True)
    return as_json([{"document_id": document.document_id, "results": _hits(one, limit)} for document, one in both])


@router.post(
    "/projects/{project_id}/learn",
    dependencies=[needs("learn"), Depends(may_learn)],
    responses=problems(404, 415),
    status_code=204,
    response_class=Response,
    openapi_extra=json_body(LEARN_SCHEMA),
    summary="Learn from texts with their subjects",
)
async def learn(request: Request, serving: ServingOf, server: ServerOf) -> None:
    documents = await read_json(request, LEARN)
    loaded = serving.current
    decisions = [
        NewDecision(text=one.text, title=one.metadata.title or "", added=_known(loaded, one.subjects), by="annif")
        for one in documents
    ]
    await run_in_threadpool(server.feedback.add, serving, [one for one in decisions if one.added])


@router.post(
    "/detect-language",
    dependencies=READ,
    responses=problems(415),
    openapi_extra=json_body(shapes.LanguageQuestion),
    summary="Which of these languages is a text in?",
)
async def detect(request: Request, server: ServerOf) -> shapes.LanguageScores:
    question = await read_json(request, QUESTION)
    found = await server.language_turns.run(lambda: detect_language(question.text, question.languages))
    return shapes.LanguageScores(
        results=[shapes.LanguageScore(language=language, score=score) for language, score in found]
    )


QUICK = QuickRoute("/v1", "/projects/{project_id}/suggest", suggest)


def _is_said(name: str, value: Any) -> bool:
    """An empty field is one that is not there, but for the text."""
    return name == "text" or value not in ("", None)


def _known(loaded: Loaded, subjects: list[shapes.Subject]) -> tuple[str, ...]:
    """Ids of the subjects that the model suggests."""
    places = (loaded.place_of(subject.uri) for subject in subjects)
    known = (at for at in places if at is not None and is_shown(loaded.model, at))
    return tuple(dict.fromkeys(loaded.model.labels_.ids[at] for at in known))


def _hits(found: Tagged, limit: int) -> list[dict[str, Any]]:
    """As `shapes.Hit`."""
    return [
        {"uri": one["uri"], "label": one["name"], "notation": one["notation"], "score": min(one["score"], 1.0)}
        for one in found.labels[:limit]
        if one["score"] > 0
    ]


def _vocab(serving: Serving) -> shapes.Vocab:
    loaded = serving.current
    return shapes.Vocab(
        vocab_id=serving.project.vocabulary,
        languages=languages(serving, loaded),
        size=n_shown(loaded.model),
        loaded=True,
    )


def _project(serving: Serving) -> shapes.AnnifProject:
    loaded = serving.current
    language = languages(serving, loaded)[0]
    return shapes.AnnifProject(
        project_id=serving.project.id,
        name=serving.project.title,
        language=language,
        backend=shapes.Backend(backend_id=loaded.model.name),
        vocab=_vocab(serving),
        vocab_language=language,
        is_trained=True,
        modification_time=loaded.modified.isoformat(timespec="microseconds"),
    )
