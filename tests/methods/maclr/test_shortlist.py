"""Of very many labels the transformer scores a shortlist: as it scores all of them, to within a step of a byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract import conftest as contract
from tests.contract import test_methods as promises
from tests.contract.cases import SMALL, with_model

import everylabel
from everylabel.data.dataset import Dataset, Label, LabelSet
from everylabel.encoders.base import EncoderConfig
from everylabel.methods.facts import Facts
from everylabel.methods.maclr import hybrid as module
from everylabel.methods.maclr.hybrid import Hybrid
from everylabel.methods.maclr.kernels import cosines_among
from everylabel.methods.maclr.shortlist import LabelRows, Shortlisted, in_bytes, together
from everylabel.methods.readings import MEANING, TRANSFORMER, WORDS
from everylabel.methods.tower import Tower
from everylabel.tagger.plan import choose_plan
from everylabel.text.views import Views
from everylabel.types import Ranking
from everylabel.vectors import unit_rows

TOY = contract.make_toy()
TEXTS = TOY.single + TOY.double
PARTS = (WORDS, MEANING, TRANSFORMER)
LABELS = LabelSet.of(
    Label(f"{label.id}", label.name, alternatives=(TOY.train.labels[(i + 1) % 15].name,) if i % 3 == 0 else ())
    for i, label in enumerate(TOY.train.labels)
)
DATA = Dataset(TOY.train.documents, LABELS)


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return contract.make_tiny_folder(tmp_path_factory.mktemp("toy"))


@pytest.fixture
def tiny(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tiny_folder.parent / "cache"))
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")  # tensors of a few numbers
    return str(tiny_folder)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few labels are many."""
    monkeypatch.setattr(module, "MANY_LABELS", 3)


def made(folder: str, **others: Any) -> Hybrid:
    given = with_model(dict(SMALL)["hybrid"], folder)
    return everylabel.method("hybrid", **{**given, **others})  # type: ignore[return-value]


PROMISES: list[Any] = [
    promises.test_more_ranks_than_there_are_labels_cost_nothing,
    promises.test_a_document_ranks_the_same_alone,
    promises.test_no_texts_and_empty_texts,
    promises.test_identical_after_save_and_load,
    promises.test_a_copy_from_elsewhere_is_checked_and_identical,
    promises.test_labels_come_and_go,
    promises.test_some_labels_alone_have_the_scores_that_they_have_among_all,
    promises.test_a_model_never_changes,
    promises.test_a_change_that_fails_leaves_everything_as_it_was,
]


@pytest.mark.usefixtures("many")
def test_what_every_method_promises_holds_with_many_labels(tiny: str, tmp_path: Path) -> None:
    fitted = made(tiny).fit(TOY.train)
    assert isinstance(fitted.tower_, Shortlisted)
    promises.test_a_document_of_a_labels_own_words_gets_the_label(("hybrid", {}), fitted, TOY)
    promises.test_deterministic_under_a_seed(fitted, lambda: made(tiny), TOY)
    promises.test_unchanged_by_the_order_of_documents_and_labels(fitted, lambda: made(tiny), TOY)
    promises.test_a_text_that_says_nothing_has_no_labels(("hybrid", {}), fitted)
    for i, promise in enumerate(PROMISES):
        folder = tmp_path / str(i)
        folder.mkdir()
        names = promise.__code__.co_varnames[: promise.__code__.co_argcount]
        promise(**{name: {"fitted": fitted, "toy": TOY, "tmp_path": folder}[name] for name in names})


