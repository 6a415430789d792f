"""Learning from decisions: what is learned, what is held out, what is refused, and what is undone again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.feedback.conftest import Decide
from tests.tagger.conftest import assert_identical

from everylabel.data.dataset import Label
from everylabel.errors import ConfigError
from everylabel.feedback import learning
from everylabel.feedback.learning import learn_waiting
from everylabel.feedback.store import DecisionStore
from everylabel.feedback.versions import Versions
from everylabel.methods.words.popularity import Popularity


def add(store: DecisionStore, decisions: list[Any]) -> list[Any]:
    return [store.add("p", one) for one in decisions]


def mistaken(decisions: list[Any], corpus: Any) -> list[Any]:
    """By somebody who gives wrong labels, and the same wrong ones, to each document, and to others like it."""
    labels = [label.id for label in corpus.train.labels.labels]
    wrong = []
    for one in decisions:
        others = [label for label in labels if label not in one.labels][:4]
        for more in range(3):
            text = f"{one.text} {more}"
            wrong.append(replace(one, text=text, accepted=tuple(others), added=(), rejected=one.labels))
    return [one for one in wrong if not one.held_out]


def test_too_few_are_not_learned(store: DecisionStore, versions: Versions, decide: Decide) -> None:
    add(store, decide(0, 10))
    assert learn_waiting(store, versions, "p") is None
    assert learn_waiting(store, versions, "other", least=1) is None
    assert versions.current[0] == 0


def test_learned_checked_and_taken(store: DecisionStore, versions: Versions, decide: Decide) -> None:
    made = add(store, decide(0, 120))
    outcome = learn_waiting(store, versions, "p", least=50)
    assert outcome is not None
    assert outcome.taken
    held = {one.id for one in made if one.held_out}
    assert outcome.version == versions.current[0] == 1
    assert set(outcome.learned) == {one.id for one in made} - held
    assert outcome.checked_on == outcome.checks["held out"]["documents"] == len(held) > 8
    assert outcome.checks["folds"]["documents"] == len(made) - len(held)  # fewer than 60 are held out
    assert outcome.worse == ()
    assert outcome.after is not None
    assert outcome.before is not None
    assert outcome.high is not None
    assert outcome.high >= 0
    model = versions.load(1)
    assert model.learned_ == len(outcome.learned)
    for one in made[:10]:  # what a document has is known when the same text comes again
        (found,) = model.experts_["knn"].rank([f"{one.title}\n{one.text}"], 40).ids
        known = {model.labels_[int(i)].id for i in found if i >= 0}
        assert one.id in held or set(one.labels) <= known
    assert {one.learned_in for one in store.list("p", limit=500) if one.id not in held} == {1}
    assert {one.learned_in for one in store.list("p", limit=500) if one.id in held} == {0}
    assert store.counts("p")["learned"] == len(outcome.learned)
    (event,) = versions.history()
    assert (event["what"], event["version"], event["checked_on"]) == ("taken", 1, len(held))
    assert event["decisions"] == list(outcome.learned)
    assert learn_waiting(store, versions, "p", least=1) is None  # nothing is left


def test_held_out_decisions_are_learned_when_they_are_old(
    sqlite_store: DecisionStore, versions: Versions, decide: Decide, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "MOST_HELD_OUT", 5)
    made = add(sqlite_store, decide(0, 80))
    held = [one.id for one in made if one.held_out]
    outcome = learn_waiting(sqlite_store, versions, "p")
    assert outcome is not None
    assert outcome.checks.keys() == {"folds"}  # 5 are too few to say anything; what is learned is checked by parts
    assert set(held) & set(outcome.learned) == set(held[:-5])


def test_a_worse_model_is_refused_and_what_is_good_is_learned_later(
    sqlite_store: DecisionStore, versions: Versions, decide: Decide, corpus: Any
) -> None:
    add(sqlite_store, [one for one in decide(0, 126) if one.held_out])
    wrong = add(sqlite_store, mistaken([one for one in decide(0, 90) if not one.held_out], corpus))
    outcome = learn_waiting(sqlite_store, versions, "p")
    assert outcome is not None
    assert not outcome.taken
    assert outcome.high is not None
    assert outcome.high < 0
    assert set(outcome.refused) == {one.id for one in wrong}
    assert versions.current[0] == 0
    assert versions.history()[-1]["what"] == "refused"
    assert "held out" in outcome.worse
    assert learn_waiting(sqlite_store, versions, "p", least=1) is None  # not tried for ever
    right = add(sqlite_store, [one for one in decide(90, 126) if not one.held_out])
    outcome = learn_waiting(sqlite_store, versions, "p", least=20)
    assert outcome is not None
    assert outcome.taken  # without those that are wrong: they are refused for the second time
    assert set(outcome.learned) == {one.id for one in right}
    assert {one.refused for one in sqlite_store.these("p", outcome.refused)} == {2}
    assert outcome.high is not None  # of those that were taken
    assert outcome.high >= 0


def test_undone_decisions_are_built_out_again(
    sqlite_store: DecisionStore, versions: Versions, decide: Decide, corpus: Any
) -> None:
    first = [one for one in add(sqlite_store, decide(0, 40)) if not one.held_out]
    learn_waiting(sqlite_store, versions, "p", least=1)
    second = [one for one in add(sqlite_store, decide(40, 80)) if not one.held_out]
    learn_waiting(sqlite_store, versions, "p", least=1)
    third = [one for one in add(sqlite_store, decide(80, 120)) if not one.held_out]
    learn_waiting(sqlite_store, versions, "p", least=1)
    model = versions.load(3)
    versions.take(model.with_labels([Label("new", "Quuxology")]).without_labels([model.labels_[0].id]), {})
    sqlite_store.undo("p", second[3].id)
    outcome = learn_waiting(sqlite_store, versions, "p")  # however little there is to learn
    assert outcome is not None
    assert outcome.taken
    assert outcome.without == (second[3].id,)
    assert outcome.version == 5
    assert versions.history()[-1]["parent"] == 1
    valid = [one.id for one in (*second, *third) if one is not second[3]]
    assert versions.history()[-1]["decisions"] == valid
    rebuilt = versions.load(5)
    assert rebuilt.learned_ == len(first) + len(valid)
    assert "new" in rebuilt.labels_.index  # what is no decision stays
    assert rebuilt.hidden_[0]
    expected: Any = versions.load(1).with_labels([Label("new", "Quuxology")]).without_labels([model.labels_[0].id])
    data = learning.as_dataset(expected, sqlite_store.these("p", valid))
    expected, _ = expected.with_pairs(data, [()] * len(valid), [True] * len(valid))
    assert_identical(rebuilt.rank(corpus.test.documents, 10), expected.rank(corpus.test.documents, 10))
    assert learn_waiting(sqlite_store, versions, "p") is None


def test_a_version_that_is_taken_back_is_not_learned_again_at_once(
    sqlite_store: DecisionStore, versions: Versions, decide: Decide
) -> None:
    made = [one.id for one in add(sqlite_store, decide(0, 40)) if not one.held_out]
    learn_waiting(sqlite_store, versions, "p", least=1)
    versions.back_to(0)
    assert learn_waiting(sqlite_store, versions, "p", least=1) is None
    assert {(one.learned_in, one.refused) for one in sqlite_store.these("p", made)} == {(0, 1)}
    more = [one.id for one in add(sqlite_store, decide(40, 60)) if not one.held_out]
    outcome = learn_waiting(sqlite_store, versions, "p", least=1)
    assert outcome is not None
    assert set(outcome.learned) == {*made, *more}


def test_marks_follow_the_history_after_a_kill(
    sqlite_store: DecisionStore, versions: Versions, decide: Decide, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the new version and the marks in the database."""
    made = [one.id for one in add(sqlite_store, decide(0, 40)) if not one.held_out]

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_store, "mark_learned", killed)
        with pytest.raises(KeyboardInterrupt):
            learn_waiting(sqlite_store, versions, "p", least=1)
    assert versions.current[0] == 1
    assert learn_waiting(sqlite_store, versions, "p", least=1) is None  # nothing is learned twice
    assert {one.learned_in for one in sqlite_store.these("p", made)} == {1}


