"""Bounds of size, number and time; and that no text is logged."""

from __future__ import annotations

import logging
import socket
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.web.conftest import TEXT, Serve
from tests.web.listening import listening
from tests.web.test_annif import SUGGEST, problem

from everylabel.data.formats.reading import Content, Reader
from everylabel.web import running
from everylabel.web.app import create_app
from everylabel.web.projects import Project
from everylabel.web.settings import Settings


def test_a_long_body_is_413_said_before_or_found_out(fitted: Path, serve: Serve) -> None:
    client = serve(fitted, most_bytes=1_000)
    problem(client.post(SUGGEST, data={"text": "x" * 2_000}), 413)

    def parts() -> Any:
        yield from (b"text=" + b"x" * 300 for _ in range(10))

    problem(client.post(SUGGEST, content=parts(), headers={"Content-Type": "application/x-www-form-urlencoded"}), 413)
    assert client.post(SUGGEST, data={"text": TEXT}).status_code == 200


def test_long_texts_and_many_documents(fitted: Path, serve: Serve) -> None:
    client = serve(fitted, most_characters=100, most_documents=2)
    problem(client.post(SUGGEST, data={"text": "x" * 101}), 413)
    problem(client.post("/api/models/sample/tag", json={"documents": [{"text": "x"}] * 3}), 400)
    problem(client.post("/api/text", files={"file": ("a.txt", b"x" * 101)}), 413)


@pytest.mark.parametrize(
    "body",
    [
        b'{"x": [' + b"[]," * 250_000 + b"1]}",
        b"{" + b'"a":1,' * 250_000 + b'"b":1}',
        b'{"x": [' + b"1," * 1_100_000 + b"1]}",
    ],
    ids=["lists", "names", "numbers"],
)
def test_many_parts_of_json_are_too_many(client: TestClient, body: bytes) -> None:
    json = {"Content-Type": "application/json"}
    for path in ("/api/models/sample/tag", SUGGEST):
        problem(client.post(path, content=body, headers=json), 413)


def test_what_is_wrong_in_many_places_is_said_soon(client: TestClient) -> None:
    fields = {"text": TEXT, **{f"unknown{i}": 1 for i in range(100_000)}}
    tracemalloc.start()
    found = problem(client.post("/api/models/sample/tag", json=fields), 400)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "100,000 parts" in found["detail"]
    assert peak < 60_000_000


def test_more_requests_than_can_be_answered_are_sent_away(fitted: Path, serve: Serve) -> None:
    client = serve(fitted, most_requests=0)
    away = client.get("/v1/projects")
    problem(away, 503)
    assert away.headers["retry-after"] == "1"


def test_an_answer_that_takes_too_long_is_given_up(fitted: Path, serve: Serve) -> None:
    client = serve(fitted, answer_seconds=0.0)
    away = client.post(SUGGEST, data={"text": TEXT})
    assert "no answer within" in problem(away, 503)["detail"]
    assert "retry-after" in away.headers


def test_no_text_is_logged(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    secret = "a most private text"
    with caplog.at_level(logging.DEBUG):
        client.post(SUGGEST, data={"text": secret})
        client.get("/v1/projects/sample/reconcile", params={"queries": f'{{"q0": {{"query": "{secret}"}}}}'})
        client.post("/api/models/sample/tag", json={"text": secret, "k": "x"})
        client.get("/v1/detect-language", params={"text": secret})
        client.post("/v1/detect-language", content=secret)
    said = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("everylabel"))
    assert "POST /v1/projects/sample/suggest 200" in said
    assert "private" not in said


