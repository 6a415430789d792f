"""The servers that hostile requests go to: `everylabel serve` twice, without keys and with, watched from outside.

What is watched: memory at its peak, threads and file handles, which must be what they were when it was warm, and the
log, which may have no text of a request, no traceback and no line that a request has made up.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import everylabel
from benchmarks.run.hostile_requests_wire import HOME, KEYED, MARKER, OPEN
from everylabel.data.dataset import Dataset
from everylabel.tagger.tagger import Tagger
from everylabel.web.keys import SCOPES, add_key
from everylabel.web.settings import Settings
from everylabel.workflow.demo import sample_splits

STEADY = "steady"  # the project that nothing hostile is sent to: what it answers must stay the same, byte for byte
PROJECT, HIDDEN, PRIVATE = "sample", "hidden", "private"
LOG_LINE = re.compile(r"\d{4}-\d\d-\d\d [\d:,]+ [A-Z]+ [\w.]+: [^\x00-\x1f\x7f]*|  \S.*|no keys: .*|$")
MORE_THREADS, MORE_FILES = 10, 40  # than when it was warm: of pools that fill as they are used
INTERNET = "internet.json"
STARTING = 60.0  # seconds
SETTLING = 30.0  # seconds until connections that were closed are forgotten
MB = 1 << 20


@dataclass(frozen=True)
class Numbers:
    mb: float
    peak_mb: float
    threads: int
    files: int


class Watched:
    """One server, from its start until it is stopped."""

    def __init__(self, name: str, arguments: list[str], log: Path) -> None:
        self.name, self._log, self._read = name, log, 0
        paths = [str(Path(everylabel.__file__).parent.parent), str(Path(__file__).parents[2])]
        env = {"PYTHONPATH": os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])}
        env["EVERYLABEL_INTERNET"] = str(log.parent / INTERNET)
        command = [sys.executable, "-m", "benchmarks.run.hostile_requests_internet", "serve", "--port", "0", *arguments]
        with log.open("wb") as stream:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stream, env=os.environ | env)
        self.port = self._told_port()
        self._wait_until_it_listens()
        self.warm = self.numbers()
        self.readers_mb = 0.0  # the peak of those that read uploads
        self._stop = threading.Event()
        self._sampler = threading.Thread(target=self._sample, daemon=True)
        self._sampler.start()

    def settled(self) -> None:
        """What it has now is what it may have."""
        self.warm = self.numbers()

    def numbers(self) -> Numbers:
        process = Path(f"/proc/{self._process.pid}")
        status = _status(process)
        found = (status["VmRSS"] / 1024, status["VmHWM"] / 1024, status["Threads"])
        return Numbers(*found, files=sum(1 for _ in (process / "fd").iterdir()))

    def finds(self, most_mb: float) -> list[str]:
        """What is not as it was, once nobody is connected."""
        if self._process.poll() is not None:
            return [f"the server has ended: {self._process.returncode}"]
        until = time.monotonic() + SETTLING
        while (found := self._leaks()) and time.monotonic() < until:
            time.sleep(0.2)
        peak = self.numbers().peak_mb
        if peak > most_mb:
            found.append(f"memory: {peak:,.0f} MB at its peak, at most {most_mb:,.0f} expected")
        return found + self._log_finds()

    def stop(self) -> list[str]:
        """As a person or systemd would, once. What is wrong with how it ends."""
        if self._stop.is_set():
            return []
        self._stop.set()
        self._sampler.join()
        self._process.send_signal(signal.SIGTERM)
        try:
            code = self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return self._log_finds() + (
            [f"it ends with {code}"] if code not in (0, -signal.SIGTERM, 128 + signal.SIGTERM) else []
        )

    def _leaks(self) -> list[str]:
        now = self.numbers()
        found = []
        if now.threads > self.warm.threads + MORE_THREADS:
            found.append(f"threads: {now.threads}, {self.warm.threads} when it was warm")
        if now.files > self.warm.files + MORE_FILES:
            found.append(f"file handles: {now.files}, {self.warm.files} when it was warm")
        return found

    def _log_finds(self) -> list[str]:
        with self._log.open("rb") as stream:
            stream.seek(self._read)
            new = stream.read()
        self._read += len(new)
        said = new.decode("utf-8", "replace")
        found = [f"a text of a request is in the log: {line[:200]}" for line in said.split("\n") if MARKER in line]
        found += [
            f"an error is in the log: {part[:1_000]}"
            for part in re.findall(r"[^\n]*(?:Traceback|unexpected|ERROR)(?:.*\n){0,9}", said)
        ]
        return found + [
            f"a line in the log that is none of ours: {line[:200]!r}"
            for line in said.split("\n")
            if not LOG_LINE.fullmatch(line)
        ]

    def _told_port(self) -> int:
        assert self._process.stdout is not None
        port = 0
        for line in self._process.stdout:
            if found := re.match(rb"page\s+http://[\d.]+:(\d+)/", line):
                port = int(found[1])
            if line.startswith(b"projects"):  # the last that it says
                return port
        raise RuntimeError(f"no server: {self._log.read_text(encoding='utf-8')}")

    def _wait_until_it_listens(self) -> None:
        until = time.monotonic() + STARTING
        while time.monotonic() < until and self._process.poll() is None:
            with suppress(OSError), socket.create_connection((HOME, self.port), 1):
                return
            time.sleep(0.05)
        self._process.kill()
        raise RuntimeError(f"the server does not listen: {self._log.read_text(encoding='utf-8')}")

    def _sample(self) -> None:
        """The processes that it has started: what reads uploads has a bound of its own."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        while not self._stop.wait(0.5):
            with suppress(OSError, KeyError):
                for task in children.parent.parent.iterdir():
                    for child in (task / "children").read_text().split():
                        self.readers_mb = max(self.readers_mb, _status(Path(f"/proc/{child}"))["VmHWM"] / 1024)


