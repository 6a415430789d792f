"""`everylabel serve`: models as a server with a page, Annif's interface, our own, and reconciliation for OpenRefine."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from everylabel.cli.guard import guarded
from everylabel.cli.options import OnRay, Quiet
from everylabel.cli.output import note
from everylabel.cli.progress import progress
from everylabel.errors import ConfigError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from everylabel.data import Dataset
    from everylabel.methods.base import Method
    from everylabel.run import Run
    from everylabel.web.projects import Project
    from everylabel.web.settings import Settings

DEMO = "demo"


@guarded
def serve(
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[MODEL]...", help="Folders of models; each is a project named as its folder is."),
    ] = None,
    *,
    config: Annotated[
        Path | None,
        typer.Option(
            "--config", "-c", metavar="FILE", help="Projects in TOML: see docs/server.md; or Annif's .cfg or .toml."
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="PROJECT=MODEL", help="With Annif's file: which model serves a project."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen at; others than this machine need --keys.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="0: any that is free.")] = 8000,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="FOLDER",
            file_okay=False,
            help="For decisions and learned models. [default: in your home]",
        ),
    ] = None,
    store: Annotated[
        str, typer.Option("--store", metavar="URL", help="Database of decisions. [default: SQLite in the state folder]")
    ] = "",
    keys: Annotated[
        Path | None, typer.Option("--keys", metavar="FILE", help="Keys of those who may ask: everylabel keys add FILE.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="FOLDER", help="Data sets that jobs over the network may read.")
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", metavar="NAME", help="A name beside localhost, without keys.")
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option("--origin", metavar="URL", help="Pages that may ask from browsers. [default: all]"),
    ] = None,
    allow_learn: Annotated[bool, typer.Option("--allow-learn", help="Learn from decisions that come in.")] = False,
    allow_fetch: Annotated[
        bool, typer.Option("--allow-fetch", help="Fetch public addresses for those who may decide, for their texts.")
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Fit the embedded sample, once, and serve it.")] = False,
    ray: OnRay = None,
    quiet: Quiet = False,
) -> None:
    """Serve models: a page for people, Annif's REST interface, our own, and OpenRefine's reconciliation.

    A model that is replaced in its folder is taken at once; SIGHUP loads all again. Ctrl-C ends it.

    Example: everylabel serve MODEL --port 8000

    By replicas on a cluster: everylabel serve MODEL --ray HOST:6379 --store postgresql+psycopg://...
    """
    from everylabel.web.extra import require_server

    require_server()
    from everylabel.web.annif_projects import Configured, configured_projects
    from everylabel.web.app import create_app
    from everylabel.web.projects import distinct, projects_of
    from everylabel.web.running import bound_socket, check_host, running
    from everylabel.web.settings import Settings

    if model and config is None:
        raise typer.BadParameter("it names projects of a file: give --config FILE", param_hint="--model")
    check_host(host, keys is not None)
    if ray not in (None, "local") and not store.startswith("postgresql"):
        raise ConfigError(
            "on a cluster decisions are in PostgreSQL, as the front may move: give --store postgresql+..."
        )
    folder = state or _state_folder()
    settings = Settings(
        state=folder.absolute(),  # and so are the others: on a cluster who reads them is in another folder
        store=store,
        keys=keys.absolute() if keys else None,
        data=data.absolute() if data else None,
        hosts=tuple(allow_host or ()),
        origins=tuple(origin or ("*",)),
        allow_learn=allow_learn,
        allow_fetch=allow_fetch,
    )
    with closing(bound_socket(host, port)) as listening:  # a port that is taken is said before anything is loaded
        configured = configured_projects(config, _named_models(model)) if config else Configured([], [])
        projects = distinct([*configured.projects, *projects_of(models or [])])
        projects = [replace(project, model=project.model.absolute()) for project in projects]
        if configured.left_out and not quiet:
            note(f"no model is named for: {', '.join(configured.left_out)}; --model PROJECT=MODEL serves one")
        projects += [_demo(settings, quiet)] if demo else []
        if not projects:
            raise ConfigError("there is nothing to serve; give a MODEL, --config FILE, or --demo")
        _log(quiet)
        bound = listening.getsockname()[1]
        if ray is not None:
            listening.close()  # Serve's proxy listens there
            _serve_on_ray(ray, projects, settings, host, bound)
            return
        app = create_app(projects, settings)
        _tell(host, bound, projects, has_keys=keys is not None)
        running(app).run(sockets=[listening])


def _serve_on_ray(address: str, projects: list[Project], settings: Settings, host: str, port: int) -> None:
    from everylabel.distributed.cluster import connected
    from everylabel.distributed.serve import start, wait
    from everylabel.web.ranker import Ranker

    with connected(address) as there:
        start(
            partial(_app_in_front, projects, settings), partial(Ranker, projects, settings), there, host=host, port=port
        )
        _tell(host, port, projects, has_keys=settings.keys is not None)
        wait()


def _app_in_front(projects: list[Project], settings: Settings, ask: Callable[..., Awaitable[Any]]) -> FastAPI:
    """Made on the node that it runs on."""
    from everylabel.web.app import create_app
    from everylabel.web.ranker import answered

    async def ranked_by(*asked: Any) -> Any:
        return answered(await ask(*asked))

    return create_app(projects, settings, ranked_by)


def _named_models(given: list[str] | None) -> dict[str, Path]:
    pairs = [one.partition("=") for one in given or ()]
    if wrong := next((one for one in pairs if not one[0] or not one[2]), None):
        raise typer.BadParameter(f"expected PROJECT=MODEL, got {''.join(wrong)!r}", param_hint="--model")
    return {project: Path(folder) for project, _, folder in pairs}


def _tell(host: str, port: int, projects: list[Project], *, has_keys: bool) -> None:
    """On stdout: it is what the command is for, and a script may read it."""
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    names = ", ".join(project.id for project in projects)
    print(f"page           {address}/")
    print(f"interface      {address}/api/     documentation {address}/api/ui/")
    print(f"Annif's        {address}/v1/      documentation {address}/v1/ui/")
    for project in projects:
        print(f"OpenRefine     {address}/v1/projects/{project.id}/reconcile")
    print(f"projects       {names}", flush=True)
    if not has_keys:
        note("no keys: only this machine is served (everylabel keys add FILE, then --keys FILE, for others)")


def _demo(settings: Settings, quiet: bool) -> Project:
    """The sample's tagger, fitted into the state folder the first time, with a report for the page about it."""
    from everylabel.web.projects import Project
    from everylabel.workflow.demo import example_texts

    path = settings.state / "models" / DEMO
    if not (path / "manifest.json").is_file():
        from everylabel.tagger.tagger import Tagger
        from everylabel.workflow.demo import sample_splits

        if not quiet:
            note("fitting the embedded sample, once: a minute or two")
        train, dev, test = sample_splits()
        with progress(quiet) as run:
            tagger = Tagger().fit(train, dev, run=run)
            _report(tagger, test, settings.report_of(DEMO), run)
            tagger.save(path)
    return Project(
        id=DEMO,
        model=path,
        name="A catalogue of a harbour town (sample)",
        language="en",
        allow_learn=True,
        examples=example_texts(),
    )


def _report(tagger: Method, test: Dataset, output: Path, run: Run) -> None:
    from everylabel.workflow.report import LearningCurve, ready_to_report, report, write_report

    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        ready_to_report(output)
    except ConfigError as error:  # no matplotlib: there are no pictures, and all else works
        note(f"no report: {error}")
        return
    curve = LearningCurve([], "Left out, for the demo to begin soon.")
    write_report(report(tagger, test, curve=curve, run=run), output)


def _state_folder() -> Path:
    home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(home) / "everylabel"


def _log(quiet: bool) -> None:
    """To stderr. Requests are logged without what was asked; uvicorn tells of itself only what is wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name, level in (("everylabel", logging.WARNING if quiet else logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # it tells of bytes of forms
