"""Many read while others change: every answer is that of one model, bit by bit, and no model ever changes.

Eight threads rank, tag, explain and save, while two add, remove, learn and calibrate. Each answer is compared with what
the models say afterwards that were there while it was given.
"""

from __future__ import annotations

import copy
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.methods import conftest as methods

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label
from everylabel.store import check, read_manifest
from everylabel.tagger.tagger import Tagger
from everylabel.types import Ranking

tiny_folder, cache = methods.tiny_folder, methods.cache

READERS, WRITERS = 8, 2
LATER = ["Penguin colonies", "Steam engines", "Paddle wheels", "Lighthouses of the north", "Volcanoes", "Orchids"]


@pytest.fixture(scope="module")
def base(corpus: Any, tiny_folder: Path, cache: Path) -> Iterator[Tagger]:
    """With experts of all kinds: words, neighbours, classifiers, tables of words, vectors in an index, a training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVERYLABEL_CACHE", str(cache))
        encoder = {"teacher": str(tiny_folder), "lexical": 64}
        settings = {
            "semantic": {"encoder": encoder},
            "xml0": {"encoder": encoder, "label_encoder": "", "base": "knn", "search": "greedy"},
            "of-de": {"encoder": encoder, "learn": {"steps": 3}},
        }
        experts = ("tfidf", "knn", "svm", "zestxml", *settings)
        yield Tagger(experts=experts, settings=settings).fit(corpus.train.subset(range(120)))


@pytest.fixture
def tagger(base: Tagger) -> Tagger:
    """One of its own, which begins with the model that was fitted."""
    return copy.copy(base)


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch, one_thread: None) -> None:  # noqa: ARG001
    """Of the pool, so that readers share it."""
    monkeypatch.setenv("EVERYLABEL_THREADS", "2")


@dataclass
class Versions:
    """All models that a tagger ever had, in their order."""

    models: list[Tagger] = field(default_factory=list)
    _known: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, tagger: Tagger, patch: pytest.MonkeyPatch) -> Versions:
        found = cls([tagger.model_])
        usual = Tagger._swap

        def watched(own: Tagger, model: Tagger) -> None:
            if own is tagger:
                found.models.append(model)  # before anybody can see it
            usual(own, model)

        patch.setattr(Tagger, "_swap", watched)
        return found

    @property
    def last(self) -> int:
        return len(self.models) - 1

    def said(self, number: int, question: Any, ask: Callable[[Tagger], Any]) -> Any:
        """What a model answers, asked once."""
        key = number, question
        if key not in self._known:
            self._known[key] = ask(self.models[number])
        return self._known[key]


@dataclass
class Answer:
    question: Any
    ask: Callable[[Tagger], Any]
    given: Any
    first: int  # the versions that there were meanwhile
    last: int


def ranked(text: str, k: int) -> Callable[[Tagger], Any]:
    return lambda model: bits(model.rank([text], k))


def tagged(text: str, k: int) -> Callable[[Tagger], Any]:
    return lambda model: model.tag([text], k)


def bits(ranking: Ranking) -> tuple[bytes, bytes]:
    return ranking.ids.tobytes(), ranking.scores.tobytes()


class Crowd:
    """Threads that work until the time is over; an error of one of them ends it, and is raised."""

    def __init__(self, seconds: float) -> None:
        self.errors: list[BaseException] = []
        self._ends = time.monotonic() + seconds
        self._threads: list[threading.Thread] = []

    def add(self, work: Callable[[int, np.random.Generator], None], seed: int) -> None:
        """`work(number, rng)` again and again."""

        def loop() -> None:
            rng, number = np.random.default_rng(seed), 0
            try:
                while (number == 0 or time.monotonic() < self._ends) and not self.errors:
                    work(number, rng)
                    number += 1
            except BaseException as error:
                self.errors.append(error)

        self._threads.append(threading.Thread(target=loop, daemon=True))

    def run(self) -> None:
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()
        if self.errors:
            raise self.errors[0]


def read_while_others_change(tagger: Tagger, corpus: Any, folder: Path, seconds: float, pause: float) -> None:
    with pytest.MonkeyPatch.context() as patch:
        versions = Versions.of(tagger, patch)
        first = tagger.model_
        content = content_of(first, folder)
        answers: list[Answer] = []
        texts = [*corpus.test.documents.full_texts[:5], "Penguin colonies and steam engines of the north", ""]
        labels = list(tagger.labels_.ids)
        crowd = Crowd(seconds)

        def read(number: int, rng: np.random.Generator) -> None:
            text, k = texts[rng.integers(len(texts))], int(rng.choice([1, 5, 40]))
            kind = "tag" if number % 7 == 3 else "rank"
            ask = tagged(text, min(k, 5)) if kind == "tag" else ranked(text, k)
            before = max(versions.last - 1, 0)  # the last one may not be in its place yet
            given = ask(tagger)
            answers.append(Answer((kind, text, k), ask, given, before, versions.last))

        def save(number: int, rng: np.random.Generator) -> None:
            if number % 8:
                return read(number, rng)
            own = folder / f"saved-{threading.get_ident()}-{number}"
            before = max(versions.last - 1, 0)
            tagger.save(own)
            answers.append(
                Answer("save", lambda model: content_of(model, folder), contents(own), before, versions.last)
            )
            return None

        def change_labels(number: int, rng: np.random.Generator) -> None:
            name = LATER[number % len(LATER)]
            if number % 3 == 0:
                tagger.add_labels([Label(f"new-{number}", name), Label(f"newer-{number}", f"{name} of {number}")])
            elif number % 3 == 1:
                tagger.remove_labels([f"new-{number - 1}", labels[3]])
            else:
                back = tagger.model_.labels_[3]
                tagger.add_labels([Label(f"new-{number - 2}", LATER[(number - 2) % len(LATER)]), back])
            time.sleep(pause * rng.random())

        def learn(number: int, rng: np.random.Generator) -> None:
            rows = rng.choice(len(corpus.test), 3, replace=False)
            if number % 5 == 4:
                tagger.calibrate(corpus.test.subset(range(20)))
            else:
                tagger.learn([(corpus.test.documents.texts[row], [labels[10 + number % 50]]) for row in rows])
            time.sleep(pause * rng.random())

        for seed in range(READERS):
            crowd.add(save if seed == 0 else read, seed)
        for seed, change in enumerate((change_labels, learn), READERS):
            crowd.add(change, seed)
        crowd.run()
        patch.undo()

    assert versions.models[-1] is tagger.model_
    assert_of_one_version(answers, versions)
    assert content_of(first, folder) == content  # after all that
    used = Counter(answer.question if answer.question == "save" else answer.question[0] for answer in answers)
    assert min(used[kind] for kind in ("rank", "tag", "save")) > 0
    assert len(versions.models) > 5


def assert_of_one_version(answers: list[Answer], versions: Versions) -> None:
    """Each answer is that of a model that was there meanwhile."""
    by = Counter[int]()
    for answer in answers:
        numbers = range(answer.first, answer.last + 1)
        found = [n for n in numbers if versions.said(n, answer.question, answer.ask) == answer.given]
        assert found, (answer.question, answer.given, answer.first, answer.last)
        if len(found) < len(numbers):
            by[found[-1]] += 1
    assert len(by) > 2  # versions that can be told from those beside them


def content_of(model: Tagger, folder: Path) -> Any:
    """All arrays of `state()`, by hashes of their content, and all else: as it is saved."""
    own = folder / f"content-{threading.get_ident()}"
    model.save(own)
    return contents(own)


def contents(folder: Path) -> Any:
    manifest = read_manifest(folder)
    return {key: manifest[key] for key in ("config", "n_labels", "n_train", "files", "arrays", "labels", "state")}


def test_every_answer_is_that_of_one_version(tagger: Tagger, corpus: Any, tmp_path: Path) -> None:
    read_while_others_change(tagger, corpus, tmp_path, seconds=3, pause=0.3)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_answer_is_that_of_one_version_for_a_minute(tagger: Tagger, corpus: Any, tmp_path: Path) -> None:
    read_while_others_change(tagger, corpus, tmp_path, seconds=60, pause=0.5)


def test_the_models_before_are_as_they_were(tagger: Tagger, corpus: Any, tmp_path: Path) -> None:
    """Each one of a long row: what it says, and every array of it."""
    texts, labels = corpus.test.documents.subset(range(10)), tagger.labels_
    known: list[tuple[Tagger, Ranking, Any]] = []

    def note() -> None:
        model = tagger.model_
        known.append((model, model.rank(texts, 30), content_of(model, tmp_path)))

    note()
    for number in range(3):
        tagger.add_labels([Label(f"new-{number}", LATER[number])])
        note()
        tagger.learn([(corpus.test.documents.texts[number], [f"new-{number}", labels[5].id])])
        note()
        tagger.remove_labels([f"new-{number}", labels[number].id])
        note()
    tagger.calibrate(corpus.test)
    note()
    assert len({id(model) for model, _, _ in known}) == 11
    for model, ranking, content in known:
        assert bits(model.rank(texts, 30)) == bits(ranking)
        assert content_of(model, tmp_path) == content
    assert tagger.labels_[: len(labels)] == labels


def test_a_model_shares_what_stays(tagger: Tagger, corpus: Any) -> None:
    """A label more costs its own words, and a document more its own words, not a copy of all else."""

    def parts(model: Any, what: str) -> list[Any]:
        own = {name: expert.model_ for name, expert in model.experts_.items()}
        fitted = [
            model.training_ if what == "labels" else model.labels_,
            own["tfidf"].matcher_.lists_,
            own["tfidf"].matcher_.words_,
            own["svm"].texts_,
            own["svm"] if what == "pairs" else own["svm"].texts_.ranker,
            own["knn"].lists_,
            own["knn"].features_,
            own["knn"].pairs_,
            own["zestxml"].features_,
            own["semantic"].tower_.encoder,
            own["xml0"].base_,
            own["of-de"].ranker_.encoder,
        ]
        grown = own["semantic"].tower_.index
        return [*fitted, getattr(grown, "old", grown), model.blend_ if what == "labels" else own["semantic"].tower_]

    old = tagger.model_
    new = tagger.add_labels([Label("new", "Penguin colonies")]).model_
    assert all(one is other for one, other in zip(parts(old, "labels"), parts(new, "labels"), strict=True))
    assert new.labels_ is not old.labels_
    tagger.learn([(corpus.test.documents.texts[0], ["new"])])
    learned = tagger.model_
    assert all(one is other for one, other in zip(parts(new, "pairs"), parts(learned, "pairs"), strict=True))
    assert learned.experts_["knn"] is not new.experts_["knn"]


def test_changes_wait_for_each_other(tagger: Tagger, corpus: Any) -> None:
    """None is lost: 4 threads add 5 labels each, and 2 learn 5 documents each."""
    crowd = Crowd(0)
    texts, n_before = corpus.test.documents.texts, len(tagger.labels_)
    label = tagger.labels_[7].id
    count = int(tagger.counts_[7])

    def add(own: int) -> Callable[[int, Any], None]:
        def work(_number: int, _rng: Any) -> None:
            for i in range(5):
                tagger.add_labels([Label(f"t{own}-{i}", f"{LATER[own]} {i}")])

        return work

    def learn(_number: int, _rng: Any) -> None:
        for i in range(5):
            tagger.learn([(texts[i], [label])])

    for own in range(4):
        crowd.add(add(own), own)
    for own in range(2):
        crowd.add(learn, own)
    crowd.run()
    assert len(tagger.labels_) == n_before + 20
    assert {f"t{own}-{i}" for own in range(4) for i in range(5)} <= set(tagger.labels_.ids)
    assert tagger.counts_[7] == count + 10
    assert tagger.experts_["knn"].counts_[7] == count + 10
    assert [event["what"] for event in tagger.history()].count("labels added") == 20
    assert [event["what"] for event in tagger.history()].count("learned") == 10


def test_saved_while_it_learns_is_one_of_the_versions_whole(
    tagger: Tagger, corpus: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = Versions.of(tagger, monkeypatch)
    saved: list[Path] = []
    crowd = Crowd(1.5)

    def save(number: int, _rng: Any) -> None:
        path = tmp_path / f"model-{number}"
        tagger.save(path)
        saved.append(path)

    def learn(number: int, rng: np.random.Generator) -> None:
        tagger.learn([(corpus.test.documents.texts[int(rng.integers(40))], [tagger.labels_[number % 30].id])])
        if number % 2:
            tagger.add_labels([Label(f"new-{number}", LATER[number % len(LATER)])])

    crowd.add(save, 0)
    crowd.add(learn, 1)
    crowd.run()
    assert len(versions.models) > 2
    known = [content_of(model, tmp_path) for model in versions.models]
    texts = corpus.test.documents.subset(range(10))
    for path in saved:
        assert check(path).files > 2  # which reads every byte, and raises where one is wrong
        assert contents(path) in known
    model = versions.models[known.index(contents(saved[-1]))]
    again: Any = everylabel.load(saved[-1])
    assert bits(again.rank(texts, 20)) == bits(model.rank(texts, 20))
    assert again.history() == model.history()
    assert len({known.index(contents(path)) for path in saved}) > 1 or len(saved) == 1


def test_who_has_a_batch_begun_ends_it_with_the_same_model(
    tagger: Tagger, corpus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch is ranked in parts: a label that goes between two of them is in both or in none."""
    many = Documents.of(corpus.test.documents.texts * 4)
    assert len(many) > 256
    expected = tagger.rank(many, 10)
    usual, calls = Tagger._blended, []

    def changing(self: Tagger, views: Any, k: int) -> Ranking:
        calls.append(len(views))
        if len(calls) == 1:
            tagger.remove_labels([tagger.labels_[int(expected.ids[0, 0])].id])
        return usual(self, views, k)

    monkeypatch.setattr(Tagger, "_blended", changing)
    assert bits(tagger.rank(many, 10)) == bits(expected)
    assert len(calls) > 1
    assert int(expected.ids[0, 0]) not in tagger.rank(many, 10).ids


def test_a_dataset_is_not_changed_by_what_is_learned(tagger: Tagger, corpus: Any) -> None:
    new: Dataset = corpus.test.subset(range(5))
    before = new.required_pairs.copy()
    tagger.learn(new)
    assert (new.required_pairs != before).nnz == 0