def test_unknown_labels_are_left_out_and_counted(
    sqlite_store: DecisionStore, versions: Versions, decide: Decide
) -> None:
    add(sqlite_store, [replace(one, added=(*one.added, "unknown", "other")) for one in decide(0, 20)])
    only = sqlite_store.add("p", replace(decide(20, 21)[0], accepted=("unknown",), added=()))
    outcome = learn_waiting(sqlite_store, versions, "p", least=1)
    assert outcome is not None
    assert outcome.taken
    n_learned = len([one for one in outcome.learned if one != only.id])
    assert outcome.unknown_labels == 2 * n_learned + (only.id in outcome.learned)


def test_of_several_decisions_about_a_document_the_last_counts(
    sqlite_store: DecisionStore, versions: Versions, decide: Decide
) -> None:
    one = next(one for one in decide(0, 20) if not one.held_out)
    label = versions.load(0).labels_[5].id
    add(sqlite_store, [one, replace(one, accepted=(label,), added=())])
    outcome = learn_waiting(sqlite_store, versions, "p", least=2)
    assert outcome is not None
    assert outcome.learned == (1, 2)
    model = versions.load(1)
    assert model.learned_ == 1
    assert model.counts_[5] == versions.load(0).counts_[5] + 1


def test_incomplete_decisions_teach_the_blend_alone(
    sqlite_store: DecisionStore, versions: Versions, decide: Decide
) -> None:
    made = add(sqlite_store, decide(0, 40, complete=False))
    outcome = learn_waiting(sqlite_store, versions, "p", least=1)
    assert outcome is not None
    assert outcome.taken
    assert outcome.checked_on == 0  # such a document checks nothing
    assert len(outcome.learned) == len(made)
    old, new = versions.load(0), versions.load(1)
    assert new.learned_ == 0
    np.testing.assert_array_equal(new.counts_, old.counts_)
    assert not np.array_equal(new.blend_.trees.values, old.blend_.trees.values)


