"""Modules go to the device for their training and come back; trainings side by side do not disturb each other."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from tests.devices import elsewhere, pretended
from tests.train.conftest import Problem, same
from torch import Tensor, nn

from everylabel.encoders.base import Tokens
from everylabel.encoders.static_module import StaticModule
from everylabel.errors import ConfigError
from everylabel.train import training
from everylabel.train.loop import Group, TrainConfig, train
from everylabel.train.rows import RowAdam


class Sent:
    """A device whose memory is this machine's: copies are sent, so that what comes back can be told from what went."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pointers: set[int] = set()
        monkeypatch.setattr(training, "training_device", lambda _name: torch.device("meta"))
        monkeypatch.setattr(training, "_sent", self)

    def __call__(self, data: Tensor, device: torch.device) -> Tensor:
        assert device.type == "meta"
        copy = data.clone()
        self.pointers.add(copy.data_ptr())
        return copy

    def has(self, problem: Problem) -> set[bool]:
        return {tensor.data_ptr() in self.pointers for tensor in tensors_of(problem)}


def tensors_of(problem: Problem) -> list[Tensor]:
    return [*problem.module.parameters(), *problem.module.buffers(), problem.table.weight]


def test_everything_goes_there_and_comes_back_to_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = Problem()
    list(expected.run())
    sent, problem = Sent(monkeypatch), Problem()
    homes = [tensor.data_ptr() for tensor in tensors_of(problem)]
    assert sent.has(problem) == {False}
    for _ in problem.run():
        assert sent.has(problem) == {True}
    assert [tensor.data_ptr() for tensor in tensors_of(problem)] == homes
    assert same(problem.weights(), expected.weights())


def test_a_training_that_is_not_begun_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, problem = Sent(monkeypatch), Problem()
    steps = problem.run()
    assert sent.has(problem) == {False}
    next(steps)
    assert sent.has(problem) == {True}
    steps.close()  # type: ignore[attr-defined]
    assert sent.has(problem) == {False}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, torch.OutOfMemoryError])
def test_what_fails_or_is_interrupted_comes_back_too(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    expected = Problem()
    for step in expected.run():
        if step.number == 3:
            break
    sent, problem = Sent(monkeypatch), Problem()
    usual, calls = problem.loss, iter(range(100))

    def loss(module: nn.Module, rows: Any) -> Any:
        if next(calls) == 6:  # two batches a step
            raise error("in the fourth step")
        return usual(module, rows)

    problem.loss = loss
    with pytest.raises(error):
        list(problem.run())
    assert sent.has(problem) == {False}
    assert torch.equal(problem.table.weight, expected.table.weight)


def test_each_comes_back_whatever_happens_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, problem = Sent(monkeypatch), Problem()
    usual = training._bring_back

    def broken(tensor: Tensor, home: Tensor, changed: bool) -> None:
        usual(tensor, home, changed)
        raise RuntimeError("the device is gone")

    monkeypatch.setattr(training, "_bring_back", broken)
    with pytest.raises(RuntimeError, match="the device is gone"):
        list(problem.run(steps=1))
    assert sent.has(problem) == {False}


def test_what_is_not_trained_is_the_very_same_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """An encoder knows by the versions of its weights that it was not trained, and is saved by its name."""
    sent, problem = Sent(monkeypatch), Problem()
    frozen = problem.module[3].weight.requires_grad_(False)
    before = frozen.data_ptr(), frozen._version, problem.module[0].weight._version  # type: ignore[operator]
    list(problem.run(steps=2))
    assert len(sent.pointers) > 0
    assert (frozen.data_ptr(), frozen._version) == before[:2]  # type: ignore[operator]
    assert problem.module[0].weight._version > before[2]


def test_a_device_that_is_not_there_is_refused_before_anything_is_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setenv("EVERYLABEL_DEVICE", "cuda")
    with pytest.raises(ConfigError, match="torch finds no CUDA device"):
        Problem().run(device="auto")


def test_row_adam_takes_gradients_as_a_gpu_gives_them() -> None:
    """Sparse, a row for each time that a token occurs, in any order."""
    start = torch.from_numpy(np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32))
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    for _ in range(3):
        for table, optimiser in ((ours, RowAdam([ours], lr=0.1)), (theirs, torch.optim.SparseAdam([theirs], lr=0.1))):
            ids, offsets = torch.tensor([3, 1, 3, 8, 1, 3]), torch.tensor([0, 2, 6])
            sums = nn.functional.embedding_bag(ids, table, offsets, mode="sum", include_last_offset=True, sparse=True)
            table.grad = None
            sums.square().sum().backward()  # type: ignore[no-untyped-call]
            assert table.grad is not None
            assert not table.grad.is_coalesced()
            optimiser.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_row_adam_says_what_it_cannot_take() -> None:
    table = nn.Parameter(torch.ones(3, 2))
    table.grad = torch.ones(3, 2)
    with pytest.raises(ValueError, match="rows of sparse gradients; this is dense"):
        RowAdam([table], lr=0.1).step()


