"""Reconciliation 0.2 as its specification has it: what must be read, what must be answered, and as OpenRefine sends it.

The shapes are written anew from the specification; what a client may leave out or add is in the cases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, quote_plus, urlsplit

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator
from starlette.testclient import TestClient
from tests.web.conftest import local
from tests.web.test_annif import problem

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.methods.words.lexical import TfidfMatch
from everylabel.web.app import create_app
from everylabel.web.projects import Project
from everylabel.web.settings import Settings

NAMES = "/v1/projects/sample/reconcile"
TEXTS = f"{NAMES}/tag"
SUGGEST = f"{NAMES}/suggest/entity"
CONCEPT = "http://www.w3.org/2004/02/skos/core#Concept"
FORM = "application/x-www-form-urlencoded"
PAGE = {"Origin": "http://127.0.0.1:3333"}  # where OpenRefine is
LABELS = LabelSet.of(
    [
        Label("http://x/boats", "Boats", description="Small ones."),
        Label("http://x/ships", "Ships & yachts"),
        Label("http://x/bank1", "Bank"),
        Label("http://x/bank2", "Bank"),
        Label("http://x/buildings", "Gebäude + Höfe"),
        *(Label(f"http://x/s{i}", f"Stone {i}") for i in range(25)),
    ]
)


class Shape(BaseModel):
    """More fields may be there; those that are known have their types, and "1" is no number."""

    model_config = ConfigDict(strict=True)


class TypeShape(Shape):
    id: str = Field(min_length=1)
    name: str


class CandidateShape(Shape):
    id: str = Field(min_length=1)
    name: str
    description: str = ""
    score: float = Field(allow_inf_nan=False)
    match: bool = False
    type: list[TypeShape | str] = []


class ResultShape(Shape):
    result: list[CandidateShape]


class EntityShape(Shape):
    id: str = Field(min_length=1)
    name: str
    description: str = ""
    notable: list[TypeShape | str] = []


class SuggestShape(Shape):
    result: list[EntityShape]


class ViewShape(Shape):
    url: str = Field(pattern=r"\{\{id\}\}")


class ServiceShape(Shape):
    service_url: str
    service_path: str


class ManifestShape(Shape):
    versions: list[str]
    name: str
    identifierSpace: str  # noqa: N815 (the specification's)
    schemaSpace: str  # noqa: N815
    view: ViewShape | None = None
    defaultTypes: list[TypeShape] = []  # noqa: N815
    suggest: dict[str, ServiceShape] = {}
    batchSize: Annotated[int, Field(ge=1)] | None = None  # noqa: N815

    @field_validator("versions")
    @classmethod
    def has_ours(cls, versions: list[str]) -> list[str]:
        if "0.2" not in versions:
            raise ValueError("0.2 is missing")
        return versions


RESULTS = TypeAdapter(dict[str, ResultShape])


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Labels whose ids are addresses, two of one name among them."""
    folder = Path(tmp_path_factory.mktemp("reconcile"))
    TfidfMatch().fit(Dataset(Documents.of(["boats and ships and the bank"] * 3), LABELS)).save(folder / "m")
    projects = [Project(id="sample", model=folder / "m", language="en")]
    with local(create_app(projects, Settings(state=folder / "state"))) as found:
        yield found


