"""Projects as Annif has them, `projects.cfg`, `projects.toml` or a folder of such: names, languages, access, labels.

[yso-en]
name = YSO, English
language = en
backend = nn_ensemble            # and its settings: not read, a model of ours takes its place
vocab = yso(en,exclude_type=http://www.yso.fi/onto/yso-meta/Individual)
transform = limit(5000)
access = hidden
everylabel_model = models/yso    # the one new line: a folder, beside this file; or serve --model yso-en=models/yso
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from everylabel.config import read_toml
from everylabel.data.label import is_language
from everylabel.errors import ConfigError
from everylabel.web.projects import Project, distinct, read_projects

MODEL = "everylabel_model"
CALL = re.compile(r"\s*([\w.-]+)\s*(?:\(([^()]*)\))?\s*")
EXCLUDED = {"exclude": "exclude", "exclude_type": "exclude_types", "exclude_scheme": "exclude_schemes"}
INCLUDED = {"include": "only", "include_type": "types", "include_scheme": "schemes"}


class Configured(NamedTuple):
    projects: list[Project]
    left_out: list[str]  # ids of Annif's projects that no model is named for


def configured_projects(file: Path, models: Mapping[str, Path] | None = None) -> Configured:
    """Of our own file, or of Annif's. `models`: which folder serves a project, whatever the file says."""
    models = dict(models or {})
    found = Configured([], [])
    for one in _files(file):
        own = one.suffix.lower() == ".toml" and isinstance(read_toml(one).get("projects"), dict)
        if own:
            found.projects.extend(read_projects(one))
            continue
        for project_id, values in _tables(one).items():
            model = models.pop(project_id, None) or _named(one, project_id, values)
            if model is None:
                found.left_out.append(project_id)
            else:
                found.projects.append(_project(one, project_id, values, model))
    if models:
        raise ConfigError(f"{file}: has no project {min(models)!r}, which --model names; check its spelling")
    if not found.projects:
        raise ConfigError(
            f"{file}: expected a model for a project; write {MODEL} = FOLDER into it, or give --model PROJECT=FOLDER"
        )
    return Configured(distinct(found.projects), found.left_out)


def _files(file: Path) -> list[Path]:
    if not file.is_dir():
        return [file]
    files = sorted(one for one in file.iterdir() if one.suffix.lower() in (".cfg", ".toml"))
    if not files:
        raise ConfigError(f"{file}: expected files of projects, .cfg or .toml, and there is none")
    return files


def _tables(file: Path) -> dict[str, dict[str, Any]]:
    if file.suffix.lower() == ".toml":
        tables = read_toml(file)
    else:
        parser = configparser.ConfigParser()
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        try:
            parser.read_string(file.read_text(encoding="utf-8-sig"), str(file))
            tables = {section: dict(parser[section]) for section in parser.sections()}
        except (OSError, UnicodeDecodeError, configparser.Error) as error:
            raise ConfigError(f"{file}: cannot be read as projects ({' '.join(str(error).split())})") from None
    wrong = next((name for name, values in tables.items() if not isinstance(values, dict)), None)
    if wrong is not None or not tables:
        what = "nothing" if wrong is None else repr(wrong)
        raise ConfigError(f"{file}: expected a section a project, as Annif has them, or [projects.NAME]; got {what}")
    return tables


def _named(file: Path, project_id: str, values: Mapping[str, Any]) -> Path | None:
    model = values.get(MODEL)
    if model is not None and (not isinstance(model, str) or not model):
        raise ConfigError(f"{file}: {project_id}: {MODEL} must be a folder; got {model!r}")
    return None if model is None else file.parent / Path(model).expanduser()


def _project(file: Path, project_id: str, values: Mapping[str, Any], model: Path) -> Project:
    place = f"{file}: project {project_id}"
    name, language, access = (str(values.get(key, "")) for key in ("name", "language", "access"))
    vocab, shown_in, selection = _vocabulary(str(values.get("vocab", "")), place)
    allow_learn = str(values.get("allow_learn", "")).lower()
    if allow_learn not in ("", "true", "false"):
        raise ConfigError(f"{place}: allow_learn must be true or false; got {allow_learn!r}")
    return Project(
        id=project_id,
        model=model,
        name=name,
        language=shown_in or language,
        access=access or "public",  # type: ignore[arg-type]  # checked there
        allow_learn=allow_learn == "true" if allow_learn else None,
        vocab=vocab,
        transform=_transforms(str(values.get("transform", "")), language, place),
        selection=selection,
    )


def _vocabulary(spec: str, place: str) -> tuple[str, str, dict[str, Any]]:
    """Id, language of names, and which labels are suggested, of `yso(en,exclude=URI|URI)`."""
    found = CALL.fullmatch(spec)
    if not spec:
        return "", "", {}
    if found is None:
        raise ConfigError(f"{place}: expected vocab = ID, or ID(LANGUAGE,exclude=URI); got {spec!r}")
    language, kept, dropped = "", dict[str, tuple[str, ...]](), dict[str, tuple[str, ...]]()
    for argument in filter(None, (one.strip() for one in (found[2] or "").split(","))):
        key, equals, value = (part.strip() for part in argument.partition("="))
        if not equals and is_language(key):
            language = key
        elif key in EXCLUDED:
            dropped[EXCLUDED[key]] = tuple(value.split("|"))
        elif key in INCLUDED:
            kept[INCLUDED[key]] = tuple(value.split("|"))
        else:
            raise ConfigError(f"{place}: vocab has {argument!r}, and there are: {', '.join([*EXCLUDED, *INCLUDED])}")
    everything = "*" in dropped.get("exclude", ())
    if kept and (not everything or len(kept) > 1 or len(dropped) > 1):
        raise ConfigError(
            f"{place}: only exclude=* goes with one include; name the labels in a file of ours (server.md)"
        )
    return found[1], language, dict(kept if everything else dropped)


def _transforms(spec: str, language: str, place: str) -> tuple[str, ...]:
    """Annif's `limit(5000),filter_lang` as ours."""
    found = []
    for name, arguments in re.findall(r"([\w-]+)\s*(?:\(([^()]*)\))?\s*,?\s*", spec):
        if name == "limit":
            found.append(f"first={arguments.strip()}")
        elif name in ("filter_lang", "filter_language"):
            found.append(f"language={language}")
        elif name == "select":
            found.append(f"fields={','.join(one.strip() for one in arguments.split(','))}")
        elif name != "pass":
            raise ConfigError(
                f"{place}: there is no transform {name!r}; there are: limit(N), filter_lang, select(FIELDS)"
            )
    return tuple(found)
