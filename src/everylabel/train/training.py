"""One training: its state, the moves that change it, and the part of it that a checkpoint keeps."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from everylabel.encoders.device import training_device
from everylabel.encoders.reading import Reading
from everylabel.errors import ConfigError
from everylabel.forks import Lock
from everylabel.states import strip_prefix
from everylabel.train.ahead import Ahead, Batches
from everylabel.train.checkpoint import Saved, split_state
from everylabel.train.config import TrainConfig
from everylabel.train.interrupt import interrupts_held
from everylabel.train.optimiser import Group, Optimiser
from everylabel.train.peers import by_first, joined
from everylabel.train.schedule import warm_then_linear

Loss = Callable[[Any, Any], Tensor | Mapping[str, Tensor]]

# torch has one generator of random numbers for all threads: trainings that draw from it take turns, step by step.
_TURN = Lock()
_NO_MATTER = ("device", "checkpoint_every", "batches_ahead")  # to what is learned
_PLAIN = ("fresh", "evaluated", "idle", "best")  # attributes of a run that are JSON values


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


class Supplied(NamedTuple):
    """What a method gives to be trained, as `train` says."""

    module: nn.Module
    batches: Batches
    loss: Loss
    evaluate: Callable[[], float] | None


class Training:
    """One training: its state, and the moves that change it. `moved` is open while there are steps."""

    def __init__(
        self, supplied: Supplied, config: TrainConfig, *, groups: Sequence[Group], seed: int, name: str
    ) -> None:
        self.module, self.batches, self.loss, self.evaluate = supplied
        self.config, self.groups, self.seed, self.name = config, groups, seed, name
        self.peers = joined()
        self.device = training_device(config.device)
        self.optimiser = Optimiser(groups)
        ahead = config.batches_ahead if config.batches_ahead is not None else 2 * (self.device.type != "cpu")
        self.ahead = Ahead(self.batches, seed, ahead, config.steps * config.accumulate)
        self.weights = _weights(self.module, self.optimiser.parameters)
        self.number = 0  # steps done
        self.last = Step(0, math.nan, {}, 0.0, None, None, 0.0)
        self.fresh = False  # the last step was not evaluated and reported yet
        self.finished = False
        self.evaluated = 0
        self.idle = 0  # evaluations since the best one
        self.best: float | None = None
        self.best_weights: dict[str, Tensor] = {}
        self.started, self.seconds_before = time.perf_counter(), 0.0
        self.keep_state = False  # somebody may ask for `saved()`
        self._phase: Literal["settled", "gradients", "update"] = "settled"
        self._batches_before: dict[str, Any] = {}
        self._buffers_before = 0

    @contextmanager
    def moved(self) -> Iterator[None]:
        """Everything is on the device, also parameters that are no part of the module; at the end, back on the CPU.

        Back in their old memory, however it ends: what was not trained is then the very same as before.
        """
        trained = {id(parameter) for parameter in self.optimiser.parameters}
        tensors = [*self.module.parameters(), *self.module.buffers(), *self.optimiser.parameters]
        homes = {id(tensor): (tensor, tensor.data) for tensor in tensors if tensor.device != self.device}
        try:
            for tensor, home in homes.values():
                tensor.data = _sent(home, self.device)
            yield
        finally:
            with ExitStack() as back:  # each of them, whatever happens to the others
                for key, (tensor, home) in homes.items():
                    back.callback(_bring_back, tensor, home, key in trained or not isinstance(tensor, nn.Parameter))

    @contextmanager
    def prepared(self) -> Iterator[None]:
        """Transformers read as the settings say, and all processes start with the same weights; `moved` is open."""
        config = self.config
        reading = Reading(config.precision == "bf16", config.tokens_at_once, config.length_buckets, self.peers)
        with ExitStack() as stack:
            stack.callback(self.ahead.close)
            parts: list[Any] = [part for part in self.module.modules() if hasattr(part, "trained_as")]
            for part in parts:
                stack.enter_context(part.trained_as(reading, recompute=config.recompute, compiled=config.compile))
            if self.peers:
                self.peers.same(self.weights.values())
            yield

    @property
    def identity(self) -> dict[str, Any]:
        """All that the loop knows of what decides the result; not where batches are made, and when a checkpoint is."""
        settings = {k: v for k, v in asdict(self.config).items() if k not in _NO_MATTER}
        rates = [[len(g.members), g.lr, g.weight_decay, g.sparse, list(g.betas), g.eps] for g in self.groups]
        shapes = [[key, list(weight.shape), str(weight.dtype)] for key, weight in self.weights.items()]
        evaluated = self.evaluate is not None
        return {"config": settings, "groups": rates, "weights": shapes, "seed": self.seed, "evaluated": evaluated}

    @property
    def done(self) -> bool:
        return self.finished or self.number >= self.config.steps or 0 < self.config.patience <= self.idle

    @property
    def evaluation_due(self) -> bool:
        if self.evaluate is None or self.evaluated == self.number:
            return False
        every = self.config.evaluate_every
        return self.number == self.config.steps or (every > 0 and self.number % every == 0)

    def step(self) -> None:
        share = warm_then_linear(self.number, self.config.steps, self.config.warmup)
        if self.keep_state:
            self._batches_before = copy.deepcopy(self._batches_state())
            self._buffers_before = self._buffer_changes()
        self._phase = "gradients"
        with _random_numbers(self.module, self.seed, self.number, self.device):
            parts = self._backward()
        self.module.eval()
        if self.peers:
            self.peers.average(self.optimiser.parameters)
        if not math.isfinite(self.optimiser.clip(self.config.clip)):
            raise self._diverged("gradient")
        self._phase = "update"
        self.optimiser.step(share)
        self.number += 1
        total = parts.pop("")
        self.last = Step(self.number, total, parts, self.groups[0].lr * share, None, self.best, self._seconds())
        self.fresh = True
        self._phase = "settled"

    def judge(self) -> None:
        """Evaluate; keep the weights when they are the best so far."""
        if self.evaluate is None:
            return
        self.module.eval()
        with torch.no_grad():
            score = float(by_first(self.evaluate))  # a last digit must not end the training of one process alone
        self.module.eval()
        with interrupts_held():
            self.evaluated = self.number
            if not math.isnan(score) and (self.best is None or score > self.best):
                self.best, self.idle = score, 0
                self.best_weights = {key: weight.detach().to("cpu", copy=True) for key, weight in self.weights.items()}
            else:
                self.idle += 1
            self.last = self.last._replace(score=score, best=self.best, seconds=self._seconds())

    def finish(self) -> None:
        if self.idle and self.best_weights:
            _copy_into(self.weights, self.best_weights)
        self.finished = True

    def saved(self) -> Saved | None:
        """The state after the last whole step; None in the middle of an update, from which no way leads back."""
        if self._phase == "update" or (self._phase == "gradients" and self._buffer_changes() != self._buffers_before):
            return None
        batches = split_state(self._batches_state() if self._phase == "settled" else self._batches_before)
        plain = {"finished": self.finished, "last": self.last._asdict(), "batches": batches.plain}
        tensors = {f"weights/{key}": weight for key, weight in self.weights.items()}
        tensors |= {f"batches/{key}": array for key, array in batches.tensors.items()}
        if not self.finished:
            numbers, moments = self.optimiser.state()
            plain |= {key: getattr(self, key) for key in _PLAIN} | {"optimiser": numbers, "seconds": self._seconds()}
            tensors |= {f"optimiser/{key}": moment for key, moment in moments.items()}
            tensors |= {f"best/{key}": weight for key, weight in self.best_weights.items()}
        return Saved(plain, tensors)

    def restore(self, saved: Saved) -> None:
        """Go on from there. KeyError, TypeError or ValueError, before anything is changed, when it does not fit."""
        plain, weights = saved.plain, strip_prefix(saved.tensors, "weights")
        if {k: w.shape for k, w in weights.items()} != {k: w.shape for k, w in self.weights.items()}:
            raise ValueError("its weights have other names or shapes")
        last, finished = Step(**plain["last"]), bool(plain["finished"])
        if not finished:
            values, seconds = {key: plain[key] for key in _PLAIN}, float(plain["seconds"])
            self.optimiser.restore(plain["optimiser"], strip_prefix(saved.tensors, "optimiser"))
            for key, value in values.items():
                setattr(self, key, value)
            self.best_weights = strip_prefix(saved.tensors, "best")
            self.started, self.seconds_before = time.perf_counter(), seconds
        _copy_into(self.weights, weights)
        self.last, self.number, self.finished = last, last.number, finished

    def restore_batches(self, saved: Saved) -> None:
        arrays = {key: array.numpy() for key, array in strip_prefix(saved.tensors, "batches").items()}
        if hasattr(self.batches, "load_state_dict"):
            self.batches.load_state_dict({**saved.plain["batches"], **arrays})

    def _backward(self) -> dict[str, float]:
        """Gradients of the mean loss over the accumulated batches; the loss (under "") and its parts."""
        means: dict[str, float] = {"": 0.0}
        n = self.config.accumulate
        for number in range(self.number * n, (self.number + 1) * n):
            batch = self.ahead.batch(number)
            self.module.train()
            found = self.loss(self.module, batch)
            parts = dict(found) if isinstance(found, Mapping) else {}
            total = torch.stack(list(parts.values())).sum() if isinstance(found, Mapping) else found
            for key, value in {"": total, **parts}.items():
                means[key] = means.get(key, 0.0) + float(value.detach()) / n
            if not math.isfinite(means[""]):
                raise self._diverged("loss")
            (total / n).backward()  # type: ignore[no-untyped-call]
        return means

    def _diverged(self, what: str) -> DivergedError:
        return DivergedError(
            f"{self.name}: the {what} of step {self.number + 1} is not a finite number; the weights are those of step "
            f"{self.number}: lower the learning rate, or give it a longer warm-up"
        )

    def _batches_state(self) -> dict[str, Any]:
        return dict(self.batches.state_dict()) if hasattr(self.batches, "state_dict") else {}

    def _buffer_changes(self) -> int:
        """How often the module's buffers were written to: a running mean may change in a step that is not finished."""
        return sum(buffer._version for buffer in self.module.buffers() if not buffer.is_inference())

    def _seconds(self) -> float:
        return self.seconds_before + time.perf_counter() - self.started


