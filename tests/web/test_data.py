"""Data sets that are sent, jobs that learn from them and measure by them, and what was measured."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.web.conftest import TEXT, Serve
from tests.web.test_annif import problem
from tests.web.test_api import MODEL, until
from tests.web.test_swapping import put

LABELS = [{"id": "lifeboats", "name": "Lifeboats"}, {"id": "beekeeping", "name": "Beekeeping"}]
DOCUMENTS = [{"id": "a", "text": TEXT, "labels": ["lifeboats"]}, {"id": "b", "text": "honey", "labels": ["beekeeping"]}]


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


FILES = [
    ("file", ("train.jsonl.gz", gzip.compress(lines(DOCUMENTS * 3)))),
    ("file", ("test.jsonl", lines(DOCUMENTS))),
    ("file", ("labels.jsonl", lines(LABELS))),
]


def done(client: TestClient, **asked: str) -> Any:
    job = client.post("/api/jobs", json=asked)
    assert job.status_code == 202, job.text
    address = f"/api/jobs/{job.json()['id']}"
    found = until(lambda: (now := client.get(address).json())["state"] in ("done", "failed") and now, 100)
    assert found["state"] == "done", found["log"]
    return found


def test_a_data_set_is_sent_fitted_on_and_measured_by(fitted: Path, model: Path, serve: Serve, tmp_path: Path) -> None:
    client = serve(model)
    assert client.get("/api/data").json() == {"data": []}
    sent = client.post("/api/data/mine", files=FILES)
    assert (sent.status_code, sent.json()) == (201, {"name": "mine", "sent": True})
    assert client.get("/api/data").json() == {"data": [{"name": "mine", "sent": True}]}
    done(client, kind="fit", project="new", data="mine", method="popularity")
    assert (tmp_path / "state" / "models" / "new" / "manifest.json").is_file()
    assert client.get(MODEL).json()["results"] is None
    done(client, kind="evaluate", project="sample", data="mine", split="test")
    results = client.get(MODEL).json()["results"]
    assert (results["data"], results["split"], results["documents"]) == ("mine", "test", 2)
    assert 0 < results["values"]["nDCG@5"] <= 1
    assert {"tail", "unseen", "all"} <= set(results["bands"])
    put(fitted, model)  # another model: nothing was measured with it
    client.post("/api/models/reload")
    assert client.get(MODEL).json()["results"] is None
    assert client.delete("/api/data/mine").status_code == 204
    problem(client.delete("/api/data/mine"), 404)
    problem(client.post("/api/jobs", json={"kind": "fit", "project": "new", "data": "mine"}), 403)


def test_a_data_set_is_never_another(model: Path, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "data" / "named").mkdir(parents=True)
    client = serve(model, data=tmp_path / "data")
    for name, status in (("mine", 201), ("mine", 409), ("named", 409)):
        assert client.post(f"/api/data/{name}", files=FILES).status_code == status
    assert client.get("/api/data").json()["data"] == [{"name": "mine", "sent": True}, {"name": "named", "sent": False}]
    problem(client.delete("/api/data/named"), 404)
    assert (tmp_path / "data" / "named").is_dir()


@pytest.mark.parametrize("name", ["../train.jsonl", "..", ".hidden", "a b", "", "train\0.csv"])
def test_names_lead_nowhere_else(client: TestClient, name: str) -> None:
    """The folders of a file's name are left out, as browsers do."""
    answer = client.post("/api/data/some", files=[("file", (name, b"x"))])
    if name == "../train.jsonl":
        assert answer.status_code == 201
        assert client.delete("/api/data/some").status_code == 204
    else:
        problem(answer, 400)
    assert client.get("/api/data").json() == {"data": []}


def test_what_is_no_data_set_is_said(client: TestClient) -> None:
    problem(client.post("/api/data/some", json={}), 415)
    problem(client.post("/api/data/some", files=[("other", ("a.csv", b"x"))]), 400)
    problem(client.post("/api/data/some", files=[("file", ("a.csv", b"x"))] * 2), 400)
    problem(client.post("/api/data/some", files=[("file", (f"{i}.csv", b"x")) for i in range(5)]), 400)
    problem(client.post("/api/data/%2e%2e", files=FILES), 400)
    assert client.get("/api/data").json() == {"data": []}


def test_a_long_one_is_413(model: Path, serve: Serve) -> None:
    client = serve(model, most_upload_bytes=1_000)
    problem(client.post("/api/data/some", files=[("file", ("a.csv", b"x" * 20_000))]), 413)
    assert client.get("/api/data").json() == {"data": []}
