"""What a dual encoder (the paper: depl.py) is, and how long and how fast a stage of its training learns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from everylabel.errors import ConfigError
from everylabel.train.config import Compute

Pooling = Literal["own", "cls", "mean"]
FEWEST = 150  # steps of a stage, when they go by the number of documents


@dataclass(kw_only=True)
class Learning(Compute):
    """How long and how fast a stage learns."""

    epochs: float = 8.0  # passes over the labelled documents
    steps: int | None = None  # instead of epochs
    batch_size: int = 128
    # of the encoder; None: lr_share x 0.03 for static embeddings, x 0.00005 for transformers; auto: of-de and the like,
    # 0.4, 1 or 2 times that (of layers, too), by short runs on held-out documents
    lr: float | Literal["auto"] | None = None
    lr_share: float = 1.0
    layer_lr: float = 1e-3  # of the linear layers
    head_lr: float | None = None  # of the classifier on top; None: layer_lr

    def check(self, name: str, *, may_choose: bool = False) -> None:
        if self.epochs <= 0 or self.batch_size < 1 or (self.steps is not None and self.steps < 1):
            raise ConfigError(
                f"{name}.epochs must be above 0, {name}.batch_size and {name}.steps at least 1; "
                f"got {self.epochs}, {self.batch_size} and {self.steps}"
            )
        if self.lr == "auto" and not may_choose:
            raise ConfigError(f"{name}.lr='auto' is for of-de and its kind: give a number, or none")
        rates = (self.lr, self.lr_share, self.layer_lr, self.head_lr)
        if any(isinstance(rate, (int, float)) and rate <= 0 for rate in rates):
            raise ConfigError(
                f"{name}.lr, {name}.lr_share, {name}.layer_lr and {name}.head_lr must be above 0; "
                f"got {', '.join(map(str, rates))}"
            )
        self.check_compute(f"{name}.")

    def n_steps(self, n_docs: int) -> int:
        """Updates in which so many documents are passed over `epochs` times, unless `steps` says it."""
        if self.steps is not None:
            return self.steps
        return max(FEWEST, int(self.epochs * n_docs / (self.batch_size * self.accumulate)))

    def rate(self, usual: float) -> float:
        """Of the encoder."""
        return self.lr if isinstance(self.lr, (int, float)) else self.lr_share * usual


class Shape(NamedTuple):
    """How texts are pooled ("own": as the encoder does it, "cls", "mean"), and by what their products are divided."""

    documents: str = "own"
    labels: str = "own"
    temperature: float | None = 0.05  # None: nothing is normalised, divided or added

    @property
    def plain(self) -> bool:
        return self.temperature is None

    def scale(self, dim: int) -> float:
        return 1.0 if self.temperature is None else 1 / (self.temperature * dim)
