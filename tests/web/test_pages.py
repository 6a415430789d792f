"""The page's files, and what our interface tells for it."""

from __future__ import annotations

import re
from pathlib import Path

from starlette.testclient import TestClient
from tests.web.conftest import TEXT, Serve

from everylabel.web.pages import FILES, STATIC
from everylabel.web.projects import Project, read_projects


def imported(names: set[str]) -> set[str]:
    """Those files, and what they cannot do without."""
    named = {one for name in names for one in re.findall(r'from "\./([^"]+)"', (STATIC / name).read_text("utf-8"))}
    return names if named <= names else imported(names | named)


def test_every_file_that_the_page_names_is_served_with_its_kind(client: TestClient) -> None:
    named = set(re.findall(r'(?:href|src)="static/([^"]+)"', client.get("/").text))
    assert named == imported({"app.js"}) | {"page.css", "icon.svg"}  # the first view needs no more
    for name in named:
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(FILES[name])


def test_what_comes_after_the_first_view_is_fetched_at_once(client: TestClient) -> None:
    (names,) = re.findall(r"NAMES = \[(.*?)\]", client.get("/static/later.js").text)
    later = {f"{name}.js" for name in re.findall(r'"(\w+)"', names)}
    assert later == imported(later) - imported({"app.js"})
    assert imported({"app.js"}) | later | {"docs.js", "report.js"} == {name for name in FILES if name.endswith(".js")}


def test_a_file_that_has_not_changed_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/static/app.js")
    again = client.get("/static/app.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["cache-control"] == "no-cache"


def test_files_are_packed_for_those_who_can_take_it(client: TestClient) -> None:
    plain = client.get("/static/app.js", headers={"Accept-Encoding": "identity"})
    packed = client.get("/static/app.js", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert plain.content == packed.content == (STATIC / "app.js").read_bytes()
    assert int(packed.headers["content-length"]) < len(plain.content) / 2
    assert plain.headers["etag"] != packed.headers["etag"]
    assert "Accept-Encoding" in packed.headers["vary"]


def test_only_files_of_the_page_are_sent(client: TestClient) -> None:
    for name in ("none.js", "..%2Fpages.py", "%2e%2e/pages.py", "__init__.py"):
        assert client.get(f"/static/{name}").status_code == 404


def test_explained_tags_tell_what_is_above_them(client: TestClient) -> None:
    asked = {"text": TEXT, "k": 5, "explain": True}
    labels = client.post("/api/models/sample/tag", json=asked).json()["documents"][0]["labels"]
    paths = {label["id"]: label["path"] for label in labels}
    assert paths["lifeboats"][0] == "Sea and coast"
    assert paths["sea-and-coast"] == []
    plain = client.post("/api/models/sample/tag", json=asked | {"explain": False}).json()["documents"][0]["labels"]
    assert all("path" not in label for label in plain)


def test_a_project_has_examples(fitted: Path, serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "projects.toml"
    file.write_text(f"[projects.a]\nmodel = '{fitted}'\nexamples = ['A wreck']\n")
    (project,) = read_projects(file)
    assert project == Project(id="a", model=fitted, examples=("A wreck",))
    assert serve(project).get("/api/models/a").json()["examples"] == ["A wreck"]
