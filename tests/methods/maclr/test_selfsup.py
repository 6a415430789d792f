"""The stages of self-supervision: what each switch does to batches and losses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from tests.methods.maclr import selfsup_toy as toy
from tests.methods.maclr.selfsup_toy import DATA, LABELS, NAMES, New

from everylabel.data.dataset import Dataset, Documents, pairs_from_lists
from everylabel.methods.maclr.selfsup import PSEUDO_STATIC_LR, STATIC_LR, Batch, Learner, StageOne, pseudo_pairs
from everylabel.text.matching import LabelMatcher, MatchConfig
from everylabel.text.views import Views
from everylabel.train.batches import Corpus, epoch_rows
from everylabel.types import IntArray

learner = toy.learner


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
    documents = Views.of(DATA.documents)
    if "tfidf" in views:
        rankings.append(LabelMatcher(match).fit(documents, LABELS).rank(documents, 2).ids)
    if "encoder" in views:
        rankings.append(made.tower.index_labels(LABELS, "exact").rank(documents, 2).ids)
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


@pytest.mark.parametrize("by_rank", [False, True])
def test_pseudo_labels_count_alike_or_by_their_rank_in_each_view(by_rank: bool) -> None:
    views = [np.array([[3, 1, -1], [-1, -1, -1]], np.int32), np.array([[1, 2], [0, -1]], np.int32)]
    pairs = pseudo_pairs(views, 4, by_rank=by_rank).toarray()
    first = [0, 1 / 2 + 1, 1 / 2, 1] if by_rank else [0, 1, 1, 1]
    np.testing.assert_array_equal(pairs, [first, [1, 0, 0, 0]])


@pytest.mark.parametrize("pseudo", [False, True])
def test_static_embeddings_learn_slower_where_pseudo_labels_follow(learner: New, pseudo: bool) -> None:
    assert learner(pseudo_tfidf=pseudo).static_lr == (PSEUDO_STATIC_LR if pseudo else STATIC_LR)


def test_the_encoder_s_pseudo_labels_may_have_to_be_above_a_cosine(
    learner: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The top 1 of each view, the encoder's where it is sure: as the authors' code, beside the paper's top 3."""
    runs = Runs(monkeypatch)
    made = learner(pseudo_labels=1, pseudo_encoder=True)
    found = made.tower.index_labels(LABELS, "exact").rank(Views.of(DATA.documents), 1)
    cosines = 2 * found.scores[:, 0] - 1
    least = float(np.sort(cosines)[len(cosines) // 2])
    made = learner(pseudo_labels=1, pseudo_encoder=True, pseudo_least=least, batch_size=24)
    made.stage_two(MatchConfig(language="none"))
    (pairs,) = runs.batches["stage-2"](0, rng()).pairs.values()
    kept = {DATA.documents.full_texts[i].replace("\n", " ") for i in np.flatnonzero(cosines > least)}
    assert set(texts_in(pairs.x, made)) == kept
    assert 0 < len(kept) < len(DATA)
    assert (pairs.mask.sum(axis=1) == 1).all()


@pytest.mark.parametrize("n_others", [0, 256])
def test_random_labels_beside_a_batch_s_own_only_when_asked(
    learner: New, monkeypatch: pytest.MonkeyPatch, n_others: int
) -> None:
    runs = Runs(monkeypatch)
    made = learner(pseudo_labels=1, pseudo_tfidf=True, other_labels=n_others, batch_size=2)
    made.stage_two(MatchConfig(language="none"))
    (pairs,) = runs.batches["stage-2"](0, rng()).pairs.values()
    assert bool(pairs.mask.any(axis=0).all()) == (n_others == 0)


def test_fine_tuning_alone_has_its_own_steps_and_the_labels_of_its_batch(
    learner: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = {}
    runs = Runs(monkeypatch)
    usual = runs.run

    def run(name: str, given: Any, n_steps: int, share: float = 1.0) -> None:
        steps[name] = n_steps
        usual(name, given, n_steps, share)

    monkeypatch.setattr(Learner, "run", staticmethod(run))
    made = learner(batch_size=2, fine_tune_steps=9, fine_tune_alone=True)
    made.before = lambda *_: Batch({})
    made.fine_tune(pairs_from_lists([[3], [7], [9]] + [[]] * (len(DATA) - 3), len(LABELS)))
    (pairs,) = runs.batches["fine-tuning"](0, rng()).pairs.values()
    assert steps == {"fine-tuning": 9}
    assert pairs.mask.shape == (2, 2)


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
    assert sorted(columns) == [3, 7, 9]  # each once; no label without pairs, of which nobody knows whether it is true
    rows = texts_in(pairs.x, made)
    expected = {DATA.documents.full_texts[i].replace("\n", " "): set(lists[i]) for i in (1, 3, 4)}
    found = {row: {columns[i] for i in np.flatnonzero(marked)} for row, marked in zip(rows, pairs.mask, strict=True)}
    assert found == expected


def test_fine_tuning_goes_on_with_what_was_learned_before(learner: New) -> None:
    made = learner(batch_size=4, pseudo_tfidf=True)
    batches = {}

    def run(name: str, given: Any, steps: int, share: float = 1.0) -> None:
        batches[name] = given
        usual(name, given, steps, share)

    usual, made.run = made.run, run
    made.stage_two(MatchConfig(language="none"))
    made.fine_tune(pairs_from_lists([[3]] + [[]] * (len(DATA) - 1), len(LABELS)))
    found = batches["fine-tuning"](0, rng()).pairs
    assert list(found) == ["stage-2", "fine-tuning"]
    expected = batches["stage-2"](4, rng(1)).pairs["stage-2"]  # the four steps of stage II are over
    assert texts_in(found["stage-2"].x, made) == texts_in(expected.x, made)


def test_any_of_a_label_s_texts_is_taken(learner: New) -> None:
    made = learner()
    labels = np.full(300, 2, np.int32)  # has three texts
    texts = texts_in(made.texts_of(labels, rng()), made)
    assert set(texts) == {"ship", "the ship", "ship in the european union"}
    assert {label_of(text) for text in texts_in(made.texts_of(np.array([9, 0], np.int32), rng()), made)} == {9, 0}


# --- stage I


def stage_one(learner: Learner, steps: int) -> StageOne:
    return StageOne(learner, Corpus.of(learner.dataset.documents, learner.tower.encoder), steps)


@pytest.mark.parametrize("task", ["titles", "segments"])
def test_titles_are_read_as_long_as_labels(learner: New, monkeypatch: pytest.MonkeyPatch, task: str) -> None:
    """MACLR's authors cut pseudo labels to 64 tokens, documents to 288; without a limit of labels all of a title."""
    runs, found = Runs(monkeypatch), {}
    for limit in (None, 1):
        made = learner(task=task)
        made.tower.label_tokens = limit
        made.stage_one()
        found[limit] = next(iter(runs.batches["stage-1"](0, rng()).pairs.values()))
    assert set(found[None].y.lengths) == {2}
    assert set(found[1].y.lengths) == {1}
    np.testing.assert_array_equal(found[1].y.ids, found[None].y.ids[::2])
    np.testing.assert_array_equal(found[1].x.ids, found[None].x.ids)


def test_clusters_double_and_end_at_half_the_steps(learner: New, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def kmeans(given: Any, n_clusters: int, _rng: Any) -> Any:
        assert given.shape == (24, 32)
        asked.append(n_clusters)
        return np.full(24, len(asked), np.int32)

    monkeypatch.setattr("everylabel.methods.maclr.selfsup.spherical_kmeans", kmeans)
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

    monkeypatch.setattr("everylabel.methods.maclr.selfsup.spherical_kmeans", kmeans)
    for settings in ({}, {"batch_size": 8}, {"batch_size": 256}, {"batch_size": 2}, {"first_clusters": 5}):
        stage_one(learner(clustering=True, **settings), 40).update(0, rng())
    assert asked == [2, 2, 2, 2, 5]  # rows of a batch / 16, at least two


@pytest.mark.parametrize("batch_size", [8, 32, 64, 256])
def test_a_row_has_3_to_16_positives_more_than_its_own(learner: New, batch_size: int) -> None:
    """In the first clusters, if they were of one size."""
    texts = [f"{one} {other} of the {third}" for one in NAMES for other in NAMES for third in NAMES[:4]]
    data = Dataset(Documents.of(texts), LABELS)
    stage = stage_one(learner(data, clustering=True, batch_size=batch_size), 100)
    assert 3 <= batch_size / stage.first_clusters - 1 <= 16


@pytest.mark.parametrize("total", [1, 3, 7, 19, 20, 39, 41, 100, 999])
def test_the_schedule_is_the_paper_s_for_any_number_of_steps(
    learner: New, monkeypatch: pytest.MonkeyPatch, total: int
) -> None:
    """Algorithm 1 with T_K = 10,000 and T_update = 5,000 of 100,000 steps, at the same share of all steps."""
    asked: dict[int, int] = {}

    def kmeans(_vectors: Any, n_clusters: int, _rng: Any) -> Any:
        asked[number] = n_clusters
        return np.zeros(24, np.int32)

    monkeypatch.setattr("everylabel.methods.maclr.selfsup.spherical_kmeans", kmeans)
    stage = stage_one(learner(clustering=True, first_clusters=1), total)
    for number in range(total):
        stage.update(number, rng())
        of_paper = number / total * 100_000
        own_cluster = len(set(stage.clusters.tolist())) == 24
        assert own_cluster == (of_paper >= 50_000)
    expected: dict[int, int] = {}
    for k in range(10):  # the first step at or after each of the paper's clusterings
        first = next((n for n in range(total) if n / total * 100_000 >= 5_000 * k - 1e-6), total)
        if first / total < 0.5:
            expected[first] = 1 << int(first / total * 10 + 1e-9)
    assert asked == {number: min(n, 24) for number, n in expected.items()}


def test_documents_of_one_cluster_are_positives(learner: New) -> None:
    made = learner(clustering=True, batch_size=24, first_clusters=3)
    stage = stage_one(made, 40)
    pairs = stage(0, rng()).pairs["titles"]
    n_clusters = len(set(stage.clusters.tolist()))
    assert 1 < n_clusters <= 3
    assert pairs.mask.sum() == (np.bincount(stage.clusters) ** 2).sum()
    assert np.diag(pairs.mask).all()
    rows = epoch_rows(24, 24, 0, made.seed)
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