def test_what_nobody_expected_is_a_500_without_insides(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("a most private text")

    monkeypatch.setattr("everylabel.web.tagging.suggest", fails)
    response = client.post(SUGGEST, data={"text": TEXT})
    problem(response, 500)
    assert "private" not in response.text + caplog.text
    assert "RuntimeError" in caplog.text


def test_every_answer_has_the_headers(client: TestClient) -> None:
    for path in ("/", "/v1/projects", "/v1/none", "/api/models", "/static/app.js"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"


def test_metrics_tell_of_routes_not_of_addresses(client: TestClient) -> None:
    client.post(SUGGEST, data={"text": TEXT})
    client.get("/v1/projects/anything-at-all")
    found = client.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain")
    assert 'path="/v1/projects/{project_id}/suggest"' in found.text
    assert "anything-at-all" not in found.text
    assert 'everylabel_documents_total{project="sample"}' in found.text
    assert 'everylabel_model_version{project="sample"} 0.0' in found.text


@pytest.fixture
def address(fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server on a socket that has little patience."""
    monkeypatch.setattr(running, "HEADER_SECONDS", 0.3)
    app = create_app([Project(id="sample", model=fitted)], Settings(state=tmp_path, body_seconds=0.5))
    with listening(app) as found:
        host, _, port = found.removeprefix("http://").partition(":")
        yield host, int(port)


def exchanged(address: tuple[str, int], *parts: bytes, seconds: float = 10) -> tuple[bytes, float]:
    """All that comes until the server closes the connection, and when it does."""
    with socket.create_connection(address, timeout=seconds) as connection:
        started = time.monotonic()
        for part in parts:
            connection.sendall(part)
        found = b""
        while chunk := connection.recv(65536):
            found += chunk
        return found, time.monotonic() - started


def test_slow_senders_are_cut_off(address: tuple[str, int]) -> None:
    post = f"POST {SUGGEST} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
    form = "Content-Type: application/x-www-form-urlencoded\r\n\r\ntext="
    found, seconds = exchanged(address, (post + form).encode())
    assert found.startswith(b"HTTP/1.1 408")
    assert seconds < 8
    nothing, seconds = exchanged(address)
    assert (nothing, seconds < 8) == (b"", True)
    half, seconds = exchanged(address, b"GET / HTTP/1.1\r\nHost: local")
    assert (half, seconds < 8) == (b"", True)


def test_endless_headers_are_cut_off(address: tuple[str, int]) -> None:
    lines = b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (i, b"y" * 1_000) for i in range(70))
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(lines)
        time.sleep(0.1)
        try:
            connection.sendall(b"X: y\r\n" * 10)
            found = connection.recv(65536)
        except ConnectionError:
            found = b"HTTP/1.1 400"
    assert found.startswith(b"HTTP/1.1 400")


def test_a_connection_that_waits_between_requests_stays(address: tuple[str, int]) -> None:
    with socket.create_connection(address, timeout=10) as connection:
        for _ in range(2):
            connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            time.sleep(0.5)


def test_requests_in_flight_are_answered_when_the_server_stops(fitted: Path, tmp_path: Path) -> None:
    app = create_app([Project(id="sample", model=fitted)], Settings(state=tmp_path))
    answers: list[bytes] = []
    body = b"text=" + TEXT.replace(" ", "+").encode() * 200
    head = f"POST {SUGGEST} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    with listening(app) as found:
        host, _, port = found.removeprefix("http://").partition(":")
        connection = socket.create_connection((host, int(port)), timeout=30)
        connection.sendall(head.encode() + body)
        time.sleep(0.02)
        reading = threading.Thread(target=lambda: answers.append(connection.recv(65536)))
        reading.start()
    reading.join()
    connection.close()
    assert answers[0].startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("target", [SUGGEST, "/api/models/sample/tag", "/api/text"])
def test_who_goes_away_in_the_middle_of_a_body_is_no_error(
    fitted: Path, tmp_path: Path, target: str, caplog: pytest.LogCaptureFixture
) -> None:
    """By a server that waits longer for a body than any machine is busy."""
    app = create_app([Project(id="sample", model=fitted)], Settings(state=tmp_path, body_seconds=60))
    kind = "multipart/form-data; boundary=x" if target == "/api/text" else "application/json"
    head = f"POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nContent-Type: {kind}\r\n\r\n"
    with caplog.at_level(logging.INFO), listening(app) as found:
        host, _, port = found.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(head.encode() + b"--x")
            time.sleep(0.1)
        until = time.monotonic() + 30
        while f"POST {target}" not in caplog.text and time.monotonic() < until:
            time.sleep(0.01)
    assert f"POST {target} 400" in caplog.text
    assert "unexpected" not in caplog.text


def test_files_that_take_long_keep_nobody_else_waiting(
    fitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*_: object) -> Content:
        time.sleep(0.5)
        return Content("", "a text")

    monkeypatch.setattr(Reader, "content", slowly)
    app = create_app([Project(id="sample", model=fitted)], Settings(state=tmp_path))
    body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF\r\n--x--\r\n'
    kind = f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {len(body)}\r\n"
    end = "Host: localhost\r\nConnection: close\r\n\r\n"
    upload = f"POST /api/text HTTP/1.1\r\n{kind}{end}".encode() + body
    with listening(app) as found, ThreadPoolExecutor(20) as pool:
        host, _, port = found.removeprefix("http://").partition(":")
        at = (host, int(port))
        waiting = [pool.submit(exchanged, at, upload, seconds=60) for _ in range(20)]
        time.sleep(0.3)
        other, seconds = exchanged(at, f"GET /v1/projects HTTP/1.1\r\n{end}".encode())
        assert other.startswith(b"HTTP/1.1 200")
        assert seconds < 1
        answers = [one.result()[0] for one in waiting]
    assert {answer[:12] for answer in answers} == {b"HTTP/1.1 200", b"HTTP/1.1 503"}
    assert sum(answer.startswith(b"HTTP/1.1 200") for answer in answers) >= 8
    assert all(b"retry-after" in answer for answer in answers if answer.startswith(b"HTTP/1.1 503"))
