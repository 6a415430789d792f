"""The loop itself: seeds, rates, accumulation, clipping, evaluation, and what happens when the loss explodes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from tests.train.conftest import Problem, Said, same
from torch import Tensor, nn

from everylabel.errors import ConfigError
from everylabel.run import Run
from everylabel.train.loop import DivergedError, Group, Step, TrainConfig, train
from everylabel.train.schedule import warm_then_linear

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


class Point(nn.Module):
    """Weights without data: the gradient of the loss below is `direction`."""

    def __init__(self, *values: float) -> None:
        super().__init__()
        self.values = nn.Parameter(torch.tensor(values))


def along(*direction: float) -> Any:
    def loss(module: Point, batch: Any) -> Tensor:  # noqa: ARG001
        return (module.values * torch.tensor(direction)).sum()

    return loss


def nothing(number: int, rng: np.random.Generator) -> None: ...


def run(module: nn.Module, loss: Any, *, batches: Any = nothing, lr: float = 0.1, **settings: Any) -> Iterator[Step]:
    config = TrainConfig(**{"steps": 4, "warmup": 0.0, "clip": 0.0, "device": "cpu", **settings})
    return train(module, batches, loss, config, groups=[Group(module.parameters(), lr=lr)], seed=1)


def test_a_seed_decides_everything() -> None:
    runs: list[tuple[dict[str, Tensor], list[Step]]] = []
    for seed in (3, 3, 4):
        problem = Problem()
        torch.manual_seed(len(runs))  # of no influence
        steps = [step._replace(seconds=0) for step in problem.run(seed=seed)]
        runs.append((problem.weights(), steps))
    assert same(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]
    assert not same(runs[0][0], runs[2][0])


def test_two_threads_of_torch_are_deterministic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "2")
    results = []
    for _ in range(2):
        problem = Problem()
        list(problem.run(steps=4))
        assert torch.get_num_threads() == 2
        results.append(problem.weights())
    assert same(*results)


def test_two_trainings_at_a_time_do_not_share_random_numbers() -> None:
    alone = Problem()
    list(alone.run())
    problems = [Problem(), Problem()]
    threads = [threading.Thread(target=lambda p=p: list(p.run())) for p in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(same(problem.weights(), alone.weights()) for problem in problems)


def test_random_numbers_outside_go_on_undisturbed() -> None:
    problem = Problem()
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected, expected_numpy = torch.rand(3), np.random.random()  # noqa: NPY002
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    for _ in problem.run():
        pass
    assert torch.equal(torch.rand(3), expected)
    assert np.random.random() == expected_numpy  # noqa: NPY002


def test_batches_are_numbered_from_zero_and_have_their_own_random_numbers() -> None:
    seen: list[tuple[int, float]] = []

    def batches(number: int, rng: np.random.Generator) -> None:
        seen.append((number, rng.random()))

    list(run(Point(1.0), along(1.0), batches=batches, steps=3, accumulate=2))
    assert [number for number, _ in seen] == list(range(6))
    assert seen == [(number, np.random.default_rng((1, number)).random()) for number in range(6)]


def test_accumulation_is_a_larger_batch() -> None:
    data = torch.from_numpy(np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32))

    def trained(rows: int, accumulate: int) -> Tensor:
        module = Point(1.0, -1.0, 0.5)
        batches = lambda number, rng: data[number * rows : (number + 1) * rows]  # noqa: ARG005, E731
        loss = lambda module, batch: (batch @ module.values - 1).square().mean()  # noqa: E731
        list(run(module, loss, batches=batches, accumulate=accumulate, steps=3, clip=0.5))
        return module.values.detach()

    torch.testing.assert_close(trained(4, 2), trained(8, 1))


def test_the_schedule() -> None:
    shares = [warm_then_linear(step, 10, 0.2) for step in range(11)]
    np.testing.assert_allclose(shares, [1 / 3, 2 / 3, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0])
    assert [warm_then_linear(step, 2, 0.0) for step in range(3)] == [1, 0.5, 0]
    assert [warm_then_linear(step, 3, 1.0) for step in range(3)] == [1 / 4, 2 / 4, 3 / 4]
    assert warm_then_linear(0, 1, 0.1) == 1
    steps = list(run(Point(0.0), along(1.0), steps=10, warmup=0.2, lr=3.0))
    np.testing.assert_allclose([step.lr for step in steps], 3 * np.array(shares[:10]))


def test_groups_have_their_own_rates() -> None:
    """The first update of Adam is the rate itself, whatever the gradient: so each group's rate can be read off."""
    one, two, rows = Point(1.0), Point(1.0), nn.Embedding(3, 2, sparse=True)
    nn.init.zeros_(rows.weight)
    groups = [
        Group(one.parameters(), lr=0.1),
        Group(two.parameters(), lr=0.01, weight_decay=0.5),
        Group(rows.parameters(), lr=0.2, sparse=True),
    ]
    loss = lambda _module, _batch: one.values.sum() + two.values.sum() + rows(torch.tensor([1, 1])).sum()  # noqa: E731
    config = TrainConfig(steps=1, warmup=0.0, device="cpu")
    (step,) = train(one, nothing, loss, config, groups=groups, seed=0)
    assert step.lr == 0.1
    assert one.values.item() == pytest.approx(0.9)
    assert two.values.item() == pytest.approx(1 - 0.01 * 0.5 - 0.01)
    assert rows.weight.detach().numpy() == pytest.approx(np.array([[0, 0], [-0.2, -0.2], [0, 0]]))


