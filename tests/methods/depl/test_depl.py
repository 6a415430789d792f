"""DEPL and its siblings: what each switch does, unseen labels, descriptions, resuming, and every kind of encoder."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import expit
from tests.methods.clues import NAMES, data, labels, scores

import everylabel
from everylabel import config
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError, DataError
from everylabel.methods.depl import dual_learning
from everylabel.methods.depl.depl import Classifier, Depl, DeplCls, DeRet
from everylabel.methods.depl.dual_learning import DualLearner, LabelSets
from everylabel.methods.depl.settings import Learning
from everylabel.methods.tower import Tower
from everylabel.run import Run
from everylabel.text.keywords import KeywordConfig
from everylabel.text.views import Views
from everylabel.train.checkpoint import checkpointing

LABELS = labels(Label("new", "a law of the sea", alternatives=("ship customs",)))
DATA = data(LABELS)
METHODS: list[type[Any]] = [Classifier, Depl, DeplCls, DeRet]
New = Callable[..., Any]


@pytest.fixture
def new(static: EncoderConfig) -> New:
    """`new(Depl, joint=True)`, with few steps."""

    def made(cls: type[Any], steps: int = 20, lr: float | None = 0.1, **settings: Any) -> Any:
        given: dict[str, Any] = {"encoder": static, "classify": Learning(steps=steps, batch_size=8, lr=lr)}
        if issubclass(cls, Depl):
            given["retrieve"] = Learning(steps=steps, batch_size=8, lr=lr)
        return cls(**given | settings)

    return made


# --- what is learned


@pytest.mark.parametrize("cls", METHODS)
def test_right_labels_come_first(new: New, cls: type[Any]) -> None:
    found = scores(new(cls, steps=60).fit(DATA))
    right = DATA.required_pairs.toarray() > 0
    places = np.argsort(-found, axis=1)
    assert np.take_along_axis(right, places, 1)[:, 0].mean() == 1.0
    assert found[right].mean() > found[~right].mean() + 0.3


def test_unseen_labels_are_ranked_by_texts_and_not_by_a_classifier(new: New) -> None:
    at = len(NAMES)
    ranked = {cls.name: at in new(cls).fit(DATA).rank(["the sea"], len(LABELS)).ids for cls in METHODS}
    assert ranked == {"classifier": False, "depl": True, "depl+cls": True, "de-ret": True}


def test_an_unseen_label_is_higher_when_it_is_no_negative(new: New) -> None:
    low, high = (
        scores(new(Depl, unseen_negatives=asked, labels_per_batch=100).fit(DATA))[:, -1].mean()
        for asked in (True, False)
    )
    assert low < high


@pytest.mark.parametrize(
    "switch",
    [
        {"initialise": True},
        {"joint": True},
        {"hard_negatives": 0, "labels_per_batch": 1},
        {"labels_per_batch": 1},
        {"plain_share": 0.0},
        {"description_tokens": 2},
        {"keywords": KeywordConfig(per_label=1)},
        {"keywords": KeywordConfig(per_label=0)},
        {"unseen_negatives": False},
        {"random_state": 1},
    ],
    ids="-".join,
)
def test_each_switch_changes_what_is_learned(new: New, switch: dict[str, Any]) -> None:
    base = scores(new(Depl, hard_negatives=2).fit(DATA))
    assert np.abs(scores(replace(new(Depl, hard_negatives=2), **switch).fit(DATA)) - base).max() > 1e-5


@pytest.mark.parametrize("n", [0, 1, 3])
def test_hard_negatives_are_the_svm_s_best_wrong_labels(new: New, monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    kept: list[LabelSets] = []
    usual = LabelSets.__call__
    monkeypatch.setattr(LabelSets, "__call__", lambda self, *args: kept.append(self) or usual(self, *args))  # type: ignore[func-returns-value]
    method = new(Depl, steps=1, hard_negatives=n).fit(DATA)
    hard, truth = kept[0].pairs.hard, kept[0].pairs.truth.toarray() > 0
    assert hard.shape == (len(DATA), n)
    assert not any(truth[row, label] for row, own in enumerate(hard) for label in own if label >= 0)
    order = sorted(range(len(DATA)), key=DATA.documents.ids.__getitem__)
    best = method.svm_.ranker_.rank(method.svm_.features(Views.of(DATA.documents)), 4).ids[order]
    for row, own in enumerate(hard):
        assert own.tolist() == ([label for label in best[row].tolist() if not truth[row, label]] + [-1] * n)[:n]


def test_without_keywords_and_hard_negatives_there_is_no_svm(new: New, tmp_path: Path) -> None:
    method = new(DeRet, hard_negatives=0).fit(DATA)
    assert method.svm_ is None
    assert method.diagnostics(DATA) == {}
    method.save(tmp_path / "model")
    np.testing.assert_array_equal(scores(everylabel.load(tmp_path / "model")), scores(method))


def test_a_frozen_encoder_stays_and_the_layers_learn(new: New, static: EncoderConfig) -> None:
    frozen = replace(static, trainable=False)
    tower = Tower.load(frozen, Views.of(DATA.documents), LABELS, 0, center=True)
    for cls in METHODS:
        method = new(cls, encoder=frozen).fit(DATA)
        np.testing.assert_array_equal(method.ranker_.encoder.encode(NAMES), tower.encoder.encode(NAMES))
        assert np.abs(method.ranker_.towers.state()["document.weight"] - np.eye(tower.encoder.dim)).max() > 1e-3


@pytest.mark.parametrize("cls", METHODS)
def test_the_order_of_documents_and_labels_changes_nothing(new: New, cls: type[Any]) -> None:
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(len(DATA)), rng.permutation(len(LABELS))
    pairs = DATA.required_pairs[rows][:, columns]
    other = Dataset(DATA.documents.subset(rows), LABELS.subset(columns), pairs)
    found = scores(new(cls).fit(other))
    np.testing.assert_allclose(found, scores(new(cls).fit(DATA))[:, columns], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("pooling", ["own", "cls"])
@pytest.mark.parametrize("cls", [Classifier, DeplCls])
def test_a_transformer(
    new: New, static: EncoderConfig, tiny_folder: Path, tmp_path: Path, cls: type[Any], pooling: str
) -> None:
    assert static.kind == "static"  # for its environment only
    encoder = EncoderConfig(kind=str(tiny_folder), max_tokens=16)
    settings: dict[str, Any] = {"encoder": encoder, "pooling": pooling, "normalise": pooling == "own"}
    method = new(cls, steps=2, lr=None, **settings).fit(DATA)
    before = Tower.load(encoder, Views.of(DATA.documents), LABELS, 0, center=False).encoder.encode(NAMES)
    assert np.abs(method.ranker_.encoder.encode(NAMES) - before).max() > 1e-6
    method.save(tmp_path / "model")
    np.testing.assert_array_equal(scores(everylabel.load(tmp_path / "model")), scores(method))
    assert np.isfinite(scores(method, Documents.of(["", "fish"]))).all()


def test_the_poolings_differ(new: New, static: EncoderConfig, tiny_folder: Path) -> None:
    assert static.kind == "static"
    encoder = EncoderConfig(kind=str(tiny_folder), max_tokens=16)
    given = [("own", "own"), ("cls", "own"), ("own", "cls"), ("cls", "cls")]  # documents, labels (table 7); own: mean
    found = [
        scores(new(Depl, 1, None, encoder=encoder, pooling=one, label_pooling=other).fit(DATA)) for one, other in given
    ]
    assert min(np.abs(one - other).max() for one, other in combinations(found, 2)) > 1e-6


def test_plain_dot_products(new: New, static: EncoderConfig, tiny_folder: Path, tmp_path: Path) -> None:
    """By hand, from the encoder's own states: nothing is normalised, centred, divided or added (eq. 1 and 2)."""
    assert static.kind == "static"
    settings: dict[str, Any] = {"pooling": "cls", "label_pooling": "mean", "normalise": False, "rare_weight": 0.0}
    method = new(Depl, 1, None, encoder=EncoderConfig(kind=str(tiny_folder), max_tokens=16), **settings).fit(DATA)
    encoder, layers = method.ranker_.encoder, method.ranker_.towers.state()
    assert (layers["constant"], np.abs(layers["mean"]).max()) == (0, 0)
    with torch.inference_mode():
        first = encoder.module.states(encoder.tokenize(DATA.documents.full_texts))[0][:, 0].numpy()
        texts = [method.describe(label.id).text for label in LABELS.labels]
        pooled = np.stack([encoder.module.states(encoder.tokenize([text]))[0][0].mean(dim=0).numpy() for text in texts])
    documents = first @ layers["document.weight"].T + layers["document.bias"]
    labels = pooled @ layers["label.weight"].T + layers["label.bias"]
    np.testing.assert_allclose(scores(method), expit(documents @ labels.T), atol=1e-4)
    method.save(tmp_path / "model")
    np.testing.assert_array_equal(scores(everylabel.load(tmp_path / "model")), scores(method))