@pytest.mark.parametrize("passages", ["first", "max"])
def test_with_all_labels_on_it_a_shortlist_changes_scores_by_half_a_step(
    passages: Any, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """|cosine - cosine by bytes| <= scale / 2 x the sum of |query|; a score is half as far off."""
    encoder = {"kind": tiny, "max_tokens": 6, "passages": passages}
    exact = made(tiny, encoder=encoder).fit(DATA)
    monkeypatch.setattr(module, "MANY_LABELS", 3)
    quick = made(tiny, encoder=encoder).fit(DATA)
    assert isinstance(exact.tower_, Tower)
    assert isinstance(quick.tower_, Shortlisted)
    views = Views.of([*TEXTS, "penguin"])
    expected, found = (one.readings(views, 15)[TRANSFORMER] for one in (exact, quick))
    queries, _ = exact.tower_.queries(views)
    bound = float(quick.tower_.known.scales.max() * np.abs(queries).sum(axis=1).max() / 4 + 1e-6)
    assert bound < 0.02
    by_label = [np.take_along_axis(one.scores, np.argsort(one.ids, axis=1), 1) for one in (expected, found)]
    assert np.sort(found.ids, axis=1).tolist() == [list(range(15))] * len(views)
    np.testing.assert_allclose(by_label[0], by_label[1], atol=bound)
    # the same order, but of labels that are as near to each other as that
    np.testing.assert_allclose(np.take_along_axis(by_label[0], found.ids, 1), expected.scores, atol=2 * bound)
    whole = [one.rank(views, 15) for one in (exact, quick)]
    np.testing.assert_array_equal(whole[0].ids[:, 0], whole[1].ids[:, 0])
    np.testing.assert_allclose(whole[0].scores, whole[1].scores, atol=bound)


@pytest.mark.usefixtures("many")
def test_labels_of_the_shortlist_alone_are_scored(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CANDIDATES", 2)
    model = made(tiny).fit(TOY.train)
    views = Views.of(TEXTS)
    found = model.readings(views, 2)
    words, meaning, transformer = ([set(row) - {-1} for row in found[part].ids.tolist()] for part in PARTS)
    assert transformer == [one | other for one, other in zip(words, meaning, strict=True)]
    everything = model.readings(views, 15)[TRANSFORMER]
    for row in range(len(views)):
        scores = dict(zip(everything.ids[row].tolist(), everything.scores[row].tolist(), strict=True))
        ids, own = (part[row].tolist() for part in found[TRANSFORMER])
        assert own == [scores.get(label, -np.inf) for label in ids]


@pytest.mark.usefixtures("many")
def test_few_labels_and_words_alone_have_no_shortlist(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(made(tiny, learned_weight=0.0).fit(DATA).tower_, Tower)
    assert made(tiny, dense_weight=0.0).fit(DATA).tower_ is None
    monkeypatch.setattr(module, "MANY_LABELS", 15)
    assert isinstance(made(tiny).fit(DATA).tower_, Tower)


def test_labels_that_came_later_are_ranked_as_if_they_had_always_been_there(tiny: str) -> None:
    """In one step or in two; two texts that are the same are one row."""
    config = EncoderConfig(kind=tiny)
    tower = Tower.load(config, Views.of(DATA.documents), LABELS, 0, center=True)
    whole = Shortlisted.of(tower, LABELS)
    assert len(whole.known.values) == 15 < len(whole.known.places) == 20
    first, second = LABELS.subset(range(6)), LABELS.subset(range(11))
    grown = Shortlisted.of(tower, first).with_labels(second, 6).with_labels(LABELS, 11)
    grown.check(15)
    views, every = Views.of(TEXTS), np.tile(np.arange(15, dtype=np.int32), (len(TEXTS), 1))
    asked = [Ranking(every, np.zeros(every.shape, np.float32))]
    for one, other in zip(grown.rank(views, asked), whole.rank(views, asked), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_document_of_no_known_token_has_no_labels(static: EncoderConfig) -> None:
    labels = LabelSet.of([Label("a", "fish"), Label("b", "law")])
    views = Views.of(["fish", "\u732b", "law"])
    tower = Tower.load(static, Views.of(["the fish", "the law", "the sea"]), labels, 0, center=True)
    asked = [Ranking(np.tile(np.arange(2, dtype=np.int32), (3, 1)), np.zeros((3, 2), np.float32))]
    found = Shortlisted.of(tower, labels).rank(views, asked)
    expected = tower.index_labels(labels, "exact").rank(views, 2)
    np.testing.assert_array_equal(found.ids, expected.ids)
    assert found.ids[1].tolist() == [-1, -1]


@given(seed=st.integers(0, 9999), dim=st.integers(1, 40), n=st.integers(0, 6))
def test_bytes_are_off_by_half_a_step(seed: int, dim: int, n: int) -> None:
    vectors = unit_rows(np.random.default_rng(seed).normal(size=(n, dim)))
    vectors[:1] = 0
    values, scales = in_bytes(vectors)
    assert values.dtype == np.int8
    assert scales.dtype == np.float32
    assert np.abs(values.astype(int)).max(initial=0) <= 127
    assert (np.abs(values * scales[:, None] - vectors) <= 0.5001 * scales[:, None]).all()


@settings(deadline=None)  # the first call compiles
@given(seed=st.integers(0, 9999), dim=st.integers(1, 33), first=st.integers(0, 4), n_labels=st.integers(1, 5))
def test_cosines_against_a_slow_version(seed: int, dim: int, first: int, n_labels: int) -> None:
    rng = np.random.default_rng(seed)
    passages = np.concatenate([[0], np.cumsum(rng.integers(1, 4, 3))])
    queries = rng.normal(size=(passages[-1], dim)).astype(np.float32)
    begins = np.concatenate([[0], np.cumsum(rng.integers(1, 4, n_labels))])
    values = rng.integers(-127, 128, (4, dim)).astype(np.int8)
    scales, places = rng.random(4).astype(np.float32), rng.integers(0, 4, begins[-1]).astype(np.int32)
    ids = rng.integers(-1, first + n_labels + 2, (3, 6)).astype(np.int32)
    found = np.full(ids.shape, 7, np.float32)
    cosines_among(queries, passages, ids, np.int32(first), values, scales, places, begins, found)
    for (d, j), label in np.ndenumerate(ids):
        own = label - first
        expected = 7.0
        if label >= 0 and 0 <= own < n_labels:
            rows = places[begins[own] : begins[own + 1]]
            expected = float((queries[passages[d] : passages[d + 1]] @ (values[rows] * scales[rows, None]).T).max())
        assert found[d, j] == pytest.approx(expected, rel=1e-4, abs=1e-3)


@given(seed=st.integers(0, 9999), widths=st.lists(st.integers(0, 5), min_size=1, max_size=3))
def test_together_has_each_label_once(seed: int, widths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    parts = [rng.integers(-1, 6, (3, width)).astype(np.int32) for width in widths]
    found = together([Ranking(part, part.astype(np.float32)) for part in parts])
    for row in range(3):
        kept = [label for label in found[row].tolist() if label >= 0]
        assert kept == sorted({label for part in parts for label in part[row].tolist()} - {-1})


@pytest.mark.parametrize(
    "damaged",
    [
        {"places": np.array([0, 1, 3], np.int32)},  # beyond the rows
        {"places": np.array([0, -1, 2], np.int32)},
        {"begins": np.array([0, 2, 4])},
        {"begins": np.array([0, 3, 3])},  # a label without a text
        {"begins": np.array([0, 1, 2, 3])},  # other labels
        {"scales": np.array([1, np.nan, 1], np.float32)},
        {"values": np.zeros((3, 2), np.int8)},
        {"values": np.zeros((3, 128), np.uint8)},
    ],
)
def test_what_a_fit_cannot_leave_is_refused(damaged: dict[str, Any], tiny: str) -> None:
    rows = LabelRows(
        np.zeros((3, 128), np.int8), np.ones(3, np.float32), np.arange(3, dtype=np.int32), np.array([0, 2, 3])
    )
    tower = Tower.load(EncoderConfig(kind=tiny), Views.of([]), LABELS, 0, center=False)
    Shortlisted(tower, rows).check(2)
    with pytest.raises(ValueError, match=r"vectors|scales|places|texts of labels"):
        Shortlisted(tower, rows._replace(**damaged)).check(2)


def big(n_labels: int, n_docs: int, words: float) -> Facts:
    counts: dict[str, Any] = {
        "n_docs": n_docs,
        "n_labelled": n_docs,
        "n_pairs": 2 * n_docs,
        "n_seen": n_labels // 2,
        "n_dev": 6_000,
    }
    return Facts(n_labels=n_labels, words=words, **counts)


@pytest.mark.parametrize(
    ("facts", "budget", "planned"),
    [
        (big(41_000, 49_000, 147.0), 23 * 60.0, True),
        (big(149_000, 100_000, 12.0), 3600.0, True),
        (big(895_000, 385_000, 10.0), 3600.0, False),
        (big(895_000, 385_000, 10.0), 4 * 3600.0, True),
    ],
)
def test_a_plan_has_it_as_long_as_the_budget_lasts_however_many_labels_there_are(
    facts: Facts, budget: float, planned: bool
) -> None:
    assert facts.many_labels
    plan = choose_plan(facts, budget)
    assert ("hybrid" in plan.names) == planned
    assert {"tfidf", "knn", "xr-linear", "semantic"} <= set(plan.names)  # nobody waits for it
