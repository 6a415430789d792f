"""XML0: a label made of two others is found, its parts are exactly its parts, and any method can be the base."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import everylabel
from everylabel.config import build, parse_settings, to_dict
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.data.splits import hold_out_labels
from everylabel.encoders.base import EncoderConfig
from everylabel.encoders.build import load_encoder
from everylabel.errors import ConfigError, DataError, NotFittedError
from everylabel.methods.maclr.semantic import Semantic
from everylabel.methods.xml0.fusion import Xml0
from everylabel.methods.xml0.rehearsal import NO_REHEARSAL, THRESHOLDS, Trial, rehearsal_of
from everylabel.methods.xml0.variants import Conse, LabelFusion
from everylabel.methods.xml0.zero_shot import Candidates, Predicted, Scores, best_of_doubles, best_weight, squashed
from everylabel.metrics.ranking import restrict
from everylabel.text.views import Views
from everylabel.types import Ranking

SEEN = ["fish", "sea", "ship", "tax", "law", "wine", "milk", "customs"]
UNION, DECOY = "fish sea", "fish sea tax tax"  # without documents
NAMES = [*SEEN, UNION, DECOY, "trade"]
LABELS = LabelSet.of(Label(f"q{(7 * i) % 11:02}", name) for i, name in enumerate(NAMES))
LISTS = [(i,) for i in range(8) for _ in range(3)] + [own for n in (2, 3) for own in combinations(range(8), n)]
TEXTS = [" ".join(f"{SEEN[label]} of {SEEN[label]}" for label in own) for own in LISTS]
DATA = Dataset(Documents.of(TEXTS), LABELS, pairs_from_lists(LISTS, len(LABELS)), name="toy")
THREE = "fish of fish and sea of sea, in tax of tax"


@pytest.fixture
def lexical(static: EncoderConfig) -> EncoderConfig:
    """Tokens nearly at right angles: a name's vector is the sum of its words'."""
    return replace(static, lexical=768)


def names_of(found: Ranking) -> list[str]:
    return [NAMES[i] for i in found.ids[0] if i >= 0]


class Likeness:
    """Stands for a tower whose scores are given."""

    def __init__(self, scores: Any) -> None:
        self.given = np.asarray(scores, np.float32)

    def scores(self, documents: Documents) -> Any:
        return np.broadcast_to(self.given, (len(documents), len(self.given)))


# --- the arithmetic


def right_angles() -> Any:
    """fish, sea, tax, milk at right angles; then their union of two and of four."""
    axes = np.eye(4)
    rows = np.concatenate([axes, [axes[0] + axes[1]], [axes.sum(axis=0)]])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def test_a_label_made_of_two_is_found_by_fusion_and_missed_by_the_full_sum() -> None:
    vectors = right_angles()
    candidates = Candidates(Likeness(np.zeros(6)), vectors, np.arange(6), np.array([4, 5]))  # type: ignore[arg-type]
    predicted = Predicted(np.array([0, 1, 2]), np.full(3, 0.5, np.float32))
    best = candidates.best(predicted, "exhaustive")
    assert best.cosines[4] == pytest.approx(1)  # exactly fish and sea
    assert best.members[4] == 0b011
    assert best.cosines[5] == pytest.approx(np.sqrt(3) / 2)
    full = candidates.best(predicted, "full")
    assert full.cosines[4] == pytest.approx(2 / np.sqrt(6))
    assert full.cosines[5] == pytest.approx(np.sqrt(3) / 2)  # the irrelevant label pulls the sum over here
    assert full.cosines[5] > full.cosines[4]


def test_probabilities_weigh() -> None:
    vectors = right_angles()
    candidates = Candidates(Likeness(np.zeros(6)), vectors, np.arange(6), np.array([4]))  # type: ignore[arg-type]
    best = candidates.best(Predicted(np.array([0, 1]), np.array([0.9, 0.3], np.float32)), "full")
    assert best.cosines[4] == pytest.approx(1.2 / np.sqrt(0.9) / np.sqrt(2))


def test_scores_are_normalised_by_a_sample_of_the_vocabulary_and_not_by_the_candidates() -> None:
    alike = [0.1, 0.3, 0.5, 0.5, 0.9, 0.2]
    vectors, yardstick = right_angles(), np.array([0, 1, 2, 3])
    predicted = [Predicted(np.array([0, 1]), np.array([0.9, 0.8], np.float32))]
    documents = Views.of(["text"])
    both = Candidates(Likeness(alike), vectors, yardstick, np.array([4, 5]))  # type: ignore[arg-type]
    one = Candidates(Likeness(alike[:5]), vectors, yardstick, np.array([4]))  # type: ignore[arg-type]
    scores, alone = (own.scores(documents, predicted, "exhaustive") for own in (both, one))
    assert scores.alike[0] == pytest.approx((np.array([0.9, 0.2]) - 0.35) / np.std(alike[:4]), abs=1e-5)
    assert alone.alike[0, 0] == scores.alike[0, 0]
    assert alone.fused[0, 0] == scores.fused[0, 0]


def test_a_part_without_weight_is_not_computed() -> None:
    candidates = Candidates(Likeness(np.arange(6) / 6), right_angles(), np.arange(4), np.array([4, 5]))  # type: ignore[arg-type]
    predicted = [Predicted(np.array([0, 1]), np.array([0.9, 0.8], np.float32))]
    documents = Views.of(["text"])
    both, fused, alike = (candidates.scores(documents, predicted, "exhaustive", weight) for weight in (0.5, 1, 0))
    np.testing.assert_array_equal(fused.mixed(1), both.fused)
    np.testing.assert_array_equal(alike.mixed(0), both.alike)
    assert not fused.alike.any()
    assert not alike.fused.any()


def test_a_document_without_any_prediction_has_no_fusion_score() -> None:
    candidates = Candidates(Likeness(np.arange(6) / 6), right_angles(), np.arange(4), np.array([4, 5]))  # type: ignore[arg-type]
    nothing = Predicted(np.empty(0, np.int64), np.empty(0, np.float32))
    scores = candidates.scores(Views.of([""]), [nothing], "exhaustive")
    assert scores.fused.tolist() == [[0, 0]]
    assert scores.alike[0, 1] > scores.alike[0, 0]


def test_who_takes_part() -> None:
    ids = np.array([[4, 2, 7, 1], [3, 5, -1, -1], [-1, -1, -1, -1]], np.int32)
    scores = np.array([[0.9, 0.5, 0.3, 0.1], [0.2, 0.1, -np.inf, -np.inf], [-np.inf] * 4], np.float32)

    def labels(threshold: float, cap: int) -> list[list[int]]:
        return [own.labels.tolist() for own in Predicted.of(Ranking(ids, scores), threshold, cap)]

    assert labels(0.25, 10) == [[4, 2, 7], [], []]
    assert labels(0.05, 2) == [[4, 2], [3, 5], []]
    assert labels(0.5, 10) == [[4], [], []]  # above, not at


def test_weights_0_and_1_are_the_parts_themselves() -> None:
    scores = Scores(np.array([[1.0, 2.0]]), np.array([[np.nan, 5.0]]))
    assert scores.mixed(1) is scores.fused
    assert scores.mixed(0) is scores.alike
    assert scores.mixed(0.25)[0, 1] == 0.25 * 2 + 0.75 * 5


def test_the_weight_is_that_of_the_part_that_is_right() -> None:
    truth = pairs_from_lists([[0], [2], []], 3)
    right, wrong = np.array([[9.0, 0, 0], [0, 0, 9], [0, 0, 0]]), np.array([[0, 1.0, 2], [9, 8, 0], [0, 0, 0]])
    assert best_weight(Scores(right, wrong), truth) > 0.5
    assert best_weight(Scores(wrong, right), truth) < 0.5
    assert best_weight(Scores(right, right), truth) == 0.5
    assert best_weight(Scores(right, wrong), pairs_from_lists([[], [], []], 3)) == 0.5


def test_what_is_better_by_chance_moves_the_weight_a_little() -> None:
    """Fusion is right of two documents where likeness is not, and wrong of one: of half of the resamples."""
    truth = pairs_from_lists([[0]] * 100, 3)
    alike, fused = np.tile([1.0, 0.5, 0], (2, 100, 1))
    alike[:2], fused[2] = [0.0, 0.0, 1.0], [0.0, 0.0, 9.0]
    assert 0.1 < best_weight(Scores(fused, alike), truth) < 0.5
    alike[:50] = [0.0, 0.0, 1.0]
    assert best_weight(Scores(fused, alike), truth) == 0.5
    assert best_weight(Scores(fused, alike), truth, 1) == best_weight(Scores(fused, alike), truth, 1)


def test_squashed_scores_are_inside_and_keep_their_order() -> None:
    found = squashed(np.array([-1e9, -3, 0, 0.5, 3, 1e9]))
    assert np.all(np.diff(found) > 0)
    assert found[0] >= 0
    assert found[2] == 0.5
    assert found[-1] <= 1


def test_what_float32_cannot_tell_apart_stays_in_order() -> None:
    ids, scores = np.array([[5, 3, 8, 1]], np.int32), np.array([[0.5, 0.5 + 1e-12, 0.5, 0.1]])
    found = best_of_doubles(ids, scores, 4)
    assert found.ids.tolist() == [[3, 5, 8, 1]]
    assert found.scores[0, 0] > found.scores[0, 1] == found.scores[0, 2] > found.scores[0, 3]


def test_the_best_of_many_are_those_of_sorting_all() -> None:
    rng = np.random.default_rng(0)
    ids, scores = (
        np.stack([rng.permutation(500) for _ in range(20)]).astype(np.int32),
        rng.integers(0, 40, (20, 500)) / 7,
    )
    for k in (0, 1, 7, 100, 499, 500):
        found = best_of_doubles(ids, scores, k)
        sorted_ids = np.take_along_axis(ids, np.lexsort((ids, -scores), axis=1)[:, :k], 1)
        np.testing.assert_array_equal(found.ids, sorted_ids)


def test_a_rehearsal_hides_labels_and_holds_out_documents() -> None:
    parts = rehearsal_of(DATA, 0.25, 0.25, 0)
    assert parts is not None
    train, held, hidden = parts
    assert len(hidden) == 2
    assert np.all(DATA.counts[hidden] > 0)
    assert np.all(train.counts[hidden] == 0)
    assert len(held) == 27
    assert not set(train.documents.ids) & set(held.documents.ids)
    assert len(train) + len(held) == len(DATA)
    again = rehearsal_of(DATA, 0.25, 0.25, 1)
    assert again is not None
    assert held.documents.ids != again[1].documents.ids


def test_too_little_for_a_rehearsal() -> None:
    one = Dataset(Documents.of(["fish", "sea"]), LABELS, pairs_from_lists([[0], []], len(LABELS)))
    assert rehearsal_of(one, 0.2, 0.2, 0) is None


# --- the method


def test_the_union_end_to_end(lexical: EncoderConfig) -> None:
    settings: dict[str, Any] = {"encoder": lexical, "label_encoder": "", "base": "svm", "candidates": "unseen"}
    fusion, conse = LabelFusion(**settings).fit(DATA), Conse(**settings).fit(DATA)
    assert names_of(fusion.rank([THREE], 1)) == [UNION]
    assert names_of(conse.rank([THREE], 1)) == [DECOY]
    reasons = fusion.explain(THREE, LABELS[NAMES.index(UNION)].id)
    assert sorted(LABELS[LABELS.index[reason.label]].name for reason in reasons) == ["fish", "sea"]
    assert sum(reason.share for reason in reasons) == pytest.approx(1)
    assert all(0 < reason.probability <= 1 for reason in reasons)
    assert len(conse.explain(THREE, LABELS[NAMES.index(UNION)].id)) >= 3


@pytest.mark.parametrize("kind", ["static", "transformer"])
def test_the_parts_are_exactly_the_parts(kind: str, static: EncoderConfig, tiny_folder: Path) -> None:
    encoder = static if kind == "static" else EncoderConfig(kind=str(tiny_folder), max_tokens=16, cache=False)
    texts = [THREE, *TEXTS[::7], "", "trade and wine"]
    alike = Xml0(encoder=encoder, label_encoder="", weight=0.0, candidates="unseen").fit(DATA).rank(texts, 3)
    expected = restrict(Semantic(encoder=encoder).fit(DATA).rank(texts, len(NAMES)), DATA.counts == 0, 3)
    np.testing.assert_array_equal(alike.ids, expected.ids)
    one = Xml0(encoder=encoder, label_encoder="", weight=1.0, candidates="unseen").fit(DATA)
    other = LabelFusion(encoder=encoder, label_encoder="", candidates="unseen").fit(DATA)
    np.testing.assert_array_equal(one.rank(texts, 3).scores, other.rank(texts, 3).scores)
    best = one.candidates_.best(one._predicted(Views.of([THREE]))[0], "exhaustive")
    cosines = {NAMES[label]: best.cosines[i] for i, label in enumerate(one.candidates_.pool)}
    assert names_of(one.rank([THREE], 3)) == sorted(NAMES[8:], key=lambda name: -cosines[name])


def test_labels_are_fused_as_an_encoder_of_their_own_reads_them(
    lexical: EncoderConfig, tiny_folder: Path, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"base": "svm", "candidates": "unseen", "weight": 1.0}
    method = Xml0(encoder=lexical, label_encoder=str(tiny_folder), **settings).fit(DATA)
    reader = load_encoder(EncoderConfig(kind=str(tiny_folder), trainable=False))
    np.testing.assert_allclose(method.candidates_.vectors, reader.encode(NAMES), atol=1e-5)
    assert method.candidates_.tower.encoder.dim > reader.dim
    method.save(tmp_path / "model")
    again: Any = everylabel.load(tmp_path / "model")
    for one in (method, again):
        one.add_labels([Label("new", "wine law")])
    np.testing.assert_array_equal(again.rank([THREE], 4).ids, method.rank([THREE], 4).ids)
    np.testing.assert_allclose(again.candidates_.vectors[-1:], reader.encode(["wine law"]), atol=1e-5)


@pytest.mark.parametrize("base", ["svm", "xr-linear", "knn", "tfidf", "popularity"])
def test_any_base(base: str, lexical: EncoderConfig, tmp_path: Path) -> None:
    method = Xml0(base=base, encoder=lexical, label_encoder="").fit(DATA)
    found = method.rank([THREE, "", "trade of trade"], len(NAMES))
    seen = restrict(found, DATA.counts > 0)
    expected = restrict(method.base_.rank([THREE, "", "trade of trade"], len(NAMES)), DATA.counts > 0)
    speaking = [0, 2]  # of a text that says nothing there are no labels, whatever the base has
    np.testing.assert_array_equal(seen.ids[speaking], expected.ids[speaking])  # the base's, with its probabilities
    np.testing.assert_array_equal(seen.scores[speaking], expected.scores[speaking])
    assert (found.ids[1] < 0).all()
    assert sorted(label for label in found.ids[0].tolist() if label >= len(SEEN)) == [8, 9, 10]
    assert method.base_.calibration_ is not None
    method.save(tmp_path / "model")
    loaded = everylabel.load(tmp_path / "model")
    assert isinstance(loaded, Xml0)
    again = loaded.rank([THREE, "", "trade of trade"], len(NAMES))
    np.testing.assert_array_equal(again.ids, found.ids)
    np.testing.assert_array_equal(again.scores, found.scores)
    assert loaded.explain(THREE, LABELS[8].id) == method.explain(THREE, LABELS[8].id)
    assert loaded.chosen_.weight == method.chosen_.weight


@pytest.mark.parametrize(("base", "more"), [("classifier", {"classify": {"steps": 20}}), ("semantic", {})])
def test_a_base_with_an_encoder_of_its_own(
    base: str, more: dict[str, Any], lexical: EncoderConfig, tmp_path: Path
) -> None:
    own = {"encoder": {"teacher": lexical.teacher, "lexical": 64}, **more}
    method = Xml0(base=base, base_settings=own, encoder=lexical, label_encoder="").fit(DATA)
    found = method.rank([THREE], len(NAMES))
    assert len(names_of(found)) == len(NAMES)
    method.save(tmp_path / "model")
    again = everylabel.load(tmp_path / "model").rank([THREE], len(NAMES))
    np.testing.assert_array_equal(again.ids, found.ids)
    np.testing.assert_array_equal(again.scores, found.scores)


def test_the_settings_of_the_base(lexical: EncoderConfig, tmp_path: Path) -> None:
    given = parse_settings(["base=knn", "base_settings.neighbours=3", "base_settings.tfidf.ngrams=2", "random_state=5"])
    method = replace(build(Xml0, given), encoder=lexical, label_encoder="")
    assert method.base_settings == {"neighbours": 3, "tfidf": {"ngrams": 2}}
    base: Any = method.new_base()
    assert (base.name, base.neighbours, base.tfidf.ngrams, base.random_state) == ("knn", 3, 2, 5)
    assert build(Xml0, to_dict(method)) == method
    method.fit(DATA).save(tmp_path / "model")
    assert everylabel.load(tmp_path / "model") == method


def test_only_unseen_labels_are_ranked_when_asked_for(lexical: EncoderConfig) -> None:
    found = Xml0(encoder=lexical, label_encoder="", candidates="unseen").fit(DATA).rank([THREE], 20)
    assert sorted(names_of(found)) == sorted(NAMES[8:])
    everything = DATA.with_pairs(pairs_from_lists([*LISTS[3:], (8,), (9,), (10,)], len(LABELS)))
    for candidates, n in (("unseen", 0), ("all", 11)):
        method = Xml0(encoder=lexical, label_encoder="", base="svm", candidates=candidates).fit(everything)  # type: ignore[arg-type]
        assert len(names_of(method.rank([THREE], 20))) == n


def test_unchanged_by_the_order_of_documents_and_labels(lexical: EncoderConfig) -> None:
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(len(DATA)), rng.permutation(len(LABELS))
    other = Dataset(DATA.documents.subset(rows), LABELS.subset(columns), DATA.required_pairs[rows][:, columns])
    one, two = (Xml0(encoder=lexical, label_encoder="", base="svm").fit(data) for data in (DATA, other))
    assert one.chosen_.weight == two.chosen_.weight
    texts = [THREE, "wine and milk", "trade of fish"]
    first, second = one.rank(texts, len(NAMES)), two.rank(texts, len(NAMES))
    by_label, others = np.zeros((2, *first.ids.shape))
    np.put_along_axis(by_label, first.ids, first.scores, axis=1)
    np.put_along_axis(others, columns[second.ids], second.scores, axis=1)
    np.testing.assert_allclose(by_label, others, atol=0.01)  # the classifiers see their documents in another order


def test_what_the_growing_search_loses(lexical: EncoderConfig) -> None:
    method = Xml0(encoder=lexical, label_encoder="", base="svm").fit(DATA)
    loss = method.loss_of_greedy(TEXTS)
    assert loss.searches == 3 * len(TEXTS)
    assert 0 <= loss.mean_loss <= loss.largest_loss < 0.1
    assert loss.same > 0.5
    quick = Xml0(encoder=lexical, label_encoder="", base="svm", search="greedy", candidates="unseen", weight=1.0).fit(
        DATA
    )
    assert names_of(quick.rank([THREE], 1)) == [UNION]


def test_hidden_labels_are_found_again(lexical: EncoderConfig) -> None:
    """Labels that lose their documents: the base alone cannot rank them."""
    data, hidden = hold_out_labels(DATA, count=2, seed=1)
    method = Xml0(encoder=lexical, label_encoder="", base="svm").fit(data)
    found = method.rank([f"{NAMES[label]} of {NAMES[label]}" for label in hidden], 3)
    assert all(label in row for label, row in zip(hidden, found.ids, strict=True))


def test_very_few_data(lexical: EncoderConfig) -> None:
    data = Dataset(Documents.of(["fish"]), LABELS, pairs_from_lists([[0]], len(LABELS)))
    method = Xml0(encoder=lexical, label_encoder="", base="knn", base_settings={"tfidf": {"max_df": 1.0}}).fit(data)
    assert method.chosen_.weight == 0.5
    assert method.base_.calibration_ is None
    found = method.rank(["fish"], 20)
    assert names_of(found)[0] == "fish"
    assert len(names_of(found)) == len(NAMES)


# --- a base that is there already


def unfittable(monkeypatch: pytest.MonkeyPatch, *classes: Any) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("nothing of the base is fitted")

    for cls in classes:
        monkeypatch.setattr(cls, "_fit", fail)


def test_a_fitted_base_stays_as_it_is(lexical: EncoderConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself and by its folder; the labels of the dataset that it does not know come after its own."""
    known = LABELS.subset(range(8))
    base = everylabel.method("svm").fit(Dataset(DATA.documents, known, DATA.required_pairs[:, :8]))
    base.save(tmp_path / "base")
    expected = base.rank([THREE], 8)
    unfittable(monkeypatch, type(base))
    settings: dict[str, Any] = {"encoder": lexical, "label_encoder": "", "weight": 0.5}
    for data in (DATA.without_pairs(), DATA):
        method = Xml0(**settings).fit_on(base, data)
        assert method.base_ is base.model_
        assert [label.name for label in method.labels_] == NAMES
        found = method.rank([THREE], 11)
        seen = restrict(found, method.counts_ > 0, 8)
        np.testing.assert_array_equal(seen.ids[0], expected.ids[0])
        np.testing.assert_array_equal(seen.scores[0], expected.scores[0])
        assert {8, 9, 10} <= set(found.ids[0].tolist())
        by_folder = Xml0(base_model=str(tmp_path / "base"), **settings).fit(data)
        np.testing.assert_array_equal(by_folder.rank([THREE], 11).scores, found.scores)
        assert (by_folder.model_.base, by_folder.model_.base_model) == ("svm", "")
        by_folder.save(tmp_path / "model", overwrite=True)
        loaded = everylabel.load(tmp_path / "model")
        np.testing.assert_array_equal(loaded.rank([THREE], 11).scores, found.scores)
        loaded.add_labels([Label("new", "wine law")])
        assert 11 in loaded.rank(["wine law"], 12).ids


