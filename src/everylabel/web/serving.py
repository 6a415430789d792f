"""The model of a project that answers now: loaded, checked, warmed up, and exchanged when there is another.

The next one is loaded beside the present one, and put into its place by one assignment once it has ranked something.
Who has begun with the old one ends with it; its files stay mapped until then. One that cannot be loaded, or cannot
rank, is refused and said, and the old one stays. A look at the folder is one `stat`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from everylabel.data.ids import IdIndex
from everylabel.errors import EverylabelError, ModelError
from everylabel.feedback.versions import Versions
from everylabel.methods.base import Method
from everylabel.store import MANIFEST, load
from everylabel.web.memory import give_back
from everylabel.web.metrics import Metrics
from everylabel.web.projects import Project
from everylabel.workflow.settings import is_tagger
from everylabel.workflow.tag import suggest
from everylabel.workflow.vocabulary import LabelSearch

log = logging.getLogger("everylabel.server")
Stamp = tuple[str, int, int, int, int]


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model as it was loaded; everything that answers a request takes it once."""

    model: Method
    version: int  # 0: the one that the project began with
    path: Path
    stamp: Stamp
    modified: datetime
    since: datetime = field(default_factory=lambda: datetime.now(UTC))

    @cached_property
    def search(self) -> LabelSearch:
        return LabelSearch.of(self.model)

    def place_of(self, wanted: str) -> int | None:
        """A label's, by its id, or by its address where that is another."""
        at: int | None = self.model.labels_.index.get(wanted)
        return self._addresses.get(wanted) if at is None and wanted else at

    @cached_property
    def _addresses(self) -> IdIndex:
        return IdIndex.of(self.model.labels_.uris)


class Serving:
    """One project. Readers take `current`; whoever reloads waits for others who do."""

    def __init__(self, project: Project, versions: Versions, metrics: Metrics) -> None:
        self.project, self.versions, self._metrics = project, versions, metrics
        self.refused = ""  # why the newest model is not served
        self._refused_stamp: Stamp | None = None
        self._reloading = threading.Lock()
        self.current = self._load()
        metrics.loaded(project.id, self.current.version, swapped=False)

    def look(self) -> bool:
        """Exchange the model if there is another; was it? An error leaves the old one, and is told once."""
        with self._reloading:
            try:
                stamp = stamp_of(self.versions.current[1])
            except (OSError, EverylabelError) as error:  # away, or being exchanged: it may be back at the next look
                self.refused = f"{self.project.model}: cannot be looked at ({error}); the old model is served"
                return False
            if stamp in (self.current.stamp, self._refused_stamp):
                return False
            self._exchange()
            return True

    def reload(self) -> Loaded:
        """Load again, whether or not anything has changed; an error leaves the old one, and is the caller's."""
        with self._reloading:
            return self._exchange()

    def _exchange(self) -> Loaded:
        try:
            loaded = self._load()
            warm_up(loaded.model)
            loaded.search.warm_up()
        except Exception as error:  # of any kind: what is served must go on
            self._refuse(error)
            raise error if isinstance(error, EverylabelError) else ModelError(self.refused) from error
        self.current, self.refused, self._refused_stamp = loaded, "", None
        self._metrics.loaded(self.project.id, loaded.version, swapped=True)
        log.info("project %s: now served by version %d, %s", self.project.id, loaded.version, loaded.path)
        give_back()
        return loaded

    def _refuse(self, error: Exception) -> None:
        said = str(error) if isinstance(error, EverylabelError) else f"cannot rank ({type(error).__name__})"
        self.refused = f"the new model is refused, the old one is served on: {said}"
        try:
            self._refused_stamp = stamp_of(self.versions.current[1])
        except (OSError, EverylabelError):
            self._refused_stamp = None
        self._metrics.refused("model")
        log.warning("project %s: %s", self.project.id, self.refused)

    def _load(self) -> Loaded:
        for _ in range(5):
            version, path = self.versions.current
            try:
                before = stamp_of(path)
            except OSError:
                before = None
            model = load(path).model_
            if before is not None and before == stamp_of(path):  # else it was exchanged while it was loaded
                return Loaded(model, version, path, before, datetime.fromtimestamp(before[2] / 1e9, UTC))
        raise ModelError(f"{path}: is replaced again and again while it is being opened; try again when that has ended")


def stamp_of(path: Path) -> Stamp:
    """A model folder as it is now: another model has another stamp."""
    found = (path / MANIFEST).stat()
    return str(path), found.st_ino, found.st_mtime_ns, found.st_size, found.st_dev


def warm_up(model: Method) -> None:
    """Rank something, alone and in company: kernels are loaded, pages are read, a model that cannot is found out."""
    labels = model.labels_
    texts = [" ".join(labels.names[at] for at in range(min(3, len(labels)))) or "a text", "one more text"]
    suggest(model, texts[:1], explain=is_tagger(model))
    suggest(model, texts * 9)


class Watcher:
    """A thread that looks at the folders now and then, and at once when it is told to (SIGHUP)."""

    def __init__(self, servings: Sequence[Serving], seconds: float) -> None:
        self._servings, self._seconds = servings, seconds
        self._wake, self._stop, self._reload = threading.Event(), False, False
        self._thread = threading.Thread(target=self._watch, name="everylabel-watching", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def reload_soon(self) -> None:
        """From a signal handler."""
        self._reload = True
        self._wake.set()

    def stop(self) -> None:
        self._stop = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        for serving in self._servings:  # seconds for a million labels: neither the start nor who types shall wait
            serving.current.search.warm_up()
        while not self._stop:
            self._wake.wait(self._seconds)
            self._wake.clear()
            wanted, self._reload = self._reload, False
            for serving in self._servings if not self._stop else ():
                try:
                    _ = serving.reload() if wanted else serving.look()
                except EverylabelError:
                    time.sleep(0)  # said and counted where it happened
