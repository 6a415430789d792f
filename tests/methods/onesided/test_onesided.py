"""The one-sided family: what each member learns, what happens to unseen labels, resuming, and every kind of encoder."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.methods.clues import CLUES, NAMES, data, labels, scores

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError, DataError
from everylabel.methods.depl.settings import Learning
from everylabel.methods.onesided.learning import Learner
from everylabel.methods.onesided.module import aligned
from everylabel.methods.onesided.onesided import OfDe
from everylabel.methods.onesided.variants import Dexml, Dpr, Lan, OfLan, OvaClf
from everylabel.methods.tower import Tower
from everylabel.text.matching import text_of
from everylabel.text.views import Views

UNSEEN = ["fishery", "ships", "3", "1 , 2"]
LABELS = labels(*(Label(f"new{i}", name) for i, name in enumerate(UNSEEN)))
DATA = data(LABELS)
METHODS: list[type[Any]] = [OfDe, OfLan, OvaClf, Lan, Dpr, Dexml]
New = Callable[..., Any]


@pytest.fixture
def new(static: EncoderConfig) -> New:
    """`new(OfDe, auxiliary=0.0)`, with few steps."""

    def made(cls: type[Any], steps: int = 20, lr: float | None = 0.1, **settings: Any) -> Any:
        given: dict[str, Any] = {"encoder": static, "learn": Learning(steps=steps, batch_size=8, lr=lr)}
        return cls(**given | {"frequency_weight": 0.0} | settings)  # scores are cosines

    return made


# --- what is learned


@pytest.mark.parametrize("cls", METHODS)
def test_right_labels_come_first(new: New, cls: type[Any]) -> None:
    found = scores(new(cls, steps=80).fit(DATA))[:, : len(NAMES)]
    right = DATA.required_pairs.toarray()[:, : len(NAMES)] > 0
    assert np.take_along_axis(right, np.argsort(-found, axis=1), 1)[:, 0].mean() == 1.0
    assert found[right].mean() > found[~right].mean() + 0.15


def test_unseen_labels_are_ranked_by_their_texts_and_not_by_free_weights(new: New) -> None:
    ranked = {cls.name: len(NAMES) in new(cls, 1).fit(DATA).rank(["the sea"], len(LABELS)).ids for cls in METHODS}
    free = {"ova-clf": False, "lan": False}
    assert ranked == {"of-de": True, "of-lan": True, "dpr": True, "dexml": True} | free


@pytest.mark.parametrize("cls", [OfDe, OfLan, Dexml])
def test_a_label_added_later_is_what_it_would_have_been(new: New, cls: type[Any], tmp_path: Path) -> None:
    seen, settings = len(NAMES), {"unseen_auxiliary": False}
    few = Dataset(DATA.documents, LABELS.subset(range(seen)), DATA.required_pairs[:, :seen])
    later = new(cls, **settings).fit(few)
    later.save(tmp_path / "model")
    later = everylabel.load(tmp_path / "model").add_labels(LABELS.labels[seen:])
    np.testing.assert_allclose(scores(later), scores(new(cls, **settings).fit(DATA)), atol=1e-5)


@pytest.mark.parametrize("cls", [Dexml, Dpr])
def test_the_collapse(new: New, cls: type[Any]) -> None:
    """A label encoder that is trained against unseen labels puts them all in one place; a frozen one cannot."""
    pulled = {"unseen_negatives": True, "auxiliary": 0.0, "evaluations": 1, "held_out": 0.05}
    trained = new(cls, 150, **pulled).fit(DATA).history_
    frozen = new(OfDe, 150, **pulled).fit(DATA).history_
    assert trained[0]["unseen_cosine"] == pytest.approx(frozen[0]["unseen_cosine"], abs=1e-5)
    assert trained[-1]["unseen_cosine"] > trained[0]["unseen_cosine"] + 0.3
    assert trained[-1]["unseen_cosine"] > frozen[-1]["unseen_cosine"] + 0.2


def own_place(method: Any) -> float:
    """The mean place of each unseen label among all labels, for documents of its words and of a seen label's clues."""
    texts = [f"{name} of the {' '.join(clues)}" for name in UNSEEN for clues in CLUES]
    found = scores(method, Documents.of(texts))
    labels = np.repeat(np.arange(len(NAMES), len(LABELS)), len(CLUES))
    own = found[np.arange(len(texts)), labels]
    return float((found > own[:, None]).sum(axis=1).mean())


