"""The settings of the training loop: without torch, so that a method's settings can be read without loading it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from everylabel.encoders.device import check_device
from everylabel.errors import ConfigError

Precision = Literal["fp32", "bf16"]


@dataclass(kw_only=True)
class Compute:
    """How a training uses the machine: a part of the settings of each method that trains (docs/gpu.md).

    What is learned is the same up to rounding and to the draws of dropout; but for `accumulate`, where each of the
    batches has its own in-batch negatives, and `precision`.
    """

    precision: Precision = "fp32"  # of a transformer's layers; bf16: by autocast. Weights, cosines, softmax: float32
    accumulate: int = 1  # batches whose mean gradient makes one update: a larger batch in the same memory
    tokens_at_once: int = 0  # of transformers, padding included: gradient caching, in-batch negatives stay; 0: all
    length_buckets: int = 1  # parts of a batch that transformers read one after the other, by length: less padding
    recompute: bool = False  # a transformer's layers once more on the way back: a third slower, far less memory
    compile: bool = False  # transformers by torch.compile: minutes before the first step, worth it on a GPU
    batches_ahead: int | None = None  # made in a thread during a step; None: 2 on a GPU, 0 on a CPU, which is busy
    checkpoint_every: float = 60.0  # seconds between two checkpoints, where they are kept; 0: after every step

    def schedule(self, *, steps: int, device: str) -> TrainConfig:
        """The loop's settings."""
        own = {part.name: getattr(self, part.name) for part in fields(Compute)}
        return TrainConfig(steps=steps, device=device, **own)

    def check_compute(self, where: str = "") -> None:
        """`where`: what stands before a setting's name, "learn."."""
        for name in ("accumulate", "length_buckets"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{where}{name} must be at least 1; got {getattr(self, name)}")
        for name in ("tokens_at_once", "batches_ahead", "checkpoint_every"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ConfigError(f"{where}{name} must be 0 or more; got {value}")
        if self.precision not in ("fp32", "bf16"):
            raise ConfigError(f"{where}precision must be fp32 or bf16; got {self.precision!r}")


@dataclass(kw_only=True)
class TrainConfig(Compute):
    """How long, how fast, and when to stop. Learning rates belong to the groups of parameters."""

    steps: int = 1000  # updates of the weights
    warmup: float = 0.1  # share of the steps in which the rate rises; then it falls in a straight line to 0
    clip: float = 1.0  # largest norm of all gradients together; 0: they are left as they are
    evaluate_every: int = 0  # steps between two evaluations; 0: only after the last step
    patience: int = 0  # stop after so many evaluations in a row without a gain; 0: never stop early
    device: str = "auto"  # "cpu", "cuda", "cuda:1"; auto: see encoders/device.py

    def check(self) -> None:
        if self.steps < 0:
            raise ConfigError(f"steps must be 0 (no training) or more; got {self.steps}")
        if not 0 <= self.warmup <= 1:
            raise ConfigError(f"warmup is a share of the steps, from 0 to 1; got {self.warmup}")
        for name in ("clip", "evaluate_every", "patience"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} must be 0 or more; got {getattr(self, name)}")
        self.check_compute()
        check_device(self.device)
