"""Every method that trains, fitted by two processes (gloo): the model is that of one, whatever the second computes.

It computes other vectors than the first, and fails where it does what the first does for all (together.py). Nothing is
dropped out of transformers, since each process draws for itself. Static embeddings are the same to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.contract.conftest import make_tiny_folder
from tests.methods.together import ENCODERS, SETTINGS
from tests.processes import by_one_and_by_two
from torch.testing import assert_close

from everylabel import config
from everylabel.registry import method_classes

FAST = ["maclr transformer", "depl transformer", "matchxml static"]
ALL = [f"{name} {encoder}" for encoder in ENCODERS for name in SETTINGS]
SLOW = [case for case in ALL if case not in FAST]
CASES = [pytest.param(case, marks=pytest.mark.xdist_group("together")) for case in FAST]
CASES += [pytest.param(case, marks=[pytest.mark.xdist_group("together, slow"), pytest.mark.slow]) for case in SLOW]
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """`learned(case)`: by the processes alone, 0 and 1. Those of a tier are fitted one after the other."""

    @cache
    def by_tier(*cases: str) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("together")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("EVERYLABEL_CACHE", str(folder / "cache"))  # not the user's own
            return by_one_and_by_two("tests.methods.together", folder, str(without_dropout(folder)), *cases)

    def found(case: str) -> dict[str, Any]:
        every = by_tier(*(FAST if case in FAST else SLOW))
        return {name: parts[case] for name, parts in every.items()}

    return found


def without_dropout(parent: Path) -> Path:
    folder = make_tiny_folder(parent, dim=32)
    settings = json.loads((folder / "config.json").read_text())
    settings |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("case", CASES)
def test_the_model_is_that_of_one_process(learned: Any, case: str) -> None:
    alone, first = learned(case)["alone"], learned(case)["0"]
    assert list(alone) == list(first)
    rtol, atol = (0.0, 0.0) if case.endswith("static") else (1e-3, 1e-5)
    for name, array in alone.items():
        one = float(atol > 0 and array.dtype == torch.int16)  # weights of a linear ranker, as whole numbers
        assert_close(first[name].double(), array.double(), rtol=rtol, atol=max(atol, one), msg=said(name))


@pytest.mark.parametrize("case", CASES)
def test_all_have_learned_the_same(learned: Any, case: str) -> None:
    first, second = learned(case)["0"], learned(case)["1"]
    trained = {name for name in first if not name.startswith("ranking/")}  # by an index that is made after training
    if case.startswith(("hybrid", "xml0")):  # as are calibration and what is read by an encoder that is not trained
        trained = {name for name in trained if "/encoder/" in name}
    assert trained
    for name, array in first.items():
        if name in trained:
            assert_close(second[name], array, rtol=0, atol=0, msg=said(name))


def test_every_method_that_trains_is_here() -> None:
    parts = {cls.name: config.to_dict(cls()).values() for cls in method_classes()}
    trains = {name for name, own in parts.items() if any(isinstance(it, dict) and "accumulate" in it for it in own)}
    assert set(SETTINGS) == trains - {"label-fusion", "conse"}  # which are xml0


def said(name: str) -> Callable[[str], str]:
    return lambda text: f"{name}: {text}"