def test_documents_of_unseen_labels_choose_threshold_and_weight(lexical: EncoderConfig) -> None:
    train, hidden = hold_out_labels(DATA, count=2, seed=1)
    base = everylabel.method("svm").fit(train)
    method = Xml0(encoder=lexical, label_encoder="", threshold=None).fit_on(base, DATA)
    assert method.counts_[hidden].tolist() == [0, 0]
    assert method.chosen_.threshold in THRESHOLDS
    assert method.chosen_.worth is not NO_REHEARSAL
    none = Xml0(encoder=lexical, label_encoder="", threshold=None).fit_on(base, train.without_pairs())
    assert (none.chosen_.threshold, none.chosen_.weight, none.chosen_.worth) == (0.1, 0.5, NO_REHEARSAL)


def test_the_best_threshold_is_taken() -> None:
    """fish and sea at 0.3 and 0.25, tax at 0.15: at 0.2 the union of two is found, at 0.1 that of three."""
    axes = np.eye(4)
    rows = np.stack([*axes, (axes[0] + axes[1]) / np.sqrt(2), axes[:3].sum(axis=0) / np.sqrt(3)]).astype(np.float32)
    candidates = Candidates(Likeness(np.zeros(6)), rows, np.arange(4), np.array([4, 5]))  # type: ignore[arg-type]
    found = Ranking(np.array([[0, 1, 2]], np.int32), np.array([[0.3, 0.25, 0.15]], np.float32))
    for right, expected in ((0, {0.2}), (1, {0.01, 0.05, 0.1})):
        trial = Trial(candidates, Views.of(["text"]), found, pairs_from_lists([[right]], 2))
        chosen = trial.choose(None, 1.0, "full", 10, 0)
        assert chosen.threshold in expected
        assert chosen.weight == 1.0
        assert trial.choose(0.3, 1.0, "full", 10, 0).threshold == 0.3


