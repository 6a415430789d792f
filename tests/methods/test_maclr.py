"""MACLR and its siblings: what each switch does to batches and losses, and what is learned on a toy problem."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import numpy as np
import pytest
import torch
from tests.encoders import conftest as encoders

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError
from everylabel.methods.maclr import Ict, Maclr, Rts, SelfSupervision, SimCse
from everylabel.methods.selfsup import Batch, Learner, StageOne
from everylabel.methods.semantic import Semantic
from everylabel.methods.tower import Tower
from everylabel.text.matching import LabelMatcher, MatchConfig
from everylabel.train.batches import Corpus, drawn
from everylabel.train.checkpoint import checkpointing
from everylabel.types import IntArray

tiny_folder = encoders.made_folder
NAMES = ["fish", "sea", "ship", "law", "tax", "customs", "milk", "wine", "trade", "union"]
LABELS = LabelSet.of(
    Label(f"l{i}", name, alternatives=(f"the {name}", f"{name} in the european union")[: i % 3])
    for i, name in enumerate(NAMES)
)
ALL: dict[str, Any] = {"clustering": True, "label_regularisation": True, "pseudo_encoder": True, "pseudo_tfidf": True}
METHODS: list[type[Ict]] = [Maclr, Ict, SimCse, Rts]
New = Callable[..., Any]


def documents(n: int = 24) -> Documents:
    rng = np.random.default_rng(0)
    texts = [" ".join(["the", *rng.choice(NAMES, 6).tolist(), "of", *rng.choice(NAMES, 4).tolist()]) for _ in range(n)]
    return Documents.of(texts, titles=[" ".join(text.split()[1:3]) for text in texts])


DATA = Dataset(documents(), LABELS)


@pytest.fixture
def static(tiny_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> EncoderConfig:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(cache))
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")  # tensors of a few numbers
    return EncoderConfig(teacher=str(tiny_folder))


@pytest.fixture
def learner(static: EncoderConfig) -> New:
    """`learner(data, clustering=True)`."""

    def made(data: Dataset = DATA, **settings: Any) -> Learner:
        config = SelfSupervision(**{"batch_size": 8, "steps": 4, **settings})
        tower = Tower.load(static, data.documents, data.labels, 0, center=True)
        return Learner(config, tower, data, 0, "exact")

    return made


def vectors(method: Ict | Semantic, texts: list[str] = NAMES) -> Any:
    return method.tower_.encoder.encode(texts)


def fitted(cls: type[Ict], encoder: EncoderConfig, data: Dataset = DATA, **settings: Any) -> Ict:
    """With few steps; `settings` of `learn`."""
    learn = replace(cls().learn, **{"steps": 4, "batch_size": 8, "label_negatives": 5, **settings})
    return cls(encoder=encoder, learn=learn).fit(data)


class Runs:
    """Takes the place of `Learner.run`: nothing is trained, the batches are kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: dict[str, Any] = {}
        self.shares: dict[str, float] = {}
        monkeypatch.setattr(Learner, "run", self.run)

    def run(self, name: str, batches: Any, _steps: int, share: float = 1.0) -> None:
        self.batches[name], self.shares[name] = batches, share


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def texts_in(tokens: Any, learner: Learner) -> list[str]:
    tokenizer: Any = learner.tower.encoder
    words = {i: token for token, i in tokenizer.tokenizer.vocabulary.items()}
    bounds = zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)
    return [" ".join(words[int(i)] for i in tokens.ids[first:last]) for first, last in bounds]


def label_of(text: str) -> int:
    return NAMES.index(text.replace("the ", "").split()[0])


# --- stage II and fine-tuning


