"""Our own interface: models, tags, labels, decisions, learning, versions, the review queue, jobs, texts of files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.data.documents import epub, write_odt
from tests.web.conftest import TEXT, Serve
from tests.web.test_annif import problem

from everylabel.web.projects import Project

MODEL = "/api/models/sample"


def until(found: Callable[[], Any], seconds: float = 60) -> Any:
    """What is found, as soon as there is something."""
    end = time.monotonic() + seconds
    while not (value := found()) and time.monotonic() < end:
        time.sleep(0.02)
    assert value
    return value


def tag(client: TestClient, **asked: Any) -> Any:
    response = client.post(f"{MODEL}/tag", json=asked)
    assert response.status_code == 200, response.text
    return response.json()


def test_what_is_loaded(client: TestClient) -> None:
    (short,) = client.get("/api/models").json()["models"]
    assert (short["id"], short["method"], short["labels"], short["version"]) == ("sample", "tagger", 126, 0)
    whole = client.get(MODEL).json()
    assert short.items() <= whole.items()
    assert [event["what"] for event in whole["history"]] == ["fitted"]
    assert any("tfidf" in line for line in whole["plan"])
    assert (whole["refit_due"], whole["learned"], whole["decisions"]["stored"]) == ("", 0, 0)


def test_tags_of_a_text_and_of_documents(client: TestClient) -> None:
    one = tag(client, text=TEXT, k=3)
    (document,) = one["documents"]
    assert document["labels"][0]["id"] == "lifeboats"
    assert set(document["labels"][0]) == {"id", "name", "score", "uri", "notation"}
    several = tag(client, documents=[{"text": "", "document_id": "x"}, {"text": TEXT}], k=3)
    assert [found["document_id"] for found in several["documents"]] == ["x", None]
    assert [found["labels"] for found in several["documents"]] == [[], document["labels"]]


def test_evidence_stands_where_it_says(client: TestClient) -> None:
    labels = tag(client, text=TEXT, k=2, explain=True)["documents"][0]["labels"]
    assert labels[0]["band"]
    spans = [(item, span) for label in labels for item in label["evidence"] for span in item.get("spans", [])]
    assert spans
    words = [TEXT[start:end] for item, (start, end) in spans if item["kind"] == "words"]
    assert "lifeboat" in words


def test_as_many_as_are_asked_for(client: TestClient) -> None:
    all_of_them = tag(client, text=TEXT, k=20)["documents"][0]["labels"]
    likely = tag(client, text=TEXT, k=20, threshold=0.3)["documents"][0]["labels"]
    assert likely == [label for label in all_of_them if label["score"] >= 0.3]
    best = tag(client, text=TEXT, k=20, best=True)["documents"][0]["labels"]
    assert 1 <= len(best) < 20


def test_some_labels_only(client: TestClient, fitted: Path, serve: Serve) -> None:
    only = tag(client, text=TEXT, only=["lighthouses", "beekeeping"])["documents"][0]["labels"]
    assert {label["id"] for label in only} <= {"lighthouses", "beekeeping"}
    without = tag(client, text=TEXT, exclude=["lifeboats"])["documents"][0]["labels"]
    assert "lifeboats" not in {label["id"] for label in without}
    below = tag(client, text=TEXT, below=["sea-and-coast"], k=5)["documents"][0]["labels"]
    assert below
    problem(client.post(f"{MODEL}/tag", json={"text": TEXT, "only": ["not-there"]}), 400)
    of_project = serve(Project(id="sample", model=fitted, selection={"exclude": ["lifeboats"]}))
    labels = tag(of_project, text=TEXT, exclude=["lighthouses"])["documents"][0]["labels"]
    assert not {"lifeboats", "lighthouses"} & {label["id"] for label in labels}


def test_a_project_may_read_the_beginning_alone(fitted: Path, serve: Serve) -> None:
    client = serve(Project(id="sample", model=fitted, transform=("first=8",)))
    whole, beginning = "bees and honey " + TEXT, "bees and"
    assert tag(client, text=whole)["documents"][0]["labels"] == tag(client, text=beginning)["documents"][0]["labels"]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"text": "x", "documents": []},
        {"text": "x", "k": 0},
        {"text": "x", "kk": 1},
        {"documents": [{"texts": "x"}]},
    ],
)
def test_what_is_asked_wrongly_is_said(client: TestClient, asked: dict[str, Any]) -> None:
    problem(client.post(f"{MODEL}/tag", json=asked), 400)


def test_labels_are_found_while_somebody_types(client: TestClient) -> None:
    def search(prefix: str, **more: Any) -> list[str]:
        found = client.get(f"{MODEL}/labels", params={"prefix": prefix, **more}).json()["labels"]
        return [label["id"] for label in found]

    assert search("lifeb") == search("LIFEB") == ["lifeboats"]
    assert search("geneal") == ["family-history"]
    assert search("Zzz") == []
    assert search("") == []
    assert "sea-and-coast" in search("coas")  # a word inside
    assert search("s", limit=3, cursor=1) == search("s", limit=4)[1:]
    problem(client.get(f"{MODEL}/labels", params={"prefix": "x", "language": "xx"}), 400)


def test_one_label(client: TestClient) -> None:
    found = client.get(f"{MODEL}/label", params={"id": "oral-history"}).json()
    assert (found["name"], found["alternatives"][0]) == ("Oral history", "recorded memories")
    assert [one["id"] for one in found["broader"]] == ["local-history"]
    above = client.get(f"{MODEL}/label", params={"id": "local-history"}).json()
    assert "oral-history" in [one["id"] for one in above["narrower"]]
    assert above["documents"] > 0
    problem(client.get(f"{MODEL}/label", params={"id": "none"}), 404)


def test_labels_come_and_go_and_come_back(model: Path, serve: Serve) -> None:
    client = serve(model)
    before = {path.name: path.read_bytes() for path in model.iterdir() if path.is_file()}
    new = {"id": "zeppelins", "name": "Zeppelins", "description": "Airships with a rigid frame."}
    added = client.post(f"{MODEL}/labels", json={"labels": [new]})
    assert (added.status_code, added.json()) == (201, {"changed": 1, "labels": 127, "version": 1})
    text = "Zeppelins over the town: a zeppelin with a rigid frame"
    found = tag(client, text=text, new_labels="interleave")
    assert found["version"] == 1
    assert "zeppelins" in [label["id"] for label in found["documents"][0]["labels"]]
    problem(client.post(f"{MODEL}/labels", json={"labels": [new]}), 400)
    gone = client.delete(f"{MODEL}/label", params={"id": "zeppelins"})
    assert gone.json() == {"changed": 1, "labels": 126, "version": 2}
    problem(client.delete(f"{MODEL}/label", params={"id": "zeppelins"}), 404)
    back = client.post(f"{MODEL}/versions/1").json()
    assert (back["current"], back["kept"]) == (1, [0, 1, 2])
    assert client.get(MODEL).json()["labels"] == 127
    problem(client.post(f"{MODEL}/versions/99"), 404)
    assert before == {path.name: path.read_bytes() for path in model.iterdir() if path.is_file()}


def test_decisions_are_stored_listed_exported_and_undone(model: Path, serve: Serve) -> None:
    client = serve(model)
    asked = {"text": TEXT, "accepted": ["lifeboats"], "rejected": ["lighthouses"], "by": "ada", "key": "k1"}
    stored = client.post(f"{MODEL}/decisions", json=asked)
    assert stored.status_code == 201
    assert asked.items() <= stored.json().items()
    assert client.post(f"{MODEL}/decisions", json=asked).json() == stored.json()  # the same key: the same decision
    listed = client.get(f"{MODEL}/decisions").json()
    assert (len(listed["decisions"]), listed["counts"]["waiting"]) == (1, 1)
    number = stored.json()["id"]
    assert client.get(f"{MODEL}/decisions/{number}").json() == stored.json()
    (line,) = client.get(f"{MODEL}/decisions/export").text.splitlines()
    assert json.loads(line)["labels"] == ["lifeboats"]
    assert client.post(f"{MODEL}/decisions/{number}/undo").json()["undone"]
    assert client.get(f"{MODEL}/decisions").json()["decisions"] == []
    problem(client.post(f"{MODEL}/decisions", json=asked | {"key": "", "added": ["not-there"]}), 400)
    problem(client.get(f"{MODEL}/decisions/999"), 404)
    problem(client.post(f"{MODEL}/decisions/999/undo"), 404)


def test_what_was_decided_is_learned_beside_serving(model: Path, serve: Serve) -> None:
    client = serve(model, allow_learn=True)
    for number in range(12):
        asked = {"text": f"quoits on the green, match {number}, and the quoits club", "added": ["lifeboats"]}
        assert client.post(f"{MODEL}/decisions", json=asked).status_code == 201
    assert client.post(f"{MODEL}/learn").status_code == 202
    found = until(lambda: (now := client.get(f"{MODEL}/learn").json())["last"] and now)
    assert (found["last"]["taken"], found["error"]) == (True, "")
    assert until(lambda: client.get(MODEL).json()["version"]) == 1
    assert tag(client, text="the quoits club on the green", k=1)["documents"][0]["labels"][0]["id"] == "lifeboats"


def test_learning_is_not_allowed_by_default(client: TestClient) -> None:
    assert problem(client.post(f"{MODEL}/learn"), 403)["title"] == "Learning not allowed"


def test_the_most_doubtful_document_is_reviewed_first(model: Path, serve: Serve) -> None:
    client = serve(model)
    documents = [{"text": TEXT, "document_id": "sure"}, {"text": "a thing or two", "document_id": "doubtful"}]
    assert client.post(f"{MODEL}/review", json={"documents": documents}).status_code == 201
    waiting = client.get(f"{MODEL}/review").json()["documents"]
    assert [one["document_id"] for one in waiting] == ["doubtful", "sure"]
    client.post(f"{MODEL}/decisions", json={"text": "a thing or two", "complete": False})
    (left,) = client.get(f"{MODEL}/review").json()["documents"]
    assert client.delete(f"{MODEL}/review/{left['id']}").status_code == 204
    assert client.get(f"{MODEL}/review").json()["documents"] == []


def test_a_job_runs_and_says_what_came_of_it(model: Path, serve: Serve, sampled: Path) -> None:
    client = serve(model, data=sampled.parent)
    asked = {"kind": "evaluate", "project": "sample", "data": sampled.name, "split": "test"}
    job = client.post("/api/jobs", json=asked)
    assert job.status_code == 202, job.text
    number = job.json()["id"]
    done = until(lambda: (now := client.get(f"/api/jobs/{number}").json())["state"] in ("done", "failed") and now, 100)
    assert (done["state"], done["exit_code"]) == ("done", 0), done["log"]
    assert "nDCG@5" in done["log"]
    assert [one["id"] for one in client.get("/api/jobs").json()["jobs"]] == [number]
    assert client.post(f"/api/jobs/{number}/cancel").json()["state"] == "done"


def test_jobs_read_named_data_sets_alone(client: TestClient, model: Path, serve: Serve, tmp_path: Path) -> None:
    asked = {"kind": "evaluate", "project": "sample", "data": "sample"}
    problem(client.post("/api/jobs", json=asked), 403)
    other = serve(model, data=tmp_path)
    for name in ("../etc", "/etc/passwd", "", "none"):
        problem(other.post("/api/jobs", json=asked | {"data": name}), 400)
    problem(other.post("/api/jobs", json=asked | {"project": "none"}), 404)
    problem(other.post("/api/jobs", json={"kind": "remove"}), 400)
    problem(other.get("/api/jobs/77"), 404)
    problem(other.get(f"{MODEL}/report"), 404)


def test_texts_of_files(client: TestClient, tmp_path: Path) -> None:
    import docx

    document = docx.Document()
    document.add_paragraph("A text about lighthouses")
    document.save(str(tmp_path / "a.docx"))

    def text(name: str, data: bytes) -> Any:
        return client.post("/api/text", files={"file": (name, data)})

    assert text("a.docx", (tmp_path / "a.docx").read_bytes()).json()["text"] == "A text about lighthouses"
    write_odt(tmp_path / "a.odt", "Lights", ["of the coast"], [])
    assert text("a.odt", (tmp_path / "a.odt").read_bytes()).json() == {"title": "Lights", "text": "of the coast"}
    assert text("a.epub", epub("Lights", ["of the coast"])).json() == {"title": "Lights", "text": "of the coast"}
    assert text("a.html", b"<title>Lights</title><p>of the coast").json()["title"] == "Lights"
    assert text("a.md", b"# Title\nbody").json() == {"title": "Title", "text": "body"}
    assert text("..\\..\\a.TXT", "grün".encode()).json()["text"] == "grün"
    assert "cannot be read as PDF" in problem(text("a.pdf", b"%PDF-1.4 nothing"), 400)["detail"]
    problem(text("a.txt", b"\xff\xfe"), 400)
    problem(text("a.exe", b"MZ"), 415)
    problem(client.post("/api/text", json={}), 415)
    problem(client.post("/api/text", files={"other": ("a.txt", b"x")}), 400)


def test_a_database_that_is_away_stops_nothing_else(model: Path, serve: Serve, tmp_path: Path) -> None:
    client = serve(model, store=f"sqlite:///{tmp_path}/gone.db")
    asked = {"text": TEXT, "accepted": ["lifeboats"]}
    assert client.post(f"{MODEL}/decisions", json=asked).status_code == 201
    (tmp_path / "gone.db").rename(tmp_path / "kept.db")
    away = client.post(f"{MODEL}/decisions", json=asked)
    problem(away, 503)
    assert int(away.headers["retry-after"]) > 0
    assert client.get(MODEL).json()["decisions"] is None
    assert tag(client, text=TEXT)["documents"][0]["labels"]
    (tmp_path / "kept.db").rename(tmp_path / "gone.db")
    assert until(lambda: client.post(f"{MODEL}/decisions", json=asked).status_code == 201)
