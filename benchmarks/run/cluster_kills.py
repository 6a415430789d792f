"""A million documents tagged while workers are killed: python -m benchmarks.run.cluster_kills MODEL [--documents N]

Made-up documents of words of the labels' names, in 500 files, on two nodes of one core each; every ten seconds one of
the actors is killed (kill -9). Afterwards every document is looked for: each once, in its order, none lost. Documents
that are done, and the memory of the actors, of the command and of Ray's nodes with their object stores, are written
down every five seconds. Results: cluster-kills, and a picture of that name.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import RESULTS, WORK, write_result
from benchmarks.run.cluster_speed import ONE_CORE, Nodes
from benchmarks.run.command import plain_parser
from everylabel.report.plots import STYLES, save_plots
from everylabel.store import load

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "cluster-kills"
COMMAND = "python -m benchmarks.run.cluster_kills"
FILES = 500
LENGTH = 40  # words of a document
EVERY_KILL, EVERY_LOOK = 10.0, 5.0  # seconds


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--documents", type=int, default=1_000_000)
    given = parser.parse_args()
    work = WORK / NAME
    shutil.rmtree(work, ignore_errors=True)
    write_files(given.model, work / "in", given.documents)
    out, killed, samples = work / "out", 0, []
    with Nodes(2) as address:
        arguments = ["tag", str(given.model), str(work / "in"), "-o", str(out), "--ray", address]
        process = subprocess.Popen([sys.executable, "-m", "everylabel.cli.main", *arguments], env=ONE_CORE)
        begun = last = time.monotonic()
        while process.poll() is None:
            time.sleep(EVERY_LOOK)
            there = processes("_Tagging")
            samples.append({"second": round(time.monotonic() - begun), **memory(process.pid, there), **done(out)})
            if there and time.monotonic() - last >= EVERY_KILL:
                last = time.monotonic()
                with suppress(ProcessLookupError):
                    os.kill(there[killed % len(there)], signal.SIGKILL)
                    killed += 1
    wrong = sum(not is_whole(file, out / file.name) for file in (work / "in").iterdir())
    about = {"documents": given.documents, "files": FILES, "killed": killed, "wrong_files": wrong}
    write_result(NAME, {**about, "exit_code": process.returncode, "samples": samples}, COMMAND)
    save_plots({NAME: plot(samples, given.documents)}, RESULTS / "figures")
    print(about)


def memory(command: int, there: Sequence[int]) -> dict[str, float]:
    """In MB; what processes share counts by halves, thirds and so on."""
    nodes = [pid for pid, line in commands().items() if line.partition("\0")[0].endswith("/raylet")]
    owners = {"actors": there, "command": [command], "nodes": nodes}
    return {name: round(sum(map(megabytes, pids)), 1) for name, pids in owners.items()}


def done(out: Path) -> dict[str, int]:
    """Files whose result is there, as a whole."""
    return {"files": sum(not file.name.startswith(".") for file in out.glob("*.jsonl"))}


def plot(samples: Sequence[dict[str, float]], n_docs: int) -> Figure:
    from matplotlib.figure import Figure

    minutes = [row["second"] / 60 for row in samples]
    figure = Figure(figsize=(7, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    documents = [row["files"] * n_docs / FILES for row in samples]
    above.plot(minutes, documents, color=STYLES[0].colour)
    above.set(ylabel="documents done", ylim=(0, None))
    for style, name in zip(STYLES, ("actors", "command", "nodes"), strict=False):
        below.plot(minutes, [row[name] for row in samples], color=style.colour, linestyle=style.line, label=name)
    below.set(xlabel="minutes", ylabel="memory in MB", ylim=(0, None))
    below.legend()
    for panel in (above, below):
        panel.grid(color="#dddddd", linewidth=0.6)
    return figure


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


def processes(name: str) -> list[int]:
    """Of actors; Ray gives each process the name of what it does."""
    return sorted(pid for pid, line in commands().items() if line.startswith("ray::") and name in line)


def commands() -> dict[int, str]:
    found = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            found[int(folder.name)] = (folder / "cmdline").read_text(encoding="utf-8", errors="replace")
    return found


def megabytes(pid: int) -> float:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1_000
    return 0.0


if __name__ == "__main__":
    main()
