"""Keys and scopes; and what holds where there are none: this machine alone, under its own names."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.web.conftest import TEXT, Serve
from tests.web.test_annif import problem

from everylabel.errors import ConfigError
from everylabel.web.keys import add_key, read_keys, remove_key
from everylabel.web.projects import Project
from everylabel.web.running import check_host

SUGGEST = "/v1/projects/sample/suggest"


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_the_file_has_hashes_alone_and_is_for_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key = add_key(file, "ada", ["learn", "read"])
    assert key not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [(one.name, one.scopes) for one in read_keys(file)] == [("ada", ("read", "learn"))]
    for name, scopes in (("ada", ["read"]), ("bob", []), ("bob", ["root"])):
        with pytest.raises(ConfigError):
            add_key(file, name, scopes)
    with pytest.raises(ConfigError, match="no key named 'eve'"):
        remove_key(file, "eve")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give a file away")
def test_root_changes_keys_and_the_file_stays_its_owners(tmp_path: Path) -> None:
    """A server that runs as that user reads it without a restart."""
    file = tmp_path / "keys.json"
    add_key(file, "ada", ["read"])
    os.chown(file, 12_345, 12_345)
    add_key(file, "bob", ["read"])
    remove_key(file, "ada")
    found = file.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (12_345, 12_345, 0o600)


def test_scopes(fitted: Path, serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    read, learn, admin = (add_key(file, scope, [scope]) for scope in ("read", "learn", "admin"))
    projects = [Project(id=access, model=fitted, access=access) for access in ("public", "private")]
    client = serve(*projects, keys=file, allow_learn=True)
    asked: dict[str, Any] = {"data": {"text": TEXT}}
    suggest, decisions, reload = "/v1/projects/public/suggest", "/api/models/public/decisions", "/api/models/reload"
    without = client.post(suggest, **asked)
    assert problem(without, 401)["detail"].startswith("a key is needed")
    assert without.headers["www-authenticate"].startswith("Bearer")
    assert client.post(suggest, **asked, headers=bearer(read)).status_code == 200
    assert client.post(suggest, **asked, headers={"X-API-Key": read}).status_code == 200
    assert client.post(suggest, **asked, auth=("any", read)).status_code == 200
    for path, method, key in ((decisions, "GET", learn), (reload, "POST", admin)):
        problem(client.request(method, path, headers=bearer(read)), 403)
        problem(client.request(method, path), 401)
        assert client.request(method, path, headers=bearer(key)).status_code == 200
    problem(client.get("/metrics"), 401)
    assert client.get("/livez").status_code == 200
    remove_key(file, "read")
    problem(client.post(suggest, **asked, headers=bearer(read)), 401)


def test_private_projects_are_for_admins(fitted: Path, serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    read, admin = add_key(file, "read", ["read"]), add_key(file, "admin", ["read", "admin"])
    client = serve(Project(id="sample", model=fitted, access="private"), keys=file)
    assert client.get("/v1/projects", headers=bearer(read)).json() == {"projects": []}
    problem(client.get("/v1/projects/sample", headers=bearer(read)), 404)
    assert client.get("/v1/projects/sample", headers=bearer(admin)).status_code == 200


def test_guessing_is_stopped(fitted: Path, serve: Serve, tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys.json", "ada", ["read"])
    client = serve(fitted, keys=tmp_path / "keys.json", most_failures=3)
    for _ in range(3):
        problem(client.get("/v1/projects", headers=bearer("el_guess")), 401)
    refused = client.get("/v1/projects", headers=bearer(key))
    problem(refused, 429)
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert client.get("/livez").status_code == 200


def test_an_empty_or_broken_file_of_keys_is_said(fitted: Path, serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{}")
    for name in ("none.json", "broken.json"):
        with pytest.raises(ConfigError, match="everylabel keys add"):
            serve(fitted, keys=tmp_path / name)


def test_without_keys_this_machine_alone(client: TestClient) -> None:
    with pytest.raises(ConfigError, match="without keys only this machine"):
        check_host("0.0.0.0", has_keys=False)
    check_host("127.0.0.1", has_keys=False)
    check_host("0.0.0.0", has_keys=True)
    far = TestClient(client.app, base_url="http://localhost:8000", client=("192.0.2.7", 1))
    problem(far.get("/v1/projects"), 403)


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8000", "", "[", "a b"]
)
def test_another_name_for_this_machine_is_refused(client: TestClient, host: str) -> None:
    problem(client.get("/v1/projects", headers={"Host": host}), 403)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "[::1]:8000"])
def test_its_own_names_are_not(client: TestClient, host: str) -> None:
    assert client.get("/v1/projects", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/models/sample/decisions"),
        ("POST", "/api/models/sample/decisions"),
        ("POST", "/api/models/reload"),
        ("POST", "/api/jobs"),
        ("POST", "/v1/projects/sample/learn"),
    ],
)
@pytest.mark.parametrize(
    "sent", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_pages_of_others_change_nothing_where_there_are_no_keys(
    client: TestClient, method: str, path: str, sent: dict[str, str]
) -> None:
    problem(client.request(method, path, headers=sent), 403)


def test_our_own_page_may(client: TestClient) -> None:
    own: dict[str, Any] = {"headers": {"Origin": "http://localhost:8000"}}
    assert client.get("/api/models/sample/decisions", **own).status_code == 200


@pytest.mark.parametrize("value", [b"Basic \xff===", b"Basic //", b"Basic", b"Bearer \xff", b"Basic \xe9\xe9\xe9\xe9"])
def test_a_key_of_any_bytes_is_a_wrong_one(fitted: Path, serve: Serve, tmp_path: Path, value: bytes) -> None:
    add_key(tmp_path / "keys.json", "ada", ["read"])
    client = serve(fitted, keys=tmp_path / "keys.json")
    problem(client.get("/v1/projects", headers={b"Authorization": value}), 401)
