"""Which experts for which data, as a table; and budgets."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.errors import ConfigError
from everylabel.machine import Speeds
from everylabel.methods.facts import MANY_LABELS, VERY_MANY_LABELS, Facts
from everylabel.registry import METHODS, method_class
from everylabel.run import Machines
from everylabel.tagger.budget import default_budget, seconds_of
from everylabel.tagger.choice import Choice, cost
from everylabel.tagger.experts import new_expert
from everylabel.tagger.plan import Plan, by_worth, choose_plan, rehearsal_of

ORDER = [method.name for method in by_worth()]
TRAITS = {method.name: method.traits for method in by_worth()}
DAY = 24 * 3600.0
MEDIUM: dict[str, Any] = {
    "n_docs": 20_000,
    "n_labelled": 20_000,
    "n_pairs": 80_000,
    "n_labels": 4_000,
    "n_seen": 3_000,
    "n_dev": 0,
    "words": 200.0,
}


def facts(**given: Any) -> Facts:
    """Twenty thousand documents with labels, unless said otherwise; as many pairs and seen labels as go with it."""
    values = MEDIUM | given
    values["n_labelled"] = min(values["n_labelled"], values["n_docs"]) if "n_labelled" in given else values["n_docs"]
    values["n_pairs"] = given.get("n_pairs", 4 * values["n_labelled"])
    values["n_seen"] = given.get("n_seen", min(values["n_labels"], 3 * values["n_pairs"] // 4))
    return Facts(**values)


NONE: dict[str, Any] = {"n_labelled": 0, "n_pairs": 0, "n_seen": 0}
FEW: dict[str, Any] = {"n_docs": 300, "n_labels": 100}
# facts, experts that are there, experts that are not and a word of the reason, how the blend is rehearsed
TABLE: list[tuple[str, dict[str, Any], set[str], dict[str, str], str]] = [
    ("nothing but label texts", NONE | {"n_docs": 0}, {"hybrid"}, {}, "none"),
    ("no pairs", NONE, {"hybrid"}, {}, "none"),
    ("no pairs, no torch", NONE | {"torch": False}, {"tfidf"}, {}, "none"),
    ("a few", FEW, {"tfidf", "knn", "svm", "semantic", "zestxml"}, {"of-de": "little", "depl": "little"}, "folds"),
    ("a few and dev", FEW | {"n_dev": 500}, {"tfidf", "knn", "svm"}, {"xml0": "learns little"}, "dev"),
    ("a few and a small dev", FEW | {"n_dev": 20}, {"tfidf", "knn", "svm"}, {}, "folds"),
    ("many", {}, {"tfidf", "knn", "svm", "semantic", "of-de"}, {"xr-linear": "svm is there"}, "held out"),
    ("many and dev", {"n_dev": 1_000}, {"tfidf", "knn", "svm", "of-de"}, {"of-lan": "of-de is as good"}, "dev"),
    ("few of many labelled", {"n_labelled": 50}, {"tfidf", "knn", "svm"}, {"of-de": "fewer than"}, "folds"),
    (
        "many labels",
        {"n_labels": 200_000},
        {"svm", "knn", "zestxml", "depl", "hybrid"},
        {"xr-linear": "svm is there"},
        "held out",
    ),
    ("a bag of words", {"texts": False}, {"svm", "knn"}, {"tfidf": "bag of words", "of-de": "bag"}, "held out"),
    ("bags, many labels", {"texts": False, "n_labels": 10**6}, {"svm", "knn"}, {"semantic": "bag"}, "held out"),
    ("labels without texts", {"label_texts": False}, {"svm", "knn"}, {"tfidf": "label texts", "xml0": "t"}, "held out"),
    ("no torch", {"torch": False}, {"tfidf", "knn", "svm"}, {"semantic": "pip install", "xml0": "pip"}, "held out"),
    ("one document", {"n_docs": 1, "n_labels": 1, "n_pairs": 1}, {"tfidf", "knn", "svm"}, {}, "mean"),
]


@pytest.mark.parametrize(
    ("given", "there", "left_out", "rehearsal"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE]
)
def test_which_experts(given: dict[str, Any], there: set[str], left_out: dict[str, str], rehearsal: str) -> None:
    plan = choose_plan(facts(**given), DAY)
    reasons = dict(plan.left_out)
    assert there <= set(plan.names)
    for name, word in left_out.items():
        assert word in reasons[name]
    assert not set(plan.names) & set(reasons)
    assert plan.rehearsal == rehearsal == rehearsal_of(facts(**given)) or len(plan.names) == 1
    again = sum(choice.again for choice in plan.experts if choice.name in plan.refit)
    assert plan.seconds == pytest.approx(sum(choice.seconds for choice in plan.experts) + again)
    assert all(choice.why and choice.seconds > 0 for choice in plan.experts)
    if plan.rehearsal != "none":
        assert set(plan.names) | {one.name for one in plan.spare} | set(reasons) == set(ORDER)  # nothing in silence


@pytest.mark.parametrize("given", [row[1] for row in TABLE], ids=[row[0] for row in TABLE])
def test_lines_tell_everything(given: dict[str, Any]) -> None:
    plan = choose_plan(facts(**given), 600.0)
    lines = plan.lines()
    for choice in plan.experts:
        assert [line for line in lines if line.split()[0] == choice.name and choice.why in line]
    for name, why in plan.left_out:
        listed = [line.partition("  left out: ") for line in lines]
        assert [1 for names, _, said in listed if name in names.replace(",", "").split() and said == why]
    assert sum("left out" in line for line in lines) == len({why for _, why in plan.left_out})  # each reason once
    assert plan.reason in lines[0]
    assert "10 min" in lines[-1]
    assert all("\n" not in line for line in lines)


@pytest.mark.parametrize("given", [row[1] for row in TABLE], ids=[row[0] for row in TABLE])
def test_saved_and_read_again(given: dict[str, Any]) -> None:
    plan = choose_plan(facts(**given)).without("knn", "it rains")
    assert "knn" not in plan.names
    assert plan.left_out[-1] == ("knn", "it rains")
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_experts_that_there_is_time_for_after_all() -> None:
    plan = choose_plan(facts(), 120.0)
    first, second, *_ = (choice.name for choice in plan.spare)
    taken = plan.taking(first)
    assert taken.names == [*plan.names, first]
    assert first not in {choice.name for choice in taken.spare}
    gone = taken.without(second, "it is late")
    assert second not in {choice.name for choice in gone.spare}
    assert gone.left_out[-1] == (second, "it is late")


@pytest.mark.parametrize("language", ["en", "de", "none"])
@pytest.mark.parametrize("n_labels", [100, 500_000])
def test_the_settings_of_a_plan_are_settings_that_work(language: str, n_labels: int) -> None:
    for name in METHODS.keys() - {"tagger"}:
        new_expert(name, method_class(name).settings_for(facts(language=language, n_labels=n_labels)), seed=1).check()


# --- what is asked for


def test_only_these_whatever_they_cost() -> None:
    plan = choose_plan(facts(), 1.0, only=("of-lan", "svm"))
    assert plan.names == ["of-lan", "svm"]
    assert plan.left_out == ()
    assert (
        choose_plan(facts(), 1.0, only=("popularity",)).rehearsal == "none"
    )  # one alone has nothing to be blended with
    assert choose_plan(facts(**NONE), only=("bm25",)).names == ["bm25"]


@pytest.mark.parametrize("given", [{}, NONE, FEW, {"n_labels": 500_000}])
def test_a_fast_tagger_has_quick_experts_alone_and_says_what_it_leaves_out(given: dict[str, Any]) -> None:
    fast, usual = choose_plan(facts(**given), DAY, accuracy="fast"), choose_plan(facts(**given), DAY)
    assert fast.names
    assert all(method_class(name).traits.quick for name in fast.names)
    slow = {name for name in usual.names if not method_class(name).traits.quick}
    assert slow
    if given is not NONE:  # one method does it all there, and none is left out
        assert all(dict(fast.left_out)[name] == "takes longer for a document than a fast tagger may" for name in slow)
        assert fast.rehearsal == usual.rehearsal


def test_who_names_experts_gets_them_in_a_fast_tagger_too() -> None:
    assert choose_plan(facts(), accuracy="fast", only=("zestxml", "knn")).names == ["zestxml", "knn"]


def test_never_these() -> None:
    plan = choose_plan(facts(), DAY, without=("svm", "of-de"))
    assert not {"svm", "of-de"} & set(plan.names)
    assert dict(plan.left_out)["svm"] == dict(plan.left_out)["of-de"] == "switched off"
    assert choose_plan(facts(**NONE), without=("hybrid",)).names == ["semantic"]
    assert choose_plan(facts(), only=("svm", "knn"), without=("knn",)).names == ["svm"]


@pytest.mark.parametrize("given", [{}, NONE])
def test_names_that_there_are_not(given: dict[str, Any]) -> None:
    wrongs: list[dict[str, Any]] = [{"only": ("smv",)}, {"without": ("smv",)}]
    for wrong in wrongs:
        with pytest.raises(ConfigError, match=r"unknown method 'smv'.*svm"):
            choose_plan(facts(**given), **wrong)
    with pytest.raises(ConfigError, match="a tagger cannot be an expert of a tagger; name other methods"):
        choose_plan(facts(**given), only=("tagger",))


@pytest.mark.parametrize(("given", "without"), [({}, ORDER), (NONE, ("hybrid", "semantic", "tfidf"))])
def test_nothing_is_left(given: dict[str, Any], without: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=r"no expert is left to fit.*switch off fewer"):
        choose_plan(facts(**given), without=without)


# --- budgets


def test_a_small_budget_leaves_out_what_is_expensive() -> None:
    large, small = choose_plan(facts(), DAY), choose_plan(facts(), 120.0)
    gone = set(large.names) - set(small.names)
    assert gone
    assert "tfidf" in small.names
    spare = {choice.name for choice in small.spare}
    assert gone - {"svm", "depl"} == spare - {"xr-linear"}  # they are for the time that may be left
    for choice in small.spare:
        assert [line for line in small.lines() if line.split()[0] == choice.name and "if time is left" in line]
    alone = choose_plan(facts(), 1.0)
    assert alone.names == ["tfidf"]
    assert alone.spare == ()
    assert "more than the budget leaves" in dict(alone.left_out)["knn"]
    dear = max(large.experts, key=lambda choice: choice.seconds)
    assert dear.name in gone
    assert small.seconds <= 120


@settings(deadline=None, max_examples=400)
@given(
    n_docs=st.integers(1, 200_000),
    n_labels=st.integers(1, 300_000),
    n_seen=st.floats(0, 1),
    words=st.floats(1, 3_000),
    n_dev=st.sampled_from([0, 1_000]),
    speeds=st.builds(Speeds, reading=st.floats(0.1, 10), solving=st.floats(0.1, 10), training=st.floats(0.1, 10)),
    without=st.sets(st.sampled_from(ORDER), max_size=3),
    budgets=st.tuples(st.floats(1, 50_000), st.floats(1, 50_000)),
)
def test_more_time_never_means_fewer_experts(
    n_docs: int,
    n_labels: int,
    n_seen: float,
    words: float,
    n_dev: int,
    speeds: Speeds,
    without: set[str],
    budgets: tuple[float, float],
) -> None:
    """An expert of the smaller budget is there with the larger one, too, or one that is better in its place."""
    given: dict[str, Any] = {"n_docs": n_docs, "n_labels": n_labels, "n_seen": 1 + int(n_seen * (n_labels - 1))}
    own = facts(**given, words=words, n_dev=n_dev, speeds=speeds)
    less, more = (choose_plan(own, budget, without=tuple(without)) for budget in sorted(budgets))
    for plan in (less, more):
        assert plan.names
        assert len(plan.names) == 1 or plan.seconds <= plan.budget
        assert plan.names == [name for name in ORDER if name in plan.names]  # the most valuable first
    replaced = {method_class(name).traits.better_than for name in more.names}
    assert set(less.names) <= set(more.names) | replaced
    assert len(less.names) <= len(more.names)
    assert not set(more.names) & replaced


def test_the_slower_of_two_that_do_the_same_comes_when_there_is_time_for_all_others_of_its_worth() -> None:
    own = facts(n_dev=1_000)
    plans = [choose_plan(own, seconds) for seconds in (100, 200, 400, 800, 1_600, 3_200)]
    kinds = [next(name for name in ("svm", "xr-linear", "") if not name or name in plan.names) for plan in plans]
    assert kinds == sorted(kinds, key=["", "xr-linear", "svm"].index)
    assert {"xr-linear", "svm"} <= set(kinds)
    for plan, kind in zip(plans, kinds, strict=True):
        if kind == "xr-linear":
            assert dict(plan.left_out)["svm"] == "xr-linear is there"
            assert "svm" not in {choice.name for choice in plan.spare}
    few = choose_plan(facts(n_docs=3_000, n_labels=20, n_dev=1_000), 60.0)  # so few labels that svm takes no longer
    assert "svm" in few.names
    alone = choose_plan(own, 120.0, without=("xr-linear",))
    assert "svm" in [*alone.names, *(choice.name for choice in alone.spare)]


@settings(deadline=None)
@given(st.integers(0, 10**7), st.integers(1, 10**7))
def test_the_default_budget_grows_with_the_data_up_to_some_hours(n_docs: int, n_labels: int) -> None:
    own = facts(n_docs=n_docs, n_labels=n_labels, n_pairs=0)
    assert 60 <= default_budget(own) <= default_budget(replace(own, n_docs=n_docs + 1_000)) <= DAY / 4
    assert choose_plan(own).budget == default_budget(own)


@pytest.mark.parametrize("name", ORDER)
@pytest.mark.parametrize("rehearsal", ["dev", "held out", "folds", "none"])
def test_more_data_cost_more_and_more_cores_less(name: str, rehearsal: str) -> None:
    own = facts(n_dev=1_000)
    here = cost(method_class(name), own, rehearsal)
    assert 0 < cost(method_class(name), facts(n_docs=2_000, n_dev=1_000), rehearsal) <= here
    more_cores = cost(method_class(name), replace(own, cores=8), rehearsal)
    assert more_cores < here
    assert here >= cost(method_class(name), own, "none")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("30m", 1800),
        ("2h", 7200),
        ("1.5h", 5400),
        (" 2 h ", 7200),
        ("1h30m", 5400),
        ("1h 30m 5s", 5405),
        ("90m30s", 5430),
        ("", None),
        (" ", None),
    ],
)
def test_times(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    "text", ["soon", "0", "0m", "-5m", "2d", "1h30", "30m1h", "1m1m", "1,5h", "h", ".5h", "nan", "inf", "1e3"]
)
def test_no_times(text: str) -> None:
    with pytest.raises(ConfigError, match="budget must be a time such as 90s, 30m, 2h or 1h30m; got"):
        seconds_of(text)


# --- memory


GB = 1 << 30
SIZES: dict[str, dict[str, Any]] = {  # as eurlex57k, tibkat-de, wordnet-reverse and wiktionary-translations are
    "4 k": {"n_docs": 45_000, "n_pairs": 228_000, "n_labels": 4_271, "n_seen": 4_108, "n_dev": 6_000, "words": 715.0},
    "41 k": {
        "n_docs": 49_119,
        "n_pairs": 144_531,
        "n_labels": 41_218,
        "n_seen": 24_555,
        "n_dev": 10_277,
        "words": 157.0,
    }
    | {"language": "de+en"},
    "149 k": {"n_docs": 100_167, "n_pairs": 175_000, "n_labels": 148_897, "n_seen": 130_188, "n_dev": 5_869}
    | {"words": 12.0},
    "895 k": {"n_docs": 384_541, "n_pairs": 1_500_000, "n_labels": 894_625, "n_seen": 650_000, "n_dev": 6_012}
    | {"words": 9.0},
}
ANY_DATA = {
    "n_docs": st.integers(1, 2_000_000),
    "n_labels": st.integers(1, 3_000_000),
    "n_dev": st.sampled_from([0, 1_000]),
    "words": st.floats(1, 3_000),
    "language": st.sampled_from(["en", "de"]),
}


@settings(deadline=None, max_examples=200)
@given(st.fixed_dictionaries(ANY_DATA), st.floats(0, 1), st.data())
def test_costs_never_fall_where_there_is_more(values: dict[str, Any], seen: float, data: Any) -> None:
    """More documents, words or pairs, or more labels, with or without documents."""
    n_seen = int(seen * values["n_labels"])
    own = facts(**values, n_seen=n_seen, n_pairs=4 * values["n_docs"])
    n_more = data.draw(st.integers(1, 1_000_000))
    name = data.draw(st.sampled_from(["documents", "pairs", "seen", "unseen"]))
    more = {
        "documents": replace(own, n_docs=own.n_docs + n_more, n_labelled=own.n_labelled + n_more),
        "pairs": replace(own, n_pairs=own.n_pairs + n_more),
        "seen": replace(own, n_labels=own.n_labels + n_more, n_seen=own.n_seen + n_more),
        "unseen": replace(own, n_labels=own.n_labels + n_more),
    }[name]
    for expert in map(method_class, ORDER):
        assert expert.fit_memory(more) >= expert.fit_memory(own) > 0, expert.name
        # with many labels some of them are read in another way, and faster; of very many a step takes fewer
        if all((own.n_labels >= edge) == (more.n_labels >= edge) for edge in (MANY_LABELS + 1, VERY_MANY_LABELS)):
            least = (1 - 1e-9) * expert.cost(own).seconds(own)  # but for rounding
            assert expert.cost(more).seconds(more) >= least, expert.name


@settings(deadline=None, max_examples=200)
@given(
    st.fixed_dictionaries(ANY_DATA),
    st.floats(0, 1),
    st.tuples(st.floats(2e8, 4e10), st.floats(2e8, 4e10)),
    st.tuples(st.floats(1, 50_000), st.floats(1, 50_000)),
)
def test_more_memory_and_more_time_never_lose_worth(
    values: dict[str, Any], seen: float, memories: tuple[float, float], budgets: tuple[float, float]
) -> None:
    """What is planned fits, in any order of the fits. Of two plans the one with more has the first expert, in the order
    of their worth, that one of them has and the other one has not."""
    own = facts(**values, n_seen=1 + int(seen * (values["n_labels"] - 1)))
    least = min(method_class(name).fit_memory(own) for name in ORDER if not method_class(name).unfit(own))
    plans = []
    for memory, budget in zip(sorted(memories), sorted(budgets), strict=True):
        if memory < least:
            with pytest.raises(ConfigError, match="no expert fits into"):
                choose_plan(replace(own, memory=memory), budget)
            continue
        plan = choose_plan(replace(own, memory=memory), budget)
        for last in (*plan.experts, *plan.spare):
            models = sum(choice.kept for choice in plan.experts if choice.name != last.name)
            assert last.memory + (models if last in plan.experts else 0) <= memory * (1 + 1e-9)
        assert plan.memory <= memory
        plans.append([name in plan.names for name in ORDER])
    if len(plans) == 2:
        first = next((at for at in range(len(ORDER)) if plans[0][at] != plans[1][at]), None)
        instead = {
            one.better_than for name, there in zip(ORDER, plans[1], strict=True) if there for one in [TRAITS[name]]
        }
        assert first is None or plans[1][first] or ORDER[first] in instead


CHEAP = {"tfidf", "knn", "xr-linear", "semantic"}
IN_TIME: list[tuple[str, float, float, set[str], set[str]]] = [  # minutes and GB; who is there, and who is not
    ("4 k", 15, 16, CHEAP | {"zestxml"}, {"svm", "depl"}),
    ("4 k", 60, 16, CHEAP - {"xr-linear"} | {"svm", "zestxml", "of-de", "xml0"}, {"depl"}),
    ("41 k", 15, 16, CHEAP, {"svm"}),  # zestxml takes six minutes
    ("41 k", 60, 16, CHEAP | {"zestxml", "of-de", "xml0"}, {"svm"}),
    ("149 k", 15, 16, CHEAP | {"zestxml"}, {"svm", "depl"}),
    ("149 k", 60, 8, CHEAP | {"zestxml", "of-de", "xml0"}, {"svm", "depl"}),
    ("895 k", 15, 16, CHEAP, {"svm", "depl"}),
    ("895 k", 60, 16, CHEAP | {"zestxml"}, {"svm", "depl"}),
    ("895 k", 60, 4, CHEAP, {"svm", "zestxml", "depl"}),
]


@pytest.mark.parametrize(("size", "minutes", "memory", "there", "gone"), IN_TIME)
def test_experts_of_data_of_these_sizes(
    size: str, minutes: float, memory: float, there: set[str], gone: set[str]
) -> None:
    """By what they cost, and by nothing else."""
    plan = choose_plan(facts(**SIZES[size], memory=memory * GB), 60 * minutes)
    assert there <= set(plan.names)
    assert not gone & set(plan.names)
    assert plan.seconds <= 60 * minutes
    assert plan.memory <= memory * GB


def test_what_does_not_fit_is_left_out_and_it_is_said_why() -> None:
    own = facts(**SIZES["149 k"], memory=8.0 * GB)
    large = choose_plan(own, DAY)
    small = choose_plan(replace(own, memory=0.3 * large.memory), DAY)
    gone = set(large.names) - set(small.names)
    assert gone
    assert set(small.names) <= set(large.names)
    reasons = dict(small.left_out)
    for name in gone:
        assert reasons[name].startswith("needs about ")
        assert reasons[name].endswith(" are there")
    assert small.memory <= 0.3 * large.memory < large.memory
    assert [line for line in small.lines() if "memory: about" in line]
    with pytest.raises(ConfigError, match=r"no expert fits into 10 MB: .* needs about .*--memory"):
        choose_plan(replace(own, memory=10 << 20), DAY)
    with pytest.raises(ConfigError, match="no expert fits into 10 MB"):
        choose_plan(facts(**NONE, memory=10 << 20))
    assert choose_plan(replace(own, memory=10 << 20), only=("svm", "knn")).names == ["svm", "knn"]


def test_jobs_that_run_side_by_side_count_together() -> None:
    own = facts(n_dev=1_000)
    found = {choice.name: choice.memory for choice in choose_plan(own, DAY).experts}
    for name, memory in found.items():
        method = method_class(name)
        at_once = 2 if method.traits.on_one_core < 2 and not method.traits.label_by_label else 1
        assert memory == pytest.approx(at_once * method.fit_memory(own), rel=1e-6)
    assert {2 if method_class(name).traits.on_one_core < 2 else 1 for name in found} == {1, 2}
    one_core = {choice.name: choice.memory for choice in choose_plan(replace(own, cores=1), DAY).experts}
    assert all(one_core[name] <= memory for name, memory in found.items() if name in one_core)


def test_fits_that_have_no_room_side_by_side_are_made_one_after_the_other() -> None:
    own = facts(**SIZES["895 k"])
    roomy, narrow = (choose_plan(replace(own, memory=gb * GB), DAY) for gb in (32, 8))
    both, turn = (next(one for one in plan.experts if one.name == "zestxml") for plan in (roomy, narrow))
    assert (both.at_once, turn.at_once) == (2, 1)
    assert turn.memory == pytest.approx(both.memory / 2, abs=1)
    assert both.seconds < turn.seconds < 2 * both.seconds
    assert narrow.memory <= 8 * GB < roomy.memory


def test_a_plan_of_long_ago_says_nothing_of_memory() -> None:
    values = choose_plan(facts()).to_json()
    for choice in (*values["experts"], *values["spare"]):
        del choice["memory"]
    assert not [line for line in Plan.from_json(values).lines() if " GB" in line or " MB" in line or "memory" in line]


# --- what is known of the data


LABELS = LabelSet.of([Label("f", "fish"), Label("t", "tax"), Label("m", "milk")])


def test_facts_of_data() -> None:
    texts = ["the fish of the sea", "a tax", "", "milk of cows and of goats"]
    data = Dataset(Documents.of(texts), LABELS, pairs_from_lists([[0], [0, 1], [], [1]], 3))
    dev = data.subset([0, 2])
    own = Facts.of(data, dev)
    assert (own.n_docs, own.n_labelled, own.n_pairs, own.n_labels, own.n_seen) == (4, 3, 4, 3, 2)
    assert (own.n_dev, own.texts, own.language) == (1, True, "en")
    assert 2 <= own.words <= 6
    assert Facts.of(data, language="fi").language == "fi"
    assert Facts.of(data.without_pairs(), dev.without_pairs()).n_pairs == 0
    bag = replace(data, documents=replace(data.documents, features=csr_matrix(np.eye(4, dtype=np.float32))))
    assert not Facts.of(bag).texts
    assert Facts.of(bag).language == "none"
    assert own.label_texts
    nothing = Facts.of(Dataset(Documents.of([]), LABELS))
    assert (nothing.n_docs, nothing.n_pairs, nothing.words) == (0, 0, 0)
    assert choose_plan(nothing).names == ["hybrid"]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([Label("1", "D012345"), Label("2", "Q42"), Label("3", "C 31.2")], False),
        ([Label("1", "1", description="ships of the sea"), Label("2", "2", alternatives=("tax",))], True),
        ([Label("1", "税"), Label("2", "海")], True),
        ([Label("1", "1")], False),
    ],
)
def test_labels_that_are_numbers_have_no_texts(labels: list[Label], told: bool) -> None:
    assert Facts.of(Dataset(Documents.of(["a text"]), LabelSet.of(labels))).label_texts is told


def test_a_gpu_trains_encoders_faster_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    assert Facts.of(Dataset(Documents.of(["a text"]), LABELS)).gpu
    slow, fast = facts(), facts(gpu=True, speeds=Speeds(training=0.2))
    for name in ORDER:
        trains = method_class(name).cost(slow).training > 0
        assert (cost(method_class(name), fast, "dev") < cost(method_class(name), slow, "dev")) is trains
    assert "a GPU" in choose_plan(fast).reason
    assert "GPU" not in choose_plan(slow).reason


@pytest.mark.parametrize("kind", ["reading", "solving", "training"])
def test_a_machine_that_is_slower_in_something_takes_longer_for_what_is_made_of_it(kind: str) -> None:
    here = facts(n_dev=1_000)
    slow = replace(here, speeds=replace(here.speeds, **{kind: 3.0}))
    for name in ORDER:
        method = method_class(name)
        once = getattr(method.cost(here), kind)
        added = cost(method, slow, "none") - cost(method, here, "none")
        assert added == pytest.approx(2 * once)
    assert choose_plan(slow, DAY).seconds > choose_plan(here, DAY).seconds


def test_a_cluster_has_time_for_more_and_says_what_it_is() -> None:
    """The budget is wall time; an expert with one job that is longer than that is not there on any cluster."""
    here = facts()
    there = here.on(Machines(at_once=8, cores=2, gpu=False, about="8 nodes, 16 cores, 64 GB"))
    alone, far = choose_plan(here, 60.0), choose_plan(there, 60.0)
    assert set(alone.names) < set(far.names)
    assert far.seconds == pytest.approx(sum(choice.seconds for choice in far.experts) / 8)
    assert "a cluster of 8 nodes, 16 cores, 64 GB: 8 jobs at a time, each 2 cores" in far.reason
    assert Plan.from_json(json.loads(json.dumps(far.to_json()))) == far
    assert choose_plan(there, 1.0).names == choose_plan(here, 1.0).names
    assert here.on(None) is here


def test_every_expert_of_the_order_is_a_method() -> None:
    for name in ORDER:
        assert method_class(name).name == name
    assert len(ORDER) >= 12
    assert Choice("svm", "why", 1.0) == Choice("svm", "why", 1.0, {})
