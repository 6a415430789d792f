"""How the learning rate changes: a function of the step alone, so that a resumed run needs no state for it."""

from __future__ import annotations


def warm_then_linear(step: int, steps: int, warmup: float) -> float:
    """The share of the full rate at a step, from 0: up in a straight line, then down, 0 only after the last step.

    The first step already counts: with w warm-up steps the shares are 1/(w+1), 2/(w+1), .. 1, and 1 is at step w.
    """
    warm = round(warmup * steps)
    return min((step + 1) / (warm + 1), (steps - step) / max(1, steps - warm))
