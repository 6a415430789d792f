"""Which labels may be suggested."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everylabel
from everylabel.data.dataset import Label, LabelSet
from everylabel.errors import ConfigError, DataError
from everylabel.workflow.selection import Selection, of_annif, selecting, with_narrower
from everylabel.workflow.tag import Cut, suggest

PLACE, TOPIC = "urn:type:place", "urn:type:topic"
LABELS = LabelSet.of(
    [
        Label("animals", "Animals", types=(TOPIC,), schemes=("urn:main",)),
        Label("cats", "Cats", parents=("animals", "nowhere"), types=(TOPIC,), schemes=("urn:main", "urn:pets")),
        Label("tigers", "Tigers", parents=("cats",), types=(TOPIC,), schemes=("urn:main",)),
        Label("asia", "Asia", types=(PLACE,), schemes=("urn:main",)),
        Label("round", "Round", parents=("about",)),
        Label("about", "About", parents=("round", "about")),
    ]
)


def chosen(**values: object) -> set[str]:
    return {LABELS.ids[i] for i in np.flatnonzero(Selection(**values).mask(LABELS)).tolist()}  # type: ignore[arg-type]


def test_each_kind_by_itself() -> None:
    assert chosen() == set(LABELS.ids)
    assert chosen(only=["cats", "asia"]) == {"cats", "asia"}
    assert chosen(exclude=("cats",)) == set(LABELS.ids) - {"cats"}
    assert chosen(schemes=("urn:pets",)) == {"cats"}
    assert chosen(exclude_schemes=("urn:main",)) == {"round", "about"}
    assert chosen(types=(PLACE, TOPIC)) == {"animals", "cats", "tigers", "asia"}
    assert chosen(exclude_types=(PLACE,)) == set(LABELS.ids) - {"asia"}
    assert chosen(below=("cats",)) == {"cats", "tigers"}
    assert chosen(below=("round",)) == {"round", "about"}
    assert chosen(exclude_below=("animals",)) == {"asia", "round", "about"}


def test_kinds_together_leave_what_passes_all_of_them() -> None:
    assert chosen(schemes=("urn:main",), below=("animals",), exclude=("tigers",)) == {"animals", "cats"}
    both = Selection(below=("animals",)).and_also(Selection(exclude=("cats",)))
    assert both.mask(LABELS).tolist() == [True, False, True, False, False, False]
    assert not Selection().and_also(Selection())
    assert not Selection()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"only": ["cts"]}, "label 'cts' is not in the vocabulary of 6 labels; did you mean 'cats'?"),
        ({"exclude": ["???"]}, "label '???' is not in the vocabulary of 6 labels; see everylabel labels list"),
        ({"exclude_below": ["tiger"]}, "did you mean 'tigers'?"),
        ({"schemes": ["urn:mian"]}, "has the scheme 'urn:mian'; did you mean 'urn:main'?"),
        ({"exclude_types": ["x"]}, "has the type 'x'; known are: urn:type:topic, urn:type:place"),
        ({"only": "cats"}, "expected a list of onlys, got one only"),
    ],
)
def test_what_is_not_there_is_an_error_with_the_nearest(values: dict[str, list[str]], message: str) -> None:
    with pytest.raises(DataError) as error:
        chosen(**values)
    assert message in str(error.value)


def test_a_vocabulary_without_schemes() -> None:
    with pytest.raises(DataError, match="labels have no schemes here"):
        Selection(schemes=("urn:main",)).mask(LabelSet.of([Label("a", "A")]))


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 11), max_size=3), min_size=12, max_size=12), st.integers(0, 11))
def test_a_branch_is_all_that_leads_to_it(parents: list[list[int]], root: int) -> None:
    labels = LabelSet.of(Label(str(i), str(i), parents=tuple(map(str, own))) for i, own in enumerate(parents))
    found = {root}
    while more := {i for i, own in enumerate(parents) if found & set(own)} - found:
        found |= more
    assert set(np.flatnonzero(with_narrower(labels, np.array([root]))).tolist()) == found


def test_annifs_rules() -> None:
    assert of_annif({"exclude_type": f"{PLACE}|{TOPIC}"}) == Selection(exclude_types=(PLACE, TOPIC))
    assert of_annif({"exclude": "*", "include_scheme": "urn:main"}) == Selection(schemes=("urn:main",))
    assert of_annif({"exclude": "a|b", "exclude_scheme": "c"}) == Selection(exclude=("a", "b"), exclude_schemes=("c",))
    for wrong, message in (
        ({"exclude_types": "a"}, "did you mean 'exclude_type'"),
        ({"exclude": "*"}, "leaves no label"),
        ({"include_type": "a", "include": "b"}, "expected one of include"),
    ):
        with pytest.raises(ConfigError, match=message):
            of_annif(wrong)


def test_suggestions_of_some_labels(fitted_tagger: Path) -> None:
    method, text = everylabel.load(fitted_tagger), ["The lighthouse keepers and the ships they watched over"]
    everything = {one["id"]: one["score"] for one in suggest(method, text, Cut(1000), "none")[0].labels}
    best = list(everything)
    only = Selection(only=(best[3], best[0], best[7]))
    found = suggest(method, text, Cut(10), selection=only)[0].labels
    assert [(one["id"], one["score"]) for one in found] == [(best[at], everything[best[at]]) for at in (0, 3, 7)]
    without = suggest(method, text, Cut(3), "none", selection=Selection(exclude=(best[0], best[2])))[0].labels
    assert [one["id"] for one in without] == [best[1], best[3], best[4]]
    assert selecting(method, Selection()) is method
    with pytest.raises(DataError, match="no label of the vocabulary is left"):
        suggest(method, text, selection=Selection(only=(best[0],), exclude=(best[0],)))
