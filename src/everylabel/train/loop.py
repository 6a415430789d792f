"""The one training loop, as a generator: `for step in train(module, batches, loss, config, groups=[...], seed=0): ...`

A method supplies `batches` and `loss`, both plain functions; the loop owns the optimiser, the schedule, clipping,
seeds, evaluation, early stopping and, inside `checkpointing`, exact resuming. Everything random in a step follows from
(seed, step) alone, so nothing but the weights has to be kept to repeat the order of the data and of dropout.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from everylabel.errors import ConfigError
from everylabel.parallel import n_threads
from everylabel.progress import task
from everylabel.train.config import TrainConfig
from everylabel.train.interrupt import interrupts_held
from everylabel.train.optimiser import Group, Optimiser
from everylabel.train.schedule import warm_then_linear

__all__ = ["DivergedError", "Group", "Step", "TrainConfig", "train"]

Batches = Callable[[int, np.random.Generator], Any]
Loss = Callable[[Any, Any], Tensor | Mapping[str, Tensor]]

# torch has one generator of random numbers for all threads: two trainings at a time take turns, step by step.
_TURN = threading.RLock()


class DivergedError(ConfigError):
    """The loss or its gradient is no longer a number; the weights are those of the last good step."""


class Step(NamedTuple):
    """What one update did."""

    number: int  # from 1
    loss: float  # mean over the accumulated batches
    parts: dict[str, float]  # of the loss, when it gave a dict
    lr: float  # of the first group
    score: float | None  # of the evaluation after this step, if there was one
    best: float | None  # score so far
    seconds: float  # of training so far, pauses between a checkpoint and its resumption not counted


def train(
    module: nn.Module,
    batches: Batches,
    loss: Loss,
    config: TrainConfig,
    *,
    groups: Sequence[Group],
    seed: int,
    name: str = "training",
    evaluate: Callable[[], float] | None = None,
) -> Iterator[Step]:
    """Train the groups' parameters in place; a `Step` after each update.

    `batches(number, rng)` gives the batch of this number, from 0; with `accumulate` a, step s takes the numbers from
    a * s to a * s + a - 1. Data stay as they are: the module moves them to the device of its parameters.
    `loss(module, batch)` is a scalar, or scalars by name whose sum is trained. The module is in training mode inside
    `loss` and in evaluation mode everywhere else; a part that must not be overrides its own `train`.
    `evaluate()`, larger is better, is called every `evaluate_every` steps and after the last one, without gradients;
    at the end the weights are those of the best evaluation. Leaving the `for` early leaves the weights of that step.

    Memory: weights, gradients, two numbers a parameter, and with `evaluate` one more copy of the weights.
    """
    config.check()
    return _train(_Run(module, batches, loss, config, groups, seed, evaluate), name)


def _train(run: _Run, name: str) -> Iterator[Step]:
    torch.set_num_threads(n_threads())
    run.started = time.perf_counter()
    try:
        with task(name, run.config.steps) as advance:
            while not run.done:
                with interrupts_held():
                    run.step(name)
                if run.evaluation_due:
                    run.judge()
                advance(1)
                yield run.last
            run.take_best()
    finally:
        run.optimiser.forget_gradients()
        run.module.eval()


class _Run:
    """One training: its state, and the moves that change it."""

    def __init__(
        self,
        module: nn.Module,
        batches: Batches,
        loss: Loss,
        config: TrainConfig,
        groups: Sequence[Group],
        seed: int,
        evaluate: Callable[[], float] | None,
    ) -> None:
        self.module, self.batches, self.loss, self.config = module, batches, loss, config
        self.groups, self.seed, self.evaluate = groups, seed, evaluate
        self.device = _device(config.device)
        module.to(self.device)
        self.optimiser = Optimiser(groups)
        for parameter in self.optimiser.parameters:  # also those that are no part of the module
            parameter.data = parameter.data.to(self.device)
        self.weights = _weights(module, self.optimiser.parameters)
        self.number = 0
        self.last: Step = Step(0, math.nan, {}, 0.0, None, None, 0.0)
        self.evaluated = 0
        self.idle = 0  # evaluations since the best one
        self.best: float | None = None
        self.best_weights: dict[str, Tensor] = {}
        self.started, self.seconds_before = time.perf_counter(), 0.0

    @property
    def done(self) -> bool:
        return self.number >= self.config.steps or 0 < self.config.patience <= self.idle

    @property
    def evaluation_due(self) -> bool:
        if self.evaluate is None or self.evaluated == self.number:
            return False
        every = self.config.evaluate_every
        return self.number == self.config.steps or (every > 0 and self.number % every == 0)

    def step(self, name: str) -> None:
        share = warm_then_linear(self.number, self.config.steps, self.config.warmup)
        with _TURN, _seeded(self.seed, self.number, self.device):
            parts = self._backward(name)
        if not math.isfinite(self.optimiser.clip(self.config.clip)):
            raise self._diverged(name, "gradient")
        self.module.eval()
        self.optimiser.step(share)
        self.number += 1
        total = parts.pop("")
        lr = self.groups[0].lr * share
        self.last = Step(self.number, total, parts, lr, None, self.best, self._seconds())

    def judge(self) -> None:
        """Evaluate; keep the weights when they are the best so far."""
        if self.evaluate is None:
            return
        self.module.eval()
        with torch.no_grad():
            score = float(self.evaluate())
        self.module.eval()
        self.evaluated = self.number
        if self.best is None or score > self.best:
            self.best, self.idle = score, 0
            self.best_weights = {key: weight.detach().to("cpu", copy=True) for key, weight in self.weights.items()}
        else:
            self.idle += 1
        self.last = self.last._replace(score=score, best=self.best, seconds=self._seconds())

    def take_best(self) -> None:
        if self.idle:
            _copy_into(self.weights, self.best_weights)

    def _backward(self, name: str) -> dict[str, float]:
        """Gradients of the mean loss over the accumulated batches; the loss (under "") and its parts."""
        means: dict[str, float] = {"": 0.0}
        n = self.config.accumulate
        for number in range(self.number * n, (self.number + 1) * n):
            batch = self.batches(number, np.random.default_rng((self.seed, number)))
            self.module.train()
            found = self.loss(self.module, batch)
            parts = dict(found) if isinstance(found, Mapping) else {}
            total = torch.stack(list(parts.values())).sum() if isinstance(found, Mapping) else found
            for key, value in {"": total, **parts}.items():
                means[key] = means.get(key, 0.0) + float(value.detach()) / n
            if not math.isfinite(means[""]):
                raise self._diverged(name, "loss")
            (total / n).backward()  # type: ignore[no-untyped-call]
        return means

    def _diverged(self, name: str, what: str) -> DivergedError:
        return DivergedError(
            f"{name}: the {what} of step {self.number + 1} is not a finite number; the weights are those of step "
            f"{self.number}: lower the learning rate, or give it a longer warm-up"
        )

    def _seconds(self) -> float:
        return self.seconds_before + time.perf_counter() - self.started


@contextmanager
def _seeded(seed: int, number: int, device: torch.device) -> Iterator[None]:
    """torch's random numbers of this step; outside of the block they go on as if nothing had been drawn."""
    chosen = int(np.random.SeedSequence((seed, number, 1)).generate_state(1, np.uint64)[0])
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.default_generator.manual_seed(chosen)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(chosen)
        yield


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"device must be auto, cpu, cuda or cuda:NUMBER; got {name!r}") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device is {name!r}, and torch finds no CUDA device; set device=auto or device=cpu")
    return device


def _weights(module: nn.Module, trained: Sequence[nn.Parameter]) -> dict[str, Tensor]:
    """What training may change, by name: the trained parameters, in the module or not, and the module's buffers."""
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    found: dict[str, Tensor] = {names.get(id(p), f"group parameter {i}"): p for i, p in enumerate(trained)}
    return found | {name: buffer for name, buffer in module.named_buffers() if buffer.numel()}


def _copy_into(weights: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(values[name])
