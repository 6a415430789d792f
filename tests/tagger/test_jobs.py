"""Jobs are values: what an expert has to do, done in any way with the same result; finished ones are not done again."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.listening import Recorder

from everylabel import Tagger
from everylabel.data.dataset import Dataset
from everylabel.methods.base import Method
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.parallel import Executor, InTurn, SideBySide
from everylabel.run import QUIET, Run
from everylabel.tagger import job_cache, jobs
from everylabel.tagger.experts import fit_expert, opinions
from everylabel.tagger.jobs import WHOLE, Job, answers_whole, executor_of, jobs_of, joined, rehearsing, run_job
from everylabel.tagger.rehearsal import LEAST_DEV, Rehearsal, rehearsals
from everylabel.text.views import Views
from everylabel.train.checkpoint import checkpointing
from everylabel.types import Ranking

EXPERTS = ("tfidf", "knn", "svm")


@pytest.fixture(scope="module")
def train(corpus: Any) -> Dataset:
    small: Dataset = corpus.train.subset(range(120))
    return small


@pytest.fixture(scope="module")
def rehearsed(train: Dataset, corpus: Any) -> dict[str, list[Rehearsal]]:
    """On a dev split, on documents that are held out, and with each document held out once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("everylabel.tagger.rehearsal.LEAST_DEV", 50)
        dev = list(rehearsals(train, corpus.test, 0))
        folds = list(rehearsals(train, None, 0))
        patch.setattr("everylabel.tagger.rehearsal.CROSS_FITTED", 50)
        held_out = list(rehearsals(train, None, 0))
    assert LEAST_DEV > 50
    assert [len(own) for own in (dev, held_out, folds)] == [1, 1, 3]
    return {"dev": dev, "held out": held_out, "folds": folds}


def assert_identical(one: Any, other: Any) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def scores_of(ranking: Ranking, n_labels: int) -> Any:
    """Documents x labels."""
    found = np.zeros((ranking.n_docs, n_labels), np.float32)
    for row, ids, scores in zip(found, *ranking, strict=True):
        row[ids[ids >= 0]] = scores[ids >= 0]
    return found


# --- what there is to do


@pytest.mark.parametrize(
    ("expert", "dev", "held_out"),
    [
        ("tfidf", [WHOLE], [WHOLE]),  # does not look at pairs: in the rehearsal as later
        ("semantic", [WHOLE], [WHOLE]),
        ("hybrid", [WHOLE], [WHOLE]),
        ("knn", [WHOLE], [0, WHOLE]),  # label by label: hidden ones are taken out, if no training document is held out
        ("svm", [WHOLE], [0, WHOLE]),
        ("xr-linear", [WHOLE], [0, WHOLE]),
        ("popularity", [WHOLE], [0, WHOLE]),
        ("zestxml", [0, WHOLE], [0, WHOLE]),  # learns from label texts what goes with what
        ("of-de", [0, WHOLE], [0, WHOLE]),
        ("xml0", [0, WHOLE], [0, WHOLE]),
        ("depl", [0, WHOLE], [0, WHOLE]),
        ("matchxml", [0, WHOLE], [0, WHOLE]),
    ],
)
def test_what_an_expert_has_to_do(
    expert: str, dev: list[int], held_out: list[int], rehearsed: dict[str, list[Rehearsal]]
) -> None:
    def numbers(kind: str) -> list[int]:
        found = jobs_of(expert, {}, 0, rehearsed[kind])
        assert {job.name for job in found} == {expert}
        return [job.rehearsal for job in found]

    assert numbers("dev") == dev
    assert numbers("held out") == held_out
    assert numbers("folds") == (held_out if held_out == [WHOLE] else [0, 1, 2, WHOLE])
    assert [job.rehearsal for job in jobs_of(expert, {}, 0, [])] == [WHOLE]


