"""What the routes share: projects with their models, the queue, decisions, keys and counters. One object an app."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

from fastapi import Depends, Path, Request

from everylabel.feedback.versions import Versions
from everylabel.web.access import Guard
from everylabel.web.batching import Batches
from everylabel.web.decisions import Feedback
from everylabel.web.fetching import Fetcher
from everylabel.web.keys import Keys
from everylabel.web.metrics import Metrics
from everylabel.web.problems import Problem
from everylabel.web.projects import Project, distinct
from everylabel.web.serving import Serving, Watcher, warm_up
from everylabel.web.settings import Settings
from everylabel.web.turns import Turns
from everylabel.web.uploads import Uploads

MOST_FILES, MOST_QUESTIONS = 8, 64  # that wait to be read, or for the language of a text


class Server:
    """Models are loaded when it is made: one that cannot be is an error then, not at the first request."""

    def __init__(
        self, projects: Sequence[Project], settings: Settings, ranked_by: Callable[..., Awaitable[Any]] | None = None
    ) -> None:
        self.settings, self.metrics = settings, Metrics()
        self.ranked_by = ranked_by  # who ranks in place of this process, as `Ranker.ask` does (ranker.py)
        self.guard = Guard(Keys(settings.keys, settings.most_failures), settings.hosts)
        self.servings = {
            project.id: Serving(project, Versions(settings.state / project.id, project.model), self.metrics)
            for project in distinct(projects)
        }
        self.batches = Batches(self.metrics, most_waiting=settings.most_waiting, seconds=settings.answer_seconds)
        self.feedback = Feedback(self.servings, settings, self.metrics, self.allows_learning)
        self.watcher = Watcher(list(self.servings.values()), settings.watch_seconds)
        self.uploads = Uploads(settings.upload_seconds, settings.most_characters)
        self.fetcher = Fetcher(settings.fetch_seconds, settings.most_upload_bytes)
        self.file_turns, self.language_turns = Turns(MOST_FILES, 2), Turns(MOST_QUESTIONS, 0.1)
        self.is_ready = False

    def start(self) -> None:
        """Warm up, then watch. Seconds, so in a thread."""
        for serving in self.servings.values():
            warm_up(serving.current.model)
        self.watcher.start()
        self.feedback.start()
        self.is_ready = True

    def stop(self) -> None:
        """After the last request: what waits is ranked, the database is closed."""
        self.is_ready = False
        self.watcher.stop()
        self.batches.close()
        self.uploads.close()
        self.feedback.close()

    def allows_learning(self, project: Project) -> bool:
        return self.settings.allow_learn if project.allow_learn is None else project.allow_learn

    def listed(self, request: Request) -> list[Serving]:
        """The projects that a list has for this request."""
        visible = {"public", *(("hidden", "private") if self.guard.is_admin(request) else ())}
        return [serving for serving in self.servings.values() if serving.project.access in visible]


async def server_of(request: Request) -> Server:
    found: Server = request.app.state.server
    return found


ServerOf = Annotated[Server, Depends(server_of)]
ProjectId = Annotated[str, Path(description="The project's id, as `projects` and `models` list it.", max_length=200)]


def serving_for(server: Server, request: Request, project_id: str) -> Serving:
    """A project, if this request may see it."""
    serving = server.servings.get(project_id)
    if serving is None or (serving.project.access == "private" and not server.guard.is_admin(request)):
        raise Problem(404, f"Project '{project_id}' not found", "Project not found")
    return serving


async def serving_of(request: Request, project_id: ProjectId, server: ServerOf) -> Serving:
    return serving_for(server, request, project_id)


ServingOf = Annotated[Serving, Depends(serving_of)]


async def may_learn(serving: ServingOf, server: ServerOf) -> None:
    if not server.allows_learning(serving.project):
        detail = (
            f"project '{serving.project.id}' does not learn; start the server with --allow-learn, or set allow_learn"
        )
        raise Problem(403, detail, "Learning not allowed", reason="learn")