def _status(process: Path) -> dict[str, int]:
    lines = (process / "status").read_text(encoding="ascii", errors="replace").splitlines()
    wanted = ("VmRSS", "VmHWM", "Threads")
    return {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines) if name in wanted}


@dataclass
class Servers:
    watched: dict[str, Watched]
    keys: dict[str, str]  # by scope; "all": of one with every scope
    labels: list[str]
    secret: Path  # a file with a word that no answer may have
    folder: Path

    @property
    def internet(self) -> Path:
        """Where the servers read the ports of their internet (hostile_requests_internet.py)."""
        return self.folder / INTERNET

    @property
    def ports(self) -> dict[str, int]:
        return {name: one.port for name, one in self.watched.items()}

    def most_mb(self, name: str, n_at_once: int) -> float:
        """Twice what it had when it was warm, and the bodies that may be there at the same time."""
        bodies = n_at_once * Settings(state=self.folder).most_upload_bytes / MB
        return 2 * self.watched[name].warm.peak_mb + bodies


@contextmanager
def started(folder: Path) -> Iterator[Servers]:
    """Both on the sample's tagger of word methods; learning is allowed."""
    folder = folder.resolve()
    train, dev, _ = sample_splits()
    _fit(folder / "model", train, dev)
    keys: dict[str, str] = {scope: add_key(folder / "keys.json", scope, [scope]) for scope in SCOPES}
    keys["all"] = add_key(folder / "keys.json", "all", list(SCOPES))
    config, data, secret = folder / "projects.toml", folder / "data", folder / "secret.txt"
    data.mkdir()
    secret.write_text(f"secret-{os.urandom(8).hex()}", encoding="utf-8")
    learning = {PROJECT: "public", HIDDEN: "hidden", PRIVATE: "private"}
    tables = [f'[projects.{name}]\nmodel = "model"\naccess = "{access}"\n' for name, access in learning.items()]
    steady = f'[projects.{STEADY}]\nmodel = "model"\nallow_learn = false\n'
    config.write_text("\n".join([*tables, steady]), encoding="utf-8")
    watched: dict[str, Watched] = {}
    try:
        for name, more in ((OPEN, []), (KEYED, ["--keys", str(folder / "keys.json")])):
            options = [
                "--config",
                str(config),
                "--state",
                str(folder / name),
                "--data",
                str(data),
                "--allow-learn",
                "--allow-fetch",
                *more,
            ]
            watched[name] = Watched(name, options, folder / f"{name}.log")
        yield Servers(watched, keys, list(train.labels.ids), secret, folder)
    finally:
        for one in watched.values():
            one.stop()


def _fit(path: Path, train: Dataset, dev: Dataset) -> None:
    Tagger(experts=("tfidf", "knn")).fit(train, dev).save(path)