def test_clipping_takes_all_gradients_together() -> None:
    from everylabel.train.optimiser import Optimiser

    dense, rows = Point(0.0, 0.0), nn.Embedding(4, 1, sparse=True)
    optimiser = Optimiser([Group(dense.parameters(), lr=1.0), Group(rows.parameters(), lr=1.0, sparse=True)])
    ((dense.values * torch.tensor([3.0, 4.0])).sum() + 6 * rows(torch.tensor([2, 2])).sum()).backward()
    assert optimiser.clip(0) == pytest.approx(13)  # 3, 4 and twice 6: the same row
    assert optimiser.clip(20) == pytest.approx(13)
    assert dense.values.grad is not None
    assert dense.values.grad.tolist() == [3, 4]
    assert optimiser.clip(6.5) == pytest.approx(13)
    assert optimiser.clip(0) == pytest.approx(6.5)
    np.testing.assert_allclose(dense.values.grad, [1.5, 2])


def test_every_update_shows_in_the_version_of_a_weight() -> None:
    """Encoders tell by it that their vectors are no longer what they were."""
    problem = Problem()
    weights = [problem.module[0].weight, problem.module[3].bias, problem.table.weight]
    versions = [[weight._version for weight in weights] for _ in problem.run(steps=3, evaluate_every=0)]
    assert all(a < b < c for a, b, c in zip(*versions, strict=True))


def test_frozen_parameters_stay() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    module[0].requires_grad_(False)
    before = [parameter.clone() for parameter in module.parameters()]
    list(run(module, lambda module, _: module(torch.ones(3, 2)).sum()))
    moved = [not torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True)]
    assert moved == [False, False, True, True]


def test_a_loss_of_parts_is_their_sum() -> None:
    parts = lambda module, _: {"a": module.values.sum(), "b": 2 * module.values.sum()}  # noqa: E731
    by_parts, as_sum = Point(1.0, 2.0), Point(1.0, 2.0)
    steps = list(run(by_parts, parts))
    list(run(as_sum, along(3.0, 3.0)))
    assert steps[0].loss == pytest.approx(9)
    assert steps[0].parts == pytest.approx({"a": 3, "b": 6})
    torch.testing.assert_close(by_parts.values, as_sum.values)


def scored(scores: list[float], **settings: Any) -> tuple[Point, list[Step], list[float]]:
    """A training whose evaluations give these scores; the weights after each step, too."""
    module, values = Point(0.0), []
    given = iter(scores)
    config = TrainConfig(**{"steps": 8, "evaluate_every": 2, "warmup": 0.0, "device": "cpu", **settings})
    steps = []
    for step in train(
        module,
        nothing,
        along(1.0),
        config,
        groups=[Group(module.parameters(), lr=0.1)],
        seed=0,
        evaluate=lambda: next(given),
    ):
        steps.append(step)
        values.append(module.values.item())
    return module, steps, values


def test_the_best_weights_are_restored() -> None:
    module, steps, values = scored([1, 3, 2, 3])
    assert [step.score for step in steps] == [None, 1, None, 3, None, 2, None, 3]
    assert [step.best for step in steps] == [None, 1, 1, 3, 3, 3, 3, 3]
    assert module.values.item() == values[3]


def test_early_stopping() -> None:
    module, steps, values = scored([1, 3, 2, 2.5, 9], steps=20, patience=2)
    assert len(steps) == 8
    assert module.values.item() == values[3]


def test_patience_counts_evaluations_in_a_row() -> None:
    _, steps, _ = scored([1, 0, 2, 1, 3, 2, 4, 3, 5, 4], steps=20, patience=2)
    assert len(steps) == 20


