"""How a measurement is kept: one JSON file each, with the machine, the versions and the command that made it."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
WORK = Path(__file__).parent / "work"  # features, rankings, models and peers' environments; not committed


def result_path(name: str) -> Path:
    return RESULTS / f"{name}.json"


def read_result(name: str) -> dict[str, Any] | None:
    path = result_path(name)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def read_results(pattern: str) -> list[dict[str, Any]]:
    """All whose names match ("scale-*"), in the order of their names."""
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob(f"{pattern}.json"))]


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