def test_a_job_is_a_value() -> None:
    job = Job("knn", {"neighbours": 3}, 5, 1)
    assert pickle.loads(pickle.dumps(job)) == job
    assert job.new_expert() == NearestNeighbours(neighbours=3, random_state=5)
    labels = {Job(name, {}, 0, number).label for name in ("knn", "svm") for number in (0, 1, 11, WHOLE)}
    assert len(labels) == 8  # by which they are kept apart


def test_opinions_of_all_jobs_are_joined() -> None:
    one, other, third = (Ranking.empty(1, k) for k in (1, 2, 3))
    found = joined([{0: {"a": one}}, {0: {"b": other}, 1: {"b": third}}, {}], 2)
    assert [list(own) for own in found] == [["a", "b"], ["b"]]
    assert found[1]["b"] is third


# --- what they give


@pytest.mark.parametrize(("expert", "off"), [("knn", 0.0), ("svm", 0.03)])
def test_an_expert_that_learns_label_by_label_is_in_the_rehearsal_what_it_is_later_without_hidden_labels(
    expert: str, off: float, train: Dataset, rehearsed: dict[str, list[Rehearsal]]
) -> None:
    """So it is fitted once: its scores are those of one that was fitted without the hidden labels' pairs, or nearly:
    classifiers are solved in groups, which stop together before they have converged."""
    (one,) = rehearsed["dev"]
    (job,) = jobs_of(expert, {}, 0, [one])
    found = run_job(job, train, [one], QUIET)
    assert found.expert is not None
    fitted = fit_expert(job.new_expert(), one.train)
    expected = opinions({expert: fitted}, Views(one.held.documents))[expert]
    given = found.rankings[0][expert]
    n_labels = len(train.labels)
    np.testing.assert_allclose(scores_of(given, n_labels), scores_of(expected, n_labels), rtol=0, atol=off)
    assert (given.ids[:, 0] == expected.ids[:, 0]).mean() > 0.95
    assert len(one.hidden) > 3
    assert not np.isin(given.ids, one.hidden).any()
    assert np.isin(found.expert.rank(one.held.documents, 100).ids, one.hidden).any()  # later it ranks them


def test_an_expert_that_does_not_look_at_pairs_ranks_hidden_labels(
    train: Dataset, rehearsed: dict[str, list[Rehearsal]]
) -> None:
    (one,) = rehearsed["dev"]
    (job,) = jobs_of("tfidf", {}, 0, [one])
    found = run_job(job, train, [one], QUIET)
    assert found.expert is not None
    assert rehearsing(found.expert, one) is found.expert
    assert list(found.rankings[0]) == ["tfidf", "tfidf, title"]
    assert np.isin(found.rankings[0]["tfidf"].ids, one.hidden).any()


