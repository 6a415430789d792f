"""The rate that is best on held-out documents, from short runs that leave no trace."""

from __future__ import annotations

import math

import pytest
import torch
from tests.train.conftest import Said
from torch import nn

from everylabel.run import Run
from everylabel.train.rates import best_share, short_run


def test_the_best_one_and_the_weights_as_before(said: Said) -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    before = {name: weight.clone() for name, weight in module.state_dict().items()}
    places = [weight.data_ptr() for weight in module.state_dict().values()]
    starts = []

    def trial(share: float) -> float:
        starts.append(all(torch.equal(weight, before[name]) for name, weight in module.state_dict().items()))
        with torch.no_grad():
            for weight in module.state_dict().values():
                weight += 1
        return {0.4: 0.2, 1.0: 0.5, 2.0: math.nan}[share]

    assert best_share((0.4, 1.0, 2.0), trial, module, Run(reporter=said)) == 1.0
    assert starts == [True, True, True]
    assert all(torch.equal(weight, before[name]) for name, weight in module.state_dict().items())
    assert [weight.data_ptr() for weight in module.state_dict().values()] == places
    assert said.lines == [
        "learning rate: 1 times the usual one is best on held-out documents (0.4 x 0.2000, 1 x 0.5000, 2 x -inf)"
    ]


def test_the_first_of_equal_ones() -> None:
    assert best_share((0.4, 1.0, 2.0), lambda _share: 0.5, nn.Linear(1, 1)) == 0.4


@pytest.mark.parametrize(("steps", "short"), [(40, 40), (500, 100), (20_000, 2_000)])
def test_short_runs(steps: int, short: int) -> None:
    assert short_run(steps) == short
