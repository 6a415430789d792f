"""The models of a project, one after the other: each a folder of its own, so that any of the last ones can come back.

    FOLDER/000001/ ...     models as `everylabel.store` writes them; the one that the project began with is version 0
    FOLDER/current         which one is used: {"version", "origin"}, replaced as a whole
    FOLDER/history.jsonl   what was taken, refused and taken back, with the decisions that each version has learned

A model is written first, then the history, then `current`: killed in between, the version before stays, and what was
written is removed by the next one. Files that two versions have in common are one file with two names (hard links).
If another model is put in the place of version 0 (a full fit), it is the current one, and history begins anew from it.
Cost of a version: what of its arrays is new, and a sha256 of all.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from everylabel.atomic import replaced
from everylabel.errors import ModelError
from everylabel.methods.base import Method
from everylabel.run import QUIET, Run
from everylabel.store import MANIFEST, load, locked, read_manifest, save_method
from everylabel.store.known import staying_known
from everylabel.store.manifest import digest_of

KEPT = 5  # of the latest versions, beside version 0 and the current one
TAKEN, BACK, REFUSED = "taken", "back", "refused"


class Versions:
    """Of one project. `model` is the folder that it began with: version 0, which is never written to."""

    def __init__(self, folder: Path, model: Path) -> None:
        self.folder, self.model = Path(folder), Path(model)
        self._began_with = ""  # the origin when the present change began

    @property
    def current(self) -> tuple[int, Path]:
        """Read from disk each time, as other processes change it. A few hundred microseconds."""
        try:
            about = json.loads((self.folder / "current").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return 0, self.model
        except (OSError, ValueError) as error:
            raise ModelError(f"{self.folder / 'current'}: cannot be read ({error}); remove it for version 0") from None
        if about["version"] == 0 or about["origin"] != self._origin():
            return 0, self.model
        return about["version"], self.path_of(about["version"])

    def path_of(self, version: int) -> Path:
        return self.folder / f"{version:06d}" if version else self.model

    def load(self, version: int) -> Method:
        """A model that is there; of one that is not, what there is."""
        path = self.path_of(version)
        if version and not path.is_dir():
            raise ModelError(f"{self.folder}: version {version} is not kept; there are {self._spoken_versions()}")
        return load(path)

    def kept(self) -> list[int]:
        """The versions that are there, 0 first."""
        numbers = sorted(int(path.name) for path in self.folder.glob("[0-9]" * 6) if (path / MANIFEST).is_file())
        return [0, *numbers]

    def take(self, model: Method, note: Mapping[str, Any]) -> int:
        """Write the model as the next version and make it the current one; its number.

        `note` goes to the history; "parent" is the version that it was made from, unless given the current one, and
        "decisions" are the ids that it has learned since. An error if version 0 is another model than when the change
        began: what was made of the old one must not come before it.
        """
        with self.changing():
            if self._origin() != self._began_with:
                raise ModelError(f"{self.model}: was replaced by another model meanwhile; nothing was taken: try again")
            now, path = self.current
            version: int = 1 + max([*self.kept(), *(event.get("version", 0) for event in self.history())])
            older = [self.path_of(one) for one in self.kept()]
            with staying_known(older):
                save_method(model.model_, self.path_of(version), like=path)
            self.note(TAKEN, version=version, **{"parent": now, "decisions": [], "origin": self._began_with, **note})
            self._point_to(version)
            self._prune()
            return version

    def back_to(self, version: int) -> Path:
        """Make a version that is still there the current one again; its folder. Nothing is deleted."""
        with self.changing():
            self.load(version)  # a damaged one would be worse than what there is
            before, _ = self.current
            self.note(BACK, version=version, before=before)
            self._point_to(version)
            return self.path_of(version)

    def history(self) -> list[dict[str, Any]]:
        """Oldest first."""
        try:
            lines = (self.folder / "history.jsonl").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    def note(self, what: str, **about: Any) -> None:
        """A line more in the history, which is replaced as a whole."""
        event = {"when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "what": what, **about}
        with self.changing():
            lines = [json.dumps(one, ensure_ascii=False) for one in (*self.history(), event)]
            with replaced(self.folder / "history.jsonl") as fresh:
                fresh.write_text("\n".join(lines) + "\n", encoding="utf-8")

    def line_of(self, version: int) -> list[dict[str, Any]]:
        """What the history has of a version and those that it was made from, the latest first, down to version 0."""
        taken = {event["version"]: event for event in self.history() if event["what"] == TAKEN}
        line = []
        while version:
            line.append(taken[version])
            version = taken[version]["parent"]
        return line

    @contextmanager
    def changing(self, run: Run = QUIET) -> Iterator[None]:
        """Nobody else changes the project's versions meanwhile, in any process; readers need not wait."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder, run):
            is_first = not self._began_with
            self._began_with = self._began_with or self._origin()
            try:
                yield
            finally:
                if is_first:
                    self._began_with = ""

    def _origin(self) -> str:
        """Of version 0: it is another one after a full fit in its place."""
        return digest_of(read_manifest(self.model))

    def _point_to(self, version: int) -> None:
        with replaced(self.folder / "current") as fresh:
            fresh.write_text(json.dumps({"version": version, "origin": self._began_with}), encoding="utf-8")

    def _prune(self) -> None:
        """All but the latest, and what a killed writer has left that never became a version."""
        known = {event["version"] for event in self.history() if event["what"] == TAKEN}
        there = self.kept()[1:]
        keep = {*sorted(known & set(there))[-KEPT:], self.current[0]}
        with staying_known([self.path_of(version) for version in (0, *keep)]):
            for version in there:
                if version not in keep:
                    shutil.rmtree(self.path_of(version), ignore_errors=True)

    def _spoken_versions(self) -> str:
        return ", ".join(map(str, self.kept()))
