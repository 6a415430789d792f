"""The blend on a made-up problem: one expert is right about labels with training documents, another about the rest."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import spearmanr

from everylabel.data.dataset import contains, pairs_from_lists
from everylabel.data.enough import TO_LEARN_TREES
from everylabel.metrics.ranking import find_hits, ndcg, recall
from everylabel.tagger.blend import Blend, learn, starts
from everylabel.tagger.blending_set import BlendingSet
from everylabel.tagger.candidates import column_names, tabulated
from everylabel.tagger.probability import NOTHING_KNOWN
from everylabel.types import Csr, LongArray, Ranking

N_LABELS = 48
SEEN, HIDDEN, UNSEEN = np.arange(28), np.arange(28, 38), np.arange(38, 48)
COUNTS = np.where(np.arange(N_LABELS) < 38, 3 + np.arange(N_LABELS), 0)  # of all data
IN_REHEARSAL = np.where(np.isin(np.arange(N_LABELS), SEEN), COUNTS, 0)
EXPERTS = ["semantic", "tfidf"]  # right about seen labels, right about unseen ones
RANKS_UNSEEN = [True, True]
NAMES = column_names(EXPERTS)
UNSEEN_RATE = 0.8  # pairs a document


class World(NamedTuple):
    """Documents, what the experts say of them, and the truth."""

    said: dict[str, Ranking]
    truth: Csr

    def table(self, counts: LongArray) -> Any:
        return tabulated(self.said, RANKS_UNSEEN, counts, np.ones(N_LABELS, np.int64))

    def held(self, *, hide: bool = True) -> BlendingSet:
        counts = IN_REHEARSAL if hide else COUNTS
        table, hidden = self.table(counts), np.isin(np.arange(N_LABELS), HIDDEN) & hide
        truth_without_hidden = self.truth.multiply(~hidden).tocsr()
        n_unseen = int((counts[self.truth.indices] == 0).sum())
        return BlendingSet(
            table, counts[table.labels], hidden[table.labels], self.truth, truth_without_hidden, n_unseen
        )


def world(seed: int, n_docs: int, *, unseen: float, counts: LongArray = COUNTS, swapped: bool = False) -> World:
    """Each document has two labels with training documents, and sometimes (`unseen`) one that nobody has used; in a
    rehearsal, where `counts` are fewer, also one that is hidden. `swapped`: who is right is the other way round."""
    rng = np.random.default_rng(seed)
    lists = []
    for _ in range(n_docs):
        own = rng.choice(SEEN, 2, replace=False).tolist()
        lists.append(own + [int(rng.choice(HIDDEN))] + ([int(rng.choice(UNSEEN))] if rng.random() < unseen else []))
    truth = pairs_from_lists(lists, N_LABELS)
    right, trained = truth.toarray() > 0, counts > 0
    said = {}
    for name in EXPERTS:
        knows = trained if (name == "semantic") != swapped else ~trained
        said[name] = ranked(expit(rng.normal(-3, 1, right.shape) + right * np.where(knows, 4.0, 0.5)))
    return World(said, truth)


def ranked(scores: Any) -> Ranking:
    ids = np.broadcast_to(np.arange(N_LABELS, dtype=np.int32), scores.shape)
    return Ranking.best_of(ids, scores.astype(np.float32), N_LABELS)


@cache
def learned(seed: int = 0, *, n_docs: int = 240, unseen: float = 0.8, hide: bool = True) -> tuple[Blend, Ranking]:
    """Once for all tests: only to be read."""
    rehearsed = world(seed, n_docs, unseen=unseen, counts=IN_REHEARSAL if hide else COUNTS)
    return learn(rehearsed.held(hide=hide), COUNTS, max(unseen, 0.01), NAMES, 0)


def blended(blend: Blend, test: World, k: int = 5, labels: Any = None, counts: LongArray = COUNTS) -> Ranking:
    table = test.table(counts)
    if labels is not None:
        table = table.take(np.isin(table.labels, labels))
    found: Ranking = table.ranking(blend.scores(table, counts), k)
    return found


def quality(ranking: Ranking, truth: Csr, labels: Any = None) -> float:
    mask = None if labels is None else np.isin(np.arange(N_LABELS), labels)
    return ndcg(find_hits(ranking, truth, labels=mask), 5).value


def assert_same_state(one: Blend, other: Blend) -> None:
    mine, theirs = one.state(), other.state()
    assert mine.keys() == theirs.keys()
    for key, value in mine.items():
        if key == "about":
            assert json.loads(json.dumps(value)) == theirs[key]  # nothing but JSON
        else:
            np.testing.assert_array_equal(value, theirs[key])
            assert value.dtype == theirs[key].dtype


def as_saved(blend: Blend) -> Blend:
    """Restored from what a file holds: JSON, and copies of the arrays."""
    state = blend.state()
    arrays = {key: value.copy() for key, value in state.items() if key != "about"}
    return Blend.restored({"about": json.loads(json.dumps(state["about"])), **arrays})


def test_it_is_better_than_each_expert_on_documents_it_has_not_seen() -> None:
    blend, _ = learned()
    test = world(1, 300, unseen=0.8)
    own = quality(blended(blend, test), test.truth)
    assert own > max(quality(said, test.truth) for said in test.said.values()) + 0.03
    assert own > quality(blended(Blend(), test), test.truth) + 0.03  # and than the mean of their ranks
    unseen = np.isin(np.arange(N_LABELS), UNSEEN)
    found = {name: recall(find_hits(said, test.truth), 5, unseen).value for name, said in test.said.items()}
    assert recall(find_hits(blended(blend, test), test.truth), 5, unseen).value > found["semantic"] + 0.2


def test_hidden_labels_teach_it_how_to_rank_labels_without_documents() -> None:
    """Where nobody has such a label in the rehearsal, only hidden ones can say whom to trust."""
    test = world(2, 300, unseen=1.0)
    with_hidden, without = (
        quality(blended(learned(unseen=0.0, hide=hide)[0], test, labels=UNSEEN), test.truth, UNSEEN)
        for hide in (True, False)
    )
    right = quality(test.said["tfidf"], test.truth, UNSEEN)
    assert with_hidden > without + 0.1
    assert with_hidden > right - 0.05


def test_scores_are_shares_and_the_ranking_of_what_was_held_out_has_no_hidden_label() -> None:
    blend, ranking = learned()
    test = world(3, 50, unseen=0.3)
    scores = blend.scores(test.table(COUNTS), COUNTS)
    assert scores.dtype == np.float32
    assert 0 <= scores.min() < scores.max() <= 1
    assert ranking.n_docs == 240
    assert not np.isin(ranking.ids, HIDDEN).any()
    assert (ranking.ids[:, 0] >= 0).all()


def test_scores_of_trained_labels_are_about_as_often_right_as_they_say() -> None:
    """On documents that it was not learned from."""
    blend, _ = learned()
    test = world(4, 400, unseen=0.3)
    table = test.table(COUNTS)
    trained = COUNTS[table.labels] > 0
    scores, hits = (
        blend.scores(table, COUNTS)[trained],
        BlendingSet(table, table.labels, trained, test.truth, test.truth).hits,
    )
    assert scores.sum() == pytest.approx(hits[trained].sum(), rel=0.25)


def test_what_is_saved_is_all() -> None:
    blend, _ = learned()
    again = as_saved(blend)
    table = world(3, 50, unseen=0.3).table(COUNTS)
    np.testing.assert_array_equal(again.margins(table), blend.margins(table))
    np.testing.assert_array_equal(again.scores(table, COUNTS), blend.scores(table, COUNTS))
    assert_same_state(again, blend)
    assert blend.gains.keys() == set(NAMES)
    assert sum(blend.gains.values()) == pytest.approx(1, abs=1e-3)
    assert blend.n_documents == 240


def test_the_same_seed_gives_the_same_blend() -> None:
    again, ranking = learn(world(0, 240, unseen=0.8, counts=IN_REHEARSAL).held(), COUNTS, UNSEEN_RATE, NAMES, 0)
    assert_same_state(again, learned()[0])
    np.testing.assert_array_equal(ranking.ids, learned()[1].ids)


@pytest.mark.parametrize("n_docs", [1, 5, TO_LEARN_TREES - 1])
def test_of_too_few_documents_it_takes_the_mean_of_ranks(n_docs: int) -> None:
    held = world(5, n_docs, unseen=0.3, counts=IN_REHEARSAL).held()
    blend, ranking = learn(held, COUNTS, UNSEEN_RATE, NAMES, 0)
    assert blend.trees is None
    assert_same_state(as_saved(blend), blend)
    assert blend.gains == {}
    assert ranking.n_docs == blend.n_documents == n_docs
    np.testing.assert_array_equal(blend.margins(held.table), starts(held.table))
    scores = blend.scores(held.table, IN_REHEARSAL)
    frequent = held.counts == IN_REHEARSAL.max()  # one label, so that no weight comes in between
    mean = held.table.columns[frequent, NAMES.index("mean rank")]
    assert spearmanr(scores[frequent], -mean).statistic == pytest.approx(1) or n_docs == 1


def test_nothing_to_learn_from() -> None:
    held = world(6, 80, unseen=0.3, counts=IN_REHEARSAL).held()
    nothing = held._replace(truth=held.truth * 0, truth_without_hidden=held.truth_without_hidden * 0)
    blend, ranking = learn(nothing, COUNTS, UNSEEN_RATE, NAMES, 0)
    assert blend.trees is None
    assert ranking.n_docs == 80
    assert np.isfinite(blend.scores(held.table, COUNTS)).all()


def test_no_candidate_at_all() -> None:
    empty = {name: Ranking.empty(3, 5) for name in EXPERTS}
    table = tabulated(empty, RANKS_UNSEEN, COUNTS, np.ones(N_LABELS, np.int64))
    for blend in (Blend(), learned()[0]):
        assert blend.scores(table, COUNTS).shape == (0,)


def test_no_candidate_to_learn_from() -> None:
    empty = {name: Ranking.empty(3, 5) for name in EXPERTS}
    table = tabulated(empty, RANKS_UNSEEN, COUNTS, np.ones(N_LABELS, np.int64))
    truth = pairs_from_lists([[0], [1], [2]], N_LABELS)
    held = BlendingSet(table, COUNTS[table.labels], np.zeros(0, np.bool_), truth, truth)
    assert learn(held, COUNTS, UNSEEN_RATE, NAMES, 0)[0].trees is None


def test_several_rehearsals_are_one() -> None:
    parts = [world(seed, 10, unseen=0.3, counts=IN_REHEARSAL).held() for seed in (1, 2)]
    both = BlendingSet.joined(parts)
    assert both.table.n_documents == both.truth.shape[0] == both.truth_without_hidden.shape[0] == 20
    np.testing.assert_array_equal(both.hits, np.concatenate([part.hits for part in parts]))
    np.testing.assert_array_equal(both.hidden, np.concatenate([part.hidden for part in parts]))
    one = parts[0]
    expected = contains(one.truth[one.table.documents], one.table.labels[:, None].astype(np.int32))[:, 0]
    np.testing.assert_array_equal(one.hits, expected)


# --- a few documents more


def test_it_moves_towards_new_documents_and_stays_close_when_they_are_few() -> None:
    blend, _ = learned()
    test = world(11, 200, unseen=0.3, swapped=True)
    table = test.table(COUNTS)
    before, found = blend.margins(table), {}
    for n_docs in (2, 200):
        new = world(12, n_docs, unseen=0.3, swapped=True)
        other = blend.learned_from(new.held(hide=False))
        assert other.n_documents == blend.n_documents + n_docs
        moved = float(np.abs(other.margins(table) - before).mean())
        found[n_docs] = (moved, quality(blended(other, test), test.truth))
    assert 0 < found[2][0] < 0.2 * found[200][0]
    start = quality(blended(blend, test), test.truth)
    assert found[200][1] > start + 0.02
    assert found[2][1] == pytest.approx(start, abs=0.03)
    np.testing.assert_array_equal(blend.margins(table), before)  # the first one is as it was


def test_what_has_no_trees_stays_as_it_is() -> None:
    held = world(12, 5, unseen=0.3).held(hide=False)
    plain = Blend()
    assert_same_state(plain.learned_from(held), Blend(n_documents=5))
    assert_same_state(plain, Blend())
    blend, _ = learned()
    same = blend.learned_from(held._replace(truth=held.truth * 0))  # no hit says anything
    assert same.trees is blend.trees
    assert same.n_documents == blend.n_documents + 5


def test_what_was_learned_is_saved_and_the_old_one_is_as_it_was() -> None:
    blend, _ = learned()
    before = {key: value.copy() for key, value in blend.state().items() if key != "about"}
    held = world(12, 50, unseen=0.3, swapped=True).held(hide=False)
    other = blend.learned_from(held)
    assert_same_state(as_saved(other), other)
    np.testing.assert_array_equal(as_saved(other).margins(held.table), other.margins(held.table))
    assert (other.margins(held.table) != blend.margins(held.table)).any()
    for key, value in before.items():
        np.testing.assert_array_equal(blend.state()[key], value)
    with pytest.raises(FrozenInstanceError):
        blend.rare_weight = 1.0  # type: ignore[misc]


# --- from elsewhere


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"curves": {key: [float("nan"), 1.0, 0.0] for key in NOTHING_KNOWN}}, "a number of the blend"),
        ({"curves": {key: ["1", 1.0, 0.0] for key in NOTHING_KNOWN}}, "a number of the blend"),
        ({"curves": {}}, "a curve for each band"),
        ({"rare_weight": float("inf")}, "a number of the blend"),
        ({"rare_weight": 1e300}, "a number of the blend"),
        ({"n_documents": -1}, "documents of the blend"),
        ({"gains": {"a": None}}, "gains must be"),
    ],
)
def test_a_crafted_blend_is_refused(changes: dict[str, Any], message: str) -> None:
    """NaN would rank silently by the order of ids."""
    state = learned()[0].state()
    n_columns = len(NAMES)
    Blend.restored(state).check(n_columns)
    with pytest.raises(ValueError, match=message):
        Blend.restored(state | {"about": state["about"] | changes}).check(n_columns)
    with pytest.raises(ValueError, match="features of trees"):
        Blend.restored(state).check(1)
