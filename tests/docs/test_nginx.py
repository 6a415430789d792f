"""deploy/nginx.conf with a real nginx before a real server: TLS, keys, limits, files. Needs nginx and openssl."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.data.test_catalogue import mrc
from tests.web import conftest as web
from tests.web.listening import listening

from everylabel.web.app import create_app
from everylabel.web.keys import add_key
from everylabel.web.pages import FILES
from everylabel.web.projects import Project
from everylabel.web.settings import Settings

TEXT = (Path(__file__).parents[2] / "deploy" / "nginx.conf").read_text(encoding="utf-8")
NAME = "tags.example.org"
fitted = web.fitted
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("openssl")), reason="needs nginx and openssl"),
]


class Front(NamedTuple):
    port: int
    plain_port: int
    key: str
    context: ssl.SSLContext

    def ask(self, path: str, body: bytes | None = None, **headers: str) -> tuple[HTTPResponse, bytes]:
        connection = HTTPSConnection("127.0.0.1", self.port, context=self.context, timeout=60)
        own = {"Host": NAME, "Authorization": f"Bearer {self.key}"} | {
            k.replace("_", "-"): v for k, v in headers.items()
        }
        connection.request("GET" if body is None else "POST", path, body, own)
        answer = connection.getresponse()
        read = answer.read()
        connection.close()
        return answer, read


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def front(fitted: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """The example with other ports, addresses and a certificate of its own; nothing else is changed."""
    folder = tmp_path_factory.mktemp("nginx")
    made = ["-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME},IP:127.0.0.1", "-days", "2"]
    files = ["-keyout", str(folder / "key"), "-out", str(folder / "pem")]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *made, *files], check=True, capture_output=True
    )
    key = add_key(folder / "keys.json", "catalogue", ["read", "learn"])
    settings = Settings(state=folder / "state", keys=folder / "keys.json")
    with listening(create_app([Project(id="sample", model=fitted)], settings)) as address:
        port, plain_port = free_port(), free_port()
        changes = {
            "127.0.0.1:8000": address.removeprefix("http://"),
            "listen 80;": f"listen 127.0.0.1:{plain_port};",
            "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
            f"/etc/ssl/{NAME}.pem": str(folder / "pem"),
            f"/etc/ssl/{NAME}.key": str(folder / "key"),
        }
        text = TEXT
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
        user = "user root;" if os.geteuid() == 0 else ""  # else its processes cannot write to the folder
        frame = f"daemon off; {user} pid {folder}/pid; error_log {folder}/errors; events {{}}\n"
        conf = folder / "nginx.conf"
        conf.write_text(f"{frame}http {{ access_log off; {folders}\n{text}\n}}\n")
        command = ["nginx", "-p", str(folder), "-c", str(conf)]
        tried = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
        assert tried.returncode == 0, tried.stderr
        assert "[warn]" not in tried.stderr.replace('the "user" directive', "")
        context = ssl.create_default_context(cafile=str(folder / "pem"))
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            found = Front(port, plain_port, key, context)
            until = time.monotonic() + 30
            while not answers(found) and time.monotonic() < until:
                time.sleep(0.05)
            yield found
        finally:
            process.terminate()
            process.wait()


def answers(front: Front) -> bool:
    try:
        return front.ask("/livez")[0].status == 200
    except OSError:
        return False


def test_the_page_and_tags_come_through_tls(front: Front) -> None:
    answer, read = front.ask("/")
    assert answer.status == 200
    assert b"everylabel" in read
    assert answer.headers["Strict-Transport-Security"]
    assert "default-src" in answer.headers["Content-Security-Policy"]
    body = json.dumps({"text": web.TEXT, "k": 3}).encode()
    answer, read = front.ask("/api/models/sample/tag", body, Content_Type="application/json")
    assert (answer.status, len(json.loads(read)["documents"][0]["labels"])) == (200, 3)
    wrong, _ = front.ask("/api/models", Authorization="Bearer wrong")
    assert wrong.status == 401


def test_plain_http_is_sent_to_tls(front: Front) -> None:
    connection = HTTPConnection("127.0.0.1", front.plain_port)
    connection.request("GET", "/v1/projects?x=1", headers={"Host": NAME})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Location"]) == (301, f"https://{NAME}/v1/projects?x=1")
    connection.close()


def test_all_files_of_the_page_at_once_are_not_too_many(front: Front) -> None:
    time.sleep(2)  # what was asked before is forgotten
    paths = ["/", *(f"/static/{name}" for name in FILES), "/api/models", "/api/models/sample"]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda path: front.ask(path)[0].status, paths))
    assert set(found) == {200}


def test_who_asks_too_often_is_told(front: Front) -> None:
    connection = HTTPSConnection("127.0.0.1", front.port, context=front.context, timeout=60)
    found, until = [], time.monotonic() + 60
    while 429 not in found and time.monotonic() < until:  # a busy machine asks slowly
        connection.request("GET", "/livez", headers={"Host": NAME})
        answer = connection.getresponse()
        answer.read()
        found.append(answer.status)
    connection.close()
    assert set(found) == {200, 429}
    assert found.count(200) >= 40
    time.sleep(3)


def test_files_may_be_larger_than_other_bodies(front: Front) -> None:
    def form(name: str, data: bytes) -> bytes:
        head = f'--zz\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        return head.encode() + data + b"\r\n--zz--\r\n"

    kind = "multipart/form-data; boundary=zz"
    pages = b"<title>Lights</title><p>of the coast" + b"<!-- " + b"x" * 20_000_000 + b" -->"
    answer, read = front.ask("/api/text", form("a.html", pages), Content_Type=kind)
    assert (answer.status, json.loads(read)["title"]) == (200, "Lights"), read[:300]
    answer, read = front.ask("/api/models/sample/records", form("a.mrc", mrc(2)), Content_Type=kind)
    assert (answer.status, len(json.loads(read)["records"])) == (200, 2)
    answer, _ = front.ask(
        "/api/models/sample/tag", b'{"text": "' + b"x" * 12_000_000 + b'"}', Content_Type="application/json"
    )
    assert answer.status == 413


def test_the_dashboard_asks_for_what_this_server_exports(front: Front) -> None:
    """Of a server that has tagged, decided and refused."""
    time.sleep(2)
    body = json.dumps({"text": web.TEXT, "accepted": ["lifeboats"]}).encode()
    assert front.ask("/api/models/sample/decisions", body, Content_Type="application/json")[0].status == 201
    front.ask("/api/models/sample/tag", json.dumps({"text": web.TEXT}).encode(), Content_Type="application/json")
    answer, read = front.ask("/metrics")
    assert answer.status == 200
    exported = set(re.findall(r"^(everylabel_\w+)", read.decode(), re.MULTILINE))
    dashboard = (Path(__file__).parents[2] / "deploy" / "grafana.json").read_text(encoding="utf-8")
    asked = set(re.findall(r"\beverylabel_\w+", " ".join(re.findall(r'"expr": "((?:[^"\\]|\\.)*)"', dashboard))))
    assert asked
    assert asked - exported <= {"everylabel_model_swaps_total"}  # no model was exchanged here
