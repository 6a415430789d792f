"""MACLR and its siblings: what is learned on a toy problem, interruptions, settings."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import numpy as np
import pytest
import torch
from tests.methods.maclr.selfsup_toy import ALL, DATA, LABELS, METHODS, NAMES

import everylabel
from everylabel import config
from everylabel.data.dataset import Dataset, Documents, Label, pairs_from_lists
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError
from everylabel.methods.maclr.maclr import FineTuned, Ict, Maclr, Rts, SelfSupervision, SimCse
from everylabel.methods.maclr.selfsup import Learner
from everylabel.methods.maclr.semantic import Semantic
from everylabel.run import QUIET, Run
from everylabel.text.views import Views
from everylabel.train.checkpoint import checkpointing


def vectors(method: Ict | Semantic, texts: list[str] = NAMES) -> Any:
    return method.tower_.encoder.encode(texts)


def fitted(cls: type[Ict], encoder: EncoderConfig, data: Dataset = DATA, run: Run = QUIET, **settings: Any) -> Ict:
    """With few steps; `settings` of `learn`."""
    learn = replace(cls().learn, **{"steps": 4, "batch_size": 8, "label_negatives": 5, **settings})
    return cls(encoder=encoder, learn=learn).fit(data, run=run)


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
    with monkeypatch.context() as patch, checkpointing(tmp_path) as checkpoints:
        stop_in(patch, call)
        with pytest.raises(KeyboardInterrupt):
            fitted(Maclr, static, data, Run(checkpoints=checkpoints), **settings)
    losses = create_autospec(Learner.loss, side_effect=Learner.loss)  # a function, so that it is still a method
    monkeypatch.setattr(Learner, "loss", losses)
    with checkpointing(tmp_path) as checkpoints:
        resumed = fitted(Maclr, static, data, Run(checkpoints=checkpoints), **settings)
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
    other = fitted(Maclr, static, DATA, **{"first_clusters": 2, switch: False})  # type: ignore[arg-type]
    assert np.abs(vectors(other) - whole).max() > 1e-4


def test_few_pairs_raise_the_score_of_the_right_label(static: EncoderConfig) -> None:
    """Documents on ships and the sea that are labelled milk, on law and tax labelled fish: not what their words say."""
    texts = ["the ship and the sea", "a ship in the sea", "law and the tax", "tax of the law", *DATA.documents.texts]
    lists = [[6], [6], [0], [0]] + [[]] * len(DATA)
    data = Dataset(Documents.of(texts), LABELS, pairs_from_lists(lists, len(LABELS)))
    learn = replace(Ict().learn, steps=10, batch_size=8)
    learned, without = (Ict(encoder=static, learn=learn).fit(given) for given in (data, data.without_pairs()))
    for text, right in (("ship of the sea", 6), ("a law of tax", 0)):
        (score, place), (before, place_before) = (found_at(method, text, right) for method in (learned, without))
        assert score > before + 0.02
        assert place <= place_before


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
    """Section 5.1: BERT-base, a linear head on [CLS] of 512 dimensions, 288 and 64 tokens, 100,000 steps, batches of 32
    on 8 GPUs, Adam at 1e-5, 5e-6 for 2,000 steps of fine-tuning, K = 2048, the top 3 of both views. M = 4 a device."""
    paper: Any = everylabel.method("maclr", **Maclr.presets["paper"])
    paper.check()
    assert paper.encoder == EncoderConfig(kind="bert-base-uncased", max_tokens=288)
    assert (paper.similarity, paper.head, paper.label_tokens, paper.center) == ("dot", 512, 64, False)
    assert paper.learn == SelfSupervision(
        **ALL,
        task="titles",
        batch_size=32 * 8,
        steps=100_000,
        lr=1e-5,
        temperature=1.0,
        label_temperature=1.0,
        first_clusters=2048,
        pseudo_labels=3,
        label_negatives=4 * 8,
        other_labels=0,
        fine_tune_steps=2_000,
        fine_tune_alone=True,
    )
    assert (paper.match.language, paper.match.title_weight) == ("none", 0)


@pytest.mark.parametrize("cls", [Maclr, Ict, SimCse, Rts, FineTuned])
def test_the_paper_s_data_sets_and_its_few_shot_settings(cls: type[Any]) -> None:
    """Section 5.1: one set of settings for four data sets; 10,000 steps of fine-tuning with 5 % of the labels."""
    made: dict[str, Any] = {name: everylabel.method(cls.name, preset=name) for name in cls.presets}
    five = made.pop("paper:few-shot-5")
    names = ["lf-amazon-131k", "lf-wikiseealso-320k", "lf-wikipedia-500k", "lf-amazon-1m", "few-shot-1"]
    assert list(made) == ["paper", *(f"paper:{name}" for name in names)]
    assert all(one == made["paper"] for one in made.values())
    assert (made["paper"].learn.fine_tune_steps, five.learn.fine_tune_steps) == (2_000, 10_000)
    assert replace(five.learn, fine_tune_steps=2_000) == made["paper"].learn


def test_the_competitors_have_maclr_s_encoder_and_steps() -> None:
    paper: Any = everylabel.method("maclr", preset="paper")
    for name, similarity, temperature in (("ict", "dot", 1.0), ("simcse", "cosine", 0.05), ("rts", "cosine", 0.05)):
        other: Any = everylabel.method(name, preset="paper")
        assert (other.encoder, other.head, other.label_tokens) == (paper.encoder, 512, 64)
        assert (other.similarity, other.learn.temperature, other.center) == (similarity, temperature, False)
        assert (other.learn.steps, other.learn.batch_size, other.learn.lr) == (100_000, 256, 1e-5)
        assert (other.learn.clustering, other.learn.pseudo_encoder, other.learn.pseudo_tfidf) == (False, False, False)
    tuned: Any = everylabel.method("fine-tuned", preset="paper")
    assert (tuned.encoder.kind, tuned.head) == ("sentence-transformers/paraphrase-mpnet-base-v2", 0)
    assert (tuned.similarity, tuned.learn.task, tuned.learn.lr) == ("dot", "none", 1e-5)  # half of it in fine-tuning


def test_the_paper_s_way_with_a_tiny_transformer(static: EncoderConfig, tiny_folder: Path, tmp_path: Path) -> None:
    """[CLS], a linear head, dot products: scores by hand, after saving and loading, and with labels that come later."""
    assert static.kind == "static"  # for its environment only
    settings = config.merge(
        Maclr.presets["paper"],
        {
            "encoder": {"kind": str(tiny_folder), "max_tokens": 16},
            "head": 24,
            "label_tokens": 5,
            "learn": {"steps": 2, "batch_size": 8, "lr": 0.01, "first_clusters": 2, "fine_tune_steps": 1},
        },
    )
    data = DATA.with_pairs(pairs_from_lists([[i % 10] for i in range(len(DATA))], len(LABELS)))
    method = everylabel.method("maclr", **settings).fit(data)
    module = method.tower_.encoder.module
    texts = ["the fish of the sea", "law law tax"]
    with torch.inference_mode():
        states = module._hidden(*module._sent(method.tower_.encoder.tokenize(texts)))[:, 0]
        documents = module.heads[1].linear(states).numpy()
        of_labels = [[label.name, *label.alternatives] for label in LABELS]
        products = np.stack(
            [
                (documents @ module(method.tower_.encoder.tokenize(own, 3)).numpy().T).max(axis=1)  # and two special
                for own in of_labels
            ],
            axis=1,
        )
    assert documents.shape == (2, 24)
    assert np.abs(np.linalg.norm(documents, axis=1) - 1).min() > 0.1
    found = method.rank(texts, 10)
    np.testing.assert_array_equal(found.ids, np.argsort(-products, axis=1))
    lengths = np.linalg.norm(documents, axis=1, keepdims=True) * method.tower_.longest
    np.testing.assert_allclose(found.scores, -np.sort(-(1 + products / lengths) / 2, axis=1), atol=1e-5)
    similar = method.tower_.similar(Views.of(texts), float(np.sort(products[0])[6:8].mean()), 10)
    assert (similar.ids[0] >= 0).sum() == 3
    method.save(tmp_path / "model")
    loaded = everylabel.load(Path(shutil.copytree(tmp_path / "model", tmp_path / "copy")))
    np.testing.assert_array_equal(loaded.rank(texts, 10).scores, found.scores)
    loaded.add_labels([Label("later", "fish")])
    later = loaded.rank(texts, 11)
    place = {label: rank for rank, label in enumerate(later.ids[0].tolist())}
    assert later.scores[0, place[10]] == pytest.approx(found.scores[0, found.ids[0].tolist().index(0)], abs=1e-5)


def test_what_the_siblings_are() -> None:
    assert Ict().learn == SelfSupervision()
    assert SimCse().learn == SelfSupervision(task="twins")
    assert Rts().learn == SelfSupervision(task="segments")
    assert Maclr().learn == SelfSupervision(**ALL, pseudo_labels=30, pseudo_by_rank=True, pseudo_least=0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 1}, "learn.batch_size must be at least 2; got 1"),
        ({"pseudo_labels": 0}, "learn.pseudo_labels must be at least 1; got 0"),
        ({"steps": 0}, "learn.steps must be at least 1; got 0"),
        ({"first_clusters": 0}, "learn.first_clusters must be at least 1"),
        ({"label_negatives": 0}, "learn.label_negatives must be at least 1"),
        ({"lr": -1.0}, "learn.lr must be above 0; got -1.0"),
        ({"temperature": 0.0}, "learn.temperature must be above 0; got 0.0"),
        ({"label_temperature": -1.0}, "learn.label_temperature must be above 0"),
        ({"fine_tune_steps": 0}, "learn.fine_tune_steps must be at least 1"),
        ({"other_labels": -1}, "learn.other_labels must be at least 0"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Maclr(learn=SelfSupervision(**settings)).fit(DATA)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"head": 8}, "head is a new layer of a transformer that is trained"),
        ({"head": 8, "encoder": EncoderConfig(kind="minilm", trainable=False)}, "head is a new layer"),
        ({"head": -1}, "head must be from 0"),
        ({"label_tokens": 3}, "label_tokens must be at least 4; got 3"),
        ({"similarity": "dot", "encoder": EncoderConfig(passages="max")}, "similarity='dot' reads a text at once"),
    ],
)
def test_ways_of_comparing_that_cannot_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Maclr(**settings).fit(DATA)


def test_dot_products_of_static_embeddings(static: EncoderConfig) -> None:
    method = fitted(Ict, static, steps=1)
    dot = Ict(encoder=static, similarity="dot", center=False, learn=method.learn).fit(DATA)
    encoder = dot.tower_.encoder
    plain = encoder.encode_tokens(encoder.tokenize(NAMES), unit=False)
    assert np.ptp(np.linalg.norm(plain, axis=1)) > 0.01
    found = dot.rank(["fish and law"], 10)
    document = encoder.encode_tokens(encoder.tokenize(["fish and law"]), unit=False)
    best = [
        float(
            (document @ encoder.encode_tokens(encoder.tokenize([label.name, *label.alternatives]), unit=False).T).max()
        )
        for label in LABELS
    ]
    np.testing.assert_array_equal(found.ids[0], np.argsort(-np.array(best), kind="stable"))
