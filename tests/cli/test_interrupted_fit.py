"""`everylabel fit` after Ctrl-C: the same command goes on where it was; another one, or other data, starts anew."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run

from everylabel.data.dataset import Dataset
from everylabel.methods.words.popularity import Popularity
from everylabel.run import Run as WorkRun
from everylabel.tagger.tagger import Tagger


class Training:
    """What stands in for a method's `_fit`: a training of a few steps, which Ctrl-C stops after one of them."""

    def __init__(self, stop: int = 0) -> None:
        self.stop = stop
        self.numbers: list[int] = []
        self.weight: Any = None

    def fit(self, dataset: Dataset, run: WorkRun) -> None:
        import torch
        from torch import nn

        from everylabel.train.loop import Group, TrainConfig, train

        self.weight = nn.Parameter(torch.ones(2))
        module = nn.ParameterList([self.weight])
        config = TrainConfig(steps=6, device="cpu")
        groups = [Group([self.weight], lr=0.1)]
        loss = lambda _module, noise: ((self.weight - len(dataset) + noise) ** 2).sum()  # noqa: E731
        for step in train(module, lambda _, rng: rng.random(), loss, config, groups=groups, seed=0, run=run):
            self.numbers.append(step.number)
            if step.number == self.stop:
                os.kill(os.getpid(), signal.SIGINT)


def trained(monkeypatch: pytest.MonkeyPatch, run: Run, *arguments: object, stop: int = 0) -> tuple[Any, Training]:
    training = Training(stop)
    monkeypatch.setattr(Popularity, "_fit", training.fit)
    return run("fit", *arguments, "--method", "popularity"), training


def test_an_interrupted_training_goes_on(run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")
    model, curves = tmp_path / "model", tmp_path / "curves"
    _, whole = trained(monkeypatch, run, data, "-o", tmp_path / "other")
    result, _ = trained(monkeypatch, run, data, "-o", model, "--curves", curves, stop=4)
    assert result.exit_code == 130
    kept = tmp_path / ".model.training"
    assert f"the training so far is kept in {kept}; the same command goes on from there" in result.stderr
    assert not model.exists()
    assert len((curves / "training.jsonl").read_text().splitlines()) == 4
    result, resumed = trained(monkeypatch, run, data, "-o", model, "--curves", curves)
    assert result.exit_code == 0
    assert "training: goes on after step 4 of 6, from the checkpoint" in result.stderr
    assert "no training steps" not in result.stderr
    assert resumed.numbers == [5, 6]
    assert resumed.weight.tolist() == whole.weight.tolist()
    lines = [json.loads(line) for line in (curves / "training.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves", "model", "other"]


@pytest.mark.parametrize("change", ["text", "label", "pair", "setting"])
def test_other_data_or_settings_start_anew(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")
    changed = tmp_path / "data"
    changed.mkdir()
    for file in data.iterdir():
        content = file.read_text()
        content = content.replace("harbour", "haven") if change == "text" else content
        content = content.replace("Railways", "Railroads") if change == "label" else content
        content = content.replace('["sky"]', '["rail"]') if change == "pair" else content
        (changed / file.name).write_text(content)
    settings = ["--set", "random_state=1"] if change == "setting" else []
    trained(monkeypatch, run, data, "-o", tmp_path / "model", stop=4)
    result, again = trained(monkeypatch, run, changed, "-o", tmp_path / "model", *settings)
    assert again.numbers == [1, 2, 3, 4, 5, 6]
    assert "a checkpoint of other data or settings is ignored" in result.stderr
    assert not (tmp_path / ".model.training").exists()


@pytest.mark.parametrize("change", [False, True])
def test_an_interrupted_tagger_goes_on_only_with_the_same_dev_documents(
    run: Run, with_dev: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: bool
) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")
    first, second = Training(stop=2), Training(stop=4)
    monkeypatch.setattr(Tagger, "_fit_and_blend", lambda _, dataset, _dev, run: first.fit(dataset, run))
    assert run("fit", with_dev, "-o", tmp_path / "model").exit_code == 130
    if change:
        dev = (with_dev / "dev.jsonl").read_text()
        (with_dev / "dev.jsonl").write_text(dev.replace("harbour", "haven"))
    monkeypatch.setattr(Tagger, "_fit_and_blend", lambda _, dataset, _dev, run: second.fit(dataset, run))
    result = run("fit", with_dev, "-o", tmp_path / "model")
    assert result.exit_code == 130
    assert second.numbers == ([1, 2, 3, 4] if change else [3, 4])
    assert ("a checkpoint of other data or settings is ignored" in result.stderr) is change
