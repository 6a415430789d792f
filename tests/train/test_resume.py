"""A run that was interrupted ends, bit for bit, with the weights of one that was not."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors import SafetensorError
from tests.train.conftest import Problem, Said, keeping, same

from everylabel.run import Run
from everylabel.train import checkpoint, loop
from everylabel.train.checkpoint import checkpointing
from everylabel.train.loop import DivergedError, Step


def uninterrupted(**settings: Any) -> tuple[dict[str, torch.Tensor], list[Step]]:
    problem = Problem()
    steps = list(problem.run(**settings))
    return problem.weights(), steps


def curve(folder: Path, name: str = "training") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]


def without_time(steps: list[Step]) -> list[Step]:
    return [step._replace(seconds=0) for step in steps]


def finish(folder: Path, said: Said | None = None, **settings: Any) -> tuple[Problem, list[Step]]:
    """The same run by a new process, as it were."""
    problem = Problem()
    with keeping(folder, said) as run:
        steps = list(problem.run(run=run, **settings))
    return problem, steps


def ctrl_c_in(problem: Problem, where: str, call: int) -> None:
    """The signal, at that call of `loss`, `batches` or `evaluate`."""
    usual: Any = getattr(problem, where)
    calls = iter(range(1000))

    class Watched:
        def __call__(self, *args: Any) -> Any:
            if next(calls) == call:
                os.kill(os.getpid(), signal.SIGINT)
            return usual(*args)

        def __getattr__(self, name: str) -> Any:
            return getattr(usual, name)

    setattr(problem, where, Watched())


@pytest.mark.parametrize("stop", [1, 3, 4, 5, 8, 11, 12])
def test_leaving_the_loop(tmp_path: Path, said: Said, stop: int) -> None:
    expected, all_steps = uninterrupted()
    problem = Problem()
    with keeping(tmp_path, said) as run:
        for step in problem.run(run=run):
            if step.number == stop:
                break
    resumed, steps = finish(tmp_path, said)
    assert f"training: goes on after step {stop} of 12, from the checkpoint" in said.lines
    assert same(resumed.weights(), expected)
    assert without_time(steps) == without_time(all_steps[stop:] or all_steps[-1:])
    assert resumed.batches.drawn == 5
    assert [line["step"] for line in curve(tmp_path)] == list(range(1, 13))
    assert said.done["training"] == 12


@pytest.mark.parametrize(
    ("where", "call", "after"),
    [("loss", 0, 1), ("loss", 11, 6), ("batches", 10, 6), ("batches", 15, 8), ("evaluate", 0, 4), ("evaluate", 2, 12)],
)
def test_ctrl_c(tmp_path: Path, said: Said, where: str, call: int, after: int) -> None:
    """A step is finished first; an evaluation is not, and is done again."""
    expected, all_steps = uninterrupted()
    problem = Problem()
    ctrl_c_in(problem, where, call)
    with keeping(tmp_path, said) as run, pytest.raises(KeyboardInterrupt):
        list(problem.run(run=run))
    resumed, steps = finish(tmp_path, said)
    assert f"training: goes on after step {after} of 12, from the checkpoint" in said.lines
    assert same(resumed.weights(), expected)
    assert without_time(steps) == without_time(all_steps[after - 1 :])  # the step itself was not reported before
    assert [line["step"] for line in curve(tmp_path)] == list(range(1, 13))
    assert [line["score"] for line in curve(tmp_path) if "score" in line] == [s.score for s in all_steps[3::4]]


@pytest.mark.parametrize("where", ["batches", "loss"])
def test_an_interrupt_that_cannot_wait(tmp_path: Path, where: str) -> None:
    """Two Ctrl-C stop in the middle of a step: what was kept, if anything, is still a whole step."""
    expected, _ = uninterrupted()
    problem = Problem()
    ctrl_c_in(problem, where, 10)
    ctrl_c_in(problem, where, 10)
    with keeping(tmp_path) as run, pytest.raises(KeyboardInterrupt):
        list(problem.run(run=run, checkpoint_every=0))
    resumed, steps = finish(tmp_path)
    assert steps[0].number == 6
    assert same(resumed.weights(), expected)


@pytest.mark.parametrize(
    ("seconds", "kept"), [(25.0, [3, 6, 9, 12]), (60.0, [6, 12]), (1000.0, []), (0.0, list(range(1, 13)))]
)
def test_seconds_between_two_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, kept: list[int]
) -> None:
    """By a clock on which a step takes ten; the last state is kept in any case."""
    problem, calls, saved = Problem(), [], []
    usual, save = problem.loss, checkpoint.Stage.save

    def loss(*given: Any) -> Any:
        calls.append(1)  # two of a step
        return usual(*given)

    def watched(stage: checkpoint.Stage) -> None:
        saved.append(len(calls) // 2)
        save(stage)

    problem.loss = loss
    monkeypatch.setattr(checkpoint.Stage, "save", watched)
    clock = SimpleNamespace(monotonic=lambda: 5.0 * len(calls), perf_counter=time.perf_counter)
    monkeypatch.setattr(loop, "time", clock)
    with keeping(tmp_path) as run:
        list(problem.run(run=run, checkpoint_every=seconds))
    assert saved[: len(kept)] == kept
    assert set(saved[len(kept) :]) == {12}


def test_an_error_in_the_body_of_the_loop(tmp_path: Path) -> None:
    """The traceback keeps the generator alive beyond the block; its state is saved all the same."""
    expected, _ = uninterrupted()
    problem = Problem()

    def body(run: Run) -> None:
        for step in problem.run(run=run):
            if step.number == 5:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as kept, keeping(tmp_path) as run:
        body(run)
    resumed, steps = finish(tmp_path)
    assert kept.value.__traceback__ is not None
    assert steps[0].number == 6
    assert same(resumed.weights(), expected)


def test_a_crash_loses_what_came_after_the_last_checkpoint(tmp_path: Path) -> None:
    """The curve has more steps than the checkpoint then: they are taken back, and come again once."""
    expected, _ = uninterrupted()
    copy = tmp_path / "copy"
    copy.mkdir()
    problem = Problem()
    with keeping(tmp_path / "run") as run:
        for step in problem.run(run=run, checkpoint_every=0):
            if step.number == 5:
                (copy / "training.safetensors").write_bytes((tmp_path / "run/training.safetensors").read_bytes())
    lines = (tmp_path / "run/training.jsonl").read_text().splitlines()
    (copy / "training.jsonl").write_text("\n".join(lines[:9]) + '\n{"step": 10, "lo')
    resumed, steps = finish(copy)
    assert steps[0].number == 6
    assert [line["step"] for line in curve(copy)] == list(range(1, 13))
    assert same(resumed.weights(), expected)


def test_a_finished_stage_is_not_trained_again(tmp_path: Path, said: Said) -> None:
    with keeping(tmp_path, said) as run:
        first = Problem()
        list(first.run(run=run, name="stage 1"))
        for step in Problem().run(run=run, name="stage 2", seed=4):
            if step.number == 6:
                break
    before = curve(tmp_path, "stage-1")
    again, second = Problem(), Problem()
    again.loss = lambda *_: pytest.fail("was trained again")
    with keeping(tmp_path, said) as run:
        steps = list(again.run(run=run, name="stage 1"))
        later = list(second.run(run=run, name="stage 2", seed=4))
    assert [step.number for step in steps] == [12]
    assert same(again.weights(), first.weights())
    assert again.batches.drawn == first.batches.drawn
    assert "stage 1: is finished, from the checkpoint" in said.lines
    assert [step.number for step in later] == list(range(7, 13))
    assert same(second.weights(), uninterrupted(name="stage 2", seed=4)[0])
    assert curve(tmp_path, "stage-1") == before
    assert said.done == {"stage 1": 12, "stage 2": 12}


def test_two_runs_of_one_name_are_two(tmp_path: Path) -> None:
    def both() -> Iterator[Problem]:
        with keeping(tmp_path) as run:
            for n in range(2):
                problem = Problem()
                problem.targets = problem.targets + n
                list(problem.run(run=run))
                yield problem

    one, other = both()
    assert not same(one.weights(), other.weights())
    again_one, again_other = both()
    assert same(again_one.weights(), one.weights())
    assert same(again_other.weights(), other.weights())
    assert len(curve(tmp_path, "training-2")) == 12


def test_names_are_never_shared(tmp_path: Path) -> None:
    with checkpointing(tmp_path) as checkpoints:
        names = [checkpoints.stage(name, {}).name for name in ("a-2", "a", "a", "a", "a: 2", "../..", "", "/")]
    assert names == ["a-2", "a", "a-3", "a-4", "a-2-2", "training", "training-2", "training-3"]


def test_jobs_side_by_side_have_names_of_their_own(tmp_path: Path) -> None:
    """Whatever the order in which they begin: each finds its own training again."""
    alone = {name: uninterrupted(seed=seed)[0] for name, seed in (("first", 3), ("second", 4))}

    def work(run: Run, name: str, stop: int) -> Problem:
        problem = Problem()
        for step in problem.run(run=run.within(name), seed=3 if name == "first" else 4):
            if step.number == stop:
                break
        return problem

    for stop, order in ((5, ("first", "second")), (12, ("second", "first"))):
        with checkpointing(tmp_path / "kept", "key", tmp_path / "curves") as checkpoints:
            found = {name: work(Run(checkpoints=checkpoints), name, stop) for name in order}
    assert all(same(found[name].weights(), alone[name]) for name in alone)
    files = [curve.relative_to(tmp_path / "kept").as_posix() for curve in checkpoints.curves]
    assert sorted(files) == ["first/training.jsonl", "second/training.jsonl"]
    for file in files:
        assert (tmp_path / "curves" / file).read_text() == (tmp_path / "kept" / file).read_text()
        assert [line["step"] for line in curve((tmp_path / "kept" / file).parent)] == list(range(1, 13))


def test_a_part_is_one_however_often_it_is_asked_for(tmp_path: Path) -> None:
    with checkpointing(tmp_path, lambda: "key") as checkpoints:
        part = checkpoints.within("a/b: c")
        assert part is checkpoints.within("a/b: c")
        assert part.folder == tmp_path / "a-b-c"
        assert part.identity({}) == checkpoints.identity({})
        names = [place.stage("training", {}).name for place in (part, part, checkpoints, part.within("deeper"))]
    assert names == ["training", "training-2", "training", "training"]


def test_batches_that_cannot_be_saved_are_found_at_once(tmp_path: Path) -> None:
    problem = Problem()
    problem.batches.state_dict = lambda: {"rng": object()}  # type: ignore[method-assign]
    with keeping(tmp_path) as run, pytest.raises(TypeError, match="not JSON serializable"):
        next(iter(problem.run(run=run)))


@pytest.mark.parametrize("change", [{"seed": 4}, {"clip": 0.5}, {"steps": 13}])
def test_other_settings_do_not_resume(tmp_path: Path, said: Said, change: dict[str, Any]) -> None:
    with keeping(tmp_path, said) as run:
        next(iter(Problem().run(run=run)))
    resumed, _ = finish(tmp_path, said, **change)
    assert said.lines == ["training: a checkpoint of other data or settings is ignored, and will be replaced"]
    assert same(resumed.weights(), uninterrupted(**change)[0])
    assert [line["step"] for line in curve(tmp_path)] == list(range(1, change.get("steps", 12) + 1))


def test_another_key_does_not_resume(tmp_path: Path, said: Said) -> None:
    for key in ("these data", lambda: "those data"):
        with keeping(tmp_path, said, key) as run:
            assert next(iter(Problem().run(run=run))).number == 1
    assert "other data" in said.lines[0]


def test_the_key_is_asked_for_only_when_something_is_trained(tmp_path: Path) -> None:
    with checkpointing(tmp_path / "folder", lambda: pytest.fail("was asked for")) as checkpoints:
        pass
    assert checkpoints.curves == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "other"])
def test_a_damaged_checkpoint_is_ignored(tmp_path: Path, said: Said, damage: str) -> None:
    with keeping(tmp_path, said) as run:
        next(iter(Problem().run(run=run)))
    file = tmp_path / "training.safetensors"
    whole = file.read_bytes()
    parts = {"cut": whole[:-10], "noise": b"\xff" * 100, "empty": b"", "other": whole.replace(b"ghts/0", b"ghts/x")}
    file.write_bytes(parts[damage])
    resumed, steps = finish(tmp_path, said)
    assert len(said.lines) == 1
    assert "training: the checkpoint is damaged" in said.lines[0]
    assert len(steps) == 12
    assert same(resumed.weights(), uninterrupted()[0])


@pytest.mark.parametrize("error", [OSError("no space left"), SafetensorError("no space left")])
def test_a_full_disk_does_not_stop_the_training(
    tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def full(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("safetensors.torch.save_file", full)
    _, steps = finish(tmp_path, said, checkpoint_every=0)
    assert len(steps) == 12
    assert len(said.lines) == 1
    assert "no space left" in said.lines[0]
    assert [file.name for file in tmp_path.iterdir()] == ["training.jsonl"]


def test_a_folder_that_cannot_be_made_does_not_stop_the_training(tmp_path: Path, said: Said) -> None:
    (tmp_path / "file").write_text("in the way")
    _, steps = finish(tmp_path / "file", said, checkpoint_every=0)
    assert len(steps) == 12
    assert len(said.lines) == 1


def test_the_best_weights_survive(tmp_path: Path) -> None:
    """The best evaluation is the first one, the interrupt comes later, and the end takes the best back."""

    def falling(problem: Problem) -> None:
        problem.evaluate = lambda: -float(problem.batches.drawn)  # type: ignore[method-assign]

    problem = Problem()
    falling(problem)
    list(problem.run())
    expected = problem.weights()
    problem = Problem()
    falling(problem)
    with keeping(tmp_path) as run:
        for step in problem.run(run=run):
            if step.number == 7:
                break
    problem = Problem()
    falling(problem)
    with keeping(tmp_path) as run:
        steps = list(problem.run(run=run))
    assert same(problem.weights(), expected)
    assert steps[-1].best == -2
    assert steps[-1].score == -5


def test_time_goes_on(tmp_path: Path) -> None:
    with keeping(tmp_path) as run:
        first = next(iter(Problem().run(run=run)))
    assert finish(tmp_path)[1][0].seconds > first.seconds


def test_after_divergence_nothing_new_is_kept(tmp_path: Path) -> None:
    problem = Problem()
    problem.targets[:] = float("inf")
    with keeping(tmp_path) as run, pytest.raises(DivergedError):
        list(problem.run(run=run))
    assert list(tmp_path.glob("*.safetensors")) == []


def test_without_the_context_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    list(Problem().run(checkpoint_every=0))
    assert list(tmp_path.iterdir()) == []


def test_tensors_that_share_memory_are_kept_apart() -> None:
    whole = torch.arange(6.0)
    kept = checkpoint._separate({"whole": whole, "part": whole[2:4], "turned": whole.view(2, 3).T})
    assert len({tensor.data_ptr() for tensor in kept.values()}) == 3
    assert kept["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
