"""Ranking for a server in another process: models that are exchanged as theirs are, and one queue (batching.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from everylabel.feedback.versions import Versions
from everylabel.web.batching import Batches
from everylabel.web.metrics import Metrics
from everylabel.web.problems import Problem
from everylabel.web.projects import Project, distinct
from everylabel.web.serving import Serving, Watcher, warm_up
from everylabel.web.settings import Settings
from everylabel.web.tagging import Asked, Tagged, Text, tag_here


class Ranker:
    """Has no database and no keys: who asks it has looked at those."""

    def __init__(self, projects: Sequence[Project], settings: Settings) -> None:
        metrics = Metrics()
        self._servings = {
            project.id: Serving(project, Versions(settings.state / project.id, project.model), metrics)
            for project in distinct(projects)
        }
        self._batches = Batches(metrics, most_waiting=settings.most_waiting, seconds=settings.answer_seconds)
        self._watcher = Watcher(list(self._servings.values()), settings.watch_seconds)
        for serving in self._servings.values():
            warm_up(serving.current.model)
        self._watcher.start()

    async def ask(
        self, project: str, asked: Asked, texts: Sequence[Text], characters: int
    ) -> Sequence[Tagged] | dict[str, Any]:
        """What is wrong is a value, too: it has to be sent."""
        try:
            return await tag_here(self._batches, self._servings[project], texts, asked, characters)
        except Problem as problem:
            return dict(vars(problem))

    def close(self) -> None:
        self._watcher.stop()
        self._batches.close()


def answered(found: Sequence[Tagged] | dict[str, Any]) -> Sequence[Tagged]:
    """What `ask` gave, where it was asked."""
    if isinstance(found, dict):
        raise Problem(**found)
    return found
