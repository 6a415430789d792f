"""A run: silent by default, every task that was started is finished, and two runs do not hear each other."""

from __future__ import annotations

import pickle
import threading
from pathlib import Path

import pytest
from tests.listening import Recorder

from everylabel.data.dataset import Documents
from everylabel.run import QUIET, Run
from everylabel.text.views import Views
from everylabel.train.checkpoint import Checkpoints


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def run(recorder: Recorder) -> Run:
    return Run(reporter=recorder)


def test_nothing_is_said_to_nobody(capsys: pytest.CaptureFixture[str]) -> None:
    QUIET.say("hello")
    assert list(QUIET.steps("work", [1, 2])) == [1, 2]
    with QUIET.task("work", 3) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


def test_a_task(run: Run, recorder: Recorder) -> None:
    with run.task("work", 5) as advance:
        advance(2)
        run.say("half way")
        advance(3)
    assert recorder.told == [
        ("start", 0, "work", 5),
        ("advance", 0, 2),
        ("say", "half way"),
        ("advance", 0, 3),
        ("finish", 0),
    ]


def test_steps_know_their_number_where_there_is_one(run: Run, recorder: Recorder) -> None:
    assert list(run.steps("sized", [7, 8])) == [7, 8]
    assert list(run.steps("stream", iter([7]))) == [7]
    assert list(run.steps("told", iter([7]), total=9)) == [7]
    assert [line[2:] for line in recorder.told if line[0] == "start"] == [("sized", 2), ("stream", None), ("told", 9)]
    assert recorder.told[:4] == [("start", 0, "sized", 2), ("advance", 0, 1), ("advance", 0, 1), ("finish", 0)]


def test_a_step_counts_when_it_is_done(run: Run, recorder: Recorder) -> None:
    items = run.steps("work", [7, 8])
    next(items)
    assert recorder.told == [("start", 0, "work", 2)]
    next(items)
    assert recorder.told[1:] == [("advance", 0, 1)]
    items.close()  # type: ignore[attr-defined]
    assert recorder.told[2:] == [("finish", 0)]


def test_tasks_inside_tasks(run: Run, recorder: Recorder) -> None:
    for _ in run.steps("outer", "a"):
        list(run.steps("inner", "b"))
    assert [line[:2] for line in recorder.told] == [
        ("start", 0),
        ("start", 1),
        ("advance", 1),
        ("finish", 1),
        ("advance", 0),
        ("finish", 0),
    ]


def test_an_error_finishes_the_task(run: Run, recorder: Recorder) -> None:
    with pytest.raises(LookupError), run.task("work"):
        raise LookupError
    assert recorder.told == [("start", 0, "work", None), ("finish", 0)]


def test_runs_side_by_side_do_not_hear_each_other() -> None:
    """What a context variable could not do: a thread that another one starts reports to whom it was told to."""
    recorders = [Recorder(), Recorder()]

    def work(number: int) -> None:
        for _ in Run(reporter=recorders[number]).steps(f"work {number}", range(50)):
            pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [recorder.started for recorder in recorders] == [["work 0"], ["work 1"]]
    assert all(len(recorder.told) == 52 and recorder.all_finished for recorder in recorders)


def test_the_parts_of_a_fit_share_what_they_read_and_two_fits_do_not() -> None:
    fit = QUIET.sharing()
    assert QUIET.shared is None
    assert fit.shared == {}
    assert fit.sharing() is fit
    assert QUIET.sharing().shared is not fit.shared


def test_what_is_shared_stays_in_its_process() -> None:
    """It is found by the documents' address, which means nothing elsewhere."""
    run = QUIET.sharing()
    views = Views.in_run(Documents.of(["text"]), run)
    assert Views.in_run(views.documents, run) is views
    sent = pickle.loads(pickle.dumps(run))
    assert sent.shared == {}
    assert run.shared != {}
    assert pickle.loads(pickle.dumps(QUIET)) == QUIET


def test_a_job_keeps_what_it_does_in_a_place_of_its_own(tmp_path: Path) -> None:
    assert QUIET.within("job") is QUIET
    run = Run(checkpoints=Checkpoints(tmp_path, "data"))
    parts = [own.checkpoints for own in (run, run.within("one"), run.within("other"), run.within("one"))]
    assert parts[1] is parts[3]
    assert len({part.folder for part in parts if part is not None}) == 3
