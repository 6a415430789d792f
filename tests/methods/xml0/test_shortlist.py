"""Of very many labels a shortlist is scored: its best labels are those that scoring all of them gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.encoders.conftest import make_folder

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.data.splits import of_labels
from everylabel.encoders.base import EncoderConfig
from everylabel.index.exact import ExactIndex
from everylabel.methods.facts import Facts
from everylabel.methods.xml0 import rehearsal, shortlist
from everylabel.methods.xml0.fusion import Xml0
from everylabel.methods.xml0.rehearsal import rehearsal_of, tried_labels
from everylabel.methods.xml0.shortlist import ManyCandidates, first_subsets
from everylabel.methods.xml0.subsets import SearchKind
from everylabel.methods.xml0.variants import Conse
from everylabel.methods.xml0.zero_shot import Candidates, Predicted
from everylabel.text.views import Views
from everylabel.types import Ranking

N_LABELS, N_SEEN = 2_500, 400
SYLLABLES = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
WORDS = np.unique(["".join(own) for own in np.random.default_rng(1).choice(SYLLABLES, (500, 3))])


def made(n_labels: int, n_seen: int, n_documents: int, seed: int = 0) -> Dataset:
    """Names of one to three words, some words far more frequent than others, every fifth label with another name;
    documents say the names of two or three seen labels, and words of others."""
    rng = np.random.default_rng(seed)
    often = 1 / (10 + np.arange(len(WORDS)))
    drawn = rng.choice(WORDS, (2 * n_labels, 3), p=often / often.sum())
    names = [" ".join(own[: 1 + i % 3]) for i, own in enumerate(drawn)]
    labels = LabelSet.of(
        Label(f"q{i:07}", names[i], alternatives=(names[n_labels + i],) if i % 5 == 0 else ()) for i in range(n_labels)
    )
    lists = [np.unique(rng.choice(n_seen, 2 + i % 2)) for i in range(n_documents)]
    texts = [" ".join([*(names[j] for j in own), names[rng.integers(n_seen, n_labels)]]) for own in lists]
    return Dataset(Documents.of(texts), labels, pairs_from_lists(lists, n_labels), name="made")


DATA = made(N_LABELS, N_SEEN, 600)
TEXTS = list(DATA.documents.texts[:40])


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That knows these words: letter by letter all would be alike."""
    return make_folder(tmp_path_factory.mktemp("words"), WORDS.tolist())


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few labels are many, and a shortlist of them is short."""
    monkeypatch.setattr(shortlist, "FEW", 500)
    monkeypatch.setattr(shortlist, "LEAST_ALIKE", 128)
    monkeypatch.setattr(rehearsal, "MANY_LABELS", 500)
    monkeypatch.setattr(rehearsal, "MOST_HIDDEN", 50)


@pytest.fixture
def settings(static: EncoderConfig) -> dict[str, Any]:
    return {"encoder": replace(static, lexical=128), "label_encoder": "", "base": "knn", "weight": 0.5}


def all_scored(own: Candidates) -> Candidates:
    """By the same vectors, without a shortlist."""
    assert isinstance(own, ManyCandidates)
    tower = type(own.tower)(own.tower.encoder, own.tower.mean)
    tower.owners, tower.index = own.tower.owners, ExactIndex(own.tower.encoder.dim)
    tower.index.add(np.arange(len(own.texts)), own.texts.astype(np.float32))
    return Candidates(tower, own.vectors, own.yardstick, own.labels)


def agreement(one: Ranking, other: Ranking) -> float:
    both = zip(one.ids.tolist(), other.ids.tolist(), strict=True)
    return float(np.mean([len(set(a) & set(b)) / max(len(set(b)), 1) for a, b in both]))


@pytest.mark.usefixtures("many")
def test_the_best_ten_of_a_shortlist_are_those_of_all(settings: dict[str, Any]) -> None:
    model: Any = Xml0(**settings).fit(DATA).model_
    views, everything = Views.of(TEXTS), all_scored(model.candidates_)
    predicted = model._predicted(views)
    assert np.mean([len(own.labels) for own in predicted]) > 1.5
    kinds: list[SearchKind] = ["greedy", "exhaustive", "full"]
    for kind, weight in product(kinds, (0.0, 0.4, 1.0)):
        found = model.candidates_.ranked(views, predicted, kind, weight, 10)
        expected = everything.ranked(views, predicted, kind, weight, 10)
        assert agreement(found, expected) > 0.99, (kind, weight)
        same = found.ids == expected.ids
        assert same.mean() > 0.97
        np.testing.assert_allclose(found.scores[same], expected.scores[same], atol=1e-6)


@pytest.mark.usefixtures("many")
def test_float16_and_the_shortlist_change_next_to_nothing(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = Xml0(**settings, candidates="unseen").fit(DATA)
    monkeypatch.setattr(shortlist, "FEW", N_LABELS)
    slow = Xml0(**settings, candidates="unseen").fit(DATA)
    assert isinstance(quick.candidates_, ManyCandidates)
    assert type(slow.candidates_) is Candidates
    assert slow.candidates_.vectors.dtype == np.float32
    assert agreement(quick.rank(TEXTS, 10), slow.rank(TEXTS, 10)) > 0.97


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("apart", [False, True])
def test_saved_loaded_and_extended(apart: bool, settings: dict[str, Any], tiny_folder: Path, tmp_path: Path) -> None:
    """Also with another encoder of labels, which has an index of its own."""
    method = Xml0(**settings | {"label_encoder": str(tiny_folder) if apart else ""}, candidates="unseen").fit(DATA)
    own = method.candidates_
    assert isinstance(own, ManyCandidates)
    assert (own.fused is not None) is apart
    assert own.vectors.dtype == own.texts.dtype == np.float16
    expected = method.rank(TEXTS, 20)
    method.save(tmp_path / "model")
    loaded: Any = everylabel.load(tmp_path / "model")
    assert isinstance(loaded.candidates_, ManyCandidates)
    loaded.check_contents()
    again = loaded.rank(TEXTS, 20)
    assert agreement(again, expected) > 0.99  # a mapped graph is searched a little wider
    label = DATA.labels[N_LABELS - 1].id
    assert loaded.explain(TEXTS[0], label) == method.explain(TEXTS[0], label)
    for n in range(2):
        name = " ".join(WORDS[[-1, -2, -3 - n]])
        loaded.add_labels([Label(f"new{n}", name)])
        assert N_LABELS + n in loaded.rank([name], 5).ids
    assert loaded.candidates_.vectors.dtype == np.float16
    loaded.save(tmp_path / "longer")
    longer: Any = everylabel.load(tmp_path / "longer")
    longer.check_contents()
    np.testing.assert_array_equal(longer.rank(TEXTS, 5).ids, loaded.rank(TEXTS, 5).ids)


@pytest.mark.usefixtures("many")
def test_few_unseen_of_many_labels_are_all_scored(settings: dict[str, Any], tmp_path: Path) -> None:
    """By vectors of 2 bytes a number, also of labels that come later."""
    labels = DATA.labels.subset(range(N_SEEN + 150))
    method = Xml0(**settings).fit(Dataset(DATA.documents, labels, DATA.required_pairs[:, : len(labels)]))
    method.add_labels([Label("new", str(WORDS[-1]))])
    method.save(tmp_path / "model")
    loaded: Any = everylabel.load(tmp_path / "model")
    loaded.check_contents()
    assert type(loaded.candidates_) is Candidates
    assert loaded.candidates_.vectors.dtype == np.float16
    np.testing.assert_array_equal(loaded.rank(TEXTS, 10).ids, method.rank(TEXTS, 10).ids)


@pytest.mark.usefixtures("many")
def test_a_ranking_does_not_depend_on_the_batch(settings: dict[str, Any]) -> None:
    method = Xml0(**settings).fit(DATA)
    together = method.rank([*TEXTS, ""], 30)
    for row, text in enumerate([*TEXTS[:5]]):
        np.testing.assert_array_equal(method.rank([text], 30).ids[0], together.ids[row])
    assert (together.ids[-1] < 0).all()


@pytest.mark.usefixtures("many")
def test_as_deep_as_asked_for(settings: dict[str, Any]) -> None:
    method = Xml0(**settings | {"candidates": "unseen"}).fit(DATA)
    found = method.rank(TEXTS, 300)
    assert ((found.ids >= 0).sum(axis=1) == 300).all()
    assert (DATA.counts[found.ids] == 0).all()
    assert (np.diff(found.scores) <= 0).all()


@pytest.mark.usefixtures("many")
def test_fusion_alone_says_nothing_of_a_document_without_predictions(settings: dict[str, Any]) -> None:
    model: Any = Conse(**settings | {"weight": 1.0}).fit(DATA).model_
    nothing = Predicted(np.empty(0, np.int64), np.empty(0, np.float32))
    something = Predicted(np.array([3, 7]), np.array([0.9, 0.5], np.float32))
    found = model.candidates_.ranked(Views.of(TEXTS[:2]), [nothing, something], "full", 1.0, 5)
    assert (found.ids[0] < 0).all()
    assert (found.ids[1] >= 0).all()
    loss = model.loss_of_greedy(TEXTS[:3])
    assert loss.searches == 3 * len(model.candidates_.labels)


@pytest.mark.usefixtures("many")
def test_a_fitted_base_with_many_unseen_labels(settings: dict[str, Any]) -> None:
    known = of_labels(DATA.required_pairs, np.arange(300), keep=True)
    base = everylabel.method("knn").fit(DATA.with_pairs(known))
    asked = tried_labels(DATA.labels, DATA.required_pairs, np.arange(300, N_LABELS), 0)
    assert len(asked) == 100
    assert int((DATA.counts[asked] > 0).sum()) == 50
    method = Xml0(**settings | {"weight": None}).fit_on(base, DATA)
    assert isinstance(method.candidates_, ManyCandidates)
    assert method.chosen_.worth is not rehearsal.NO_REHEARSAL


def test_a_rehearsal_learns_from_a_sample_of_very_many_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "MOST_LEARNED", 100)
    parts = rehearsal_of(DATA, 0.2, 0.2, 0)
    assert parts is not None
    train, held, _ = parts
    assert (len(train), len(held)) == (100, 120)
    assert not set(train.documents.ids) & set(held.documents.ids)


def test_subsets_that_are_asked_for_first() -> None:
    assert first_subsets(0, "greedy") == []
    assert first_subsets(1, "greedy") == [0b1]
    assert first_subsets(2, "greedy") == [0b1, 0b10, 0b11]
    assert first_subsets(4, "exhaustive") == [0b1, 0b10, 0b100, 0b1000, 0b11, 0b111, 0b1111]
    assert first_subsets(4, "full") == [0b1111]


def test_planned_for_a_million_labels() -> None:
    facts = Facts(
        n_docs=1_000_000, n_labelled=1_000_000, n_pairs=3_000_000, n_labels=1_000_000, n_seen=500_000, n_dev=5_000,
        words=50,
    )  # fmt: skip
    assert Xml0.unfit(facts) == ""
    few = replace(facts, n_labels=10_000, n_seen=9_000)
    assert Xml0.cost(facts).seconds(facts) > Xml0.cost(few).seconds(few)
    assert Xml0.seconds_per_document(facts) > Xml0.seconds_per_document(few)
    assert Xml0.seconds_per_document(facts) == Xml0.seconds_per_document(replace(facts, n_labels=2_000_000))
    assert Xml0.settings_for(facts)["encoder"]["lexical"] == 256
    assert Xml0.settings_for(few) == {"base": "knn", "search": "greedy", "label_encoder": "minilm", "encoder": {}}
