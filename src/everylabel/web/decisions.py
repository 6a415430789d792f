"""Decisions over the network: stored before they are acknowledged, learned beside serving by a thread of its own.

The database is opened on first use, and again after it was away: what needs it is answered with 503 meanwhile, all else
goes on. Learning uses one core, so that those who ask for tags keep the others; the model it makes is a new version,
which is then loaded as any other.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from everylabel.errors import DataError, EverylabelError, StoreError
from everylabel.feedback.decisions import Decision, NewDecision
from everylabel.feedback.jobs import Jobs
from everylabel.feedback.learning import learn_waiting
from everylabel.feedback.store import DecisionStore
from everylabel.methods.base import Method
from everylabel.parallel import one_core
from everylabel.web.memory import give_back
from everylabel.web.metrics import Metrics
from everylabel.web.projects import Project
from everylabel.web.serving import Loaded, Serving
from everylabel.web.settings import Settings

LOOKS = 5.0  # seconds between two looks whether enough waits
log = logging.getLogger("everylabel.server")
State = Literal["idle", "waiting", "running"]


@dataclass
class Learning:
    """What a project's learning is doing, and what came of the last one."""

    state: State = "idle"
    last: dict[str, Any] | None = None  # feedback.learning.Outcome
    error: str = ""
    n_tried: int = -1  # decisions that were stored when it was last tried


class Feedback:
    def __init__(
        self,
        servings: Mapping[str, Serving],
        settings: Settings,
        metrics: Metrics,
        allows_learning: Callable[[Project], bool],
    ) -> None:
        self._servings, self._settings, self._metrics, self._allowed = servings, settings, metrics, allows_learning
        self._opening = threading.Lock()
        self._store: DecisionStore | None = None
        self._jobs: Jobs | None = None
        self.learning = {project_id: Learning() for project_id in servings}
        self._wake, self._stop = threading.Event(), False
        self._thread = threading.Thread(target=self._learn, name="everylabel-learning", daemon=True)

    @property
    def store(self) -> DecisionStore:
        """StoreError where the database is away."""
        with self._opening:
            if self._store is None:
                self._store = DecisionStore(self._settings.store_url)
            return self._store

    @property
    def jobs(self) -> Jobs:
        store = self.store
        with self._opening:
            if self._jobs is None:
                self._jobs = Jobs(store)
            return self._jobs

    def add(self, serving: Serving, decisions: Sequence[NewDecision]) -> list[Decision]:
        """On disk when it returns. Labels that the vocabulary does not have are an error, and nothing is stored."""
        index = serving.current.model.labels_.index
        for decision in decisions:
            for label in (*decision.labels, *decision.rejected):
                if label not in index:
                    raise DataError(f"label {label!r} is not in the vocabulary; nothing was stored: add it first")
        project = serving.project.id
        found = [self.store.add(project, decision) for decision in decisions]
        self._metrics.decided(project, len(found))
        return found

    def change(self, serving: Serving, change: Callable[[Method], Method], note: Mapping[str, Any]) -> Loaded:
        """The next version of a model, made by `change`, served at once. Nobody else changes it meanwhile."""
        versions = serving.versions
        with versions.changing():
            version, _ = versions.current
            versions.take(change(versions.load(version).model_), note)
        serving.look()
        return serving.current

    def back_to(self, serving: Serving, version: int) -> Loaded:
        serving.versions.back_to(version)
        serving.look()
        return serving.current

    def learn_soon(self, serving: Serving) -> Learning:
        """However little waits."""
        found = self.learning[serving.project.id]
        if found.state == "idle":
            found.state = "waiting"
        self._wake.set()
        return found

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """A learning that has begun is ended first: its model is worth the wait."""
        self._stop = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()
        if self._jobs is not None:
            self._jobs.close()
        if self._store is not None:
            self._store.close()

    def _learn(self) -> None:
        while not self._stop:
            self._wake.wait(LOOKS)
            self._wake.clear()
            for serving in self._servings.values():
                if not self._stop and self._allowed(serving.project):
                    self._learn_one(serving, self.learning[serving.project.id])

    def _learn_one(self, serving: Serving, learning: Learning) -> None:
        least = 1 if learning.state == "waiting" else self._settings.least_to_learn
        project = serving.project.id
        try:
            counts = self.store.counts(project)
            n_stored = counts["stored"] + counts["undone"]
            if learning.state != "waiting" and (counts["waiting"] < least or n_stored == learning.n_tried):
                return
            learning.state, learning.n_tried = "running", n_stored
            try:
                with one_core():
                    outcome = learn_waiting(self.store, serving.versions, project, least=least)
            finally:
                give_back()
            learning.error = ""
            if outcome is not None:
                learning.last = outcome.to_json()
                log.info("project %s: learned %d decisions", project, len(outcome.learned))
                serving.look()
        except StoreError as error:
            learning.error, learning.n_tried = str(error), -1
        except Exception as error:  # of any kind: what is served goes on, and it is said
            learning.error = str(error) if isinstance(error, EverylabelError) else type(error).__name__
            log.warning("project %s: learning failed: %s", project, learning.error)
        finally:
            learning.state = "idle"
