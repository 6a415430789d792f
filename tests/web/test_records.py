"""Catalogue files over the network: their records, and the same files with subjects."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pymarc
import pytest
from starlette.testclient import TestClient
from tests.data.test_catalogue import FILES, mrc, written
from tests.web.conftest import Serve
from tests.web.test_annif import problem

from everylabel.data.formats import records
from everylabel.data.formats.reading import Reader

READ = "/api/models/sample/records"
TAKEN = [
    {"name": "Lifeboats", "id": "lifeboats", "uri": "http://vocabulary.example/lifeboats", "probability": 0.8765},
    {"name": "Wrecks", "id": "w"},
]


def read(client: TestClient, file: Path) -> Any:
    return client.post(READ, files={"file": (file.name, file.read_bytes())})


def write(client: TestClient, name: str, data: bytes, **subjects: Any) -> Any:
    return client.post("/api/records", files={"file": (name, data)}, data={"subjects": json.dumps(subjects)})


@pytest.mark.parametrize("name", FILES)
def test_records_are_read_and_written_again(client: TestClient, tmp_path: Path, name: str) -> None:
    file = written(tmp_path, name)
    found = read(client, file).json()
    assert (found["format"], len(found["records"]), found["left_out"]) == (name, 2, 0)
    assert [one["number"] for one in found["records"]] == [1, 2]
    assert found["records"][0]["title"].startswith("Lights")
    assert "lamps" in found["records"][0]["text"].lower()
    assert found["records"][0]["subjects"]
    answer = write(client, file.name, file.read_bytes(), source="harbour", records={2: TAKEN})
    assert answer.status_code == 200, answer.text
    assert (answer.headers["Subjects-Added"], answer.headers["Records-Left-Out"]) == ("2", "0")
    tmp_path.joinpath(f"again{file.suffix}").write_bytes(answer.content)
    again = read(client, tmp_path / f"again{file.suffix}").json()["records"]
    names = [[one["name"] for one in record["subjects"]] for record in again]
    assert names[0] == [one["name"] for one in found["records"][0]["subjects"]]
    assert {"Lifeboats", "Wrecks"} <= set(names[1])
    assert [(one["title"], one["text"]) for one in again] == [(o["title"], o["text"]) for o in found["records"]]


def test_a_subject_that_the_vocabulary_has_is_its_label(client: TestClient, tmp_path: Path) -> None:
    file = tmp_path / "a.ris"
    file.write_text("TY  - BOOK\nTI  - A title\nKW  - LIFEBOATS\nKW  - something else\nER  - \n")
    one, other = read(client, file).json()["records"][0]["subjects"]
    assert one["label"]["id"] == "lifeboats"
    assert (other["name"], other["label"]) == ("something else", None)


def test_marc_says_source_address_confidence_and_date(client: TestClient) -> None:
    answer = write(client, "a.mrc", mrc(1), source="harbour", records={1: TAKEN})
    (record,) = pymarc.MARCReader(io.BytesIO(answer.content))
    new = [field for field in record.get_fields("650") if field["2"] == "harbour"]
    assert [field.get_subfields("a", "0") for field in new] == [
        ["Lifeboats", "http://vocabulary.example/lifeboats"],
        ["Wrecks"],
    ]
    assert all(list(field.indicators) == [" ", "7"] for field in new)
    (made,) = record.get_fields("883")  # what a person typed has none
    assert made.get_subfields("a", "c") == ["everylabel", "0.8765"]
    assert list(made.indicators) == ["1", " "]
    assert len(made["d"]) == 8
    assert made["8"] == new[0]["8"]
    assert new[1].get("8") is None


def test_damaged_records_are_counted_and_stay(client: TestClient, tmp_path: Path) -> None:
    first, file = len(mrc(1)), tmp_path / "a.mrc"
    leader = mrc(1)[5:24]
    file.write_bytes(mrc(1) + b"00045" + leader + b"x" * 20 + b"\x1d")
    found = read(client, file).json()
    assert (len(found["records"]), found["left_out"]) == (1, 1)
    answer = write(client, "a.mrc", file.read_bytes(), records={1: TAKEN})
    assert answer.content.endswith(file.read_bytes()[first:])
    assert (answer.headers["Subjects-Added"], answer.headers["Records-Left-Out"]) == ("2", "0")


def test_what_does_not_fit_into_a_record_is_counted(client: TestClient) -> None:
    many = [{"name": f"{number:04d}" + "x" * 1_900, "id": str(number)} for number in range(60)]
    answer = write(client, "a.mrc", mrc(2), records={1: many})
    assert (answer.headers["Subjects-Added"], answer.headers["Records-Left-Out"]) == ("0", "1")
    assert answer.content == mrc(2)


def test_what_is_wrong_is_said(client: TestClient) -> None:
    def posted(name: str, data: bytes) -> Any:
        return client.post(READ, files={"file": (name, data)})

    problem(posted("a.pdf", b"x"), 415)
    assert "no catalogue records" in problem(posted("a.xml", b"<x/>"), 400)["detail"]
    assert "no records" in problem(posted("a.ris", b"nothing"), 400)["detail"]
    damaged = problem(posted("a.xml", b"<record xmlns='http://www.loc.gov/MARC21/slim'><leader>"), 400)["detail"]
    assert "upload.xml" in damaged
    assert "/" not in damaged.replace("MARC21/slim", "")  # no path of the server
    problem(client.post(READ, json={}), 415)
    problem(client.post("/api/models/other/records", files={"file": ("a.ris", b"")}), 404)
    problem(client.post(f"{READ}?language=xx", files={"file": ("a.ris", b"")}), 400)
    problem(client.post("/api/records", files={"file": ("a.mrc", mrc(1))}), 400)
    bad: list[dict[str, Any]] = [{"records": {"0": []}}, {"records": {"1": [{"name": "x"}]}}, {"recs": {}}, {}]
    for wrong in bad:
        problem(write(client, "a.mrc", mrc(1), **wrong), 400)
    entity = (
        b"<!DOCTYPE a [<!ENTITY b 'c'>]><record xmlns='http://www.loc.gov/MARC21/slim'><leader>&b;</leader></record>"
    )
    problem(posted("a.xml", entity), 400)


def test_many_records_and_long_texts_are_refused(fitted: Path, serve: Serve, tmp_path: Path) -> None:
    client = serve(fitted, most_characters=100)
    file = tmp_path / "a.ris"
    file.write_text(f"TY  - BOOK\nTI  - A title\nAB  - {'x ' * 60}\nER  - \n")
    problem(read(client, file), 413)
    one = "TY  - BOOK\nTI  - A title\nER  - \n"
    file.write_text(one * (records.MOST_RECORDS + 1))
    assert "more than 2,000 records" in problem(read(client, file), 400)["detail"]
    client = serve(fitted, most_upload_bytes=1_000)
    problem(client.post(READ, files={"file": ("a.ris", b"x" * 100_000)}), 413)


def test_a_file_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "a.ris"
    file.write_text("TY  - BOOK\nTI  - A title\nER  - \n")
    with Reader(seconds=0.001) as reader, pytest.raises(ValueError, match="longer than"):
        reader.records(file)