def test_a_ranking_of_another_system(lexical: EncoderConfig) -> None:
    base = everylabel.method("svm").fit(DATA)
    method = Xml0(encoder=lexical, label_encoder="", weight=0.5).fit_on(base, DATA)
    texts = [THREE, TEXTS[9], ""]
    np.testing.assert_array_equal(
        method.rank_with(texts, base.rank(texts, 11), 11).scores, method.rank(texts, 11).scores
    )
    other = Ranking(
        np.array([[6, 9], [0, -1], [0, 1]], np.int32), np.array([[0.9, 0.8], [0.7, -np.inf], [0.5, 0.4]], np.float32)
    )
    found = method.rank_with(texts, other, 11)
    assert found.ids[0].tolist().count(9) == 1
    assert {label for label in found.ids[0].tolist() if 0 <= label < 8} == {6}
    assert (found.ids[2] < 0).all()  # a text that says nothing
    with pytest.raises(DataError, match="a ranking of 2 texts by labels of this vocabulary"):
        method.rank_with(texts[:2], other)


def test_a_ranking_of_another_system_alone(
    lexical: EncoderConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No classifier of ours is needed: what another one says of the documents tells seen labels from unseen ones."""
    base = everylabel.method("svm").fit(hold_out_labels(DATA, count=2, seed=1)[0])
    said = base.rank(DATA.documents, 10)
    settings: dict[str, Any] = {"encoder": lexical, "label_encoder": "", "threshold": None}
    expected = Xml0(**settings).fit_on(base, DATA)
    unfittable(monkeypatch, type(base))
    method = Xml0(**settings).fit_with(said, DATA)
    np.testing.assert_array_equal(method.counts_ > 0, expected.counts_ > 0)
    assert method.chosen_.threshold == expected.chosen_.threshold
    assert method.chosen_.weight == expected.chosen_.weight
    method.save(tmp_path / "model")
    texts = [THREE, TEXTS[9]]
    seen = base.rank(texts, 11)
    for one in (method, everylabel.load(tmp_path / "model")):
        np.testing.assert_array_equal(one.rank_with(texts, seen, 11).ids, expected.rank(texts, 11).ids)
    with pytest.raises(DataError, match=f"a ranking of the {len(DATA):,} documents by labels of the data set"):
        Xml0(**settings).fit_with(seen, DATA)


def test_fusion_alone_says_nothing_where_no_label_passes_the_threshold(lexical: EncoderConfig) -> None:
    """It ranked all unseen labels by their ids."""
    for cls in (LabelFusion, Conse):
        method = cls(encoder=lexical, label_encoder="", base="svm", threshold=0.1).fit(DATA)
        unsure = Ranking(np.array([[2, 3]], np.int32), np.array([[0.05, 0.04]], np.float32))
        sure = Ranking(unsure.ids, 10 * unsure.scores)
        assert [int((method.rank_with([THREE], seen, 11).ids >= 8).sum()) for seen in (unsure, sure)] == [0, 3]
        assert (replace_candidates(method).rank_with([THREE], unsure, 3).ids == -1).all()


def replace_candidates(method: Any) -> Any:
    """The same model, which ranks unseen labels alone."""
    model = method.model_._copy()
    model.candidates = "unseen"
    return model


def test_the_encoder_learns_from_seen_pairs_when_it_is_told_to(static: EncoderConfig, tmp_path: Path) -> None:
    plain, tuned = (
        Xml0(encoder=static, label_encoder="", base="knn", fine_tune_steps=steps).fit(DATA) for steps in (0, 3)
    )
    vectors = [method.candidates_.tower.encoder.encode(NAMES) for method in (plain, tuned)]
    assert np.abs(vectors[0] - vectors[1]).max() > 1e-3
    np.testing.assert_allclose(tuned.candidates_.vectors, vectors[1], atol=1e-5)
    tuned.save(tmp_path / "model")
    again = everylabel.load(tmp_path / "model")
    np.testing.assert_array_equal(again.rank([THREE], 5).scores, tuned.rank([THREE], 5).scores)


def test_the_paper_s_settings() -> None:
    """Section IV: AttentionXML, all-MiniLM-L6-v2, two million pairs; unseen labels alone are ranked."""
    paper: Any = everylabel.method("xml0", **Xml0.presets["paper"])
    paper.check()
    assert (paper.base, paper.encoder.kind, paper.candidates, paper.threshold) == (
        "attentionxml",
        "minilm",
        "unseen",
        None,
    )
    assert paper.fine_tune_steps * 256 == pytest.approx(2_000_000, rel=0.001)
    assert paper.search == "exhaustive"
    conse: Any = everylabel.method("conse", **Conse.preset("paper"))
    assert (conse.search, conse.weight) == ("full", 1.0)


# --- what is refused


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "xml0"}, "base must be a method that ranks seen labels.*got 'xml0'"),
        ({"base": "conse"}, "got 'conse'"),
        ({"base": "xr-liner"}, "unknown method 'xr-liner'; did you mean 'xr-linear'"),
        (
            {"base_settings": {"leafsize": 9}},
            "unknown setting 'base_settings.leafsize'; did you mean base_settings.leaf",
        ),
        ({"base_settings": {"tfidf": {"ngrams": "x"}}}, "base_settings.tfidf.ngrams must be a whole number"),
        ({"base_settings": 3}, "base_settings must be a table"),
        ({"base_settings": {"leaf_size": {1}}}, "base_settings must be a table of plain values"),
    ],
)
def test_a_base_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        everylabel.method("xml0", **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cap": 0}, "cap must be from 1 to 16 with search='exhaustive'; got 0"),
        ({"cap": 17}, "cap must be from 1 to 16"),
        ({"cap": 63, "search": "greedy"}, "cap must be from 1 to 62"),
        ({"threshold": 1.5}, "threshold is a probability"),
        ({"weight": -0.1}, "weight must be from 0 to 1"),
        ({"fine_tune_steps": -1}, "fine_tune_steps must be 0"),
        ({"base_settings": {"leaf_size": 1}}, "leaf_size and arity must be at least 2"),
        ({"encoder": EncoderConfig(lexical=-1)}, "encoder.lexical"),
    ],
)
def test_settings_that_cannot_work(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Xml0(**settings).fit(DATA)


def test_what_cannot_be_explained(lexical: EncoderConfig) -> None:
    with pytest.raises(NotFittedError):
        Xml0().explain(THREE, "q00")
    method = Xml0(encoder=lexical, label_encoder="", base="svm").fit(DATA)
    with pytest.raises(DataError, match="'nothing' is no label of the vocabulary"):
        method.explain(THREE, "nothing")
    with pytest.raises(DataError, match="is a label with 31 training documents"):
        method.explain(THREE, LABELS[0].id)


def test_a_base_of_the_same_kind_is_refused(lexical: EncoderConfig) -> None:
    method = LabelFusion(encoder=lexical, label_encoder="", base="knn").fit(DATA)
    with pytest.raises(ConfigError, match="got 'label-fusion'"):
        Xml0(encoder=lexical).fit_on(method, DATA)
