"""Reconciliation as OpenRefine asks for it, version 0.2."""

from __future__ import annotations

import json
from typing import Any

from starlette.testclient import TestClient
from tests.web.conftest import TEXT
from tests.web.test_annif import problem

SERVICE = "/v1/projects/sample/reconcile"
CONCEPT = "http://www.w3.org/2004/02/skos/core#Concept"


def ask(client: TestClient, queries: dict[str, Any], service: str = SERVICE) -> Any:
    """As OpenRefine: a form with one field."""
    response = client.post(service, data={"queries": json.dumps(queries)})
    assert response.status_code == 200, response.text
    return response.json()


def test_the_manifest_has_what_openrefine_reads(client: TestClient) -> None:
    for service in (SERVICE, f"{SERVICE}/tag"):
        found = client.get(service).json()
        assert found["versions"] == ["0.2"]
        assert found["defaultTypes"] == [{"id": CONCEPT, "name": "Concept"}]
        assert {"name", "identifierSpace", "schemaSpace"} <= set(found)
        assert "{{id}}" in found["view"]["url"]
        entity = found["suggest"]["entity"]
        assert client.get(entity["service_url"] + entity["service_path"], params={"prefix": "li"}).status_code == 200


def test_the_view_of_a_label_is_there(client: TestClient) -> None:
    url = client.get(SERVICE).json()["view"]["url"].replace("{{id}}", "lifeboats")
    assert client.get(url).json()["name"] == "Lifeboats"


def test_one_label_of_this_name_is_a_match(client: TestClient) -> None:
    found = ask(client, {"q0": {"query": "  LIFEBOATS "}, "q1": {"query": "genealogy", "limit": 1}})
    first = found["q0"]["result"][0]
    assert (first["id"], first["match"], first["score"]) == ("lifeboats", True, 100)
    assert first["type"] == [{"id": CONCEPT, "name": "Concept"}]
    assert [one["id"] for one in found["q1"]["result"]] == ["family-history"]  # by an alternative


def test_a_name_that_is_nearly_so_is_a_candidate(client: TestClient) -> None:
    first = ask(client, {"q0": {"query": "Lifebots"}})["q0"]["result"][0]
    assert (first["id"], first["match"]) == ("lifeboats", False)
    assert ask(client, {"q0": {"query": "zzz"}, "q1": {"query": ""}}) == {"q0": {"result": []}, "q1": {"result": []}}


def test_other_types_and_limits(client: TestClient) -> None:
    found = ask(client, {"q0": {"query": "history", "type": "http://example.org/Person"}})
    assert found["q0"]["result"] == []
    assert len(ask(client, {"q0": {"query": "history", "type": CONCEPT, "limit": 1}})["q0"]["result"]) <= 1


def test_by_get_and_by_texts(client: TestClient) -> None:
    queries = {"queries": json.dumps({"q0": {"query": "Lifeboats"}})}
    assert client.get(SERVICE, params=queries).json()["q0"]["result"][0]["match"] is True
    found = ask(client, {"a": {"query": TEXT, "limit": 2}, "b": {"query": " "}}, f"{SERVICE}/tag")
    assert [one["id"] for one in found["a"]["result"]][:1] == ["lifeboats"]
    assert [one["match"] for one in found["a"]["result"]] == [False, False]
    assert found["b"]["result"] == []


def test_names_while_somebody_types(client: TestClient) -> None:
    service = f"{SERVICE}/suggest/entity"
    found = client.get(service, params={"prefix": "li"}).json()["result"]
    assert "lifeboats" in [one["id"] for one in found]
    assert set(found[0]) == {"id", "name", "description"}
    further = client.get(service, params={"prefix": "li", "cursor": 1}).json()["result"]
    assert further == found[1:] or further[: len(found) - 1] == found[1:]


def test_what_cannot_be_read_is_said(client: TestClient) -> None:
    problem(client.post(SERVICE, data={}), 400)
    problem(client.post(SERVICE, data={"queries": "{"}), 400)
    problem(client.post(SERVICE, data={"queries": json.dumps({f"q{i}": {"query": "x"} for i in range(101)})}), 413)
    problem(client.get(SERVICE, params={"queries": '{"q0": {"limit": 0}}'}), 400)
    problem(client.get("/v1/projects/none/reconcile"), 404)
