"""A vocabulary in several languages: what is shown is in the language that a request asks for."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.web.conftest import Serve

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, Translation
from everylabel.methods.words.lexical import TfidfMatch
from everylabel.web.projects import Project

LABELS = LabelSet.of(
    [
        Label("http://x/boats", "boats", parents=("http://x/ships",), translations=(Translation("fi", "veneet"),)),
        Label("http://x/ships", "ships", translations=(Translation("fi", "laivat"), Translation("sv", "fartyg"))),
    ]
)


@pytest.fixture
def client(serve: Serve, tmp_path: Path) -> TestClient:
    TfidfMatch().fit(Dataset(Documents.of(["the boats and the ships of the sea"] * 3), LABELS)).save(tmp_path / "m")
    return serve(Project(id="sample", model=tmp_path / "m", language="en"))


@pytest.mark.parametrize(("language", "name"), [("", "ships"), ("en", "ships"), ("fi", "laivat"), ("sv", "fartyg")])
def test_names_are_in_the_language_asked_for(client: TestClient, language: str, name: str) -> None:
    asked = {"text": "the ships", "language": language}
    assert client.post("/v1/projects/sample/suggest", data=asked).json()["results"][0]["label"] == name
    batch = {"documents": [{"text": "the ships"}]}
    answer = client.post("/v1/projects/sample/suggest-batch", params={"language": language}, json=batch).json()
    assert answer[0]["results"][0]["label"] == name
    tagged = client.post("/api/models/sample/tag", json=asked).json()["documents"][0]["labels"]
    assert tagged[0]["name"] == name
    one = {"id": "http://x/ships", "language": language}
    assert client.get("/api/models/sample/label", params=one).json()["name"] == name


def test_a_name_in_any_language_finds_the_label(client: TestClient) -> None:
    found = client.get("/api/models/sample/labels", params={"prefix": "fart", "language": "fi"}).json()["labels"]
    assert [(one["id"], one["name"]) for one in found] == [("http://x/ships", "laivat")]
    queries = {"queries": '{"q0": {"query": "Veneet"}}'}
    first = client.post("/v1/projects/sample/reconcile", data=queries).json()["q0"]["result"][0]
    assert (first["id"], first["match"]) == ("http://x/boats", True)
    assert client.get("/v1/vocabs").json()["vocabs"][0]["languages"] == ["en", "fi", "sv"]
