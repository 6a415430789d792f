"""The routes that are asked most, without the framework: the same answers and errors as with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.web.conftest import TEXT, Serve

from everylabel.web.projects import Project
from everylabel.web.quick import Quick

SUGGEST, TAG = "/v1/projects/sample/suggest", "/api/models/sample/tag"
FORM, JSON = {"Content-Type": "application/x-www-form-urlencoded"}, {"Content-Type": "application/json"}
ASKED: list[tuple[str, str, dict[str, str], bytes]] = [
    ("POST", SUGGEST, FORM, f"text={TEXT}&limit=3".encode()),
    ("POST", SUGGEST, JSON, json.dumps({"text": TEXT, "limit": 3}).encode()),
    ("POST", SUGGEST, FORM, b"text=&limit=3"),
    ("POST", SUGGEST, FORM, b"limit=3"),
    ("POST", SUGGEST, FORM, b"text=a&limit=-1"),
    ("POST", SUGGEST, FORM, b"text=a&language=tlh"),
    ("POST", SUGGEST, {"Content-Type": "text/csv"}, b"text=a"),
    ("GET", SUGGEST, {}, b""),
    ("POST", f"{SUGGEST}/", FORM, b"text=a"),
    ("POST", "/v1/projects/none/suggest", FORM, b"text=a"),
    ("POST", "/v1/projects/secret/suggest", FORM, b"text=a"),
    ("POST", f"/v1/projects/{'x' * 300}/suggest", FORM, b"text=a"),
    ("POST", TAG, JSON, json.dumps({"text": TEXT, "k": 4, "explain": True}).encode()),
    ("POST", TAG, JSON, json.dumps({"documents": [{"text": TEXT, "document_id": "a"}, {"text": ""}]}).encode()),
    ("POST", TAG, JSON, json.dumps({"documents": []}).encode()),
    ("POST", TAG, JSON, json.dumps({"text": "a", "only": ["unknown"]}).encode()),
    ("POST", TAG, JSON, b'{"text": 1}'),
    ("POST", TAG, JSON, b"{"),
    ("POST", "/api/projects/sample/suggest", FORM, b"text=a"),
]


def test_answers_are_those_of_the_application(serve: Serve, fitted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    projects = [Project(id="sample", model=fitted), Project(id="secret", model=fitted, access="private")]

    def answers() -> list[Any]:
        client = serve(*projects)
        found = [client.request(method, path, headers=headers, content=body) for method, path, headers, body in ASKED]
        return [(one.status_code, one.headers["content-type"], one.json()) for one in found]

    quick = answers()
    monkeypatch.setattr(Quick, "__init__", lambda own, app, server, routes: _without(own, app, server))  # noqa: ARG005
    assert quick == answers()
    assert {status for status, _, _ in quick} == {200, 400, 404, 405, 415}


def _without(own: Any, app: Any, server: Any) -> None:
    own._app, own._server, own._routes = app, server, []


def test_they_are_counted_by_their_routes(serve: Serve, fitted: Path) -> None:
    client = serve(fitted)
    client.post(SUGGEST, data={"text": TEXT})
    client.post(TAG, json={"text": TEXT})
    metrics = client.get("/metrics").text
    for path in ("/v1/projects/{project_id}/suggest", "/api/models/{project_id}/tag"):
        assert f'everylabel_request_seconds_count{{method="POST",path="{path}",status="200"}} 1.0' in metrics


def test_keys_are_asked_for(serve: Serve, fitted: Path, tmp_path: Path) -> None:
    from everylabel.web.keys import add_key

    read, learn = (add_key(tmp_path / "keys.json", scope, [scope]) for scope in ("read", "learn"))
    client = serve(fitted, keys=tmp_path / "keys.json")
    for headers, status in (({}, 401), ({"X-API-Key": learn}, 403), ({"X-API-Key": read}, 200)):
        assert client.post(SUGGEST, data={"text": TEXT}, headers=headers).status_code == status
        assert client.post(TAG, json={"text": TEXT}, headers=headers).status_code == status
