"""The settings of the training loop: without torch, so that a method's settings can be read without loading it."""

from __future__ import annotations

from dataclasses import dataclass

from everylabel.encoders.device import check_device
from everylabel.errors import ConfigError


@dataclass(kw_only=True, frozen=True)
class TrainConfig:
    """How long, how fast, and when to stop. Learning rates belong to the groups of parameters."""

    steps: int = 1000  # updates of the weights
    warmup: float = 0.1  # share of the steps in which the rate rises; then it falls in a straight line to 0
    clip: float = 1.0  # largest norm of all gradients together; 0: they are left as they are
    accumulate: int = 1  # batches whose mean gradient makes one update: a larger batch in the same memory
    evaluate_every: int = 0  # steps between two evaluations; 0: only after the last step
    patience: int = 0  # stop after so many evaluations in a row without a gain; 0: never stop early
    device: str = "auto"  # "cpu", "cuda", "cuda:1"; auto: see encoders/device.py
    checkpoint_every: float = 60.0  # seconds between two checkpoints, where they are kept; 0: after every step

    def check(self) -> None:
        if self.steps < 0:
            raise ConfigError(f"steps must be 0 (no training) or more; got {self.steps}")
        if not 0 <= self.warmup <= 1:
            raise ConfigError(f"warmup is a share of the steps, from 0 to 1; got {self.warmup}")
        if self.accumulate < 1:
            raise ConfigError(f"accumulate must be at least 1; got {self.accumulate}")
        for name in ("clip", "evaluate_every", "patience", "checkpoint_every"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} must be 0 or more; got {getattr(self, name)}")
        check_device(self.device)
