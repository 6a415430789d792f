"""Annif's interface: every path, shape and error, as its clients know them."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.web.conftest import TEXT, Serve

from everylabel.web.bodies import form_fields
from everylabel.web.projects import Project

SUGGEST, BATCH = "/v1/projects/sample/suggest", "/v1/projects/sample/suggest-batch"
PROBLEM = "application/problem+json"


def problem(response: Any, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == PROBLEM
    found: dict[str, Any] = response.json()
    assert set(found) == {"type", "title", "detail", "status"}
    assert (found["type"], found["status"]) == ("about:blank", status)
    return found


def test_the_root_says_what_it_is_and_is_found_without_its_slash(client: TestClient) -> None:
    assert set(client.get("/v1/").json()) == {"title", "version"}
    there = client.get("/v1", follow_redirects=False)
    assert (there.status_code, there.headers["location"]) == (307, "http://localhost:8000/v1/")


def test_projects_and_vocabularies_have_annifs_fields(client: TestClient) -> None:
    (project,) = client.get("/v1/projects").json()["projects"]
    assert project == client.get("/v1/projects/sample").json()
    assert (project["project_id"], project["name"], project["language"]) == ("sample", "The sample", "en")
    assert (project["backend"], project["is_trained"]) == ({"backend_id": "tagger"}, True)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", project["modification_time"])
    assert client.get("/v1/vocabs").json() == {"vocabs": [project["vocab"]]}
    assert project["vocab"] == {"vocab_id": "sample", "languages": ["en"], "size": 126, "loaded": True}


def test_a_project_that_is_not_there_is_404_everywhere(client: TestClient) -> None:
    for method, path in (("GET", ""), ("POST", "/suggest"), ("POST", "/suggest-batch"), ("POST", "/learn")):
        found = problem(client.request(method, f"/v1/projects/none{path}"), 404)
        assert (found["title"], found["detail"]) == ("Project not found", "Project 'none' not found")


@pytest.mark.parametrize(
    "sent",
    [
        {"data": {"text": TEXT, "limit": "3", "threshold": "0.1", "language": "", "unknown": "x"}},
        {"files": {"text": (None, TEXT), "limit": (None, "3"), "threshold": (None, "0.1")}},
        {"json": {"text": TEXT, "limit": 3, "threshold": 0.1, "language": None}},
    ],
    ids=["form", "parts", "json"],
)
def test_suggest_takes_what_clients_send(client: TestClient, sent: dict[str, Any]) -> None:
    response = client.post(SUGGEST, **sent)
    assert response.status_code == 200, response.text
    results = response.json()["results"]
    assert [set(hit) for hit in results] == [{"uri", "label", "notation", "score"}] * 3
    assert results[0]["uri"] == "lifeboats"
    scores = [hit["score"] for hit in results]
    assert scores == sorted(scores, reverse=True)
    assert all(0.1 <= score <= 1 for score in scores)


def test_a_form_as_curl_sends_it_unencoded() -> None:
    assert form_fields("text=Größe der Schiffe&limit=2".encode())["text"] == "Größe der Schiffe"
    assert form_fields(b"text=Gr%C3%B6%C3%9Fe+der&text=second")["text"] == "Größe der"


def test_a_title_among_the_metadata_is_read(client: TestClient) -> None:
    batch = {"documents": [{"text": "a walk", "metadata": {"title": "Lighthouses", "year": 1900}}]}
    assert client.post(BATCH, json=batch).json()[0]["results"][0]["uri"] == "lighthouses"
    plain = client.post(SUGGEST, data={"text": "a walk", "limit": 5}).json()
    titled = client.post(SUGGEST, data={"text": "a walk", "limit": 5, "metadata_title": "Lighthouses"}).json()
    assert plain != titled
    assert titled["results"][0]["uri"] == "lighthouses"


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "text"),
        ({"text": "x", "limit": "-1"}, "limit"),
        ({"text": "x", "limit": "many"}, "limit"),
        ({"text": "x", "threshold": "1.5"}, "threshold"),
        ({"text": "x", "language": "xx"}, "language"),
    ],
)
def test_a_bad_field_is_named(client: TestClient, fields: dict[str, str], word: str) -> None:
    assert word in problem(client.post(SUGGEST, data=fields), 400)["detail"]


def test_other_kinds_of_bodies_are_415_and_broken_ones_400(client: TestClient) -> None:
    problem(client.post(SUGGEST, content=b"<text/>", headers={"Content-Type": "application/xml"}), 415)
    problem(client.post(BATCH, content=b"text=x", headers={"Content-Type": "text/plain"}), 415)
    for broken in (b"{", b"[" * 100_000, b'{"documents": [{"text": "\\ud800"}]}', b"\xff\xfe", b"null", b"1e999999"):
        problem(client.post(BATCH, content=broken, headers={"Content-Type": "application/json"}), 400)
    problem(client.post(SUGGEST, content=b"x", headers={"Content-Type": "multipart/form-data"}), 400)


def test_nothing_said_gets_nothing(client: TestClient) -> None:
    assert client.post(SUGGEST, data={"text": ""}).json() == {"results": []}
    assert client.post(SUGGEST, data={"text": TEXT, "limit": 0}).json() == {"results": []}
    assert client.post(BATCH, json={"documents": []}).json() == []


def test_a_batch_keeps_its_order_and_has_at_most_32_documents(client: TestClient) -> None:
    documents = [{"text": TEXT, "document_id": "a"}, {"text": ""}, {"text": "bees and honey", "document_id": "c"}]
    found = client.post(BATCH, params={"limit": 2}, json={"documents": documents}).json()
    assert [one["document_id"] for one in found] == ["a", None, "c"]
    assert [len(one["results"]) for one in found] == [2, 0, 2]
    alone = client.post(SUGGEST, data={"text": TEXT, "limit": 2}).json()["results"]
    assert found[0]["results"] == alone
    assert client.post(BATCH, json={"documents": [{"text": "x"}] * 32}).status_code == 200
    assert "documents" in problem(client.post(BATCH, json={"documents": [{"text": "x"}] * 33}), 400)["detail"]


def test_languages_are_told(client: TestClient) -> None:
    asked = {"text": "The ships in the harbour were waiting for the wind", "languages": ["de", "en"]}
    results = client.post("/v1/detect-language", json=asked).json()["results"]
    assert results[0]["language"] == "en"
    assert {one["language"] for one in results} == {"de", "en", None}
    swedish = {"text": "Fartygen låg i hamnen och väntade på vind.", "languages": ["nb", "da", "sv"]}
    assert client.post("/v1/detect-language", json=swedish).json()["results"][0]["language"] == "sv"
    problem(client.post("/v1/detect-language", json={"text": "x", "languages": []}), 400)
    problem(client.post("/v1/detect-language", json={"text": "x", "languages": ["klingon"]}), 400)
    problem(client.post("/v1/detect-language", json={"text": "x", "languages": ["en"] * 6}), 400)


def test_learning_is_off_unless_switched_on(client: TestClient, model: Path, serve: Serve) -> None:
    document = [{"text": TEXT, "subjects": [{"uri": "lifeboats", "label": "Lifeboats"}, {"uri": "not-there"}]}]
    assert problem(client.post("/v1/projects/sample/learn", json=document), 403)["title"] == "Learning not allowed"
    learning = serve(model, allow_learn=True)
    done = learning.post("/v1/projects/sample/learn", json=document)
    assert (done.status_code, done.content) == (204, b"")
    (stored,) = learning.get("/api/models/sample/decisions").json()["decisions"]
    assert (stored["text"], stored["added"], stored["complete"]) == (TEXT, ["lifeboats"], True)


def test_hidden_projects_are_not_listed_and_private_ones_not_there(fitted: Path, serve: Serve) -> None:
    projects = [Project(id=access, model=fitted, access=access) for access in ("public", "hidden", "private")]
    client = serve(*projects)
    assert [one["project_id"] for one in client.get("/v1/projects").json()["projects"]] == ["public"]
    assert client.get("/v1/projects/hidden").status_code == 200
    problem(client.get("/v1/projects/private"), 404)
    problem(client.post("/v1/projects/private/suggest", data={"text": TEXT}), 404)
    problem(client.get("/api/models/private"), 404)


def test_browsers_may_ask_from_other_pages(client: TestClient) -> None:
    page = {"Origin": "https://catalogue.example"}
    asks = {**page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    preflight = client.options(SUGGEST, headers=asks)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert "POST" in preflight.headers["access-control-allow-methods"]
    for response in (
        client.post(SUGGEST, data={"text": TEXT}, headers=page),
        client.get("/v1/projects/none", headers=page),
    ):
        assert response.headers["access-control-allow-origin"] == "*"


def test_the_documentation_is_ours_alone(client: TestClient) -> None:
    for prefix in ("/v1", "/api"):
        page = client.get(f"{prefix}/ui/")
        assert page.headers["content-type"].startswith("text/html")
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert not re.search(r"https?://|<script>|style=|onclick", page.text)
        document = client.get(f"{prefix}/openapi.json").json()
        assert document["openapi"].startswith("3.")
        assert not [
            path for path, own in document["paths"].items() for one in own.values() if "422" in one["responses"]
        ]
    for file in ("app.js", "docs.js", "style.css"):
        assert client.get(f"/static/{file}").status_code == 200
    problem(client.get("/static/../settings.py"), 404)


@pytest.mark.parametrize("charset", ["punycode", "idna", "undefined", "zlib", "rot13", "nothing", "\x7f", "x" * 500])
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_encodings_that_nobody_sends_are_not_tried(client: TestClient, kind: str, charset: str) -> None:
    """punycode alone takes 20 s for so much."""
    word = b"a" * 80_000 + b"-" + b"zz9" * 80_000
    body = b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\n' + word + b"\r\n--x--\r\n"
    content = body if kind.startswith("multi") else b"text=" + word
    started = time.monotonic()
    problem(client.post(SUGGEST, content=content, headers={"Content-Type": f"{kind}; charset={charset}"}), 400)
    assert time.monotonic() - started < 5
