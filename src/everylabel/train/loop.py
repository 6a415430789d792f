"""The one training loop, as a generator: `for step in train(module, batches, loss, config, groups=[...], seed=0): ...`

A method supplies `batches` and `loss`, both plain functions; the loop owns the optimiser, the schedule, clipping,
seeds, the device, evaluation, early stopping and, where the run keeps checkpoints, exact resuming. Everything random in
a step follows from (seed, step) alone, so nothing but the weights has to be kept to repeat the order of the data and of
dropout.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from everylabel.parallel import n_openmp_threads
from everylabel.run import QUIET, Run
from everylabel.train.ahead import Batches
from everylabel.train.checkpoint import Stage
from everylabel.train.config import TrainConfig
from everylabel.train.interrupt import interrupts_held
from everylabel.train.optimiser import Group
from everylabel.train.training import DivergedError, Loss, Step, Supplied, Training

__all__ = ["DivergedError", "Group", "Step", "TrainConfig", "train"]


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
    run: Run = QUIET,
) -> Iterator[Step]:
    """Train the groups' parameters in place; a `Step` after each update.

    They and the module are on the chosen device while there are steps, and back on the CPU at the end, in any case.

    `batches(number, rng)` gives the batch of this number, from 0; with `accumulate` a, step s takes the numbers from
    a * s to a * s + a - 1. Data stay as they are: the module moves them to the device of its parameters.
    `loss(module, batch)` is a scalar, or scalars by name whose sum is trained. The module is in training mode inside
    `loss` and in evaluation mode everywhere else; a part that must not be overrides its own `train`.
    `evaluate()`, larger is better, is called every `evaluate_every` steps and after the last one, without gradients;
    at the end the weights are those of the best evaluation. Leaving the `for` early leaves the weights of that step.

    With `run.checkpoints` the state is kept every `checkpoint_every` seconds, at Ctrl-C and when the `for` is left, and
    goes on from there to the very same weights: it then yields the steps that are left, and a finished one its last
    step only. `batches` may have `state_dict()` and `load_state_dict(state)` of arrays and JSON values; the state is
    copied at each step, so it should be small beside a batch's work. Batches may be made ahead in a thread; those with
    a state only if they say by `waits(number)` which ones change it or look at the weights (ahead.py).

    Started by torchrun, all processes train together (peers.py): a batch is that of all, the first keeps checkpoints.

    Memory: weights, gradients, two numbers a parameter, and with `evaluate` one more copy of the weights.
    """
    config.check()
    supplied = Supplied(module, batches, loss, evaluate)
    training = Training(supplied, config, groups=groups, seed=seed, name=name)
    return _train(training, run)


def _train(training: Training, run: Run) -> Iterator[Step]:
    torch.set_num_threads(n_openmp_threads())
    training.started = time.perf_counter()
    first = training.peers is None or training.peers.rank == 0  # the others hear from it, and write nothing
    stage = run.checkpoints.stage(training.name, training.identity, run.say) if run.checkpoints and first else None
    with training.moved(), training.prepared():
        try:
            with run.task(training.name, training.config.steps) as advance:
                if run.checkpoints:
                    _resume(training, stage, run)
                advance(training.number - training.fresh)
                before = training.last
                yield from _steps(training, stage, advance)
                if not training.finished:
                    with interrupts_held():
                        training.finish()
                        if stage:
                            stage.save()
                if training.last is before and training.number:  # nothing was left to do: the `for` still sees one step
                    yield training.last
        except (KeyboardInterrupt, GeneratorExit):
            if stage:
                stage.save()
            raise
        finally:
            if stage:
                stage.close()
            training.optimiser.forget_gradients()
            training.module.eval()


def _steps(training: Training, stage: Stage | None, advance: Callable[[int], None]) -> Iterator[Step]:
    written = time.monotonic()
    while training.fresh or not training.done:
        if not training.fresh:  # it is when the interrupt came before the step's evaluation, and it was resumed
            with interrupts_held():
                training.step()
        if training.evaluation_due:
            training.judge()
        with interrupts_held():
            training.fresh = False
            if stage:
                stage.log(_line(training.last))
                if time.monotonic() - written >= training.config.checkpoint_every:
                    stage.save()
                    written = time.monotonic()
        advance(1)
        yield training.last


def _resume(training: Training, stage: Stage | None, run: Run) -> None:
    saved = stage.read() if stage else None
    if training.peers:
        saved = training.peers.told(saved)
    try:
        if saved is not None:
            training.restore(saved)
    except (KeyError, TypeError, ValueError) as error:
        if stage:
            stage.damaged(error)
        saved = None
    if saved is not None:
        training.restore_batches(saved)
        steps = f"{training.number:,} of {training.config.steps:,}"
        where = "is finished" if training.finished else f"goes on after step {steps}"
        run.say(f"{training.name}: {where}, from the checkpoint")
    if stage and not training.finished:
        stage.rewind(training.number - training.fresh)
        stage.source = training.saved
        training.keep_state = True
        training.saved()  # batches whose state cannot be saved are found now, not at the first checkpoint


def _line(step: Step) -> dict[str, Any]:
    """A step as a line of the loss curve."""
    line: dict[str, Any] = {"step": step.number, "loss": step.loss, "lr": step.lr, "seconds": round(step.seconds, 3)}
    if step.score is not None:
        line |= {"score": step.score, "best": step.best}
    return line | {f"loss/{part}": value for part, value in step.parts.items()}
