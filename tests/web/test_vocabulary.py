"""What the vocabulary says beside names: broader, related and deprecated labels, over the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.web.conftest import Serve
from tests.web.test_annif import problem

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists

MODEL = "/api/models/sample"
LABELS = LabelSet.of(
    [
        Label("cats", "Big cats", parents=("animals",), related=("fur", "not-there")),
        Label("tiger", "Tiger", parents=("cats",)),
        Label("lion", "Lion", parents=("cats",)),
        Label("wolf", "Wolf", parents=("animals",)),
        Label("animals", "Animals"),
        Label("fur", "Fur"),
        Label("felines", "Felines", deprecated=True, replaced_by=("cats", "not-there")),
    ]
)


@pytest.fixture
def client(serve: Serve, tmp_path: Path) -> TestClient:
    """A whisker may be a tiger's or a lion's: each is uncertain, a big cat is not."""
    texts = ["a whisker and stripes", "a whisker and a mane", "a whisker and fur"] * 4 + ["howling at night"] * 30
    pairs = pairs_from_lists([[1], [2], [0]] * 4 + [[3]] * 30, len(LABELS))
    everylabel.method("knn").fit(Dataset(Documents.of(texts), LABELS, pairs)).save(tmp_path / "sample")
    return serve(tmp_path / "sample")


def tagged(client: TestClient, **asked: Any) -> list[dict[str, Any]]:
    response = client.post(f"{MODEL}/tag", json={"text": "whisker", "k": 5} | asked)
    assert response.status_code == 200, response.text
    labels: list[dict[str, Any]] = response.json()["documents"][0]["labels"]
    return labels


def test_a_broader_label_in_the_place_of_uncertain_ones(client: TestClient) -> None:
    plain = tagged(client)
    assert {label["id"] for label in plain} == {"tiger", "lion", "cats"}
    assert tagged(client, broader=False) == plain
    (one,) = tagged(client, broader=True)
    assert (one["id"], one["name"], one["uri"], one["notation"]) == ("cats", "Big cats", "cats", None)
    assert one["score"] >= max(label["score"] for label in plain)
    assert {label["id"] for label in one["instead_of"]} == {"tiger", "lion"}
    assert {label["id"] for label in tagged(client, broader=True, exclude=["cats"])} == {"tiger", "lion"}
    problem(client.post(f"{MODEL}/tag", json={"text": "whisker", "broader": True, "new_labels": "interleave"}), 400)
    problem(client.post(f"{MODEL}/tag", json={"text": "whisker", "broader": "cats"}), 400)


def test_related_labels_and_what_has_replaced_a_deprecated_one(client: TestClient) -> None:
    def label(name: str) -> Any:
        return client.get(f"{MODEL}/label", params={"id": name}).json()

    cats, felines = label("cats"), label("felines")
    assert [one["id"] for one in cats["related"]] == ["fur"]  # those that the vocabulary has
    assert (cats["deprecated"], cats["replaced_by"]) == (False, [])
    assert (felines["name"], felines["deprecated"], felines["related"]) == ("Felines", True, [])
    assert [(one["id"], one["name"], one["documents"]) for one in felines["replaced_by"]] == [("cats", "Big cats", 4)]


def test_a_deprecated_label_is_looked_up_but_neither_found_nor_removed(client: TestClient) -> None:
    assert client.get(f"{MODEL}/labels", params={"prefix": "felines"}).json()["labels"] == []
    problem(client.delete(f"{MODEL}/label", params={"id": "felines"}), 404)
    assert client.delete(f"{MODEL}/label", params={"id": "fur"}).status_code == 200
    problem(client.get(f"{MODEL}/label", params={"id": "fur"}), 404)