def answer(response: Any) -> dict[str, list[dict[str, Any]]]:
    """Candidates by query; each list is as it has to be, the best first, and one of them at most a match."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    RESULTS.validate_json(response.content)
    found = {key: one["result"] for key, one in response.json().items()}
    for candidates in found.values():
        scores = [one["score"] for one in candidates]
        assert scores == sorted(scores, reverse=True)
        assert sum(one["match"] for one in candidates) <= 1
        assert all(one["type"] == [{"id": CONCEPT, "name": "Concept"}] for one in candidates)
    return found


def ask(client: TestClient, **queries: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return answer(client.post(NAMES, data={"queries": json.dumps(queries)}))


@pytest.mark.parametrize("service", [NAMES, TEXTS])
def test_the_manifest(client: TestClient, service: str) -> None:
    response = client.get(service)
    found = ManifestShape.model_validate_json(response.content)
    for address in (found.identifierSpace, found.schemaSpace, found.suggest["entity"].service_url):
        assert urlsplit(address).scheme in ("http", "https")
    assert found.batchSize == 100
    assert len({one.id for one in found.defaultTypes}) == len(found.defaultTypes) == 1
    assert client.get(service, params={"callback": "f", "_": "1"}).json() == response.json()  # no JSONP, no error


@pytest.mark.parametrize("changed", [{"versions": ["0.1"]}, {"versions": None}, {"view": {"url": "http://x/"}}])
def test_what_is_no_manifest_is_seen(client: TestClient, changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ManifestShape.model_validate(client.get(NAMES).json() | changed)


@pytest.mark.parametrize("wrong", [{"q0": {}}, {"q0": []}, {"q0": {"result": [{"name": "x", "score": 1.0}]}}])
def test_what_is_no_result_is_seen(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        RESULTS.validate_python(wrong)


@pytest.mark.parametrize("service", [NAMES, TEXTS])
@pytest.mark.parametrize(
    "queries",
    [
        {},
        {"q1": {"query": "Boats"}, "q2": {"query": "Bank"}},
        {"q0": {"query": "Boats", "type": CONCEPT, "limit": 5, "type_strict": "should"}},
        {"q0": {"query": "Boats", "type": [CONCEPT, "other"], "limit": 5.0, "type_strict": "any"}},
        {"q0": {"query": "Boats", "type": [], "properties": []}},
        {"q0": {"query": "Boats", "properties": [{"pid": "a", "v": 1}, {"pid": "b", "v": True}]}},
        {"q0": {"query": "Boats", "properties": [{"pid": "a", "v": ["x", 2, {"id": "e", "name": "E"}]}]}},
        {"q0": {"properties": [{"pid": "a", "v": {"id": "e"}}]}},
        {"": {"query": "Boats"}, "a key / with ünusual": {"query": ""}},
        {"q0": {"query": "Boats", "limit": 10**20}},
        {"q0": {"query": "Boats", "of_tomorrow": [1]}},
    ],
)
def test_batches_that_must_be_read(client: TestClient, service: str, queries: dict[str, Any]) -> None:
    sent = {"queries": json.dumps(queries)}
    found = answer(client.post(service, data=sent))
    assert list(found) == list(queries)
    assert answer(client.get(service, params=sent)) == found
    for key, query in queries.items():
        assert bool(found[key]) == bool(query.get("query")), key


@pytest.mark.parametrize("service", [NAMES, TEXTS])
@pytest.mark.parametrize(
    "queries",
    [
        "",
        "boats",
        "{",
        "null",
        "[]",
        '{"q0": null}',
        '{"q0": "boats"}',
        '{"q0": {}}',
        '{"q0": {"limit": 1}}',
        '{"q0": {"properties": []}}',
        '{"q0": {"query": 7}}',
        '{"q0": {"query": "a", "type": 7}}',
        '{"q0": {"query": "a", "limit": 0}}',
        '{"q0": {"query": "a", "limit": -1}}',
        '{"q0": {"query": "a", "limit": 1.5}}',
        '{"q0": {"query": "a", "properties": "b"}}',
        '{"q0": {"query": "\\ud800"}}',
    ],
)
def test_batches_that_are_none(client: TestClient, service: str, queries: str) -> None:
    problem(client.post(service, data={"queries": queries}), 400)
    problem(client.get(service, params={"queries": queries}), 400)


def test_as_many_queries_as_the_manifest_says(client: TestClient) -> None:
    most = client.get(NAMES).json()["batchSize"]
    assert len(ask(client, **{f"q{i}": {"query": "Boats"} for i in range(most)})) == most
    too_many = {f"q{i}": {"query": "Boats"} for i in range(most + 1)}
    problem(client.post(NAMES, data={"queries": json.dumps(too_many)}), 413)


def test_an_id_finds_its_label(client: TestClient) -> None:
    for label in LABELS:
        (found,) = ask(client, q={"query": label.id, "limit": 1}).values()
        assert (found[0]["id"], found[0]["score"], found[0]["match"]) == (label.id, 100, True)


def test_namesakes_are_all_there_and_none_is_a_match(client: TestClient) -> None:
    (found,) = ask(client, q={"query": "bank"}).values()
    assert [(one["id"], one["score"], one["match"]) for one in found[:2]] == [
        ("http://x/bank1", 100, False),
        ("http://x/bank2", 100, False),
    ]
    (one,) = ask(client, q={"query": "bank", "limit": 1}).values()
    assert one == found[:1]  # the other one is there, shown or not


def test_types_and_limits(client: TestClient) -> None:
    found = ask(
        client,
        all={"query": "stone", "limit": 40},
        few={"query": "stone", "limit": 3},
        other={"query": "stone", "type": "http://x/Person", "type_strict": "should"},
        none={"query": "Boats", "type": ""},
    )
    assert len(found["all"]) == 25
    assert found["few"] == found["all"][:3]
    assert found["other"] == []
    assert found["none"][0]["match"]


def test_a_query_is_answered_as_if_it_were_alone(client: TestClient) -> None:
    names = ["Boats", "Botas", "bank", "Stone 3", "nothing alike"]
    queries = {f"q{i}": {"query": name} for i, name in enumerate(names)}
    together = ask(client, **queries)
    assert together == {key: ask(client, q=query)["q"] for key, query in queries.items()}


def test_what_openrefine_posts(client: TestClient) -> None:
    """Ten cells, with a type and a column more, every byte beyond letters and digits percent-encoded, spaces as +."""
    cells = [
        "Boats",
        "Ships & yachts",
        "Gebäude + Höfe",
        "100 %=a&b",
        "日本",
        '"',
        "\U0001f6a2",
        "Stone 1",
        "bank",
        "?",
    ]
    more = {"type": CONCEPT, "type_strict": "should", "properties": [{"pid": "P1", "v": {"id": "e", "name": "E"}}]}
    batch = ",".join(f'"q{i}":{json.dumps({"query": cell} | more, ensure_ascii=False)}' for i, cell in enumerate(cells))
    body = f"queries={quote_plus('{' + batch + '}')}"
    for kind in (FORM, f"{FORM}; charset=UTF-8"):
        found = answer(client.post(NAMES, content=body, headers={"Content-Type": kind}))
        assert list(found) == [f"q{i}" for i in range(10)]
        matches = {key: one["id"] for key, candidates in found.items() for one in candidates if one["match"]}
        ids = {"q0": "boats", "q1": "ships", "q2": "buildings", "q7": "s1"}
        assert matches == {key: f"http://x/{name}" for key, name in ids.items()}


def test_what_guesses_a_columns_type(client: TestClient) -> None:
    """Before anything is reconciled: a few cells, three candidates each, whose types are counted."""
    found = ask(client, q0={"query": "Boats", "limit": 3}, q1={"query": "Stone", "limit": 3})
    assert {one["type"][0]["id"] for candidates in found.values() for one in candidates} == {CONCEPT}


@pytest.mark.parametrize("encode", [quote, quote_plus])
def test_by_get(client: TestClient, encode: Any) -> None:
    queries = encode(json.dumps({"q0": {"query": "gebäude + höfe"}}, ensure_ascii=False))
    (found,) = answer(client.get(f"{NAMES}?queries={queries}")).values()
    assert (found[0]["id"], found[0]["match"]) == ("http://x/buildings", True)


def suggested(client: TestClient, query: str) -> list[str]:
    response = client.get(f"{SUGGEST}?{query}")
    assert response.status_code == 200, response.text
    return [one.id for one in SuggestShape.model_validate_json(response.content).result]


def test_suggestions_page_by_page(client: TestClient) -> None:
    pages = [suggested(client, f"prefix=sto&cursor={cursor}") for cursor in (0, 10, 20, 30)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert {one for page in pages for one in page} == {f"http://x/s{i}" for i in range(25)}
    assert suggested(client, "prefix=sto") == pages[0]


def test_suggestions_as_openrefine_asks_for_them(client: TestClient) -> None:
    assert suggested(client, f"prefix=boa&type={quote(CONCEPT)}&type_strict=any&limit=5") == ["http://x/boats"]
    assert suggested(client, "prefix=Geb%C3%A4u") == suggested(client, "prefix=gebau") == ["http://x/buildings"]
    assert suggested(client, "prefix=ships+%26+y") == ["http://x/ships"]
    assert suggested(client, "prefix=http%3A%2F%2Fx%2Fboats")[0] == "http://x/boats"
    assert suggested(client, "prefix=") == suggested(client, "prefix=zzz") == []
    problem(client.get(SUGGEST), 400)
    problem(client.get(f"{SUGGEST}?prefix=a&cursor=b"), 400)


@pytest.mark.parametrize("path", [NAMES, TEXTS, SUGGEST])
def test_pages_of_other_places_may_ask(client: TestClient, path: str) -> None:
    asks = PAGE | {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    before = client.options(path, headers=asks)
    assert before.status_code == 200
    assert {"GET", "POST"} <= set(before.headers["access-control-allow-methods"].split(", "))
    assert "content-type" in before.headers["access-control-allow-headers"].lower()
    queries = {"queries": '{"q0": {"query": "Boats"}}', "prefix": "boa"}
    responses = [before, client.get(path, params=queries, headers=PAGE), client.get(path, headers=PAGE)]
    if path != SUGGEST:
        responses += [client.post(path, data=sent, headers=PAGE) for sent in (queries, {"queries": "{"})]
    assert [one.status_code for one in responses] == ([200] * 2 + [400] if path == SUGGEST else [200] * 4 + [400])
    assert {one.headers["access-control-allow-origin"] for one in responses} == {"*"}
