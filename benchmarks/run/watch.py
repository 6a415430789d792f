"""What a measurement is taken with: seconds of steps, the peak of memory, and the library's own progress."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path


def peak_gb() -> float:
    """Largest resident memory of this process so far, in GB (10^9 bytes).

    Not from getrusage: there a process starts with the peak of the one that started it.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e9


def size_mb(folder: Path) -> float:
    """Of all files in it, in MB (10^6 bytes)."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


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

    A reporter of progress. Of tasks inside others the memory is that of both.
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


class Aloud:
    """What is said while fitting, with the time: a long run can be watched."""

    def __init__(self) -> None:
        self.begun = time.perf_counter()

    def start(self, name: str, total: int | None) -> object:
        return (name, total)

    def advance(self, key: object, amount: int) -> None: ...

    def finish(self, key: object) -> None: ...

    def say(self, message: str) -> None:
        print(f"{time.perf_counter() - self.begun:7.0f} s  {message}", flush=True)
