"""annif-client as it is, against a server that really runs: every call."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from annif_client import AnnifClient
from tests.web.conftest import TEXT
from tests.web.listening import listening

from everylabel.web.app import create_app
from everylabel.web.keys import add_key
from everylabel.web.projects import Project
from everylabel.web.settings import Settings


@pytest.fixture(scope="module")
def annif(fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AnnifClient]:
    settings = Settings(state=tmp_path_factory.mktemp("state"), allow_learn=True)
    with listening(create_app([Project(id="sample", model=fitted)], settings)) as address:
        yield AnnifClient(f"{address}/v1/")


def test_what_there_is(annif: AnnifClient) -> None:
    assert annif.api_info["title"] == "everylabel"
    assert [project["project_id"] for project in annif.projects] == ["sample"]
    assert annif.get_project("sample")["is_trained"] is True


def test_suggestions(annif: AnnifClient) -> None:
    found = annif.suggest("sample", TEXT, limit=3, threshold=0.05)
    assert [hit["uri"] for hit in found][:1] == ["lifeboats"]
    assert annif.suggest("sample", io.StringIO(TEXT), limit=3, threshold=0.05) == found
    documents = [{"document_id": "a", "text": TEXT}, {"text": "honey"}]
    batch = annif.suggest_batch("sample", documents, limit=3, threshold=0.05)
    assert batch[0] == {"document_id": "a", "results": found}


def test_learning_and_languages(annif: AnnifClient) -> None:
    assert annif.learn("sample", [{"text": TEXT, "subjects": [{"uri": "lifeboats"}]}]).status_code == 204
    assert annif.detect_language("The cat is in the house", ["en", "fi"])["results"][0]["language"] == "en"


def test_what_is_not_there_is_its_value_error(annif: AnnifClient) -> None:
    for ask in (
        lambda: annif.get_project("none"),
        lambda: annif.suggest("none", TEXT),
        lambda: annif.suggest_batch("none", []),
        lambda: annif.learn("none", []),
    ):
        with pytest.raises(ValueError, match="Project 'none' not found"):
            ask()


def test_a_key_in_its_address(fitted: Path, tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys.json", "annif", ["read"])
    app = create_app([Project(id="sample", model=fitted)], Settings(state=tmp_path, keys=tmp_path / "keys.json"))
    with listening(app) as address:
        annif = AnnifClient(f"{address.replace('//', f'//any:{key}@')}/v1/")
        assert annif.suggest("sample", TEXT, limit=1)[0]["uri"] == "lifeboats"