def test_the_last_step_is_always_evaluated() -> None:
    assert [step.score for step in scored([7], steps=3, evaluate_every=0)[1]] == [None, None, 7]
    assert [step.score for step in scored([7, 8], steps=3)[1]] == [None, 7, 8]


def test_a_score_that_is_no_number_is_no_gain() -> None:
    module, steps, values = scored([float("nan"), 1, float("nan")], steps=6)
    assert steps[-1].best == 1
    assert module.values.item() == values[3]
    module, steps, values = scored([float("nan")], steps=2)
    assert steps[-1].best is None
    assert module.values.item() == values[-1]


def test_modes() -> None:
    module, modes = Point(1.0), []

    def loss(module: Point, batch: Any) -> Tensor:  # noqa: ARG001
        modes.append(module.training)
        return module.values.sum()

    def evaluate() -> float:
        modes.append(module.training)
        assert not torch.is_grad_enabled()
        module.train()  # an evaluation that forgets to tidy up
        return 0.0

    config = TrainConfig(steps=2, evaluate_every=1, device="cpu")
    for _ in train(
        module, nothing, loss, config, groups=[Group(module.parameters(), lr=0.1)], seed=0, evaluate=evaluate
    ):
        assert not module.training
    assert modes == [True, False, True, False]
    assert not module.training
    assert module.values.grad is None


@pytest.mark.parametrize("bad", ["loss", "gradient"])
def test_what_is_not_a_number_stops_at_the_last_good_step(bad: str) -> None:
    module = Point(4.0)
    seen: list[float] = []

    def loss(module: Point, number: int) -> Tensor:
        if number < 2:
            return module.values.sum()
        return module.values.sum() * float("nan") if bad == "loss" else (module.values * 0).sqrt().sum()

    steps = run(module, loss, batches=lambda number, _: number)
    with pytest.raises(DivergedError, match=rf"the {bad} of step 3 .*weights are those of step 2: lower the learning"):
        seen.extend(module.values.item() for _ in steps)
    assert len(seen) == 2
    assert module.values.item() == seen[-1]
    assert module.values.grad is None
    assert not module.training


def test_no_steps_is_no_training() -> None:
    module = Point(1.0)
    assert list(run(module, along(1.0), steps=0)) == []
    assert module.values.item() == 1


def test_progress(said: Said) -> None:
    module = Point(1.0)
    config, groups = TrainConfig(steps=4, device="cpu"), [Group(module.parameters(), lr=0.1)]
    list(train(module, nothing, along(1.0), config, groups=groups, seed=1, run=Run(reporter=said)))
    assert said.done == {"training": 4}
    assert said.lines == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": -1}, "steps must be 0"),
        ({"warmup": 1.5}, "warmup is a share"),
        ({"accumulate": 0}, "accumulate must be at least 1"),
        ({"clip": -1.0}, "clip must be 0 or more"),
        ({"patience": -1}, "patience must be 0 or more"),
        ({"device": "gpu"}, "device must be auto, cpu, cuda"),
    ],
)
def test_settings_are_checked_before_the_first_step(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        run(Point(1.0), along(1.0), **settings)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_cuda_without_a_device_is_refused() -> None:
    with pytest.raises(ConfigError, match="no CUDA device; set device=auto"):
        run(Point(1.0), along(1.0), device="cuda")


def test_mistakes_in_groups() -> None:
    point = Point(1.0)
    config = TrainConfig(device="cpu")
    group = Group(point.parameters(), lr=0.1)
    with pytest.raises(ValueError, match="nothing to train"):
        train(point, nothing, along(1.0), config, groups=[Group([], lr=0.1)], seed=0)
    with pytest.raises(ValueError, match="in two groups"):
        train(point, nothing, along(1.0), config, groups=[group, group], seed=0)
    with pytest.raises(ValueError, match="no weight decay"):
        Group(point.parameters(), lr=0.1, weight_decay=0.1, sparse=True)


@CUDA
def test_on_a_gpu_dropout_is_repeatable_and_leaves_the_generator_alone() -> None:
    def trained() -> Tensor:
        torch.manual_seed(0)
        first = nn.Linear(4, 8)
        module = nn.Sequential(first, nn.Dropout(0.5), nn.Linear(8, 1))
        loss = lambda module, _: module(torch.ones(16, 4, device=first.weight.device)).square().mean()  # noqa: E731
        list(run(module, loss, device="cuda"))
        return first.weight.detach().cpu()

    torch.cuda.manual_seed(1)
    expected = torch.rand(2, device="cuda")
    torch.cuda.manual_seed(1)
    state = torch.cuda.get_rng_state()
    assert torch.equal(trained(), trained())
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(2, device="cuda"), expected)
