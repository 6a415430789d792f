"""Where torch works: a setting, one environment variable for a whole process, else the GPU when there is one.

Names are checked without torch, so that a typo is found before anything is loaded. What a device is asked for decides
what happens where it is missing: a training is refused, an encoding goes to the CPU, so that a model which was fitted
on a GPU tags texts on any machine.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from everylabel.errors import ConfigError
from everylabel.forks import openmp_is_gone
from everylabel.parallel import said_threads

if TYPE_CHECKING:
    import torch

VARIABLE = "EVERYLABEL_DEVICE"


def check_device(name: str) -> None:
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", name):
        raise ConfigError(f"device must be auto, cpu, cuda or cuda:NUMBER; got {name!r}")


def chosen_name(name: str) -> str:
    """What "auto" stands for where the environment says it; "auto" where it does not."""
    if name == "auto":
        name = os.environ.get(VARIABLE, "").strip() or "auto"
    check_device(name)
    return name


def training_device(name: str) -> torch.device:
    """Where a training of this setting runs; ConfigError where that device is not there.

    Whoever works with torch asks here first: if EVERYLABEL_THREADS says how many threads it may have, it is told so.
    """
    import torch

    if said_threads() and not openmp_is_gone() and torch.get_num_threads() != said_threads():
        torch.set_num_threads(said_threads())
    name = chosen_name(name)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name != "cpu" and not torch.cuda.is_available():
        raise ConfigError(f"device is {name!r}, and torch finds no CUDA device; set device=auto or device=cpu")
    if name == "cuda":
        return torch.device("cuda", torch.cuda.current_device())
    device = torch.device(name)
    if device.type == "cuda" and device.index >= torch.cuda.device_count():
        raise ConfigError(f"device is {name!r}, and there are {torch.cuda.device_count()} CUDA devices, from cuda:0 on")
    return device


def encoding_device(name: str) -> torch.device:
    """As `training_device`; the CPU where that device is not there."""
    import torch

    try:
        return training_device(name)
    except ConfigError:
        check_device(chosen_name(name))  # a typo is no missing device
        return torch.device("cpu")