def test_each_part_learns_at_its_own_rate(new: New, monkeypatch: pytest.MonkeyPatch) -> None:
    rates: dict[str, list[float]] = {}

    def watched(*_args: Any, groups: Any, name: str, **_more: Any) -> Any:
        rates[name] = [group.lr for group in groups]
        return iter(())

    monkeypatch.setattr(dual_learning, "train", watched)
    learning = Learning(steps=1, lr=0.5, layer_lr=0.1, head_lr=0.2)
    new(DeplCls, classify=learning, retrieve=Learning(steps=1, lr=0.1, layer_lr=0.01)).fit(DATA)
    assert rates == {"classifier": [0.5, 0.1, 0.2], "retrieval": [0.1, 0.01, 0.01]}


@pytest.mark.parametrize("cls", [Depl, DeplCls])
def test_re_ranking_inside_clusters(new: New, cls: type[Any], tmp_path: Path) -> None:
    """Labels of the SVM's best groups have the scores that they have among all; others have none, but unseen ones."""
    given: dict[str, Any] = {"keywords": KeywordConfig(leaf_size=2), "rare_weight": 0.0}
    every, some = (new(cls, clusters=clusters, **given).fit(DATA) for clusters in (0, 1))
    whole, part = scores(every), scores(some)
    groups = some.svm_.ranker_.labels_of_groups(some.svm_.features(Views.of(DATA.documents)), 1)
    for row, own in enumerate(groups):
        ranked = sorted([*own[own >= 0].tolist(), len(NAMES)])
        assert np.flatnonzero(part[row]).tolist() == ranked
        np.testing.assert_allclose(part[row, ranked], whole[row, ranked], atol=1e-6)
    some.save(tmp_path / "model")
    again = everylabel.load(tmp_path / "model")
    np.testing.assert_array_equal(scores(again), part)
    again.add_labels([Label("newer", "customs of the union")])
    assert len(NAMES) + 1 in again.rank(["fish"], 10).ids