def _sent(data: Tensor, device: torch.device) -> Tensor:
    return data.to(device)


def _bring_back(tensor: Tensor, home: Tensor, changed: bool) -> None:
    try:
        if changed:
            home.copy_(tensor.data)
    finally:
        tensor.data = home


@contextmanager
def _random_numbers(module: nn.Module, seed: int, number: int, device: torch.device) -> Iterator[None]:
    """Those of this step. Parts with a `generator` draw from one of this training; the same numbers in both cases.

    Where there are none, or dropout of torch's own beside them, it is torch's generator, which all threads share: then
    trainings take turns, and outside of the block its numbers go on as if nothing had been drawn.
    """
    chosen = int(np.random.SeedSequence((seed, number, 1)).generate_state(1, np.uint64)[0])
    drawing: list[Any] = [part for part in module.modules() if hasattr(part, "generator")]
    if not drawing or any(isinstance(part, nn.modules.dropout._DropoutNd) for part in module.modules()):
        with _TURN, torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.default_generator.manual_seed(chosen)
            if device.type == "cuda":
                with torch.cuda.device(device):
                    torch.cuda.manual_seed(chosen)
            yield
        return
    generator = torch.Generator().manual_seed(chosen)
    for part in drawing:
        part.generator = generator
    try:
        yield
    finally:
        for part in drawing:
            part.generator = None


def _weights(module: nn.Module, trained: Sequence[nn.Parameter]) -> dict[str, Tensor]:
    """What training may change, by name: the trained parameters, in the module or not, and the module's buffers."""
    names = {id(parameter): name for name, parameter in module.named_parameters()}
    found: dict[str, Tensor] = {names.get(id(p), f"group parameter {i}"): p for i, p in enumerate(trained)}
    return found | {name: buffer for name, buffer in module.named_buffers() if buffer.numel()}


def _copy_into(weights: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    with torch.no_grad():
        for name, weight in weights.items():
            weight.copy_(values[name])
