"""MatchXML: its switches, its ensemble, and the rows of the paper's table XII."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from tests.encoders import conftest as encoders

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError, DataError
from everylabel.linear.solver import SolverConfig
from everylabel.methods.matchxml import matchxml
from everylabel.methods.matchxml.matchxml import FineTuning, MatchXml, XrTransformer
from everylabel.methods.words.linear import XrLinear
from everylabel.run import QUIET
from everylabel.text.tfidf import TfidfConfig
from everylabel.text.views import Views
from everylabel.tree.build import build_tree

tiny_folder = encoders.made_folder
make_plain_folder = encoders.make_plain_folder
WORDS = ["wine", "law", "fish", "customs", "ship", "tax", "milk", "sea"]
LABELS = LabelSet.of(Label(word, word) for word in [*WORDS, "unused"])
TEXTS = [f"{WORDS[i]} the {WORDS[j]}" for i in range(8) for j in range(8) if i != j]
PAIRS = pairs_from_lists([[i, j] for i in range(8) for j in range(8) if i != j], 9)
DATA = Dataset(Documents([f"{i:02}" for i in range(len(TEXTS))], TEXTS, [""] * len(TEXTS)), LABELS, PAIRS)


@pytest.fixture
def settings(tiny_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(cache))
    return {
        "tfidf": TfidfConfig(min_df=1),
        "encoder": EncoderConfig(teacher=str(tiny_folder)),
        "sentence": EncoderConfig(kind=str(tiny_folder), trainable=False, cache=False),
        "fine_tuning": FineTuning(batch_size=16, epochs=1, leaf_size=2, arity=2),
        "leaf_size": 4,
        "arity": 2,
    }


@pytest.fixture(scope="module")
def kinds(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    made = [make_plain_folder(tmp_path_factory.mktemp(kind), kind, encoders.WORDS) for kind in ("roberta", "xlnet")]
    return [str(tiny_folder), *map(str, made)]


def hits(method: Any) -> float:
    found = method.rank(DATA.documents, 2).ids
    truth = DATA.required_pairs.toarray()
    return float(np.take_along_axis(truth, found.astype(np.int64), 1).mean())


@pytest.mark.parametrize(
    "switches",
    [
        {},
        {"tree": "pifa"},
        {"fine_tuning": FineTuning(batch_size=16, epochs=1, leaf_size=2, arity=2, matching=False)},
        {"fine_tuning": FineTuning(epochs=0)},
        {"sentence_weight": 0.0},
        {"tuned_weight": 0.0},
        {"members": 3},
        {"ranker_tree": "paper"},
        {"ranker_tree": "paper", "tree": "pifa"},
        {"ranker_tree": "paper", "tuned_weight": 0.0},
        {"solver": SolverConfig(shares=True)},
        {
            "fine_tuning": FineTuning(
                batch_size=16,
                stage_steps=(3, 4),
                leaf_size=2,
                arity=2,
                first_nodes=3,
                weighted=True,
                matcher_start=True,
            )
        },
    ],
)
def test_every_switch_fits_saves_and_loads(settings: dict[str, Any], switches: dict[str, Any], tmp_path: Path) -> None:
    method = MatchXml(**{**settings, **switches}).fit(DATA)
    assert hits(method) > 0.9
    method.save(tmp_path / "model")
    again = everylabel.load(tmp_path / "model")
    ranked = method.rank(TEXTS, 5)
    np.testing.assert_array_equal(again.rank(TEXTS, 5).ids, ranked.ids)
    np.testing.assert_array_equal(again.rank(TEXTS, 5).scores, ranked.scores)


def test_without_dense_features_it_is_the_linear_ranker(settings: dict[str, Any]) -> None:
    given = {"tuned_weight": 0.0, "sentence_weight": 0.0, "leaf_size": 400, "rare_weight": 0.0}
    plain = MatchXml(**{**settings, **given}).fit(DATA)
    linear = XrLinear(tfidf=TfidfConfig(min_df=1), matcher_negatives=True).fit(DATA)
    np.testing.assert_allclose(plain.rank(TEXTS, 5).scores, linear.rank(TEXTS, 5).scores, atol=1e-5)


def test_xr_transformer_has_none_of_the_three_parts() -> None:
    method = XrTransformer()
    assert (method.tree, method.fine_tuning.matching, method.sentence_weight) == ("pifa", False, 0)


def test_an_ensemble_is_the_mean_of_the_models_of_as_many_seeds(settings: dict[str, Any]) -> None:
    text = Documents.of(["wine the sea law"])
    settings["rare_weight"] = 0.0
    parts = [MatchXml(**settings, random_state=seed).fit(DATA).rank(text, 9) for seed in (4, 5)]
    assert np.abs(parts[0].scores[:, :5] - parts[1].scores[:, :5]).max() > 1e-4
    scores = [dict(zip(part.ids[0].tolist(), part.scores[0].tolist(), strict=True)) for part in parts]
    found = MatchXml(**settings, random_state=4, members=2).fit(DATA).rank(text, 3)
    expected = [sum(own.get(label, 0) for own in scores) / 2 for label in found.ids[0].tolist()]
    assert found.scores[0] == pytest.approx(expected, abs=1e-6)


def test_an_ensemble_of_different_encoders(settings: dict[str, Any], kinds: list[str], tmp_path: Path) -> None:
    """BERT, RoBERTa and XLNet, each fine-tuned by its pooler output."""
    settings["encoder"] = EncoderConfig(kind=kinds[0], pooling="pooler", max_tokens=16)
    settings["fine_tuning"] = FineTuning(batch_size=16, stage_steps=(2,), leaf_size=2, arity=2)
    method: Any = MatchXml(**settings, members=3, member_encoders=tuple(kinds)).fit(DATA)
    types = [member.encoder.module.transformer.config.model_type for member in method.members_]
    assert types == ["bert", "roberta", "xlnet"]
    assert hits(method) > 0.9
    method.save(tmp_path / "model")
    again, ranked = everylabel.load(tmp_path / "model"), method.rank(TEXTS, 5)
    np.testing.assert_array_equal(again.rank(TEXTS, 5).ids, ranked.ids)
    np.testing.assert_array_equal(again.rank(TEXTS, 5).scores, ranked.scores)


@pytest.mark.parametrize(
    ("tree", "width"),
    [("label2vec", 32 + 100), ("pifa", 8 + 32 + 32)],  # words, fine-tuned, sentence
)
def test_the_ranker_s_tree_as_in_the_paper(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tree: Any, width: int
) -> None:
    widths, usual = [], build_tree
    monkeypatch.setattr(
        matchxml,
        "build_tree",
        lambda vectors, *args, **more: widths.append(vectors.shape[1]) or usual(vectors, *args, **more),  # type: ignore[func-returns-value]
    )
    MatchXml(**settings, tree=tree, ranker_tree="paper").fit(DATA)
    assert widths == [100 if tree == "label2vec" else 8, width]


def test_without_two_labels_together_the_tree_is_made_from_documents(settings: dict[str, Any]) -> None:
    single = Dataset(
        Documents.of([f"{word} the" for word in WORDS]), LABELS, pairs_from_lists([[i] for i in range(8)], 9)
    )
    found = MatchXml(**settings).fit(single).rank(WORDS, 1)
    assert found.ids[:, 0].tolist() == list(range(8))


def test_ready_features_stand_in_for_tf_idf(settings: dict[str, Any], tmp_path: Path) -> None:
    """As published archives have them: texts for the encoders, features for the ranker."""
    features = csr_matrix(np.random.default_rng(0).random((len(DATA), 5)), dtype=np.float32)
    documents = replace(DATA.documents, features=features)
    method = MatchXml(**settings).fit(replace(DATA, documents=documents))
    assert method.features_.n_columns == 5
    method.save(tmp_path / "model")
    again = everylabel.load(tmp_path / "model")
    np.testing.assert_array_equal(again.rank(documents, 5).ids, method.rank(documents, 5).ids)
    with pytest.raises(DataError, match="--features"):
        again.rank(TEXTS, 5)


def test_a_bag_of_words_has_no_texts_to_encode(settings: dict[str, Any]) -> None:
    bag = Documents(["1"], [""], [""], pairs_from_lists([[0]], 3))
    with pytest.raises(DataError, match="bag of words"):
        MatchXml(**settings).fit(Dataset(bag, LABELS, pairs_from_lists([[0]], 9)))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"members": 0}, "members at least 1"),
        ({"tuned_weight": -1.0}, "must not be negative"),
        ({"fine_tuning": FineTuning(balance=2)}, "balance and stage_warmup must be from 0 to 1; got 2"),
        (
            {"fine_tuning": FineTuning(stage_warmup=(0.1, 1.5))},
            r"stage_warmup must be from 0 to 1; got 1.0 and \(0.1, 1.5",
        ),
        ({"fine_tuning": FineTuning(epochs=-1)}, "epochs must not be negative"),
        ({"leaf_size": 0}, "leaf_size, arity and first_nodes must be at least 2"),
        ({"first_nodes": 1}, "leaf_size, arity and first_nodes must be at least 2"),
        ({"fine_tuning": FineTuning(leaf_size=1)}, "leaf_size and arity must be at least 2; got 1"),
        ({"fine_tuning": FineTuning(temperature=0)}, "must be above 0"),
        ({"fine_tuning": FineTuning(stage_lr=(0.1, 0))}, "stage_lr must be above 0"),
        ({"fine_tuning": FineTuning(stage_steps=(0,))}, "stage_steps must be at least 1"),
        ({"fine_tuning": FineTuning(first_nodes=1)}, "first_nodes at least 2"),
        ({"fine_tuning": FineTuning(first_nodes=0)}, "first_nodes at least 2"),
        ({"beam": 0}, "beam and members at least 1"),
        ({"member_encoders": ("",)}, "encoder.kind"),
    ],
)
def test_settings_that_cannot_work_are_refused(bad: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        MatchXml(**bad).fit(DATA)


def test_held_out_vectors_are_by_encoders_that_did_not_learn_from_the_document(
    settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And lie where the encoder of all documents would put them, up to what it has learned from them."""
    method = MatchXml(**settings)
    method.fine_tuning = replace(method.fine_tuning, folds=2)
    member, views, seen = matchxml.Member(method, 0), Views(DATA.documents), []
    fine_tuned: Any = member.fine_tuned

    def watched(texts: list[str], rows: Any, *rest: Any) -> Any:
        seen.append(set(rows.tolist()))
        return fine_tuned(texts, rows, *rest)

    monkeypatch.setattr(member, "fine_tuned", watched)
    own = DATA.required_pairs[:, :8]
    vectors = member.tuned(lambda: np.eye(8, dtype=np.float32), own, views, QUIET)
    everyone, first, second = seen
    assert first | second == everyone
    assert not first & second
    assert member.encoder is not None
    of_all = member.encoder.encode(views.full_texts)
    assert vectors.shape == of_all.shape
    assert not np.array_equal(vectors, of_all)
    assert np.einsum("ij,ij->i", vectors, of_all).mean() > 0.8
    assert hits(MatchXml(**settings | {"fine_tuning": method.fine_tuning}).fit(DATA)) > 0.5


def test_one_fold_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"folds must be 0, or at least 2; got 1"):
        MatchXml(**settings | {"fine_tuning": FineTuning(folds=1)}).fit(DATA)