@pytest.mark.parametrize("call", [3, 9])  # in each of the two stages
@pytest.mark.parametrize("cls", [Depl, DeplCls])
def test_an_interrupted_fit_goes_on_to_the_same_scores(
    new: New, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cls: type[Any], call: int
) -> None:
    whole = new(cls, steps=6, initialise=True).fit(DATA)
    calls = iter(range(1000))

    def watched(usual: Any) -> Any:
        def loss(self: DualLearner, both: Any, batch: Any) -> Any:
            if next(calls) == call:
                os.kill(os.getpid(), signal.SIGINT)
            return usual(self, both, batch)

        return loss

    with monkeypatch.context() as patch, checkpointing(tmp_path) as checkpoints:
        for name in ("classifier_loss", "retrieval_loss", "joint_loss"):
            patch.setattr(DualLearner, name, watched(getattr(DualLearner, name)))
        with pytest.raises(KeyboardInterrupt):
            new(cls, steps=6, initialise=True).fit(DATA, run=Run(checkpoints=checkpoints))
    assert next(calls) == call + 1
    with checkpointing(tmp_path) as checkpoints:
        resumed = new(cls, steps=6, initialise=True).fit(DATA, run=Run(checkpoints=checkpoints))
    np.testing.assert_array_equal(scores(resumed), scores(whole))


# --- descriptions and diagnostics


def test_a_label_described(new: New, tmp_path: Path) -> None:
    method = new(Depl, steps=1, keywords=KeywordConfig(per_label=2), description_tokens=6).fit(DATA)
    method.save(tmp_path / "model")
    loaded: Any = everylabel.load(tmp_path / "model")
    for one in (method, loaded):
        fish = one.describe("l0")
        assert {word for word, _, _ in fish.keywords} == {"sea", "ship"}
        assert fish.text.split()[0] == "fish"
        assert set(fish.text.split()[1:]) <= {"sea", "ship"}
        assert one.describe("new").text == "a law of the sea ship customs"
        assert one.describe("new").keywords == []
    with pytest.raises(DataError, match="'l9' is not in the model's vocabulary of 5 labels"):
        method.describe("l9")


def test_names_only(new: New) -> None:
    method = new(DeRet, steps=1).fit(DATA)
    assert [method.describe(f"l{i}").text for i in range(4)] == NAMES


def test_diagnostics_match_labels_by_their_ids(new: New, tmp_path: Path) -> None:
    method = new(Depl, steps=1).fit(DATA)
    found = method.diagnostics(DATA)
    assert found["n_predictions"] > len(DATA) / 2
    assert 0 <= found["delta_bounded"] <= 1
    assert found["margin"]["10%"] <= found["margin"]["50%"] <= found["margin"]["90%"]
    columns = np.array([3, 1, 0, 2])
    more = LabelSet.of([*LABELS.subset(columns).labels, Label("unknown", "unknown")])
    pairs = pairs_from_lists(
        [[*(columns.tolist().index(label) for label in row.indices), 4] for row in DATA.required_pairs], 5
    )
    assert method.diagnostics(Dataset(DATA.documents, more, pairs)) == found
    method.save(tmp_path / "model")
    assert everylabel.load(tmp_path / "model").diagnostics(DATA) == found


