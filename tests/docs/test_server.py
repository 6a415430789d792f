"""What docs/server.md shows works: every curl line, sent to the real app; every path of its table is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.data.test_catalogue import mrc
from tests.web import conftest as web

from everylabel.web.projects import Project

PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (curl (?:.*\\\n)*.*)$", PAGE, re.MULTILINE)
fitted, model, serve, sampled = web.fitted, web.model, web.serve, web.sampled


@pytest.fixture
def demo(model: Path, serve: web.Serve, sampled: Path) -> TestClient:
    (sampled.parent / "sample").symlink_to(sampled) if not (sampled.parent / "sample").exists() else None
    return serve(Project(id="demo", model=model), allow_learn=True, data=sampled.parent)


def sent(client: TestClient, command: str) -> Any:
    """As curl would."""
    words = iter(shlex.split(command.replace("\\\n", " "))[1:])
    headers: dict[str, str] = {}
    address, data, method = "", [], ""
    files: dict[str, Any] = {}
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            data.append(next(words))
        elif word == "-X":
            method = next(words)
        elif word == "-F":
            name, _, value = next(words).partition("=")
            files[name] = (value[1:], mrc(1) if value.endswith(".mrc") else b"a text") if value[:1] == "@" else value
        elif word == "-o":
            next(words)
        else:
            address = word
    method = method or ("POST" if data or files else "GET")
    if data:
        headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
    parts = {name: value if isinstance(value, tuple) else (None, value) for name, value in files.items()}
    more: dict[str, Any] = {"files": parts} if files else {"content": "&".join(data).encode()}
    return client.request(method, address.replace("server:8000", "localhost:8000"), headers=headers, **more)


def test_every_curl_line_works(demo: TestClient) -> None:
    assert len(COMMANDS) > 15
    for command in COMMANDS:
        response = sent(demo, command)
        assert response.status_code < 300, (command, response.text)


def test_every_path_of_the_table_is_there(demo: TestClient) -> None:
    paths = demo.get("/api/openapi.json").json()["paths"]
    table = PAGE.partition("| | scope | |")[2].partition("\n\n")[0]
    named = {path.partition("?")[0] for path in re.findall(r"`(/[^`]*)`", table)}
    known = {re.sub(r"\{\w+_id\}|\{version\}", "X", path) for path in paths}
    for path in named:
        wanted = re.sub(r"\b(ID|N)\b", "X", path.removeprefix("/api"))
        assert any(one == wanted or one.endswith(wanted) for one in known), path
    covered = [re.sub(r"\b(ID|N)\b", "X", path.removeprefix("/api")) for path in named]
    assert not [one for one in known if not any(one == path or one.endswith(path) for path in covered)]