def test_a_frozen_label_side_and_the_auxiliary_loss_keep_unseen_labels_alive(new: New, static: EncoderConfig) -> None:
    """The paper's order: a second trained encoder loses them, a frozen one less so, eq. 4 and no negatives help."""

    def place(cls: type[Any], unseen: bool, auxiliary: float) -> float:
        encoder = replace(static, lexical=64)  # words unlike each other
        return own_place(new(cls, 150, 0.02, encoder=encoder, unseen_negatives=unseen, auxiliary=auxiliary).fit(DATA))

    pulled, rescued = place(OfDe, True, 0.0), place(OfDe, True, 1.0)
    frozen, alive = place(OfDe, False, 0.0), place(OfDe, False, 1.0)
    assert place(Dpr, True, 0.0) > pulled > rescued
    assert pulled > frozen > alive
    assert rescued > alive


def test_unseen_labels_are_higher_when_they_are_no_negatives(new: New) -> None:
    for cls in (OfDe, OfLan, Dexml):
        low, high = (
            scores(new(cls, 40, unseen_negatives=asked, auxiliary=0.0).fit(DATA))[:, len(NAMES) :].mean()
            for asked in (True, False)
        )
        assert low < high


@pytest.mark.parametrize(
    "switch",
    [
        {"attention": True},
        {"attention": True, "hard_negatives": 0},
        {"attention": True, "pooled_share": 0.0},
        {"label_side": "same"},
        {"label_side": "second"},
        {"label_side": "free"},
        {"label_side": "second", "attention": True},
        {"document_layer": False},
        {"auxiliary": 0.0},
        {"unseen_negatives": True},
        {"unseen_auxiliary": False},
        {"temperature": 0.2},
        {"frequency_weight": 1.0},
        {"random_state": 1},
    ],
    ids="-".join,
)
def test_each_switch_changes_what_is_learned(new: New, switch: dict[str, Any]) -> None:
    base = new(OfDe, 10)
    assert np.abs(scores(replace(base, **switch).fit(DATA)) - scores(base.fit(DATA))).max() > 1e-5


def test_a_label_s_frequency_adds_to_its_cosine(new: New) -> None:
    method = new(OfDe, 3, frequency_weight=1.0, rare_weight=0.4).fit(DATA)
    found = scores(method)
    other = new(OfDe, 3, frequency_weight=1.0, rare_weight=1.0).fit(DATA)  # which is no part of training
    added = 0.6 * 0.05 / 2 * np.log((1 + DATA.counts) / (1 + DATA.counts.max()))
    np.testing.assert_allclose(found, scores(other) + added, atol=1e-6)


@pytest.mark.parametrize("cls", METHODS)
def test_the_order_of_documents_and_labels_changes_nothing(new: New, cls: type[Any]) -> None:
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(len(DATA)), rng.permutation(len(LABELS))
    pairs = DATA.required_pairs[rows][:, columns]
    other = Dataset(DATA.documents.subset(rows), LABELS.subset(columns), pairs)
    found = scores(new(cls, 5).fit(other))
    np.testing.assert_allclose(found, scores(new(cls, 5).fit(DATA))[:, columns], rtol=1e-4, atol=1e-5)


def test_a_frozen_document_side_learns_projections_only(new: New, static: EncoderConfig) -> None:
    frozen = replace(static, trainable=False)
    tower = Tower.load(frozen, Views.of(DATA.documents), LABELS, 0, center=True)
    for cls in METHODS:
        if cls in (Dpr, Dexml):
            continue
        method = new(cls, 3, encoder=frozen).fit(DATA)
        np.testing.assert_array_equal(method.ranker_.encoder.encode(NAMES), tower.encoder.encode(NAMES))


# --- encoders, saving, resuming


@pytest.mark.parametrize("cls", METHODS)
def test_a_transformer(new: New, static: EncoderConfig, tiny_folder: Path, tmp_path: Path, cls: type[Any]) -> None:
    assert static.kind == "static"  # for its environment only
    encoder = EncoderConfig(kind=str(tiny_folder), max_tokens=16)
    method = new(cls, steps=2, lr=None, encoder=encoder).fit(DATA)
    before = Tower.load(encoder, Views.of(DATA.documents), LABELS, 0, center=False).encoder.encode(NAMES)
    assert np.abs(method.ranker_.encoder.encode(NAMES) - before).max() > 1e-6
    method.save(tmp_path / "model")
    np.testing.assert_array_equal(scores(everylabel.load(tmp_path / "model")), scores(method))
    assert np.isfinite(scores(method, Documents.of(["", "fish"]))).all()


