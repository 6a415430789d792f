"""Two processes (gloo) learn what one learns from the joint batch: the same loss, the same weights but for rounding."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.encoders.conftest import WORDS, make_folder

from everylabel import parallel

PEER = Path(__file__).with_name("peer.py")
pytestmark = pytest.mark.xdist_group("peers")  # which share three processes


def environment(**more: str) -> dict[str, str]:
    found = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    return found | {"EVERYLABEL_THREADS": "1", "OMP_NUM_THREADS": "1"} | more


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each process has learned: alone, 0 and 1."""
    folder = tmp_path_factory.mktemp("peers")
    model = make_folder(folder, WORDS)
    command = [sys.executable, str(PEER), str(model)]
    together = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    started = [subprocess.Popen([*command, str(folder / "alone")], env=environment())]
    for rank in ("0", "1"):
        variables = environment(RANK=rank, LOCAL_RANK=rank, **together)
        started.append(subprocess.Popen([*command, str(folder / "both")], env=variables))
    assert [process.wait(1200) for process in started] == [0, 0, 0]
    files = {"alone": "alone.alone", "0": "both.0", "1": "both.1"}
    return {name: torch.load(folder / file) for name, file in files.items()}


@pytest.mark.parametrize("case", ["plain", "parts", "resumed"])
def test_as_one_process_with_the_joint_batch(found: dict[str, Any], case: str) -> None:
    alone = found["alone"][case]
    for rank in ("0", "1"):
        together = found[rank][case]
        assert list(together["losses"].values()) == pytest.approx(list(alone["losses"].values()), rel=1e-5)
        for name, weight in alone["weights"].items():
            torch.testing.assert_close(together["weights"][name], weight, rtol=1e-3, atol=1e-5, msg=name)


@pytest.mark.parametrize("case", ["plain", "dropout", "parts", "resumed"])
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
