"""Our own interface under `/api`: the projects' models, tagging, languages, texts of files; labels.py and the others of
this kind have the rest."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields

from fastapi import APIRouter, FastAPI, Request, Response
from pydantic import TypeAdapter

from everylabel import __version__
from everylabel.errors import EverylabelError, StoreError
from everylabel.web import api_models as shapes
from everylabel.web.access import needs
from everylabel.web.annif import detect
from everylabel.web.annif_models import LanguageQuestion, LanguageScores
from everylabel.web.api_data import router as data
from everylabel.web.api_decisions import router as decisions
from everylabel.web.api_jobs import router as jobs
from everylabel.web.api_labels import router as labels
from everylabel.web.api_records import file_body, sent_file
from everylabel.web.api_records import router as records
from everylabel.web.bodies import read_json
from everylabel.web.documents import describe, json_body, problems
from everylabel.web.measured import results_of
from everylabel.web.problems import Problem, add_handlers
from everylabel.web.quick import QuickRoute, as_json
from everylabel.web.server import Server, ServerOf, ServingOf
from everylabel.web.serving import Serving
from everylabel.web.tagging import ALL, Asked, Text, languages, tag_texts
from everylabel.workflow.labels import n_shown
from everylabel.workflow.learn import refit_due
from everylabel.workflow.selection import Selection
from everylabel.workflow.settings import is_tagger

READ, ADMIN = [needs("read")], [needs("admin")]
TAG, URL = TypeAdapter(shapes.TagRequest), TypeAdapter(shapes.UrlRequest)
SELECTED = [one.name for one in fields(Selection)]
router = APIRouter()


def api_app(server: Server) -> FastAPI:
    app = FastAPI(
        title="everylabel",
        version=__version__,
        description="Tag texts with labels of a very large vocabulary, decide about them, and have that learned.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        servers=[{"url": "/api"}],
        root_path_in_servers=False,
    )
    app.state.server, app.state.guard = server, server.guard
    add_handlers(app)
    for part in (router, labels, decisions, jobs, data, records):
        app.include_router(part)
    bodies = (
        shapes.TagRequest,
        shapes.UrlRequest,
        shapes.NewLabelsRequest,
        shapes.DecisionRequest,
        shapes.QueueRequest,
        shapes.JobRequest,
        shapes.SubjectsOfRecords,
    )
    describe(app, (*bodies, LanguageQuestion))
    return app


@router.get("/models", dependencies=READ)
def models(request: Request, server: ServerOf) -> shapes.Models:
    """What is loaded."""
    return shapes.Models(models=[_info(server, serving) for serving in server.listed(request)])


@router.post("/models/reload", dependencies=ADMIN)
def reload(server: ServerOf) -> shapes.Reloaded:
    """Load all models again; one that cannot be served is refused, and the old one stays."""
    refused: dict[str, str] = {}
    for project_id, serving in server.servings.items():
        try:
            serving.reload()
        except EverylabelError:
            refused[project_id] = serving.refused
    return shapes.Reloaded(models=[_info(server, one) for one in server.servings.values()], refused=refused)


@router.get("/models/{project_id}", dependencies=READ, responses=problems(404))
def model(serving: ServingOf, server: ServerOf) -> shapes.ModelDetails:
    """One model: how it was made, and what became of it since."""
    loaded = serving.current
    own = loaded.model
    tagger = own if is_tagger(own) else None
    counts: dict[str, int] | None = None
    results: shapes.Results | None = None
    with suppress(StoreError):
        counts = server.feedback.store.counts(serving.project.id)
        results = results_of(server.feedback.jobs, loaded)
    return shapes.ModelDetails(
        **_info(server, serving).model_dump(),
        path=str(loaded.path),
        plan=tagger.plan_.lines() if tagger else [],
        history=tagger.history() if tagger else [],
        versions=serving.versions.history(),
        learned=tagger.learned_ if tagger else 0,
        refit_due=refit_due(tagger) if tagger else "",
        has_report=server.settings.report_of(serving.project.id).is_file(),
        results=results,
        examples=list(serving.project.examples),
        decisions=counts,
    )


@router.post(
    "/models/{project_id}/tag",
    dependencies=READ,
    responses=problems(404, 415),
    openapi_extra=json_body(shapes.TagRequest),
    response_model=shapes.TagResponse,
)
async def tag(request: Request, serving: ServingOf, server: ServerOf) -> Response:
    """The labels of texts, best first."""
    asked = await read_json(request, TAG)
    texts = asked.texts
    if len(texts) > (most := server.settings.most_documents):
        raise Problem(400, f"documents: {len(texts):,} came; at most {most:,} are taken at a time")
    restricted = {name: tuple(given) for name in SELECTED if (given := getattr(asked, name))}
    selection = Selection(**restricted) if restricted else ALL
    cut = (asked.k, asked.threshold, asked.best)
    how = Asked(*cut, asked.new_labels, asked.explain, asked.language, selection, asked.broader)
    found = await tag_texts(server, serving, [Text(one.text, one.title) for one in texts], how)
    documents = [
        {"document_id": document.document_id, "labels": one.labels, "new_labels": one.new_labels}
        for document, one in zip(texts, found, strict=True)
    ]
    version = found[0].version if found else serving.current.version
    return as_json({"version": version, "documents": documents})


QUICK = QuickRoute("/api", "/models/{project_id}/tag", tag)


@router.post("/text", dependencies=READ, responses=problems(415), openapi_extra=file_body())
async def text(request: Request, server: ServerOf) -> shapes.TextOfFile:
    """The text of a file: .txt, .md, .html, .epub, .pdf, .docx, .odt, as the field `file` of a form in parts."""
    try:
        file, _ = await sent_file(request, server.settings.most_bytes)
        name, stream = file.filename or "", file.file  # in memory only when it is its turn
        content = await server.file_turns.run(lambda: server.uploads.content(name, stream.read()))
    finally:
        await request.close()
    return shapes.TextOfFile(title=content.title, text=content.text)


@router.post("/url", dependencies=[needs("learn")], responses=problems(415), openapi_extra=json_body(shapes.UrlRequest))
async def url(request: Request, server: ServerOf) -> shapes.TextOfFile:
    """The text of a public page or file on the internet; only where the server was started with --allow-fetch."""
    asked = await read_json(request, URL)
    if not server.settings.allow_fetch:
        detail = "addresses are not fetched here; start the server with --allow-fetch, or send the file"
        raise Problem(403, detail, "Fetching not allowed", reason="fetch")
    content = await server.file_turns.run(lambda: server.uploads.content(*server.fetcher.fetch(asked.url)))
    return shapes.TextOfFile(title=content.title, text=content.text)


router.post(
    "/detect-language",
    dependencies=READ,
    responses=problems(415),
    openapi_extra=json_body(LanguageQuestion),
    response_model=LanguageScores,
    summary="Which of these languages is a text in?",
)(detect)


def _info(server: Server, serving: Serving) -> shapes.ModelInfo:
    loaded, project = serving.current, serving.project
    known = languages(serving, loaded)
    return shapes.ModelInfo(
        id=project.id,
        name=project.title,
        vocab=project.vocabulary,
        language=known[0],
        languages=known,
        access=project.access,
        method=loaded.model.name,
        labels=n_shown(loaded.model),
        documents=loaded.model.n_train_,
        version=loaded.version,
        since=loaded.since.isoformat(timespec="seconds"),
        modified=loaded.modified.isoformat(timespec="microseconds"),
        refused=serving.refused,
        allow_learn=server.allows_learning(project),
    )