@pytest.mark.parametrize("views", [("tfidf",), ("encoder",), ("tfidf", "encoder")])
def test_stage_two_s_mask_marks_a_document_s_own_pseudo_labels(
    learner: New, monkeypatch: pytest.MonkeyPatch, views: tuple[str, ...]
) -> None:
    runs = Runs(monkeypatch)
    match = MatchConfig(language="none")
    made = learner(pseudo_labels=2, **{f"pseudo_{view}": True for view in views})
    expected: list[set[int]] = [set() for _ in range(len(DATA))]
    rankings: list[IntArray] = []
    if "tfidf" in views:
        rankings.append(LabelMatcher(match).fit(DATA.documents, LABELS).rank(DATA.documents, 2).ids)
    if "encoder" in views:
        rankings.append(made.tower.index_labels(LABELS, "exact").rank(DATA.documents, 2).ids)
    for ids in rankings:
        for own, row in zip(expected, ids.tolist(), strict=True):
            own.update(row)
    made.stage_two(match)
    assert list(runs.batches) == ["stage-2"]
    assert runs.shares == {"stage-2": 1.0}
    by_text = dict(zip(DATA.documents.full_texts, expected, strict=True))
    by_words = {" ".join(text.split()): own for text, own in by_text.items()}
    seen = set()
    for number in range(3):
        (pairs,) = runs.batches["stage-2"](number, rng(number)).pairs.values()
        rows, columns = texts_in(pairs.x, made), [label_of(text) for text in texts_in(pairs.y, made)]
        assert len(set(columns)) == len(columns)
        assert pairs.mask.shape == (len(rows), len(columns)) == (8, len(columns))
        for row, marked in zip(rows, pairs.mask, strict=True):
            assert {columns[i] for i in np.flatnonzero(marked)} == by_words[row]
        seen.update(rows)
    assert len(seen) == len(DATA)


def test_pseudo_labels_only_when_asked(learner: New, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch)
    learner().stage_two(MatchConfig())
    assert runs.batches == {}


def test_documents_without_a_pseudo_label_are_left_out(learner: New, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch)
    data = Dataset(Documents.of(["of the and", "a fish", "in the", "the law of milk"]), LABELS)
    made = learner(data, pseudo_tfidf=True)
    made.stage_two(MatchConfig())
    (pairs,) = runs.batches["stage-2"](0, rng()).pairs.values()
    assert sorted(texts_in(pairs.x, made)) == ["a fish", "the law of milk"]
    assert pairs.mask.any(axis=1).all()


def test_words_that_match_nothing_are_no_stage_two(learner: New) -> None:
    data = Dataset(Documents.of(["of the and", "in the"]), LABELS)
    made = learner(data, pseudo_tfidf=True)
    before = made.towers.encoder.embedding.weight.detach().clone()
    made.stage_two(MatchConfig())
    assert torch.equal(made.towers.encoder.embedding.weight, before)


def test_fine_tuning_takes_the_pairs_at_half_the_rate(learner: New, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch)
    made = learner(batch_size=4)
    lists = [[], [3], [], [3, 7], [9]] + [[]] * (len(DATA) - 5)
    made.fine_tune(pairs_from_lists(lists, len(LABELS)))
    assert runs.shares == {"fine-tuning": 0.5}
    (pairs,) = runs.batches["fine-tuning"](0, rng()).pairs.values()
    columns = [label_of(text) for text in texts_in(pairs.y, made)]
    assert {3, 7, 9} < set(columns)  # and random labels, which are nobody's
    assert len(set(columns)) == len(columns)
    rows = texts_in(pairs.x, made)
    expected = {DATA.documents.full_texts[i].replace("\n", " "): set(lists[i]) for i in (1, 3, 4)}
    found = {row: {columns[i] for i in np.flatnonzero(marked)} for row, marked in zip(rows, pairs.mask, strict=True)}
    assert found == expected


def test_any_of_a_label_s_texts_is_taken(learner: New) -> None:
    made = learner()
    labels = np.full(300, 2, np.int32)  # has three texts
    texts = texts_in(made.texts_of(labels, rng()), made)
    assert set(texts) == {"ship", "the ship", "ship in the european union"}
    assert {label_of(text) for text in texts_in(made.texts_of(np.array([9, 0], np.int32), rng()), made)} == {9, 0}


# --- stage I


def stage_one(learner: Learner, steps: int) -> StageOne:
    return StageOne(learner, Corpus.of(learner.dataset.documents, learner.tower.encoder), steps)