def test_labels_read_by_another_encoder(new: New, static: EncoderConfig, tiny_folder: Path) -> None:
    small = replace(static, lexical=8)  # documents of another dimension
    found = scores(new(OfDe, 60, encoder=small, label_encoder=str(tiny_folder)).fit(DATA))[:, : len(NAMES)]
    right = DATA.required_pairs.toarray()[:, : len(NAMES)] > 0
    assert np.take_along_axis(right, np.argsort(-found, axis=1), 1)[:, 0].mean() == 1.0


def test_the_projection_starts_as_the_map_between_encoders() -> None:
    rng = np.random.default_rng(0)
    vectors, true = rng.normal(size=(50, 4)).astype(np.float32), rng.normal(size=(6, 4)).astype(np.float32)
    np.testing.assert_allclose(aligned(vectors, vectors @ true.T), true, atol=0.02)


@pytest.mark.parametrize("cls", METHODS)
def test_save_and_load(new: New, tmp_path: Path, cls: type[Any]) -> None:
    method = new(cls, 3, evaluations=2, held_out=0.2).fit(DATA)
    method.save(tmp_path / "model")
    loaded: Any = everylabel.load(tmp_path / "model")
    np.testing.assert_array_equal(scores(loaded), scores(method))
    assert loaded.history_ == method.history_


