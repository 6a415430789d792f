"""The one training loop, as a generator: `for step in train(module, batches, loss, config, groups=[...], seed=0): ...`

A method supplies `batches` and `loss`, both plain functions; the loop owns the optimiser, the schedule, clipping,
seeds, evaluation, early stopping and, inside `checkpointing`, exact resuming. Everything random in a step follows from
(seed, step) alone, so nothing but the weights has to be kept to repeat the order of the data and of dropout.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import nn

from everylabel.parallel import n_threads
from everylabel.progress import say, task
from everylabel.train.checkpoint import Stage, ambient
from everylabel.train.config import TrainConfig
from everylabel.train.interrupt import interrupts_held
from everylabel.train.optimiser import Group
from everylabel.train.training import Batches, DivergedError, Loss, Run, Step

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
) -> Iterator[Step]:
    """Train the groups' parameters in place; a `Step` after each update.

    `batches(number, rng)` gives the batch of this number, from 0; with `accumulate` a, step s takes the numbers from
    a * s to a * s + a - 1. Data stay as they are: the module moves them to the device of its parameters.
    `loss(module, batch)` is a scalar, or scalars by name whose sum is trained. The module is in training mode inside
    `loss` and in evaluation mode everywhere else; a part that must not be overrides its own `train`.
    `evaluate()`, larger is better, is called every `evaluate_every` steps and after the last one, without gradients;
    at the end the weights are those of the best evaluation. Leaving the `for` early leaves the weights of that step.

    Inside `checkpointing` the run is kept every `checkpoint_every` seconds, at Ctrl-C and when the `for` is left, and
    goes on from there to the very same weights: it then yields the steps that are left, and a finished run its last
    step only. `batches` may have `state_dict()` and `load_state_dict(state)` of arrays and JSON values; the state is
    copied at each step, so it should be small beside a batch's work.

    Memory: weights, gradients, two numbers a parameter, and with `evaluate` one more copy of the weights.
    """
    config.check()
    return _train(Run(module, batches, loss, config, groups=groups, seed=seed, name=name, evaluate=evaluate))


def _train(run: Run) -> Iterator[Step]:
    torch.set_num_threads(n_threads())
    run.started = time.perf_counter()
    checkpoints = ambient()
    stage = checkpoints.stage(run.name, run.identity) if checkpoints else None
    try:
        with task(run.name, run.config.steps) as advance:
            if stage:
                _resume(run, stage)
            advance(run.number - run.fresh)
            before = run.last
            yield from _steps(run, stage, advance)
            if not run.finished:
                with interrupts_held():
                    run.finish()
                    if stage:
                        stage.save()
            if run.last is before and run.number:  # nothing was left to do: the caller's `for` still sees one step
                yield run.last
    except (KeyboardInterrupt, GeneratorExit):
        if stage:
            stage.save()
        raise
    finally:
        if stage:
            stage.close()
        run.optimiser.forget_gradients()
        run.module.eval()


def _steps(run: Run, stage: Stage | None, advance: Callable[[int], None]) -> Iterator[Step]:
    written = time.monotonic()
    while run.fresh or not run.done:
        if not run.fresh:  # it is when the interrupt came before the step's evaluation, and the run was resumed
            with interrupts_held():
                run.step()
        if run.evaluation_due:
            run.judge()
        with interrupts_held():
            run.fresh = False
            if stage:
                stage.log(_line(run.last))
                if time.monotonic() - written >= run.config.checkpoint_every:
                    stage.save()
                    written = time.monotonic()
        advance(1)
        yield run.last


def _resume(run: Run, stage: Stage) -> None:
    saved = stage.read()
    try:
        if saved is not None:
            run.restore(saved)
    except (KeyError, TypeError, ValueError) as error:
        stage.damaged(error)
        saved = None
    if saved is not None:
        run.restore_batches(saved)
        where = "is finished" if run.finished else f"goes on after step {run.number:,} of {run.config.steps:,}"
        say(f"{run.name}: {where}, from the checkpoint")
    if not run.finished:
        stage.rewind(run.number - run.fresh)
        stage.source = run.saved
        run.keep_state = True
        run.saved()  # batches whose state cannot be saved are found now, not at the first checkpoint


def _line(step: Step) -> dict[str, Any]:
    """A step as a line of the loss curve."""
    line: dict[str, Any] = {"step": step.number, "loss": step.loss, "lr": step.lr, "seconds": round(step.seconds, 3)}
    if step.score is not None:
        line |= {"score": step.score, "best": step.best}
    return line | {f"loss/{part}": value for part, value in step.parts.items()}
