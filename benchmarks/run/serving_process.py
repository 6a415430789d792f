"""`everylabel serve` in a process of its own, on a free port of this machine, as the measurements of it start it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HOST = "127.0.0.1"
READY = 120.0  # seconds until a server must be
STOPPING = 60.0


class Reply(NamedTuple):
    status: int
    body: Any  # JSON, or text

    @property
    def said(self) -> str:
        """Of an error: its sentence."""
        return str(self.body.get("detail", "")) if isinstance(self.body, dict) else str(self.body)


def ask(port: int, path: str, body: Any = None, *, method: str = "", seconds: float = 60.0) -> Reply:
    """One request by a connection of its own; a body is sent as JSON. OSError, HTTPException: no answer."""
    connection = http.client.HTTPConnection(HOST, port, timeout=seconds)
    try:
        return ask_by(connection, path, body, method=method)
    finally:
        connection.close()


def ask_by(connection: http.client.HTTPConnection, path: str, body: Any = None, *, method: str = "") -> Reply:
    sent = None if body is None else json.dumps(body).encode()
    headers = {} if sent is None else {"Content-Type": "application/json"}
    connection.request(method or ("GET" if sent is None else "POST"), path, sent, headers)
    response = connection.getresponse()
    read = response.read()
    is_json = "json" in (response.getheader("Content-Type") or "")
    return Reply(response.status, json.loads(read) if is_json and read else read.decode("utf-8", "replace"))


class Memory(NamedTuple):
    """Of a process, in MB; handles and threads are numbers."""

    rss: float
    pss: float
    anonymous: float  # not of files: what can leak
    threads: int
    handles: int

    @classmethod
    def of(cls, pid: int) -> Memory:
        process = Path(f"/proc/{pid}")
        found = dict(re.findall(r"^(\w+):\s+(\d+) kB", (process / "smaps_rollup").read_text(), re.MULTILINE))
        rss, pss, anonymous = (round(int(found[name]) / 1024, 1) for name in ("Rss", "Pss", "Anonymous"))
        threads, handles = (sum(1 for _ in (process / part).iterdir()) for part in ("task", "fd"))
        return cls(rss, pss, anonymous, threads, handles)


def cpu_ms(pid: int) -> float:
    """Milliseconds that a process has run, threads that have ended among them; what else the machine does changes
    little of it. The clock is what clock_getcpuclockid(3) gives on Linux, which Python does not have."""
    return 1e3 * time.clock_gettime((~pid << 3) | 2)


class Served:
    """Started when it is made, ready when that returns (unless told not to `wait`, for who kills it before); stopped as
    by an administrator at the end of a `with`. `before`: a command that runs it (`setpriv ...`). What it says is in
    `log`."""

    def __init__(
        self,
        models: Sequence[Path],
        state: Path,
        *options: str,
        log: Path,
        port: int = 0,
        before: Sequence[str] = (),
        wait: bool = True,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.log = log
        command = [*before, sys.executable, "-m", "everylabel.cli.main", "serve", *map(str, models)]
        command += ["--state", str(state), "--port", str(port), *options]
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a", encoding="utf-8") as stderr:
            started = time.perf_counter()
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=stderr, text=True, env={**os.environ, **(env or {})}
            )
        self.port = 0
        try:
            if not wait:
                return
            self.port = self._port()
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise
        self.start_seconds = round(time.perf_counter() - started, 2)

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ask(self, path: str, body: Any = None, *, method: str = "") -> Reply:
        return ask(self.port, path, body, method=method)

    @property
    def pid(self) -> int:
        return self.process.pid

    def stop(self) -> int:
        """As a service manager does; the exit code."""
        self.process.terminate()
        try:
            self.process.communicate(timeout=STOPPING)
            return self.process.returncode
        except subprocess.TimeoutExpired:
            self.kill()
            raise SystemExit(f"the server did not stop within {STOPPING:g} s; its log is {self.log}") from None

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def _port(self) -> int:
        """From what it prints."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.match(r"page\s+http://127\.0\.0\.1:(\d+)/", line):
                port = int(found[1])
            if line.startswith("projects"):
                return port
        raise SystemExit(f"the server ended with {self.process.wait()}; its log is {self.log}")

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + READY
        while time.monotonic() < until and self.process.poll() is None:
            try:
                if ask(self.port, "/readyz", seconds=5).status == 200:
                    return
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)  # not listening yet
                continue
            time.sleep(0.02)
        raise SystemExit(f"the server was not ready within {READY:g} s; its log is {self.log}")
