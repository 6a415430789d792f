"""Annif's own files of projects are read for names, languages, access and labels; a model of ours serves each."""

from __future__ import annotations

from pathlib import Path

import pytest

from everylabel.errors import ConfigError
from everylabel.web.annif_projects import configured_projects

CFG = """
[DEFAULT]
vocab = yso

[yso-en]
name=YSO, English
language=en
backend=ensemble
sources=tfidf-en:1,mllm-en:2
vocab=yso(fi,exclude=http://x/a|http://x/b,exclude_type=http://x/Place)
transform=limit(2000),filter_lang
access=hidden
allow_learn=true
everylabel_model=models/yso

[tfidf-en]
name=TF-IDF
language=en
backend=tfidf
analyzer=snowball(english)
limit=100
"""
TOML = """
[yso-fi]
name = "YSO, Finnish"
language = "fi"
backend = "mllm"
vocab = "yso"
limit = 100
"""


def test_a_cfg(tmp_path: Path) -> None:
    (tmp_path / "projects.cfg").write_text("\ufeff" + CFG, encoding="utf-8")
    (one,), left_out = configured_projects(tmp_path / "projects.cfg")
    assert (one.id, one.title, one.model) == ("yso-en", "YSO, English", tmp_path / "models/yso")
    assert (one.language, one.access, one.allow_learn, one.vocabulary) == ("fi", "hidden", True, "yso")
    assert one.chosen.exclude == ("http://x/a", "http://x/b")
    assert one.chosen.exclude_types == ("http://x/Place",)
    assert one.transform == ("first=2000", "language=en")
    assert left_out == ["tfidf-en"]


def test_models_named_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "projects.toml").write_text(TOML)
    (one,), left_out = configured_projects(tmp_path / "projects.toml", {"yso-fi": Path("m")})
    assert (one.model, one.language, one.vocabulary, left_out) == (Path("m"), "fi", "yso", [])
    with pytest.raises(ConfigError, match="has no project 'yso-sv'"):
        configured_projects(tmp_path / "projects.toml", {"yso-sv": Path("m"), "yso-fi": Path("m")})


def test_a_folder_of_files_and_our_own(tmp_path: Path) -> None:
    (tmp_path / "a.cfg").write_text(CFG)
    (tmp_path / "b.toml").write_text(TOML + 'everylabel_model = "fi"\n')
    (tmp_path / "c.toml").write_text('[projects.own]\nmodel = "own"\n')
    assert [one.id for one in configured_projects(tmp_path).projects] == ["yso-en", "yso-fi", "own"]


def test_only_some_labels(tmp_path: Path) -> None:
    text = CFG.replace(
        "exclude=http://x/a|http://x/b,exclude_type=http://x/Place", "exclude=*,include_scheme=http://x/s"
    )
    (tmp_path / "projects.cfg").write_text(text)
    assert configured_projects(tmp_path / "projects.cfg").projects[0].chosen.schemes == ("http://x/s",)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("models/yso", "", "must be a folder"),
        ("everylabel_model=models/yso", "", "write everylabel_model = FOLDER"),
        ("exclude_type", "exclude_collection", "there are: exclude,"),
        ("limit(2000)", "shout(2)", "no transform 'shout'"),
        ("access=hidden", "access=secret", "public, hidden or private"),
        ("allow_learn=true", "allow_learn=perhaps", "true or false"),
        ("name=YSO, English", "name=a\nname=b", "cannot be read as projects"),
        ("exclude=http", "include=http", "goes with one include"),
        (CFG, "", "expected a section a project"),
    ],
)
def test_a_mistake_is_said_with_file_and_project(tmp_path: Path, before: str, after: str, said: str) -> None:
    (tmp_path / "projects.cfg").write_text(CFG.replace(before, after))
    with pytest.raises(ConfigError, match=said):
        configured_projects(tmp_path / "projects.cfg")