@pytest.mark.parametrize("kind", ["dev", "folds"])
@pytest.mark.parametrize("expert", ["zestxml", "knn"])
def test_side_by_side_as_in_turn(
    expert: str,
    kind: str,
    train: Dataset,
    rehearsed: dict[str, list[Rehearsal]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Bit by bit, whoever comes first: jobs share what they read, and nothing else."""
    monkeypatch.setenv("EVERYLABEL_THREADS", "4")
    plan = rehearsed[kind]
    found = []
    for executor in (InTurn(), SideBySide(), SideBySide()):
        work = partial(run_job, dataset=train, rehearsals=plan, run=Run().sharing())
        found.append(list(executor.map(work, jobs_of(expert, {}, 0, plan))))
    texts = train.documents.subset(range(30))
    for results in found[1:]:
        for one, other in zip(found[0], results, strict=True):
            assert one.rankings.keys() == other.rankings.keys()
            for number, rankings in one.rankings.items():
                assert_identical(rankings[expert], other.rankings[number][expert])
            assert (one.expert is None) == (other.expert is None)
            if one.expert is not None and other.expert is not None:
                assert_identical(one.expert.rank(texts, 20), other.expert.rank(texts, 20))
    assert sum(result.expert is not None for result in found[0]) == 1


def test_those_that_cannot_use_all_cores_stand_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_THREADS", "2")
    assert isinstance(executor_of("zestxml", 2, 2, QUIET), SideBySide)
    assert isinstance(executor_of("zestxml", 2, 1, QUIET), InTurn)  # there is no room for two
    assert isinstance(executor_of("zestxml", 1, 2, QUIET), InTurn)
    assert isinstance(executor_of("svm", 2, 2, QUIET), InTurn)
    named = InTurn()
    assert executor_of("zestxml", 2, 2, Run(executor=named)) is named


class Elsewhere:
    """An executor that sends jobs, and all that they need, as another machine would get them."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def map(self, work: Any, jobs: Any, done: Any = None) -> Any:
        for job in jobs:
            function, own = pickle.loads(pickle.dumps((work, job)))
            self.sent.append(own)
            result = pickle.loads(pickle.dumps(function(own)))
            if done is not None:
                done(job, result)
            yield result


def test_a_tagger_whose_jobs_ran_elsewhere_is_the_same(train: Dataset) -> None:
    executor = Elsewhere()
    checked: Executor = executor
    few = train.subset(range(60))
    whole = Tagger(experts=("tfidf", "knn", "zestxml")).fit(few)
    tagger = Tagger(experts=("tfidf", "knn", "zestxml")).fit(few, run=Run(executor=checked))
    assert [job.name for job in executor.sent] == ["tfidf", *["knn"] * 4, *["zestxml"] * 4]
    assert_identical(tagger.rank(train.documents, 20), whole.rank(train.documents, 20))


# --- what is kept


Fits = list[tuple[str, int]]


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> Fits:
    """Who was fitted, on how many documents."""
    found: Fits = []

    def watched(expert: Method, dataset: Dataset, run: Run = QUIET) -> Method:
        found.append((expert.name, len(dataset)))
        return fit_expert(expert, dataset, run)

    monkeypatch.setattr(jobs, "fit_expert", watched)
    return found


def test_an_interrupted_fit_goes_on(
    train: Dataset, tmp_path: Path, fits: Fits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of an expert, too: of its jobs only those that were not finished are done."""
    watched = jobs.fit_expert  # type: ignore[attr-defined]

    def interrupted(expert: Method, dataset: Dataset, run: Run = QUIET) -> Method:
        if [name for name, _ in fits].count("svm") == 2:
            raise KeyboardInterrupt
        return watched(expert, dataset, run)

    with pytest.MonkeyPatch.context() as patch, checkpointing(tmp_path, "data") as checkpoints:
        patch.setattr(jobs, "fit_expert", interrupted)
        tagger = Tagger(experts=EXPERTS)
        with pytest.raises(KeyboardInterrupt):
            tagger.fit(train, run=Run(checkpoints=checkpoints))
    assert [name for name, _ in fits] == ["tfidf", *["knn"] * 4, *["svm"] * 2]
    fits.clear()
    reporter = Recorder()
    with checkpointing(tmp_path, "data") as checkpoints:
        again = tagger.fit(train, run=Run(reporter, checkpoints))
    assert [name for name, _ in fits] == ["svm"] * 2  # one of three rehearsals, and the whole
    assert fits[-1] == ("svm", len(train))
    assert sum("fitted before the interruption" in line for line in reporter.said) == 1 + 4 + 2
    assert list(again.experts_) == list(again.costs_)[:3] == list(EXPERTS)
    assert again.costs_["knn"] > 0  # what the first run has spent is counted
    monkeypatch.undo()
    whole = Tagger(experts=EXPERTS).fit(train)
    assert_identical(again.rank(train.documents, 10), whole.rank(train.documents, 10))


def overwrite(name: str, content: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        for file in folder.rglob(name):
            file.write_bytes(content(file.read_bytes()))

    return damage


def changed_in_the_middle(whole: bytes) -> bytes:
    at = len(whole) // 2
    return whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]


DAMAGES: dict[str, Callable[[Path], None]] = {
    "no rankings": lambda folder: (folder / "rankings.npz").unlink(),
    "empty rankings": overwrite("rankings.npz", lambda _: b""),
    "other rankings": overwrite("rankings.npz", lambda _: b"nothing"),
    "half of the rankings": overwrite("rankings.npz", lambda whole: whole[: len(whole) // 2]),
    "a bit of the rankings": overwrite(
        "rankings.npz",
        lambda whole: whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 1]) + whole[len(whole) // 2 + 1 :],
    ),
    "no manifest": lambda folder: (folder / "model" / "manifest.json").unlink(),
    "half of the manifest": overwrite("manifest.json", lambda whole: whole[: len(whole) // 2]),
    "half of the arrays": overwrite("small.npy", lambda whole: whole[: len(whole) // 2]),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_what_is_damaged_is_fitted_again(train: Dataset, tmp_path: Path, fits: Fits, damage: str) -> None:
    few = train.subset(range(40))
    with checkpointing(tmp_path, "data") as checkpoints:
        before = Tagger(experts=("tfidf", "knn")).fit(few, run=Run(checkpoints=checkpoints))
    fits.clear()
    reporter = Recorder()
    DAMAGES[damage](tmp_path / "job-knn-all")
    with checkpointing(tmp_path, "data") as checkpoints:
        again = Tagger(experts=("tfidf", "knn")).fit(few, run=Run(reporter, checkpoints))
    assert fits == [("knn", len(few))]
    assert [line.partition(" (")[0] for line in reporter.said if "damaged" in line] == [
        "knn-all: what was kept of it is damaged"
    ]
    assert_identical(again.rank(few.documents, 10), before.rank(few.documents, 10))


@pytest.mark.parametrize("change", ["key", "setting", "seed"])
def test_what_is_kept_of_something_else_is_not_used(train: Dataset, tmp_path: Path, fits: Fits, change: str) -> None:
    few = train.subset(range(40))
    with checkpointing(tmp_path, "data") as checkpoints:
        Tagger(experts=("tfidf", "knn")).fit(few, run=Run(checkpoints=checkpoints))
    fits.clear()
    reporter = Recorder()
    settings = {"knn": {"neighbours": 3}} if change == "setting" else {}
    tagger = Tagger(experts=("tfidf", "knn"), settings=settings, random_state=int(change == "seed"))
    with checkpointing(tmp_path, "other" if change == "key" else "data") as checkpoints:
        tagger.fit(few, run=Run(reporter, checkpoints))
    assert {name for name, _ in fits} == ({"knn"} if change == "setting" else {"tfidf", "knn"})
    assert not any(line.startswith("knn") and "fitted before" in line for line in reporter.said)
    assert not any("damaged" in line for line in reporter.said)


def test_without_a_place_for_it_nothing_is_kept(train: Dataset, fits: Fits) -> None:
    few = train.subset(range(40))
    for _ in range(2):
        Tagger(experts=("tfidf", "knn")).fit(few)
    assert [name for name, _ in fits] == ["tfidf", *["knn"] * 4] * 2


def test_a_full_disk_is_said_and_the_fit_goes_on(
    train: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(job_cache, "save_method", full)
    reporter, few = Recorder(), train.subset(range(40))
    with checkpointing(tmp_path, "data") as checkpoints:
        tagger = Tagger(experts=("tfidf", "knn")).fit(few, run=Run(reporter, checkpoints))
    assert "knn-all: cannot be kept for a later run (no space left)" in reporter.said
    assert not (tmp_path / "job-knn-all").exists()
    assert (tmp_path / "job-knn-rehearsal-0").is_dir()  # which has no model to save
    assert tagger.rank(few.documents, 5).n_docs == 40


def test_what_is_not_the_whole_fit_has_no_expert(train: Dataset, rehearsed: dict[str, list[Rehearsal]]) -> None:
    plan = rehearsed["folds"]
    first, *_, whole = (run_job(job, train, plan, QUIET) for job in jobs_of("knn", {}, 0, plan))
    assert first.expert is None
    assert list(first.rankings) == [0]
    assert whole.expert is not None
    assert whole.rankings == {}
    assert not answers_whole("knn", plan[0])