@pytest.mark.parametrize("cls", [OfDe, OfLan, Dpr])
def test_an_interrupted_fit_goes_on_to_the_same_scores(
    new: New, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cls: type[Any]
) -> None:
    from everylabel.run import Run
    from everylabel.train.checkpoint import checkpointing

    settings = {"steps": 6, "evaluations": 3, "held_out": 0.1}
    whole = new(cls, **settings).fit(DATA)
    calls = iter(range(1000))
    usual = Learner.loss

    def loss(self: Learner, both: Any, batch: Any) -> Any:
        if next(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return usual(self, both, batch)

    with monkeypatch.context() as patch, checkpointing(tmp_path) as checkpoints:
        patch.setattr(Learner, "loss", loss)
        with pytest.raises(KeyboardInterrupt):
            new(cls, **settings).fit(DATA, run=Run(checkpoints=checkpoints))
    assert next(calls) == 4
    with checkpointing(tmp_path) as checkpoints:
        resumed = new(cls, **settings).fit(DATA, run=Run(checkpoints=checkpoints))
    np.testing.assert_array_equal(scores(resumed), scores(whole))
    assert resumed.history_ == whole.history_


def test_history(new: New) -> None:
    method = new(OfDe, 8, evaluations=2, held_out=0.25).fit(DATA)
    assert [row["step"] for row in method.history_] == [0, 4, 8]
    assert json.loads(json.dumps(method.history_)) == method.history_
    for row in method.history_:
        assert 0 <= row["ndcg@5"] <= 1
        assert row["zsr@100"] == 1.0  # fewer than 100 labels
        assert -1 <= row["unseen_cosine"] <= 1
        assert row["unseen_participation"] > 1
    assert method.history_[-1]["unseen_cosine"] != method.history_[0]["unseen_cosine"]
    assert new(OfDe, 1).fit(DATA).history_ == []
    free = new(OvaClf, 1, evaluations=1, held_out=0.25).fit(DATA).history_
    assert [row["zsr@100"] for row in free] == [0.0, 0.0]
    assert free[0]["unseen_cosine"] is None


def test_evaluations_need_something_to_learn_from(new: New) -> None:
    with pytest.raises(DataError, match="set evaluations=0"):
        new(OfDe, 1, evaluations=1).fit(DATA.subset([1]))


# --- explanations


@pytest.mark.parametrize("kind", ["static", "transformer"])
def test_explanations_add_up_and_stand_where_they_say(
    new: New, static: EncoderConfig, tiny_folder: Path, kind: str
) -> None:
    encoder = static if kind == "static" else EncoderConfig(kind=str(tiny_folder), max_tokens=16)
    method = new(OfLan, 2, None, encoder=encoder).fit(DATA)
    text = "The sea, trading of the SEA"
    found = method.explain(text, "l0")
    assert sum(span.weight for span in found) == pytest.approx(1, abs=1e-5)
    assert all(text[span.start : span.end] == span.text for span in found)
    assert sorted(span.text for span in found) == [",", "SEA", "The", "of", "sea", "the", "trading"]
    assert [span.weight for span in found] == sorted((span.weight for span in found), reverse=True)
    assert method.explain("", "l0") == []
    if kind == "static":  # both are the same token
        weights = {span.text: span.weight for span in found}
        assert weights["sea"] == pytest.approx(weights["SEA"])


@pytest.mark.parametrize("cls", [OfLan, Lan])
def test_attention_finds_the_planted_word(new: New, static: EncoderConfig, cls: type[Any]) -> None:
    """One word of each document says what it is about. The tokens' vectors stay: only attention can stress it."""
    rng = np.random.default_rng(0)
    noise = ["a", "the", "of", "and", "in", "1", "2", "3", "milk", "wine"]
    texts = [" ".join(rng.permutation([CLUES[i % 4][0], *rng.choice(noise, 7)])) for i in range(64)]
    planted = Dataset(Documents.of(texts), LABELS, pairs_from_lists([[i % 4] for i in range(64)], len(LABELS)))
    learn = Learning(steps=100, batch_size=16, layer_lr=0.03)
    method = new(cls, learn=learn, encoder=replace(static, trainable=False), auxiliary=0.0).fit(planted)
    best = [method.explain(text, f"l{i % 4}")[0].text for i, text in enumerate(texts)]
    right = [word == CLUES[i % 4][0] for i, word in enumerate(best)]
    assert np.mean(right) >= 0.75  # a label may be what is left when no other has its word


def test_what_cannot_be_explained(new: New) -> None:
    with pytest.raises(ConfigError, match="of-de has no attention"):
        new(OfDe, 1).fit(DATA).explain("sea", "l0")
    with pytest.raises(DataError, match="'l9' is not in the model's vocabulary"):
        new(OfLan, 1).fit(DATA).explain("sea", "l9")
    with pytest.raises(DataError, match="no document had it"):
        new(Lan, 1).fit(DATA).explain("sea", "new0")


# --- settings


def test_what_the_members_are() -> None:
    table = {cls.name: (cls().label_side, cls().attention, cls().auxiliary) for cls in METHODS}
    assert table == {
        "of-de": ("frozen", False, 1.0),
        "of-lan": ("frozen", True, 1.0),
        "ova-clf": ("free", False, 0.0),
        "lan": ("free", True, 0.0),
        "dpr": ("second", False, 0.0),
        "dexml": ("same", False, 0.0),
    }
    assert not any(cls().unseen_negatives for cls in METHODS)


def test_a_label_s_text() -> None:
    assert text_of(LabelSet.of([Label("a", "name", "what it is", ("other", ""))]), 0) == "name\nother\nwhat it is"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learn": Learning(epochs=0)}, "learn.epochs must be above 0"),
        ({"encoder": EncoderConfig(passages="mean")}, "encoder.passages must be 'first'; got 'mean'"),
        ({"label_side": "same", "label_encoder": "minilm"}, "label_encoder is for label_side='frozen'"),
        ({"label_encoder": "minilm + "}, "label_encoder must be names or folders, as 'own"),
        ({"label_encoder": " "}, "label_encoder must be names or folders"),
        ({"output": "linear", "center": False, "frequency_weight": 0.0}, "output='linear' is for label_side='free'"),
        ({"output": "linear", "label_side": "free", "center": False}, "and frequency_weight=0"),
        ({"attention": True, "shortlist": 0}, "without a shortlist needs pooled_share=0; got 0.5"),
        ({"shortlist": -1}, "shortlist must be 0 .all labels. or more"),
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"auxiliary": -1.0}, "auxiliary and weight_decay 0 or more"),
        ({"labels_per_batch": 0}, "labels_per_batch at least 1"),
        ({"hard_negatives": -1}, "hard_negatives, evaluations and frequency_weight must be 0 or more"),
        ({"held_out": 1.0}, "held_out is a share"),
        ({"pooled_share": 1.0}, "pooled_share one from 0"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        OfDe(**settings).fit(DATA)


def test_a_bag_of_words_has_no_texts_to_compare() -> None:
    none = [""] * len(DATA)
    documents = replace(DATA.documents, texts=none, titles=none, features=DATA.required_pairs)
    with pytest.raises(DataError, match="bag of words"):
        OfDe().fit(replace(DATA, documents=documents))
