"""Long work as jobs: fit, refit, evaluate, report; each a process of its own (feedback/jobs.py), one at a time.

A request names a project and a data set, never a path: data sets are those of the server's folder of them, and those
that were sent (api_data.py); what a job writes goes to a project's model folder or below the state folder.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse
from pydantic import TypeAdapter

from everylabel.feedback.jobs import Job
from everylabel.web import api_models as shapes
from everylabel.web.access import needs
from everylabel.web.api_data import path_of
from everylabel.web.bodies import read_json
from everylabel.web.documents import json_body, problems
from everylabel.web.problems import Problem
from everylabel.web.projects import ID
from everylabel.web.server import Server, ServerOf, ServingOf
from everylabel.web.serving import Serving

ADMIN = [needs("admin")]
REQUEST = TypeAdapter(shapes.JobRequest)
REPORT_CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"  # one file, nothing runs in it
JobId = Annotated[int, Path(ge=0, lt=2**31)]
router = APIRouter(tags=["jobs"])


@router.post(
    "/jobs",
    dependencies=ADMIN,
    status_code=202,
    responses=problems(404, 415),
    openapi_extra=json_body(shapes.JobRequest),
)
async def start(request: Request, server: ServerOf) -> shapes.JobInfo:
    """Begin a job, or have it wait for the one that runs."""
    asked = await read_json(request, REQUEST)
    arguments = _arguments(server, asked)
    return _info(await run_in_threadpool(server.feedback.jobs.start, asked.kind, arguments))


@router.get("/jobs", dependencies=ADMIN)
def jobs(server: ServerOf, limit: Annotated[int, Query(ge=1, le=1_000)] = 100) -> shapes.JobList:
    """The latest first."""
    return shapes.JobList(jobs=[_info(one) for one in server.feedback.jobs.list(limit)])


@router.get("/jobs/{job_id}", dependencies=ADMIN, responses=problems(404))
def job(server: ServerOf, job_id: JobId) -> shapes.JobInfo:
    return _info(_existing(server, job_id))


@router.post("/jobs/{job_id}/cancel", dependencies=ADMIN, responses=problems(404))
def cancel(server: ServerOf, job_id: JobId) -> shapes.JobInfo:
    """One that waits never runs, one that runs is ended, one that is over stays as it is."""
    _existing(server, job_id)
    return _info(server.feedback.jobs.cancel(job_id))


@router.get(
    "/models/{project_id}/report",
    dependencies=[needs("read")],
    responses={**problems(404), 200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
    response_class=FileResponse,
)
def report(serving: ServingOf, server: ServerOf) -> FileResponse:
    """The page that the last job of the kind report has written."""
    file = server.settings.report_of(serving.project.id)
    if not file.is_file():
        raise Problem(404, "there is no report yet; begin a job of the kind report", "Report not found")
    return FileResponse(file, media_type="text/html", headers={"Content-Security-Policy": REPORT_CSP})


def _existing(server: Server, job_id: int) -> Job:
    found = server.feedback.jobs.get(job_id)
    if found is None:
        raise Problem(404, f"there is no job {job_id}", "Job not found")
    return found


def _arguments(server: Server, asked: shapes.JobRequest) -> list[str]:
    """Of the command with the job's name."""
    if asked.kind == "fit":
        options = [f"--method={asked.method}"] if asked.method else []
        options += [f"--budget={asked.budget}"] if asked.budget else []
        return [str(path_of(server.settings, asked.data)), "-o", str(_destination(server, asked.project)), *options]
    serving = server.servings.get(asked.project)
    if serving is None:
        raise Problem(404, f"Project '{asked.project}' not found", "Project not found")
    if asked.kind == "refit":
        return _refit(server, serving, asked)
    split = [f"--split={asked.split}"] if asked.split else []
    found = [str(serving.current.path), str(path_of(server.settings, asked.data)), *split]
    output = server.settings.report_of(serving.project.id)
    return [*found, "--json"] if asked.kind == "evaluate" else [*found, "-o", str(output)]


def _refit(server: Server, serving: Serving, asked: shapes.JobRequest) -> list[str]:
    """Written to the folder that the project began with: it is served when it is done."""
    decisions = ["--decisions", server.settings.store_url, "--project", serving.project.id]
    split = [f"--split={asked.split}"] if asked.split else []
    data = str(path_of(server.settings, asked.data))
    return [str(serving.current.path), data, "-o", str(serving.project.model), *decisions, *split]


def _destination(server: Server, name: str) -> FilePath:
    """The project's own folder, so that it is served when it is done; else a new one."""
    if name in server.servings:
        return server.servings[name].project.model
    if not ID.fullmatch(name):
        raise Problem(400, "project: expected a name of letters, digits, '.', '_' and '-'")
    return server.settings.state / "models" / name


def _info(job: Job) -> shapes.JobInfo:
    """Without arguments: paths and the database's password are nobody's business."""
    found = asdict(job)
    del found["arguments"]
    return shapes.JobInfo(**found)
