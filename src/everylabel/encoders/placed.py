"""A trained module where it is to compute: itself on the CPU, a copy of it on a GPU.

The module stays on the CPU, but for the time of its training; on a machine with a GPU texts are read by the copy, which
is made on first use and after each training. Cost of a call: a look at each weight's version.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Generic, TypeVar

from torch import nn

from everylabel.encoders.device import encoding_device
from everylabel.encoders.fingerprint import Versions, versions
from everylabel.forks import Lock

BUDGET = 1024  # tokens of one batch: more leave the cores' caches, fewer waste time between operations
GPU_BUDGET = 16_384  # on a GPU, which wants more at a time
M = TypeVar("M", bound=nn.Module)


class Placed(Generic[M]):
    """`placed()` is the module to compute with. `device`: the setting, see device.py."""

    def __init__(self, module: M, device: str) -> None:
        self.module, self.device = module, device
        self._copy: tuple[Versions, M] | None = None
        self._lock = Lock()

    def __call__(self) -> M:
        """On the CPU, and while it is trained elsewhere, the module itself; else its copy."""
        device = encoding_device(self.device)
        if device.type == "cpu" or not on_cpu(self.module):
            return self.module
        with self._lock:
            now = versions(self.module)
            if self._copy is None or self._copy[0] != now:
                self._copy = now, deepcopy(self.module).requires_grad_(False).to(device)
            return self._copy[1]

    def __getstate__(self) -> dict[str, Any]:
        """To another process: it makes a copy of its own."""
        return self.__dict__ | {"_copy": None}


def on_cpu(module: nn.Module) -> bool:
    return next(module.parameters()).device.type == "cpu"


def budget(module: nn.Module) -> int:
    """Tokens that it reads at a time."""
    return BUDGET if on_cpu(module) else GPU_BUDGET
