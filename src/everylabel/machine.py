"""How fast this machine is beside the one that costs were measured on: three small pieces of work, timed once.

Reading (words of a text looked up and counted), solving (rows of a sparse matrix times a dense one) and training (small
matrix products, rows gathered, a softmax) stand for what fits spend their time on. None of them is compiled on the spot
and none needs torch, so that there is nothing to warm up but memory; the best of some runs counts, as others may be at
work. About 0.2 s in all, on one core: what more cores bring is known (methods/facts.py). A GPU is timed by matrix
products of its own. The result is kept in the cache folder, by processor, cores, GPU and version; a cache that cannot
be read or written is no error. A machine that is busy later is noticed by the clock of a fit (tagger/clock.py).
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from everylabel.atomic import replaced
from everylabel.encoders.cache import cache_root
from everylabel.parallel import n_threads

REPEATS = 20  # of about 2 ms each: so short that some of them have a core for themselves
LEAST, MOST = 0.05, 20.0  # beyond them something else was measured
HOST_SHARE = 0.1  # of a training step that stays on the CPU beside a GPU: a guess, as there was none to measure


@dataclass(frozen=True, kw_only=True)
class Speeds:
    """Seconds here for one second there, by what is done."""

    reading: float = 1.0
    solving: float = 1.0
    training: float = 1.0


REFERENCE = Speeds()
# The seconds of each piece of work on one core of the machine of `Work`, and of the GPU's on both of its cores.
THERE = {"reading": 2.28e-3, "solving": 1.21e-3, "training": 2.31e-3, "gpu": 0.7}


def speeds(*, gpu: bool = False) -> Speeds:
    """Of this machine; measured the first time, and then read from the cache folder."""
    about = _about(gpu)
    name = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
    return _speeds(cache_root() / "machine" / f"{name}.json", gpu)


@cache
def _speeds(file: Path, gpu: bool) -> Speeds:
    """Once a process and folder, also where nothing can be kept."""
    known = _read(file)
    if known is not None:
        return known
    found = measured(gpu=gpu)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replaced(file) as fresh:
            fresh.write_text(json.dumps(_about(gpu) | asdict(found), indent=1) + "\n", encoding="utf-8")
    return found


def measured(*, gpu: bool = False) -> Speeds:
    here = {"reading": _best(_reading()), "solving": _best(_solving()), "training": _best(_training())}
    factors = {name: seconds / THERE[name] for name, seconds in here.items()}
    if gpu and (on_gpu := _gpu_step()) is not None:
        factors["training"] = HOST_SHARE * factors["training"] + (1 - HOST_SHARE) * on_gpu / THERE["gpu"]
    return Speeds(**{name: round(min(max(factor, LEAST), MOST), 3) for name, factor in factors.items()})


def has_gpu() -> bool:
    """Is there one, and is it not to be left alone (EVERYLABEL_DEVICE)? Imports torch."""
    from everylabel.encoders.device import encoding_device

    return encoding_device("auto").type == "cuda"


def _best(work: Callable[[], Any]) -> float:
    """The first run warms up, and does not count."""
    work()
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def _reading() -> Callable[[], Any]:
    from everylabel.text.scripts import find_words

    names = ["".join(chr(97 + (i * step) % 26) for step in (1, 3, 7, 11, 17)) for i in range(1, 2_000)]
    text = " ".join(names[(i * i) % len(names)] for i in range(8_000))

    def read() -> dict[str, int]:
        counts: dict[str, int] = {}
        for word in find_words(text.lower()):
            counts[word] = counts.get(word, 0) + 1
        return counts

    return read


def _solving() -> Callable[[], Any]:
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    n_rows, n_words, of_each = 1_500, 30_000, 100
    columns = rng.integers(0, n_words, n_rows * of_each)
    values = rng.random(n_rows * of_each, np.float32)
    rows = csr_matrix((values, columns, np.arange(0, n_rows * of_each + 1, of_each)), shape=(n_rows, n_words))
    weights = rng.random((n_words, 32), np.float32)
    return lambda: rows @ weights


def _training() -> Callable[[], Any]:
    """Products of 64 x 64 matrices: so small that BLAS takes one core for each."""
    rng = np.random.default_rng(0)
    documents, labels = rng.random((2, 100, 64, 64), np.float32)
    table, rows = rng.random((20_000, 128), np.float32), rng.integers(0, 20_000, 5_000)

    def step() -> Any:
        logits = np.matmul(documents, labels)
        shares = np.exp(logits - logits.max(axis=-1, keepdims=True))
        gradient = np.matmul(shares, labels)
        return gradient.sum() + table[rows].sum(axis=0)

    return step


def _gpu_step() -> float | None:
    """Seconds of products with 2^35 multiplications; None: it cannot be used after all."""
    import torch

    try:
        left, right = (torch.rand((2_048, 2_048), device="cuda") for _ in range(2))

        def step() -> None:
            for _ in range(4):
                torch.mm(left, right)
            torch.cuda.synchronize()

        return _best(step)
    except (RuntimeError, AssertionError):  # out of memory, or a torch that has no CUDA in it
        return None


def _read(file: Path) -> Speeds | None:
    """None: there is none, or it is damaged."""
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        found = Speeds(**{name: float(values[name]) for name in asdict(REFERENCE)})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if all(LEAST <= value <= MOST for value in asdict(found).values()) else None


def _about(gpu: bool) -> dict[str, Any]:
    from everylabel import __version__

    about = {"processor": _processor(), "cores": n_threads(), "everylabel": __version__, "numpy": np.__version__}
    return about | {"gpu": _gpu_name() if gpu else ""}


def _gpu_name() -> str:
    import torch

    try:
        return str(torch.cuda.get_device_name())
    except (RuntimeError, AssertionError):
        return "unknown"


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
