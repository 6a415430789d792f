"""Two processes (gloo) learn what one learns from the joint batch: the same loss, the same weights but for rounding."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.encoders.conftest import WORDS, make_folder
from tests.processes import by_one_and_by_two

from everylabel import parallel

pytestmark = [pytest.mark.xdist_group("peers"), pytest.mark.timeout(500)]  # which share three processes


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each process has learned: alone, 0 and 1."""
    folder = tmp_path_factory.mktemp("peers")
    return by_one_and_by_two("tests.train.peer", folder, str(make_folder(folder, WORDS)))


@pytest.mark.parametrize("case", ["plain", "parts", "recomputed", "resumed"])
def test_as_one_process_with_the_joint_batch(found: dict[str, Any], case: str) -> None:
    alone = found["alone"][case]
    for rank in ("0", "1"):
        together = found[rank][case]
        assert list(together["losses"].values()) == pytest.approx(list(alone["losses"].values()), rel=1e-5)
        for name, weight in alone["weights"].items():
            torch.testing.assert_close(together["weights"][name], weight, rtol=1e-3, atol=1e-5, msg=name)


def test_rough_layers_are_as_one_process_has_them(found: dict[str, Any]) -> None:
    """bf16 in the layers and nowhere else: as near to one process as rounding allows, and rougher than fp32."""
    plain, alone, together = found["0"]["plain"], found["alone"]["bf16"], found["0"]["bf16"]
    assert list(together["losses"].values()) == pytest.approx(list(alone["losses"].values()), rel=5e-3)
    assert list(together["losses"].values()) != pytest.approx(list(plain["losses"].values()), rel=1e-5)
    for name, weight in alone["weights"].items():
        assert together["weights"][name].dtype == weight.dtype != torch.bfloat16
        torch.testing.assert_close(together["weights"][name], weight, rtol=0, atol=5e-3, msg=name)


@pytest.mark.parametrize("case", ["plain", "dropout", "parts", "recomputed", "bf16", "resumed"])
def test_all_have_learned_the_same(found: dict[str, Any], case: str) -> None:
    one, other = found["0"][case], found["1"][case]
    assert one["losses"] == other["losses"]
    assert all(torch.equal(weight, other["weights"][name]) for name, weight in one["weights"].items())


def test_each_process_drops_out_by_itself(found: dict[str, Any]) -> None:
    """Else rows of the two would lose the same places; the loss with dropout is neither that without nor one's own."""
    losses = {name: found[name]["dropout"]["losses"][1] for name in ("alone", "0")}
    assert losses["alone"] != losses["0"] != found["0"]["plain"]["losses"][1]


def test_a_training_that_is_left_goes_on_where_it_was(found: dict[str, Any]) -> None:
    assert {name: list(parts["resumed"]["losses"]) for name, parts in found.items()} == {name: [3, 4] for name in found}
    for parts in found.values():
        expected = parts["plain"]["weights"]
        assert all(torch.equal(weight, expected[name]) for name, weight in parts["resumed"]["weights"].items())


def test_all_have_what_the_first_computes_and_its_error(found: dict[str, Any]) -> None:
    for parts in found.values():
        assert parts["first"] == {"told": "0", "failed": "the first one's error"}


def test_who_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert (parallel.n_processes(), parallel.is_first_process()) == (1, True)
    monkeypatch.setenv("WORLD_SIZE", "4")  # some schedulers set it, and start no other process
    assert (parallel.n_processes(), parallel.is_first_process()) == (1, True)
    monkeypatch.setenv("RANK", "0")
    assert (parallel.n_processes(), parallel.is_first_process()) == (4, True)
    monkeypatch.setenv("RANK", "3")
    assert (parallel.n_processes(), parallel.is_first_process()) == (4, False)
