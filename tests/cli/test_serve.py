"""`everylabel serve` and `everylabel keys` as commands: really run, asked, told to load again, and ended."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

COMMAND = (sys.executable, "-m", "everylabel.cli.main", "serve")
TELLS = re.compile(r"page +(http://127\.0\.0\.1:\d+)/\n")


@contextmanager
def serving(*arguments: object, seconds: float = 90) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The process, the address that it prints, and all that it prints before it listens."""
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    try:
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        assert ready, "it says nothing"
        said = ""
        while "projects  " not in said and (line := process.stdout.readline()):
            said += line
        found = TELLS.match(said)
        assert found, said + (process.stderr.read() if process.stderr else "")
        yield process, found[1], said
    finally:
        process.kill()
        process.communicate()


def ask(address: str, body: Any = None, seconds: float = 90) -> Any:
    """As soon as it listens."""
    until = time.monotonic() + seconds
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def test_a_model_is_served_loaded_again_and_ended_gracefully(model: Path, tmp_path: Path) -> None:
    with serving(model, "--state", tmp_path / "state") as (process, address, said):
        assert ask(f"{address}/readyz") == {"status": "ready"}
        assert ask(f"{address}/v1/projects/{model.name}/suggest", {"text": "a boat"})["results"][0]["uri"] == "sea"
        parts = {"Content-Type": "multipart/form-data; boundary=x"}
        bad = urllib.request.Request(f"{address}/api/text", b"no form", parts)
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(bad, timeout=60)
        since = ask(f"{address}/api/models/{model.name}")["since"]
        time.sleep(1.1)
        process.send_signal(signal.SIGHUP)
        until = time.monotonic() + 30
        while ask(f"{address}/api/models/{model.name}")["since"] == since and time.monotonic() < until:
            time.sleep(0.05)
        assert ask(f"{address}/api/models/{model.name}")["since"] > since
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    assert process.returncode in (0, -signal.SIGTERM)
    assert all(path in said for path in ("/v1/ui/", "/api/ui/", f"/v1/projects/{model.name}/reconcile"))
    assert "only this machine is served" in err
    assert "GET /readyz 200" in err
    assert "Traceback" not in err
    assert "a boat" not in err
    assert "boundary" not in err  # nor what libraries say of bytes that came


def test_it_starts_in_little_time(model: Path, tmp_path: Path) -> None:
    """CPU seconds until it has answered, with all that is imported: the machine may have other things to do."""

    def seconds() -> float:
        with serving(model, "--state", tmp_path / "state") as (process, address, _):
            ask(f"{address}/readyz")
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    if not Path("/proc/self/stat").exists():
        pytest.skip("this system does not tell the CPU time of a process")
    assert min(seconds() for _ in range(2)) < 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((), 4, "nothing to serve"),
        (("MODEL", "--host", "0.0.0.0"), 4, "without keys only this machine"),
        (("MODEL", "--keys", "none.json"), 4, "has no key"),
        (("none",), 5, "none"),
        (("MODEL", "--host", "192.0.2.1", "--keys", "KEYS"), 4, "cannot be listened at"),
    ],
)
def test_what_cannot_be_served_is_said(
    run: Run, model: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    keys = tmp_path / "keys.json"
    run("keys", "add", keys, "--name", "x")
    given = [{"MODEL": str(model), "KEYS": str(keys)}.get(one, one) for one in arguments]
    result = run("serve", *given, "--port", "0", "--state", tmp_path / "state")
    assert result.exit_code == code, result.output
    assert said in result.output


def test_keys_are_made_listed_and_taken_back(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    made = run("keys", "add", file, "--name", "ada", "--scope", "read", "--scope", "admin")
    assert made.exit_code == 0
    assert made.stdout.startswith("el_")
    assert made.stdout.strip() not in file.read_text()
    (listed,) = json.loads(run("keys", "list", file, "--json").stdout)
    assert (listed["name"], listed["scopes"]) == ("ada", ["read", "admin"])
    assert "ada" in run("keys", "list", file).stdout
    assert run("keys", "add", file, "--name", "ada").exit_code == 4
    assert run("keys", "add", file, "--name", "bob", "--scope", "root").exit_code == 4
    assert run("keys", "remove", file, "--name", "ada").exit_code == 0
    assert run("keys", "remove", file, "--name", "ada").exit_code == 4
    assert json.loads(run("keys", "list", file, "--json").stdout) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_from_nothing_to_an_address(tmp_path: Path) -> None:
    with serving("--demo", "--state", tmp_path / "state", "--quiet", seconds=500) as (_, address, _):
        found = ask(f"{address}/api/models/demo/tag", {"text": "the lifeboat and the wreck", "k": 3})
        assert found["documents"][0]["labels"]
        details = ask(f"{address}/api/models/demo")
        assert len(details["examples"]) == 3
        assert details["has_report"]