def test_diagnostics_of_a_tree_of_labels_say_nothing(new: New) -> None:
    method = new(Depl, steps=1, keywords=KeywordConfig(leaf_size=2)).fit(DATA)
    assert method.diagnostics(DATA) == {}
    assert method.describe("l0").keywords


# --- settings


def test_what_the_siblings_are() -> None:
    assert not Depl().joint
    assert Depl().keywords.per_label == 20
    assert DeplCls().joint
    assert DeRet().keywords == KeywordConfig(per_label=0)


@pytest.mark.parametrize("cls", METHODS)
def test_presets_can_be_built(cls: type[Any]) -> None:
    for name, settings in cls.presets.items():
        made = config.build(cls, config.merge(cls.presets["paper"], settings))
        made.check()
        assert made.encoder.kind == "bert-base-uncased", name
        assert (made.normalise, made.pooling, made.rare_weight) == (False, "cls", 0)  # section 3.3


def test_the_paper_s_numbers() -> None:
    """Appendix A.1.3."""
    made = {name: config.build(Depl, config.merge(Depl.presets["paper"], own)) for name, own in Depl.presets.items()}
    for name, depl in made.items():
        slow = name == "paper:wiki10-31k"
        rates = depl.classify.lr, depl.classify.layer_lr, depl.classify.head_lr
        assert rates == ((1e-5, 1e-4, 1e-3) if slow else (5e-5, 1e-4, 2e-3))
        assert (depl.retrieve.lr, depl.retrieve.layer_lr, depl.retrieve.head_lr) == (1e-5, 1e-4, 1e-4)
        assert (depl.keywords.per_label, depl.description_tokens, depl.hard_negatives) == (20, 16, 10)
        assert (depl.keywords.min_df, depl.keywords.max_df) == (2, 0.7)
        assert (depl.label_pooling, depl.plain_share, depl.starts_from_classifier) == ("mean", 0, True)
    sizes = {name.removeprefix("paper:"): depl.labels_per_batch for name, depl in made.items() if ":" in name}
    assert sizes == {"eurlex-4k": 300, "amazoncat-13k": 300, "wiki10-31k": 500, "wiki-500k": 500}
    assert [name for name, depl in made.items() if depl.clusters] == ["paper:wiki-500k"]  # section 6.1
    assert DeRet.presets["paper"]["keywords"]["per_label"] == 0


@pytest.mark.parametrize("cls", METHODS)
def test_presets_say_how_often_documents_are_read(cls: type[Any]) -> None:
    """The paper does not. What is asked for are passes of both parts, fewer over more than a million documents."""
    names = ["eurlex-4k", "amazoncat-13k", "wiki10-31k", "wiki-500k"]  # table 1
    assert list(cls.presets) == ["paper", *(f"paper:{name}" for name in names)]
    for name in cls.presets:
        made, epochs = config.build(cls, cls.preset(name)), 4 if name.endswith(("-13k", "-500k")) else 8
        parts = [made.classify] if cls is Classifier else [made.classify, made.retrieve]
        assert [(part.epochs, part.steps, part.batch_size) for part in parts] == [(epochs, None, 16)] * len(parts)
        assert "epochs" in cls.preset(name)["classify"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classify": Learning(epochs=0)}, "classify.epochs must be above 0"),
        ({"retrieve": Learning(steps=0)}, "retrieve.steps at least 1"),
        ({"retrieve": Learning(lr=0.0)}, "retrieve.lr.* must be above 0"),
        ({"pooling": "cls"}, "needs a transformer"),
        ({"label_pooling": "mean"}, "needs a transformer"),
        ({"retrieve": Learning(head_lr=0.0)}, "head_lr must be above 0"),
        ({"clusters": 3}, "clusters must be 0"),
        ({"clusters": -1, "keywords": KeywordConfig(leaf_size=2)}, "clusters must be 0"),
        ({"encoder": EncoderConfig(passages="mean")}, "encoder.passages must be 'first'; got 'mean'"),
        ({"hard_negatives": -1}, "hard_negatives 0 or more"),
        ({"labels_per_batch": 0}, "labels_per_batch must be at least 1"),
        ({"plain_share": 1.5}, "plain_share is a share"),
        ({"keywords": KeywordConfig(per_label=-1)}, "per_label must not be negative"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Depl(**settings).fit(DATA)


def test_a_bag_of_words_has_no_texts_to_compare() -> None:
    none = [""] * len(DATA)
    documents = replace(DATA.documents, texts=none, titles=none, features=DATA.required_pairs)
    for cls in METHODS:
        with pytest.raises(DataError, match="bag of words"):
            cls().fit(replace(DATA, documents=documents))
