"""A million documents tagged while workers are killed: python -m benchmarks.run.cluster_kills MODEL [--documents N]

Made-up documents of words of the labels' names, in 500 files, on two nodes of one core each; every ten seconds one of
the actors is killed (kill -9). Afterwards every document is looked for: each once, in its order, none lost. The memory
of the actors is written down every five seconds. Results: cluster-kills.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import WORK, write_result
from benchmarks.run.cluster_speed import ONE_CORE, Nodes
from benchmarks.run.command import plain_parser
from everylabel.store import load

COMMAND = "python -m benchmarks.run.cluster_kills"
FILES = 500
LENGTH = 40  # words of a document
EVERY_KILL, EVERY_LOOK = 10.0, 5.0  # seconds


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    given = parser.parse_args()
    work = WORK / "cluster-kills"
    shutil.rmtree(work, ignore_errors=True)
    write_files(given.model, work / "in", given.documents)
    out, killed, samples = work / "out", 0, []
    with Nodes(2) as address:
        arguments = ["tag", str(given.model), str(work / "in"), "-o", str(out), "--ray", address]
        process = subprocess.Popen([sys.executable, "-m", "everylabel.cli.main", *arguments], env=ONE_CORE)
        begun = last = time.monotonic()
        while process.poll() is None:
            time.sleep(EVERY_LOOK)
            there = actors()
            samples.append({"second": round(time.monotonic() - begun), "mb": sum(map(megabytes, there))})
            if there and time.monotonic() - last >= EVERY_KILL:
                last, killed = time.monotonic(), killed + 1
                with suppress(ProcessLookupError):
                    os.kill(there[killed % len(there)], signal.SIGKILL)
    wrong = sum(not is_whole(file, out / file.name) for file in (work / "in").iterdir())
    about = {"documents": given.documents, "files": FILES, "killed": killed, "wrong_files": wrong}
    write_result("cluster-kills", {**about, "exit_code": process.returncode, "samples": samples}, COMMAND)
    print(about)


def write_files(model: Path, folder: Path, n_docs: int) -> None:
    names = load(model).labels_.names
    words = sorted({word for i in range(min(len(names), 5_000)) for word in names[i].split()})
    drawn = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for i in range(FILES):
        part = range(i * n_docs // FILES, (i + 1) * n_docs // FILES)
        texts = drawn.integers(0, len(words), (len(part), LENGTH))
        rows = [{"id": str(j), "text": " ".join(words[k] for k in row)} for j, row in zip(part, texts, strict=True)]
        (folder / f"part-{i:03}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def is_whole(given: Path, found: Path) -> bool:
    def ids(file: Path) -> list[Any]:
        return [json.loads(line)["id"] for line in file.read_text(encoding="utf-8").splitlines()]

    return found.is_file() and ids(given) == ids(found)


def actors() -> list[int]:
    """Processes of the pool."""
    found = []
    for folder in Path("/proc").iterdir():
        with suppress(OSError):
            command = (folder / "cmdline").read_text(encoding="utf-8", errors="replace")
            if folder.name.isdigit() and command.startswith("ray::") and "_Tagging" in command:
                found.append(int(folder.name))
    return sorted(found)


def megabytes(pid: int) -> float:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1_000
    return 0.0


if __name__ == "__main__":
    main()
