"""How a measurement is kept: one JSON file each, with the machine, the versions and the command that made it."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
WORK = Path(__file__).parent / "work"  # features and peers' environments; not committed


def result_path(name: str) -> Path:
    return RESULTS / f"{name}.json"


def read_result(name: str) -> dict[str, Any] | None:
    path = result_path(name)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def write_result(name: str, values: dict[str, Any], command: str) -> None:
    """Atomically, with everything that is needed to judge and repeat the measurement."""
    record = {"name": name, "command": command, "machine": machine(), "versions": versions(), **values}
    path = result_path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".tmp")
    fresh.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    fresh.replace(path)
    print(f"wrote {path.relative_to(RESULTS.parent.parent)}", flush=True)


def machine() -> dict[str, Any]:
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = [line for line in cpuinfo.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else ""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cpu": model, "cores": os.cpu_count(), "memory_gib": round(memory), "system": platform.system()}


def versions() -> dict[str, str]:
    names = ["everylabel", "numpy", "scipy", "numba", "scikit-learn"]
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in names}


def peak_gb() -> float:
    """Largest resident memory of this process so far, in GB (10^9 bytes).

    Not from getrusage: there a process starts with the peak of the one that started it.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9


class Watch:
    """Wall-clock seconds of named steps: `with watch("fit"): ...`."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.seconds[step] = round(time.perf_counter() - begun, 3)
        print(f"  {step}: {self.seconds[step]:.1f} s", flush=True)


@dataclass
class Stages:
    """What each named task of the library took: seconds, and the process's peak memory in it. Tasks of one name add up.

    A reporter of progress: `with reporting(stages): ...`. Of tasks inside others the memory is that of both.
    """

    costs: dict[str, dict[str, float]] = field(default_factory=dict)
    peak: float = 0.0  # of the whole process: the kernel's own count starts anew with each stage
    begun: dict[str, float] = field(default_factory=dict)

    def start(self, name: str, total: int | None) -> str:  # noqa: ARG002
        self.note_peak()
        self.begun[name] = time.perf_counter()
        return name

    def advance(self, key: object, amount: int) -> None:
        """The end of a stage is enough."""

    def finish(self, key: object) -> None:
        name = str(key)
        cost = self.costs.setdefault(name, {"times": 0, "seconds": 0.0, "peak_gb": 0.0})
        cost["times"] += 1
        cost["seconds"] = round(cost["seconds"] + time.perf_counter() - self.begun[name], 2)
        cost["peak_gb"] = max(cost["peak_gb"], round(self.note_peak(), 2))

    def say(self, message: str) -> None:
        print(f"  {message}", flush=True)

    def note_peak(self) -> float:
        """Since the last time."""
        since = peak_gb()
        self.peak = max(self.peak, since)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        return since


def data_folder(given: str | None) -> Path:
    """Where the benchmark data is: --data, or EVERYLABEL_DATA."""
    folder = given or os.environ.get("EVERYLABEL_DATA", "")
    if not folder or not Path(folder).is_dir():
        raise SystemExit(
            "benchmarks need data in native layout: pass --data DIR (or set EVERYLABEL_DATA) where DIR has eurlex57k/, "
            f"wordnet-reverse/, ...; got {folder or 'nothing'!r}"
        )
    return Path(folder)
