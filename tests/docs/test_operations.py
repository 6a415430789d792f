"""What is in deploy/ and the Dockerfile is true as far as it can be tried here: commands, options, metrics, syntax."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer
from prometheus_client.parser import text_string_to_metric_families

from everylabel.cli.app import app
from everylabel.web.limits import UPLOAD
from everylabel.web.metrics import Metrics
from everylabel.web.settings import MB, Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
UNIT = ROOT / "deploy" / "everylabel.service"
NGINX = ROOT / "deploy" / "nginx.conf"
DASHBOARD = json.loads((ROOT / "deploy" / "grafana.json").read_text(encoding="utf-8"))
COMMANDS: Any = typer.main.get_command(app)


def metric_names() -> set[str]:
    """As Prometheus sees them, once each has a value."""
    metrics = Metrics()
    metrics.request("/", "GET", 200, 0.1)
    metrics.ranked(1, 0.1)
    metrics.waited([0.1])
    metrics.waiting(lambda: 1)
    metrics.tagged("p", 1)
    metrics.refused("key")
    metrics.decided("p")
    metrics.loaded("p", 1, swapped=True)
    families = text_string_to_metric_families(metrics.text().decode())
    return {sample.name for family in families for sample in family.samples}


def check_command(words: list[str]) -> None:
    """Each word that looks like an option is one of the command's."""
    command = COMMANDS.commands[words[0]]
    if words[0] in ("keys", "decisions", "labels") and len(words) > 1:
        command, words = command.commands[words[1]], words[1:]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options, words


def expressions() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]


def test_the_dashboard_asks_for_metrics_that_there_are() -> None:
    asked = {name for one in expressions() for name in re.findall(r"\beverylabel_\w+", one)}
    assert asked <= metric_names()
    families = {re.sub(r"_(bucket|count|sum|created|total)$", "", name) for name in metric_names()}
    assert {re.sub(r"_(bucket|count|sum|total)$", "", name) for name in asked} == families
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)


def test_the_dashboard_groups_by_labels_that_there_are() -> None:
    families = text_string_to_metric_families(_observed())
    known = {label for family in families for sample in family.samples for label in sample.labels}
    for one in expressions():
        for listed in re.findall(r"by \(([^)]*)\)", one):
            assert {name.strip() for name in listed.split(",")} <= known, one
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= known


def _observed() -> str:
    metrics = Metrics()
    metrics.request("/", "GET", 200, 0.1)
    metrics.refused("key")
    metrics.loaded("p", 1, swapped=False)
    return metrics.text().decode()


def test_the_page_names_metrics_that_there_are() -> None:
    families = {re.sub(r"_(bucket|count|sum|created|total)$", "", name) for name in metric_names()}
    named = set(re.findall(r"\beverylabel_\w+", PAGE))
    assert named
    assert named <= metric_names() | families


def test_commands_of_the_page_are_there() -> None:
    for words in re.findall(r"(?:bin/|`)everylabel ([a-z][^`\n]*)", PAGE):
        check_command(shlex.split(words))
    for name in re.findall(r"deploy/([\w.]+)", PAGE):
        assert (ROOT / "deploy" / name).is_file()


def test_the_container_starts_the_server_as_nobody_in_particular() -> None:
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.MULTILINE)
    (command,) = re.findall(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)
    assert json.loads(entry) == ["everylabel"]
    check_command(json.loads(command))
    (user,) = re.findall(r"^USER (\d+)$", DOCKERFILE, re.MULTILINE)
    assert int(user) > 0
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        assert all((ROOT / name).exists() for name in copied.split()), copied
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert not {"src", "pyproject.toml", "constraints.txt", "README.md", "LICENSE"} & set(ignored)
    (extras,) = re.findall(r'"\.\[([\w,]+)\$EXTRAS\]"', DOCKERFILE)
    assert re.search("^ARG EXTRAS=$", DOCKERFILE, re.MULTILINE)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert all(re.search(rf"^{extra} = \[", project, re.MULTILINE) for extra in extras.split(","))
    assert "/readyz" in DOCKERFILE


def test_the_unit_starts_the_server() -> None:
    (start,) = re.findall(r"^ExecStart=/opt/everylabel/bin/everylabel (.*)$", UNIT.read_text(), re.MULTILINE)
    check_command(shlex.split(start))
    (user,) = re.findall(r"^User=(\w+)$", UNIT.read_text(), re.MULTILINE)
    assert f"runuser -u {user} -- /opt/everylabel/bin/everylabel keys add" in PAGE  # else it could not read its keys


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_knows_every_key_of_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/everylabel/bin/everylabel", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    said = [line for line in (done.stdout + done.stderr).splitlines() if UNIT.name in line]
    assert not said
    unit.write_text(unit.read_text().replace("PrivateTmp", "PrivateTemp"))  # it would have said so
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert "PrivateTemp" in done.stdout + done.stderr


def test_nginx_lets_through_what_the_server_takes() -> None:
    text = NGINX.read_text()
    small, large = (int(size) for size in re.findall(r"client_max_body_size (\d+)m;", text))
    limits = Settings(state=Path("x"))
    assert small * 1024 * 1024 >= limits.most_bytes
    assert large * 1024 * 1024 >= limits.most_upload_bytes + MB
    (files,) = re.findall(r"location ~ \^(\S+)\$ {", text)
    assert files == UPLOAD.pattern  # where a body may be a file
    (seconds,) = re.findall(r"proxy_read_timeout (\d+)s;", text)
    assert int(seconds) > limits.answer_seconds
    assert text.count("{") == text.count("}")
    bare = re.sub(r"#.*", "", text)
    assert all(line.rstrip().endswith((";", "{", "}")) for line in bare.splitlines() if line.strip())