@pytest.mark.parametrize(("n_labels", "complete"), [(0, True), (0, False), (9, False), (9, True)])
def test_what_was_rejected_is_learned_as_wrong(
    sqlite_store: DecisionStore, versions: Versions, decide: Decide, corpus: Any, n_labels: int, complete: bool
) -> None:
    """Beside the same decisions without what was rejected: other documents get labels with less probability, also where
    a person found none right. Of a complete decision with labels all else is wrong, too: what was rejected weighs more.
    """
    first = versions.load(0)

    def after(rejects: bool) -> Any:
        project = f"rejects {rejects}"
        for one in (one for one in decide(0, 60, complete=complete) if not one.held_out):
            shown = first.rank([f"{one.title}\n{one.text}"], 10).ids[0]
            ids = [first.labels_[int(at)].id for at in shown]
            wrong = tuple(label for label in ids if rejects and label not in one.labels)
            sqlite_store.add(project, replace(one, accepted=one.labels[:n_labels], added=(), rejected=wrong))
        own = Versions(versions.folder.parent / project, versions.path_of(0))
        learn_waiting(sqlite_store, own, project, least=1)
        return own.load(own.current[0])

    models = after(True), after(False)
    rejecting, plain = (model.rank(corpus.test.documents, 10).scores.mean() for model in models)
    if n_labels and complete:
        assert not np.array_equal(models[0].blend_.trees.values, models[1].blend_.trees.values)
    else:
        assert rejecting < plain - 0.05


def test_a_document_without_a_right_label_is_no_neighbour(
    sqlite_store: DecisionStore, versions: Versions, decide: Decide
) -> None:
    wrong = versions.load(0).labels_[5].id
    (one,) = [one for one in decide(0, 20) if not one.held_out][:1]
    add(sqlite_store, [replace(one, accepted=(), added=(), rejected=(wrong,))])
    outcome = learn_waiting(sqlite_store, versions, "p", least=1)
    assert outcome is not None
    assert (outcome.taken, outcome.learned) == (True, (1,))
    old, new = versions.load(0), versions.load(1)
    assert new.learned_ == 0
    assert new.experts_["knn"].n_documents == old.experts_["knn"].n_documents


def test_only_a_tagger_learns(sqlite_store: DecisionStore, corpus: Any, tmp_path: Any, decide: Decide) -> None:
    Popularity().fit(corpus.train).save(tmp_path / "popular")
    add(sqlite_store, decide(0, 3))
    with pytest.raises(ConfigError, match="cannot learn from new documents"):
        learn_waiting(sqlite_store, Versions(tmp_path / "state", tmp_path / "popular"), "p", least=1)


def test_many_small_losses_are_one_large_one(
    sqlite_store: DecisionStore, versions: Versions, decide: Decide, corpus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that is no worse than the last one, but worse than the one that the project began with, is refused."""
    add(sqlite_store, [one for one in decide(0, 126) if one.held_out])
    wrong = mistaken([one for one in decide(0, 90) if not one.held_out], corpus)
    monkeypatch.setattr("everylabel.feedback.check.ALPHA", 0.0)
    add(sqlite_store, wrong[:-3])
    outcome = learn_waiting(sqlite_store, versions, "p")
    assert outcome is not None
    assert outcome.taken
    monkeypatch.undo()
    add(sqlite_store, wrong[-3:])
    outcome = learn_waiting(sqlite_store, versions, "p", least=1)
    assert outcome is not None
    assert not outcome.taken
    assert outcome.worse == ("since the start",)
