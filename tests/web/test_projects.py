"""Projects from a file, and from models on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from everylabel.errors import ConfigError
from everylabel.web.projects import Project, projects_of, read_projects

WHOLE = """
[projects.yso-en]
model = "models/yso"
name = "YSO, English"
language = "en"
access = "hidden"
allow_learn = true
vocab = "yso"
transform = ["first=2000"]
[projects.yso-en.selection]
exclude_types = ["http://example.org/Place"]
[projects.other]
model = "/models/other"
"""


def test_a_file_of_projects(tmp_path: Path) -> None:
    (tmp_path / "projects.toml").write_text(WHOLE)
    first, second = read_projects(tmp_path / "projects.toml")
    assert (first.id, first.model, first.title) == ("yso-en", tmp_path / "models/yso", "YSO, English")
    assert (first.access, first.allow_learn, first.vocabulary) == ("hidden", True, "yso")
    assert first.chosen.exclude_types == ("http://example.org/Place",)
    assert len(first.transforms) == 1
    assert (second.model, second.title, second.access, second.vocabulary) == (
        Path("/models/other"),
        "other",
        "public",
        "other",
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "projects.NAME"),
        ("[projects.x]\nname = 'x'", "needs a model"),
        ("[projects.x]\nmodel = 'm'\ncolour = 1", "no setting 'colour'"),
        ("[projects.x]\nmodel = 'm'\nallow_learn = 'yes'", "must be of type bool"),
        ("[projects.x]\nmodel = 'm'\naccess = 'secret'", "public, hidden or private"),
        ("[projects.'a b']\nmodel = 'm'", "letters, digits"),
        ("[projects.x]\nmodel = 'm'\ntransform = ['last=3']", "first=N"),
        ("[projects.x]\nmodel = 'm'\nselection = {colour = ['red']}", "no selection by 'colour'"),
    ],
)
def test_a_mistake_is_said_before_a_model_is_loaded(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "projects.toml").write_text(content)
    with pytest.raises(ConfigError, match=said):
        read_projects(tmp_path / "projects.toml")


def test_models_are_named_as_their_folders(tmp_path: Path) -> None:
    assert [one.id for one in projects_of([tmp_path / "my model", Path("a/b")])] == ["my-model", "b"]
    with pytest.raises(ConfigError, match="two projects are named 'b'"):
        projects_of([Path("a/b"), Path("c/b")])
    with pytest.raises(ConfigError):
        Project(id="../x", model=tmp_path)
