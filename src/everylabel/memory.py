"""How much memory a fit may take: what is free here, by the system and by limits; sizes in words.

Free is what the kernel could give without swapping, pages of files that it can read again among it. A container or a
service has a limit of its own (cgroups, both versions), which counts such pages as used: they are added again. Where
neither is known (no Linux) nothing is said, and a plan leaves nothing out for it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from everylabel.errors import ConfigError

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT])(?:I?B)?", re.IGNORECASE)
ROOT = Path("/")


def free_bytes(root: Path = ROOT) -> float:
    """That can still be taken here; infinity: nobody knows. Two or three small files are read."""
    return max(0.0, min([_available(root), *_below_limits(root)]))


def bytes_of(size: str) -> float | None:
    """ "8G", "512M", "1.5 GiB" in bytes, of which 1,024 are a K; None of "": what is free."""
    if not size.strip():
        return None
    found = SIZE.fullmatch(size.strip())
    n_bytes = float(found[1]) * UNITS[found[2].upper()] if found else 0.0
    if not 0 < n_bytes < math.inf:
        raise ConfigError(f"memory must be a size such as 8G, 1.5G or 512M; got {size!r}")
    return n_bytes


def spoken_bytes(n_bytes: float) -> str:
    """ "60 MB", "1.2 GB", "12 GB", "16.4 GB"; never 0. So exact that what is too much does not look like enough."""
    if n_bytes < 0.995 * UNITS["G"]:
        return f"{max(1, round(n_bytes / UNITS['M'])):,} MB"
    return f"{n_bytes / UNITS['G']:,.1f}".removesuffix(".0") + " GB"


def _available(root: Path) -> float:
    with suppress(OSError, ValueError, IndexError):
        for line in (root / "proc/meminfo").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * UNITS["K"]
    return math.inf


def _below_limits(root: Path) -> Iterator[float]:
    """What is left below the limit of each group that this process is in, from its own up to the root."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, own = (*line.split(":", 2), "", "")[:3]
        if kinds and "memory" not in kinds.split(","):
            continue
        base = root / "sys/fs/cgroup" / ("memory" if kinds else "")
        names = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            if kinds
            else ("memory.max", "memory.current", "inactive_file")
        )
        group = base / own.lstrip("/")
        for folder in [group, *group.parents]:
            if not folder.is_relative_to(base):
                break
            with suppress(OSError, ValueError):  # "max", or a group that is not seen from within a container
                limit, used = (float((folder / name).read_text()) for name in names[:2])
                yield limit - used + _of_files(folder / "memory.stat", names[2])


def _of_files(statistics: Path, name: str) -> float:
    with suppress(OSError, ValueError, IndexError):
        for line in statistics.read_text().splitlines():
            if line.startswith(f"{name} "):
                return float(line.split()[1])
    return 0.0
