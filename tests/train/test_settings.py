"""How a training uses the machine is a setting of every method that trains."""

from __future__ import annotations

from typing import Any

import pytest

import everylabel
from everylabel import config
from everylabel.errors import ConfigError
from everylabel.methods.base import Method
from everylabel.registry import METHODS, method_class
from everylabel.train.config import Compute, TrainConfig


def nested(method: Method) -> dict[str, Compute]:
    return {name: part for name, part in vars(method).items() if isinstance(part, Compute)}


def test_every_method_that_trains_has_them() -> None:
    found = {name: set(nested(method_class(name)())) for name in METHODS}
    assert {name for name, parts in found.items() if parts} >= {
        *("maclr", "ict", "rts", "simcse", "hybrid", "matchxml", "xr-transformer", "depl", "depl+cls", "de-ret"),
        *("classifier", "of-de", "of-lan", "ova-clf", "lan", "dpr", "dexml", "attentionxml", "xml0"),
    }


@pytest.mark.parametrize("name", ["maclr", "matchxml", "depl", "of-de", "hybrid", "attentionxml", "xml0"])
def test_they_reach_the_loop_and_are_saved(name: str) -> None:
    given: dict[str, Any] = {"precision": "bf16", "accumulate": 4, "tokens_at_once": 8192, "length_buckets": 3}
    given |= {"recompute": True, "compile": True, "batches_ahead": 3, "checkpoint_every": 600.0}
    part = next(iter(nested(method_class(name)())))
    settings: dict[str, Any] = {part: given}
    made = everylabel.method(name, **settings)
    made.check()
    loop = getattr(made, part).schedule(steps=7, device="cpu")
    assert {key: getattr(loop, key) for key in given} == given
    assert (loop.steps, loop.device, loop.warmup) == (7, "cpu", TrainConfig().warmup)
    assert {key: config.to_dict(made)[part][key] for key in given} == given


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"accumulate": 0}, "accumulate must be at least 1"),
        ({"length_buckets": 0}, "length_buckets must be at least 1"),
        ({"tokens_at_once": -1}, "tokens_at_once must be 0 or more"),
        ({"batches_ahead": -1}, "batches_ahead must be 0 or more"),
        ({"checkpoint_every": -1.0}, "checkpoint_every must be 0 or more"),
        ({"precision": "fp16"}, "precision must be one of fp32, bf16"),
    ],
)
def test_what_cannot_be_is_refused(setting: dict[str, Any], message: str) -> None:
    for name in METHODS:
        for part in nested(method_class(name)()):
            with pytest.raises(ConfigError, match=f"{part}.{message}"):
                config.build(method_class(name), {part: setting}, "").check()


def test_a_rate_is_a_number_or_chosen() -> None:
    everylabel.method("of-de", learn={"lr": "auto"}).check()
    everylabel.method("of-de", learn={"lr": 1e-5}).check()
    refused: dict[str, dict[str, Any]] = {
        "depl": {"retrieve": {"lr": "auto"}},
        "classifier": {"classify": {"lr": "auto"}},
    }
    for name, settings in refused.items():
        with pytest.raises(ConfigError, match="lr='auto' is for of-de"):
            everylabel.method(name, **settings).check()
    with pytest.raises(ConfigError, match=r"learn\.lr must be a number; got 'fast'"):
        everylabel.method("of-de", learn={"lr": "fast"})
