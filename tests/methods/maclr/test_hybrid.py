"""Words and vectors in one ranking: by hand, against a slow version, and where one part alone would miss the label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.encoders import conftest as encoders

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError
from everylabel.methods.maclr.hybrid import LEAST_READ, Hybrid, by_rank, combined
from everylabel.methods.maclr.semantic import Semantic
from everylabel.methods.words.lexical import TfidfMatch
from everylabel.text.matching import MatchConfig
from everylabel.text.views import Views
from everylabel.types import Ranking

tiny_folder = encoders.made_folder
PLAIN = MatchConfig(language="none")
NAMES = ["wines", "law", "fish", "customs", "ship", "tax"]
LABELS = LabelSet.of(Label(str(i), name) for i, name in enumerate(NAMES))
TEXTS = ["the law", "the fish and the ship", "customs and tax", "wine", "the sea", "milk and trade"]


@pytest.fixture
def static(tiny_folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> EncoderConfig:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(cache))
    return EncoderConfig(teacher=str(tiny_folder), max_tokens=4)


def two_parts(encoder: EncoderConfig, **settings: Any) -> Hybrid:
    """Words and one encoder, without the one that learns."""
    return Hybrid(match=PLAIN, encoder=encoder, learned_weight=0.0, **settings)


def slow_combined(words: Ranking, vectors: list[Ranking], weights: Any, k: int) -> list[list[tuple[int, float]]]:
    found = []
    for row in range(words.n_docs):
        by_words, *by_vectors = (
            {int(i): float(score) for i, score in zip(part.ids[row], part.scores[row], strict=True) if i >= 0}
            for part in (words, *vectors)
        )
        own = [float(weight[row]) for weight in weights]
        scores = {}
        for label in set(by_words).union(*by_vectors):
            parts = [part.get(label, min(part.values())) for part in by_vectors]
            dense = sum(weight * part for weight, part in zip(own, parts, strict=True))
            scores[label] = float(np.float32((by_words.get(label, 0) + dense) / (1 + sum(own))))
        best = sorted(scores.items(), key=lambda item: (-item[1], item[0]))[:k]
        found.append(best + [(-1, -np.inf)] * (k - len(best)))
    return found


def random_ranking(rng: np.random.Generator, n: int, width: int, n_labels: int, least: int) -> Ranking:
    result = Ranking.empty(n, width)
    for row in range(n):
        ids = rng.permutation(n_labels)[: rng.integers(least, min(width, n_labels) + 1)]
        scores = rng.integers(0, 9, len(ids)) / 8
        order = np.lexsort((ids, -scores))
        result.ids[row, : len(ids)], result.scores[row, : len(ids)] = ids[order], scores[order]
    return result


@given(
    seed=st.integers(0, 9999),
    widths=st.tuples(st.integers(1, 7), st.integers(1, 7), st.integers(1, 7)),
    n_labels=st.integers(1, 9),
    k=st.integers(1, 24),
    weight=st.sampled_from([0.0, 1.0, 3.0]),
)
def test_combined(seed: int, widths: tuple[int, int, int], n_labels: int, k: int, weight: float) -> None:
    """Eighths and weights whose sums are exact: ties are many, and stand by their ids."""
    rng = np.random.default_rng(seed)
    words, *vectors = (random_ranking(rng, 3, width, n_labels, min(i, 1)) for i, width in enumerate(widths))
    weights = [np.array([weight, 1, 0], np.float32), np.array([0, 1, weight], np.float32)]
    found = combined(words, vectors, weights, k)
    assert found.ids.shape == (3, k)
    assert found.ids.dtype == np.int32
    assert found.scores.dtype == np.float32
    pairs = [list(zip(*row, strict=True)) for row in zip(found.ids.tolist(), found.scores.tolist(), strict=True)]
    assert pairs == slow_combined(words, vectors, weights, k)


def test_by_rank_is_one_for_the_first_and_falls() -> None:
    ranking = Ranking(np.array([[4, 2, -1]], np.int32), np.array([[0.2, 0.1, -np.inf]], np.float32))
    found = by_rank(ranking)
    assert found.ids.tolist() == [[4, 2, -1]]
    assert found.scores[0] == pytest.approx([1, 1 / 1.1, -np.inf])


def test_ranks_do_not_look_at_scores(static: EncoderConfig) -> None:
    """Words: label 1 by far, then 2. Vectors: 2, then 1 just behind. By scores 1 wins, by ranks it is a tie."""
    words = Ranking(np.array([[1, 2]], np.int32), np.array([[1.0, 0.125]], np.float32))
    vectors = Ranking(np.array([[2, 1]], np.int32), np.array([[0.5, 0.375]], np.float32))
    one = [np.ones(1, np.float32)]
    by_scores, by_ranks = combined(words, [vectors], one, 2), combined(by_rank(words), [by_rank(vectors)], one, 2)
    assert by_scores.scores[0] == pytest.approx([0.6875, 0.3125])
    assert by_ranks.scores[0, 0] == by_ranks.scores[0, 1] == pytest.approx((1 + 1 / 1.1) / 2)
    data = Dataset(Documents.of(TEXTS), LABELS)
    rankings = [two_parts(static, combine=how).fit(data).rank(TEXTS, 6) for how in ("scores", "ranks")]
    assert rankings[1].scores[0, 0] == pytest.approx(1)  # the first of both
    assert np.abs(rankings[0].scores - rankings[1].scores).max() > 0.01


def first_places(encoder: EncoderConfig, text: str) -> dict[str, str]:
    """The name of the best label, by each part and by both."""
    data = Dataset(Documents.of(TEXTS), LABELS)
    methods = [TfidfMatch(match=PLAIN), Semantic(encoder=encoder), two_parts(encoder)]
    ids = {method.name: int(method.fit(data).rank([text], 1).ids[0, 0]) for method in methods}
    return {name: NAMES[i] if i >= 0 else "" for name, i in ids.items()}


def test_words_find_what_the_encoder_does_not_read(static: EncoderConfig) -> None:
    found = first_places(static, "the sea of milk and trade customs")
    assert found["tfidf"] == found["hybrid"] == "customs"
    assert found["semantic"] != "customs"


def test_the_encoder_finds_what_has_no_word_of_it(static: EncoderConfig) -> None:
    assert first_places(static, "wine") == {"tfidf": "", "semantic": "wines", "hybrid": "wines"}


def test_the_score_is_made_of_both_parts(static: EncoderConfig) -> None:
    data = Dataset(Documents.of(TEXTS), LABELS)
    hybrid = two_parts(static, dense_weight=0.5).fit(data)
    parts = [
        dict(zip(found.ids[0].tolist(), found.scores[0].tolist(), strict=True))
        for found in (
            method.fit(data).rank(TEXTS[1:2], 6) for method in (TfidfMatch(match=PLAIN), Semantic(encoder=static))
        )
    ]
    found = hybrid.rank(TEXTS[1:2], 6)
    expected = [(parts[0].get(label, 0) + parts[1][label]) / 2 for label in found.ids[0].tolist()]
    assert found.scores[0] == pytest.approx(expected, abs=1e-6)


def test_without_a_weight_a_part_is_left_out(static: EncoderConfig, tmp_path: Path) -> None:
    data = Dataset(Documents.of(TEXTS), LABELS)
    words = TfidfMatch(match=PLAIN).fit(data).rank(TEXTS, 2)
    hybrid = two_parts(static, dense_weight=0.0).fit(data)
    assert hybrid.tower_ is hybrid.learned_ is None
    hybrid.save(tmp_path / "model")
    found = everylabel.load(tmp_path / "model").rank(TEXTS, 2)
    there = words.ids >= 0
    np.testing.assert_array_equal(found.ids[there], words.ids[there])
    np.testing.assert_array_equal(found.scores[there], words.scores[there])


def test_an_encoder_counts_less_where_it_reads_the_beginning_only(tiny_folder: Path) -> None:
    encoder = EncoderConfig(kind=str(tiny_folder), max_tokens=8, cache=False)
    hybrid = two_parts(encoder).fit(Dataset(Documents.of(TEXTS), LABELS))
    assert hybrid.tower_ is not None
    read = hybrid._read(Views.of(["law", "law " * 10, "law " * 1000]), hybrid.tower_.encoder)
    assert read[0] == 1
    assert 1 > read[1] > read[2] == pytest.approx(LEAST_READ, abs=0.01)


def test_an_encoder_that_reads_all_counts_in_full(static: EncoderConfig) -> None:
    hybrid = two_parts(static).fit(Dataset(Documents.of(TEXTS), LABELS))
    assert hybrid.tower_ is not None
    assert hybrid._read(Views.of(["law", "law " * 1000]), hybrid.tower_.encoder).tolist() == [1, 1]


def test_labels_beyond_the_candidates_can_be_asked_for(static: EncoderConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("everylabel.methods.maclr.hybrid.CANDIDATES", 2)
    hybrid = two_parts(static).fit(Dataset(Documents.of(TEXTS), LABELS))
    assert sorted(hybrid.rank(["wine law"], 6).ids[0].tolist()) == [0, 1, 2, 3, 4, 5]
    assert hybrid.rank(["wine law"], 1).ids.tolist() == [[1]]


def test_a_negative_weight_is_refused() -> None:
    with pytest.raises(ConfigError, match="dense_weight must not be negative; got -1"):
        Hybrid(dense_weight=-1).check()


def test_the_third_part_learns_from_documents_and_only_from_them(static: EncoderConfig, tmp_path: Path) -> None:
    data = Dataset(Documents.of(TEXTS * 4), LABELS)
    hybrid = Hybrid(match=PLAIN, encoder=static, learned=static)
    embeddings = {}
    for name, dataset in {"with": data, "without": Dataset(Documents.of([]), LABELS)}.items():
        ranked = hybrid.fit(dataset).rank(TEXTS, 6)
        assert hybrid.learned_ is not None
        embeddings[name] = hybrid.learned_.encoder.encode(NAMES)
        hybrid.save(tmp_path / name)
        np.testing.assert_array_equal(everylabel.load(tmp_path / name).rank(TEXTS, 6).ids, ranked.ids)
    assert np.abs(embeddings["with"] - embeddings["without"]).max() > 0.1


def test_the_third_part_counts_by_its_weight(static: EncoderConfig) -> None:
    """Twice the same encoder, frozen: a third part with weight 1 is the second one with twice the weight."""
    data = Dataset(Documents.of([]), LABELS)
    twice = Hybrid(match=PLAIN, encoder=static, learned=static, learned_weight=1.0).fit(data).rank(TEXTS, 6)
    once = two_parts(static, dense_weight=2.0).fit(data).rank(TEXTS, 6)
    np.testing.assert_allclose(twice.scores, once.scores, atol=1e-6)
