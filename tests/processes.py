"""A script that is run by one process alone, and by two that train together (gloo), as torchrun would start them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[1]


def by_one_and_by_two(module: str, folder: Path, *arguments: str) -> dict[str, Any]:
    """What `python -m module OUT arguments` writes to OUT.RANK, or to OUT.alone: of "alone", "0" and "1"."""
    together = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    started = [start(module, str(folder / "alone"), *arguments)]
    for rank in ("0", "1"):
        started.append(start(module, str(folder / "both"), *arguments, RANK=rank, LOCAL_RANK=rank, **together))
    assert [process.wait(1200) for process in started] == [0, 0, 0]
    files = {"alone": "alone.alone", "0": "both.0", "1": "both.1"}
    return {name: torch.load(folder / file) for name, file in files.items()}


def start(module: str, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
    variables = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    variables |= {"EVERYLABEL_THREADS": "1", "OMP_NUM_THREADS": "1", **more}
    return subprocess.Popen([sys.executable, "-m", module, *arguments], env=variables, cwd=ROOT)


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])
