"""A learning rate that is chosen on held-out documents: a short run with each, the best one counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import nn

from everylabel.run import QUIET, Run

FEWEST = 100  # steps of a short run, where the whole one has as many
PART = 10  # of a whole run, else


def short_run(steps: int) -> int:
    return min(steps, max(FEWEST, steps // PART))


def best_share(shares: Sequence[float], trial: Callable[[float], float], module: nn.Module, run: Run = QUIET) -> float:
    """The share of the usual rates with the highest score (the first of equal ones); NaN is no score.

    `trial(share)` trains the module and says how good it is, the same in all processes (`by_first`); its weights are as
    before for each, and at the end. Cost: so many short runs, and one more copy of the weights.
    """
    before = {name: weight.detach().clone() for name, weight in module.state_dict().items()}
    scores = {}
    for share in shares:
        score = trial(share)
        scores[share] = -math.inf if math.isnan(score) else score
        with torch.no_grad():
            for name, weight in module.state_dict().items():
                weight.copy_(before[name])
    best = max(scores, key=lambda share: scores[share])
    found = ", ".join(f"{share:g} x {score:.4f}" for share, score in scores.items())
    run.say(f"learning rate: {best:g} times the usual one is best on held-out documents ({found})")
    return best