def test_the_rows_of_a_table_on_another_device() -> None:
    with pretended():
        module = elsewhere(StaticModule(torch.zeros(9, 4)))
        module(Tokens.of([[1, 2, 2], [3]])).square().sum().backward()
        table, gradient = module.embedding.weight, module.embedding.weight.grad
        rows, values = gradient._indices()[0], gradient._values()
        from everylabel.train.rows import _with_torch

        with torch.no_grad():
            _with_torch(rows, values, [table, torch.zeros_like(table), torch.zeros_like(table)], 0.1, (0.9, 0.99), 1e-8)
        assert table.device.type == gradient.device.type == "meta"


# --- side by side


def embeddings(seed: int, *, slow: threading.Barrier | None = None) -> StaticModule:
    """Trained for some steps; with a barrier, all who have it draw their random numbers at the same time."""
    table = np.random.default_rng(seed).normal(size=(50, 8)).astype(np.float32)
    module = StaticModule.of(table)

    def batches(_number: int, rng: np.random.Generator) -> Tokens:
        return Tokens.of(rng.integers(0, 50, (16, 12)).tolist())

    def loss(module: StaticModule, tokens: Tokens) -> Tensor:
        first = module(tokens)
        if slow is not None:
            slow.wait(20)
        return (first * module(tokens)).sum(dim=1).sub(1).square().mean()  # type: ignore[no-any-return]

    groups = [Group(module.parameters(), lr=0.1, sparse=True)]
    for _ in train(module, batches, loss, TrainConfig(steps=8, device="cpu"), groups=groups, seed=seed):
        pass
    return module


def test_static_embeddings_are_trained_at_the_same_time() -> None:
    """Each in the middle of its step while the others are: with one generator for all, they would wait for ever."""
    alone = [embeddings(seed).embedding.weight for seed in (1, 2)]
    found: dict[int, Tensor] = {}
    barrier = threading.Barrier(2)

    def work(seed: int) -> None:
        found[seed] = embeddings(seed, slow=barrier).embedding.weight

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(found[1], alone[0])
    assert torch.equal(found[2], alone[1])


def test_the_numbers_are_those_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was learned before trainings had generators of their own is learned still, bit by bit."""
    own = embeddings(3)
    assert own.generator is None
    usual = StaticModule.__init__

    def without_generator(self: Any, *args: Any, **settings: Any) -> None:
        usual(self, *args, **settings)
        del self.generator
        self.chances = lambda n: torch.rand(n).numpy()

    monkeypatch.setattr(StaticModule, "__init__", without_generator)
    shared = embeddings(3)
    assert not hasattr(shared, "generator")
    assert torch.equal(own.embedding.weight, shared.embedding.weight)


def test_random_numbers_outside_are_not_drawn() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    embeddings(4)
    assert torch.equal(torch.rand(3), expected)
