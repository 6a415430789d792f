"""Projects: which models are served, under which names, to whom. From a TOML file, or models on the command line.

[projects.yso-en]            # the id, as in the addresses
model = "models/yso"         # a folder, beside this file
name = "YSO, English"
language = "en"              # of names, where nobody asks for another
access = "public"            # hidden: not listed; private: for keys with the scope admin
allow_learn = true
vocab = "yso"                # an id for the vocabulary, if projects share one
transform = ["first=5000"]   # of texts before they are tagged (workflow/transform.py)
examples = ["A text that the page offers to try"]
[projects.yso-en.selection]  # labels that are suggested
exclude_types = ["http://www.yso.fi/onto/yso-meta/Individual"]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from everylabel.config import read_toml
from everylabel.errors import ConfigError
from everylabel.workflow.selection import Selection
from everylabel.workflow.transform import Transform, transforms_of

Access = Literal["public", "hidden", "private"]
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, kw_only=True)
class Project:
    id: str
    model: Path
    name: str = ""
    language: str = ""  # "": that of the vocabulary, else English
    access: Access = "public"
    allow_learn: bool | None = None  # None: as the server says
    vocab: str = ""
    transform: tuple[str, ...] = ()
    selection: dict[str, Any] = field(default_factory=dict)
    examples: tuple[str, ...] = ()  # texts to click on the page; a first line of several is a title

    def __post_init__(self) -> None:
        if not ID.fullmatch(self.id):
            raise ConfigError(
                f"project {self.id!r}: expected an id of letters, digits, '.', '_' and '-', as it is in addresses"
            )
        if self.access not in get_args(Access):
            raise ConfigError(f"project {self.id}: access must be public, hidden or private; got {self.access!r}")

        _ = self.chosen, self.transforms  # a typo is found before a model is loaded

    @cached_property
    def chosen(self) -> Selection:
        """The labels that are suggested."""
        known = {one.name for one in fields(Selection)}
        if unknown := set(self.selection) - known:
            raise ConfigError(
                f"project {self.id}: no selection by {min(unknown)!r}; there are: {', '.join(sorted(known))}"
            )
        return Selection(**self.selection)

    @cached_property
    def transforms(self) -> tuple[Transform, ...]:
        return transforms_of(self.transform)

    @property
    def title(self) -> str:
        return self.name or self.id

    @property
    def vocabulary(self) -> str:
        return self.vocab or self.id


def read_projects(file: Path) -> list[Project]:
    """Of a TOML file; folders are relative to it."""
    tables = read_toml(file).get("projects")
    if not isinstance(tables, dict) or not tables:
        raise ConfigError(f"{file}: expected a table [projects.NAME] for each project, with its model")
    return [_project(file, project_id, values) for project_id, values in tables.items()]


def projects_of(models: Sequence[Path]) -> list[Project]:
    """A project a model folder, named as the folder is."""
    return distinct(Project(id=_id_of(path.absolute().name), model=path) for path in models)


def distinct(projects: Iterable[Project]) -> list[Project]:
    found: dict[str, Project] = {}
    for project in projects:
        if project.id in found:
            raise ConfigError(
                f"two projects are named {project.id!r} ({found[project.id].model}, {project.model}); name them in a "
                "file: --config projects.toml"
            )
        found[project.id] = project
    return list(found.values())


def _project(file: Path, project_id: str, values: Any) -> Project:
    known = {one.name: one.type for one in fields(Project) if one.name != "id"}
    if not isinstance(values, dict) or not isinstance(values.get("model"), str):
        raise ConfigError(f"{file}: project {project_id} needs a model: model = 'FOLDER'")
    for key, value in values.items():
        if key not in known:
            raise ConfigError(f"{file}: project {project_id} has no setting {key!r}; there are: {', '.join(known)}")
        wanted = {"allow_learn": bool, "selection": dict, "transform": list, "examples": list}.get(key, str)
        if not isinstance(value, wanted):
            raise ConfigError(f"{file}: projects.{project_id}.{key} must be of type {wanted.__name__}; got {value!r}")
    path = file.parent / Path(values["model"]).expanduser()
    lists = {key: tuple(map(str, values.get(key, ()))) for key in ("transform", "examples")}
    return Project(id=project_id, **values | {"model": path} | lists)


def _id_of(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:80] or "model"
