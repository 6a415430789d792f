"""A model hub on this machine: the calls that huggingface_hub makes to create, commit (plain and LFS), list, download.

Files are kept by commit, as git would; large ones are sent to a store of their own first, by their sha256.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_standing_in"
Files = dict[str, bytes]


@dataclass
class Hub:
    """What the server has. `unknown`: requests that it has no answer to, which a test should know about."""

    url: str = ""
    commits: dict[str, list[tuple[str, Files]]] = field(default_factory=dict)  # by repository, the newest last
    private: dict[str, bool] = field(default_factory=dict)
    stored: Files = field(default_factory=dict)  # LFS, by sha256
    asked: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def commit(self, repo: str, files: Files) -> str:
        made = self.commits.setdefault(repo, [])
        names = json.dumps([len(made), sorted((name, hashlib.sha1(one).hexdigest()) for name, one in files.items())])
        made.append((hashlib.sha1(names.encode()).hexdigest(), files))
        return made[-1][0]

    def files(self, repo: str, revision: str = "main") -> tuple[str, Files] | None:
        made = self.commits.get(repo)
        if not made:
            return None
        return made[-1] if revision == "main" else next((one for one in made if one[0] == revision), None)


def is_large(name: str) -> bool:
    return name.startswith("arrays/")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""

    def answer(self, status: int, content: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def answer_json(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.answer(status, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

    def missing(self, code: str) -> None:
        self.answer_json({"error": code}, 404, {"X-Error-Code": code})

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def handle_any(self) -> None:
        path, body = unquote(urlsplit(self.path).path), self.body()
        self.hub.asked.append(f"{self.command} {path}")
        if self.command == "POST" and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer_json({"error": "Invalid username or password."}, 401)
            return
        for method, pattern, work in ROUTES:
            found = re.fullmatch(pattern, path)
            if method == self.command and found:
                work(self, *found.groups(), body)
                return
        self.hub.unknown.append(f"{self.command} {path}")
        self.missing("EntryNotFound")

    do_GET = do_HEAD = do_POST = do_PUT = handle_any  # noqa: N815 (http.server calls them so)

    def create(self, body: bytes) -> None:
        asked = json.loads(body)
        repo = f"{asked['organization']}/{asked['name']}" if asked.get("organization") else f"me/{asked['name']}"
        if repo in self.hub.commits:
            self.answer_json({"error": "You already created this model repo", "url": f"{self.hub.url}/{repo}"}, 409)
            return
        self.hub.private[repo] = asked.get("visibility") == "private" or bool(asked.get("private"))
        self.hub.commit(repo, {".gitattributes": b"*.npy filter=lfs\n"})
        self.answer_json({"url": f"{self.hub.url}/{repo}", "name": repo})

    def validate_card(self, body: bytes) -> None:
        text = json.loads(body)["content"]
        wrong = (
            [] if re.match(r"---\n.*^license: .*^---\n", text, re.DOTALL | re.MULTILINE) else [{"message": "no YAML"}]
        )
        self.answer_json({"errors": wrong, "warnings": []}, 400 if wrong else 200)

    def preupload(self, _repo: str, _revision: str, body: bytes) -> None:
        files = [
            {"path": one["path"], "uploadMode": "lfs" if is_large(one["path"]) else "regular", "shouldIgnore": False}
            for one in json.loads(body)["files"]
        ]
        self.answer_json({"files": files})

    def lfs_batch(self, _repo: str, body: bytes) -> None:
        objects: list[dict[str, Any]] = []
        for one in json.loads(body)["objects"]:
            upload = {"upload": {"href": f"{self.hub.url}/stored/{one['oid']}"}}
            objects.append(one | ({} if one["oid"] in self.hub.stored else {"actions": upload}))
        self.answer_json({"transfer": "basic", "objects": objects})

    def store(self, oid: str, body: bytes) -> None:
        if hashlib.sha256(body).hexdigest() != oid:
            self.answer(400)
            return
        self.hub.stored[oid] = body
        self.answer(200)

    def make_commit(self, repo: str, _revision: str, body: bytes) -> None:
        now = self.hub.files(repo)
        files = dict(now[1]) if now else {}
        for line in body.splitlines():
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif item["key"] == "lfsFile":
                files[value["path"]] = self.hub.stored[value["oid"]]
            elif item["key"] == "deletedFile":
                del files[value["path"]]
        commit = self.hub.commit(repo, files)
        url = f"{self.hub.url}/{repo}/commit/{commit}"
        self.answer_json({"success": True, "commitOid": commit, "commitUrl": url, "hookOutput": ""})

    def info(self, repo: str, revision: str, _body: bytes) -> None:
        found = self.hub.files(repo, revision or "main")
        if found is None:
            self.missing("RevisionNotFound" if repo in self.hub.commits else "RepoNotFound")
            return
        siblings = [{"rfilename": name} for name in sorted(found[1])]
        self.answer_json({"id": repo, "modelId": repo, "sha": found[0], "siblings": siblings, "tags": []})

    def latest(self, repo: str, body: bytes) -> None:
        self.info(repo, "main", body)

    def tree(self, repo: str, revision: str, _body: bytes) -> None:
        found = self.hub.files(repo, revision)
        if found is None:
            self.missing("RepoNotFound")
            return
        entries = []
        for name, content in sorted(found[1].items()):
            entry = {"type": "file", "path": name, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
            digest = hashlib.sha256(content).hexdigest()
            large = {"lfs": {"oid": digest, "size": len(content), "pointerSize": 134}} if is_large(name) else {}
            entries.append(entry | large)
        self.answer_json(entries)

    def resolve(self, repo: str, revision: str, name: str, _body: bytes) -> None:
        found = self.hub.files(repo, revision)
        if found is None or name not in found[1]:
            self.missing("RepoNotFound" if found is None else "EntryNotFound")
            return
        content = found[1][name]
        digest = hashlib.sha256(content) if is_large(name) else hashlib.sha1(content)
        self.answer(
            200, content, {"ETag": f'"{digest.hexdigest()}"', "X-Repo-Commit": found[0], "Accept-Ranges": "bytes"}
        )


REPO = r"([\w.-]+/[\w.-]+)"
ROUTES: list[tuple[str, str, Callable[..., None]]] = [
    ("POST", r"/api/repos/create", Handler.create),
    ("POST", r"/api/validate-yaml", Handler.validate_card),
    ("POST", rf"/api/models/{REPO}/preupload/([^/]+)", Handler.preupload),
    ("POST", rf"/{REPO}\.git/info/lfs/objects/batch", Handler.lfs_batch),
    ("PUT", r"/stored/([0-9a-f]{64})", Handler.store),
    ("POST", rf"/api/models/{REPO}/commit/([^/]+)", Handler.make_commit),
    ("GET", rf"/api/models/{REPO}", Handler.latest),
    ("GET", rf"/api/models/{REPO}/revision/([^/]+)", Handler.info),
    ("GET", rf"/api/models/{REPO}/tree/([^/]+)", Handler.tree),
    ("HEAD", rf"/{REPO}/resolve/([^/]+)/(.+)", Handler.resolve),
    ("GET", rf"/{REPO}/resolve/([^/]+)/(.+)", Handler.resolve),
]


@contextmanager
def running_hub() -> Iterator[Hub]:
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": hub}))
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