def test_clusters_double_and_end_at_half_the_steps(learner: New, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def kmeans(given: Any, n_clusters: int, _rng: Any) -> Any:
        assert given.shape == (24, 32)
        asked.append(n_clusters)
        return np.full(24, len(asked), np.int32)

    monkeypatch.setattr("everylabel.methods.selfsup.spherical_kmeans", kmeans)
    stage = stage_one(learner(clustering=True, first_clusters=2), 80)
    made_at = []
    for number in range(80):
        before = len(asked)
        stage.update(number, rng())
        made_at += [number] * (len(asked) - before)
        if number < 40:
            assert set(stage.clusters.tolist()) == {len(asked)}
        else:
            assert stage.clusters.tolist() == list(range(24))
    assert made_at == [0, 4, 8, 12, 16, 20, 24, 28, 32, 36]  # every twentieth, of the first half
    assert asked == [2, 2, 4, 4, 8, 8, 16, 16, 24, 24]  # never more than documents


def test_the_first_number_of_clusters(learner: New, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def kmeans(_vectors: Any, n_clusters: int, _rng: Any) -> Any:
        asked.append(n_clusters)
        return np.zeros(24, np.int32)

    monkeypatch.setattr("everylabel.methods.selfsup.spherical_kmeans", kmeans)
    for settings in ({}, {"batch_size": 8}, {"batch_size": 256}, {"batch_size": 2}, {"first_clusters": 5}):
        stage_one(learner(clustering=True, **settings), 40).update(0, rng())
    assert asked == [2, 2, 3, 1, 5]  # batch_size^2 / 32, at least 8 documents each, at least one


def test_documents_of_one_cluster_are_positives(learner: New) -> None:
    made = learner(clustering=True, batch_size=24, first_clusters=3)
    stage = stage_one(made, 40)
    pairs = stage(0, rng()).pairs["titles"]
    n_clusters = len(set(stage.clusters.tolist()))
    assert 1 < n_clusters <= 3
    assert pairs.mask.sum() == (np.bincount(stage.clusters) ** 2).sum()
    assert np.diag(pairs.mask).all()
    rows = drawn(24, 24, 0, made.seed)
    assert texts_in(pairs.y, made) == [DATA.documents.titles[i] for i in rows]
    np.testing.assert_array_equal(pairs.mask, stage.clusters[rows][:, None] == stage.clusters[rows])
    later = stage(20, rng()).pairs["titles"]
    np.testing.assert_array_equal(later.mask, np.eye(24, dtype=bool))


def test_without_clustering_there_is_no_mask(learner: New) -> None:
    stage = stage_one(learner(), 40)
    assert stage(0, rng()).pairs["titles"].mask is None


@pytest.mark.parametrize("task", ["titles", "twins", "segments"])
@pytest.mark.parametrize("asked", [False, True])
def test_label_regularisation_only_when_asked(learner: New, task: str, asked: bool) -> None:
    made = learner(task=task, label_regularisation=asked, label_negatives=11)
    batch = stage_one(made, 4)(0, rng())
    assert (batch.labels is not None) == asked
    if batch.labels is not None:
        assert batch.labels.n_rows == 11
        assert {label_of(text) for text in texts_in(batch.labels, made)} <= set(range(10))
    losses = made.loss(made.towers.train(), batch)
    assert ("labels" in losses) == asked
    assert all(torch.isfinite(loss) for loss in losses.values())
    assert losses.keys() - {"labels"} == batch.pairs.keys()


def test_what_each_task_compares(learner: New) -> None:
    made = learner(batch_size=6)
    rows = np.arange(6)
    stage = stage_one(made, 4)
    twins = stage.twins(rows, rng())["twins"]
    assert texts_in(twins.x, made) == texts_in(twins.y, made) == texts_in(stage.corpus.tokens, made)[:6]
    assert twins.y_is_document
    parts = stage.segments(rows, rng())
    assert list(parts) == ["title-segment", "segment-segment", "title-title", "label-label"]
    assert [(part.x_is_document, part.y_is_document) for part in parts.values()] == [
        (True, False),
        (True, True),
        (False, False),
        (False, False),
    ]
    wholes = texts_in(stage.corpus.tokens, made)
    for pairs in (parts["title-segment"], parts["segment-segment"]):
        assert all(one in whole for one, whole in zip(texts_in(pairs.x, made), wholes, strict=False))
    one, other = (texts_in(part, made) for part in (parts["label-label"].x, parts["label-label"].y))
    assert [label_of(text) for text in one] == [label_of(text) for text in other]
    assert len({label_of(text) for text in one}) == 6


def test_twins_differ_by_dropout(learner: New) -> None:
    made = learner(task="twins")
    batch: Batch = stage_one(made, 4)(0, rng())
    with torch.inference_mode():
        training, plain = (float(made.loss(towers, batch)["twins"]) for towers in modes_of(made.towers))
    assert training > plain


def modes_of(towers: Any) -> Iterator[Any]:
    torch.manual_seed(0)
    yield towers.train()
    yield towers.eval()


def test_the_clusters_are_part_of_a_checkpoint(learner: New) -> None:
    made = learner(clustering=True, batch_size=24, first_clusters=3)
    one, other = stage_one(made, 80), stage_one(made, 80)
    one(0, rng())
    other.load_state_dict(one.state_dict())
    np.testing.assert_array_equal(other.clusters, one.clusters)
    np.testing.assert_array_equal(other(1, rng()).pairs["titles"].mask, one(1, rng()).pairs["titles"].mask)
    assert not np.array_equal(other(1, rng()).pairs["titles"].mask, np.eye(24, dtype=bool))


@pytest.mark.parametrize(("n", "steps"), [(1, 30), (1000, 39), (10_000, 390), (10_000_000, 20_000)])
def test_steps_by_the_size_of_the_corpus(learner: New, n: int, steps: int) -> None:
    assert learner(steps=None, batch_size=256).steps(n) == steps
    assert learner(steps=7).steps(n) == 7


# --- whole fits


def stop_in(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """Ctrl-C in the loss of this number."""
    usual, calls = Learner.loss, iter(range(1000))

    def watched(self: Learner, towers: Any, batch: Any) -> Any:
        if next(calls) == call:
            os.kill(os.getpid(), signal.SIGINT)
        return usual(self, towers, batch)

    monkeypatch.setattr(Learner, "loss", watched)


@pytest.mark.parametrize(
    ("steps", "call"),
    [(44, 4), (6, 2), (6, 9), (6, 13)],  # between two clusterings, whose weights are gone; in each of the three stages
)
def test_an_interrupted_fit_goes_on_to_the_same_vectors(
    static: EncoderConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int, call: int
) -> None:
    data = DATA.with_pairs(pairs_from_lists([[i % 10] for i in range(len(DATA))], len(LABELS)))
    settings: dict[str, Any] = {"steps": steps, "first_clusters": 2}
    whole = fitted(Maclr, static, data, **settings)
    with monkeypatch.context() as patch, checkpointing(tmp_path):
        stop_in(patch, call)
        with pytest.raises(KeyboardInterrupt):
            fitted(Maclr, static, data, **settings)
    losses = create_autospec(Learner.loss, side_effect=Learner.loss)  # a function, so that it is still a method
    monkeypatch.setattr(Learner, "loss", losses)
    with checkpointing(tmp_path):
        resumed = fitted(Maclr, static, data, **settings)
    assert losses.call_count == 3 * steps - call - 1  # the step itself was finished first
    np.testing.assert_array_equal(vectors(resumed), vectors(whole))
    np.testing.assert_array_equal(resumed.rank(DATA.documents, 9).scores, whole.rank(DATA.documents, 9).scores)


@pytest.mark.parametrize("cls", METHODS)
def test_training_changes_the_encoder_and_a_frozen_one_stays(static: EncoderConfig, cls: type[Ict]) -> None:
    as_it_is = vectors(Semantic(encoder=static).fit(DATA))
    assert np.abs(vectors(fitted(cls, static)) - as_it_is).max() > 1e-3
    frozen = fitted(cls, replace(static, trainable=False))
    np.testing.assert_array_equal(vectors(frozen), as_it_is)


@pytest.mark.parametrize("switch", list(ALL))
def test_each_switch_changes_what_is_learned(static: EncoderConfig, switch: str) -> None:
    whole = vectors(fitted(Maclr, static, first_clusters=2))
    other = fitted(Maclr, static, DATA, **{"first_clusters": 2, switch: False})
    assert np.abs(vectors(other) - whole).max() > 1e-4


def test_few_pairs_raise_the_score_of_the_right_label(static: EncoderConfig) -> None:
    """Documents on ships and the sea that are labelled milk, on law and tax labelled fish: not what their words say."""
    texts = ["the ship and the sea", "a ship in the sea", "law and the tax", "tax of the law", *DATA.documents.texts]
    lists = [[6], [6], [0], [0]] + [[]] * len(DATA)
    data = Dataset(Documents.of(texts), LABELS, pairs_from_lists(lists, len(LABELS)))
    learn = replace(Ict().learn, steps=10, batch_size=8)
    learned, unused, without = (
        Ict(encoder=static, learn=learn, fine_tune=fine_tune).fit(given)
        for fine_tune, given in ((True, data), (False, data), (True, data.without_pairs()))
    )
    for text, right in (("ship of the sea", 6), ("a law of tax", 0)):
        (score, place), (before, place_before) = (found_at(method, text, right) for method in (learned, without))
        assert score > before + 0.02
        assert place < place_before
    np.testing.assert_array_equal(vectors(unused), vectors(without))


def found_at(method: Ict, text: str, label: int) -> tuple[float, int]:
    found = method.rank([text], len(LABELS))
    place = found.ids[0].tolist().index(label)
    return float(found.scores[0, place]), place


@pytest.mark.parametrize("cls", METHODS)
def test_no_documents_at_all(static: EncoderConfig, cls: type[Ict]) -> None:
    alone = fitted(cls, static, Dataset(Documents.of([]), LABELS))
    found = alone.rank(NAMES, len(LABELS))
    assert found.ids[:, 0].tolist() == list(range(10))
    assert np.sort(found.ids, axis=1).tolist() == [list(range(10))] * 10
    assert np.abs(vectors(alone) - vectors(Semantic(encoder=static).fit(Dataset(Documents.of([]), LABELS)))).max() > 0


def test_nothing_to_learn_from(static: EncoderConfig) -> None:
    """Labels and documents of less than two words: the encoder stays as it is."""
    data = Dataset(Documents.of(["", "fish"]), LABELS)
    found = fitted(Ict, static, data)
    np.testing.assert_array_equal(vectors(found), vectors(Semantic(encoder=static).fit(data)))


@pytest.mark.parametrize("task", ["titles", "twins", "segments"])
def test_a_transformer_trains(static: EncoderConfig, tiny_folder: Path, task: str) -> None:
    assert static.kind == "static"  # for its environment only
    encoder = EncoderConfig(kind=str(tiny_folder), max_tokens=16)
    before = vectors(Semantic(encoder=encoder).fit(DATA))
    method = fitted(Maclr, encoder, task=task, steps=1, lr=0.01)
    assert np.abs(vectors(method) - before).max() > 1e-4
    found = method.rank(DATA.documents, 3)
    assert (found.ids >= 0).all()
    assert np.isfinite(found.scores).all()


# --- settings


def test_the_paper_s_numbers() -> None:
    paper = Maclr.paper()
    paper.check()
    assert paper.encoder == EncoderConfig(kind="bert-base-uncased", max_tokens=288)
    assert paper.learn == SelfSupervision(
        **ALL, task="titles", batch_size=256, steps=100_000, lr=1e-5, first_clusters=2048, pseudo_labels=3
    )


def test_what_the_siblings_are() -> None:
    assert Ict().learn == SelfSupervision()
    assert SimCse().learn == SelfSupervision(task="twins")
    assert Rts().learn == SelfSupervision(task="segments")
    assert Maclr().learn == SelfSupervision(**ALL)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 1}, "learn.batch_size must be at least 2; got 1"),
        ({"pseudo_labels": 0}, "learn.pseudo_labels must be at least 1; got 0"),
        ({"steps": 0}, "learn.steps must be at least 1; got 0"),
        ({"first_clusters": 0}, "learn.first_clusters must be at least 1"),
        ({"label_negatives": 0}, "learn.label_negatives must be at least 1"),
        ({"temperature": 0.0}, "must be above 0; got 0.0 and None"),
        ({"lr": -1.0}, "must be above 0; got 0.05 and -1.0"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Maclr(learn=SelfSupervision(**settings)).fit(DATA)
