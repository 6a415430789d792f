"""A small training problem that has everything a resumed run could get wrong, and a reporter that remembers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from everylabel.run import QUIET, Run
from everylabel.train.checkpoint import checkpointing
from everylabel.train.loop import Group, Step, TrainConfig, train

N = 12


@dataclass
class Shuffled:
    """Batches with a memory: an order that is drawn anew every few batches, and a count."""

    order: Any = field(default_factory=lambda: np.arange(N))
    drawn: int = 0

    def __call__(self, number: int, rng: np.random.Generator) -> Any:
        if number % 5 == 0:
            rng.shuffle(self.order)  # in place: a checkpoint must not see a half of it
            self.drawn += 1
        return self.order[rng.integers(0, N, 4)]

    def state_dict(self) -> dict[str, Any]:
        return {"order": self.order, "drawn": self.drawn}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.order, self.drawn = state["order"].copy(), state["drawn"]


class Problem:
    """Rows of a sparse table through a layer with dropout, against fixed targets."""

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(7)
        self.table = nn.Embedding(N, 6, sparse=True)
        self.module = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.Dropout(0.3), nn.Linear(5, 2))
        for parameter in [*self.module.parameters(), self.table.weight]:
            parameter.data = torch.randn(parameter.shape, generator=generator)
        self.targets = torch.randn(N, 2, generator=generator)
        self.batches = Shuffled()
        self.scores: Iterator[float] | None = None
        self.loss: Callable[[nn.Module, Any], Any] = self.parts

    def parts(self, module: nn.Module, rows: Any) -> dict[str, Tensor]:
        at = torch.from_numpy(rows)
        out = module(self.table(at))
        return {"fit": (out - self.targets[at]).square().mean(), "size": 0.01 * out.square().mean()}

    def groups(self) -> list[Group]:
        return [
            Group(self.module[0].parameters(), lr=0.02, weight_decay=0.1, betas=(0.9, 0.98)),
            Group(self.module[3].parameters(), lr=0.05),
            Group(self.table.parameters(), lr=0.1, sparse=True),
        ]

    def evaluate(self) -> float:
        assert not self.module.training
        with torch.no_grad():
            return -float((self.module(self.table.weight) - self.targets).square().mean())

    def run(self, *, name: str = "training", seed: int = 3, run: Run = QUIET, **settings: Any) -> Iterator[Step]:
        config = TrainConfig(**{"steps": 12, "accumulate": 2, "evaluate_every": 4, "device": "cpu", **settings})
        return train(
            self.module,
            self.batches,
            self.loss,
            config,
            groups=self.groups(),
            seed=seed,
            name=name,
            evaluate=self.evaluate,
            run=run,
        )

    def weights(self) -> dict[str, Tensor]:
        return {**{k: v.clone() for k, v in self.module.state_dict().items()}, "table": self.table.weight.detach()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


class Said:
    """A reporter that keeps what was said and how far each task came."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.done: dict[str, int] = {}

    def start(self, name: str, total: int | None) -> object:  # noqa: ARG002
        self.done[name] = 0
        return name

    def advance(self, key: object, amount: int) -> None:
        self.done[str(key)] += amount

    def finish(self, key: object) -> None: ...

    def say(self, message: str) -> None:
        self.lines.append(message)


@pytest.fixture
def said() -> Said:
    return Said()


@contextmanager
def keeping(folder: Path, said: Said | None = None, key: Any = "") -> Iterator[Run]:
    """A run with checkpoints in the folder."""
    with checkpointing(folder, key) as checkpoints:
        yield Run(reporter=said, checkpoints=checkpoints)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors of a few numbers: on a busy machine most of the time would go into waiting for the other threads."""
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")
