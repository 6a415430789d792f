"""Another model in a project's place: taken while others ask, refused where it is bad, and never mixed with the old."""

from __future__ import annotations

import shutil
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.web.conftest import TEXT, Serve
from tests.web.test_api import until

from everylabel.errors import ModelError
from everylabel.store import load
from everylabel.web.app import create_app
from everylabel.web.projects import Project
from everylabel.web.settings import Settings

BATCH = "/v1/projects/sample/suggest-batch"
DOCUMENTS = {"documents": [{"text": TEXT}, {"text": "beekeeping and honey"}, {"text": TEXT}]}


def without(fitted: Path, target: Path, label: str) -> Path:
    """A model that never suggests the label."""
    load(fitted).remove_labels([label]).save(target)
    return target


def put(model: Path, place: Path) -> None:
    """As a whole, as `everylabel fit` does."""
    load(model).save(place)


def answers(client: TestClient) -> Any:
    response = client.post(BATCH, json=DOCUMENTS, params={"limit": 5})
    assert response.status_code == 200, response.text
    return response.json()


def test_swapped_under_load_without_a_failed_or_mixed_answer(fitted: Path, model: Path, serve: Serve) -> None:
    client = serve(model, watch_seconds=0.01)
    other = without(fitted, model.parent / "other", "lifeboats")
    known = [answers(client)]
    put(other, model)
    until(lambda: answers(client) != known[0])
    known.append(answers(client))
    found: list[Any] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            try:
                found.append(answers(client))
            except BaseException as error:
                found.append(error)

    def arrived(wanted: Any) -> bool:
        return bool(found) and found[-1] == wanted

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(6):
        put((fitted, other)[turn % 2], model)
        until(partial(arrived, known[turn % 2]))
    stop.set()
    for thread in threads:
        thread.join()
    assert [one for one in found if one not in known] == []
    assert client.get("/readyz").status_code == 200


def test_a_bad_model_is_refused_and_the_old_one_stays(fitted: Path, model: Path, serve: Serve) -> None:
    client = serve(model)
    before = answers(client)
    (model / "manifest.json").write_text("{}")
    until(lambda: client.get("/api/models/sample").json()["refused"])
    assert answers(client) == before
    reloaded = client.post("/api/models/reload").json()
    assert "refused" in reloaded["refused"]["sample"]
    assert answers(client) == before
    assert 'everylabel_refused_total{reason="model"}' in client.get("/metrics").text
    shutil.rmtree(model)
    assert answers(client) == before
    put(fitted, model)
    until(lambda: client.get("/api/models/sample").json()["refused"] == "")


def test_reloading_says_what_is_served(fitted: Path, model: Path, serve: Serve) -> None:
    client = serve(model, watch_seconds=1000)
    put(without(fitted, model.parent / "other", "lifeboats"), model)
    assert client.get("/api/models/sample").json()["labels"] == 126
    assert client.post("/api/models/reload").json()["models"][0]["labels"] == 125


def test_a_server_does_not_start_with_a_bad_model(model: Path, tmp_path: Path) -> None:
    (model / "plain.json").write_text("{}")
    with pytest.raises(ModelError):
        create_app([Project(id="sample", model=model)], Settings(state=tmp_path))


def test_no_request_loads_a_dictionary(serve: Serve, fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take seconds: what a model needs is there before the server is ready."""
    from simplemma.strategies.dictionaries import dictionary_factory

    client = serve(fitted)
    assert client.get("/readyz").status_code == 200

    def loading(code: str) -> None:
        raise AssertionError(f"the dictionary of {code} is loaded by a request")

    monkeypatch.setattr(dictionary_factory, "_load_dictionary_from_disk", loading)
    dictionary_factory.DEFAULT_DICTIONARY_FACTORY._get_dictionary.cache_clear()
    answer = client.post("/v1/projects/sample/suggest", data={"text": "qwrtzuiop Lotsenkanzlei, and a lifeboat"})
    assert answer.status_code == 200
    assert answer.json()["results"]
    question = {"text": "Veneet odottavat tuulta", "languages": ["fi", "de", "tr", "pl", "ru"]}
    told = client.post("/v1/detect-language", json=question)
    assert told.json()["results"][0]["language"] == "fi"
