"""tfidf and bm25 as methods: settings arrive where they work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.errors import ConfigError
from everylabel.methods.words.lexical import Bm25Match, TfidfMatch
from everylabel.text.matching import LabelMatcher, MatchConfig
from everylabel.text.views import Views

LABELS = LabelSet.of(
    [Label("a", "fisheries", alternatives=("catch of vessels",)), Label("b", "law of the sea"), Label("c", "tax")]
)
DOCUMENTS = Documents.of(["a vessel at sea", "taxes on fish", "nothing of it"], titles=["Sea", "Fishery tax", ""])
DATA = Dataset(DOCUMENTS, LABELS)


@pytest.mark.parametrize("name", ["tfidf", "bm25"])
def test_neither_documents_nor_pairs_are_needed(name: str) -> None:
    alone = everylabel.method(name).fit(Dataset(Documents.of([]), LABELS))
    assert alone.rank(["vessels", "taxes", "the law", "of the"], 2).ids[:, 0].tolist() == [0, 2, 1, -1]
    assert alone.counts_.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("method", "matcher"),
    [
        (TfidfMatch(), LabelMatcher(MatchConfig())),
        (
            TfidfMatch(match=MatchConfig(language="none", title_weight=3.0)),
            LabelMatcher(MatchConfig(language="none", title_weight=3.0)),
        ),
        (Bm25Match(), LabelMatcher(MatchConfig(title_weight=5.0), bm25=(3.0, 0.75))),
        (
            Bm25Match(k1=0.5, length_weight=0.1, match=MatchConfig(ngrams=1)),
            LabelMatcher(MatchConfig(ngrams=1), bm25=(0.5, 0.1)),
        ),
    ],
)
def test_the_settings_are_the_matchers(method: TfidfMatch, matcher: LabelMatcher) -> None:
    expected = matcher.fit(Views.of(DOCUMENTS), LABELS).rank(Views.of(DOCUMENTS), 3)
    found = method.fit(DATA).rank(DOCUMENTS, 3)
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_bm25_forgets_repetition_and_tfidf_less_so() -> None:
    """One word 200 times and two words of another label once each."""
    labels = LabelSet.of([Label("a", "tax"), Label("b", "law sea")])
    text = "tax " * 200 + "law sea"
    documents = Documents.of([text, "law sea tax"])
    by_name = {}
    for method in (TfidfMatch(), Bm25Match(k1=0.2, length_weight=0.0)):
        scores = method.fit(Dataset(documents, labels)).rank([text], 2)
        by_name[method.name] = dict(zip(scores.ids[0].tolist(), scores.scores[0].tolist(), strict=True))
    assert by_name["bm25"][1] > by_name["bm25"][0]
    assert by_name["tfidf"][1] < by_name["tfidf"][0]


@pytest.mark.parametrize("settings", [{"k1": -1.0}, {"length_weight": 1.5}, {"length_weight": -0.1}])
def test_settings_of_bm25_that_cannot_work(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="k1 must not be negative and length_weight from 0 to 1; got"):
        Bm25Match(**settings).fit(DATA)


@pytest.mark.parametrize("method", [TfidfMatch, Bm25Match])
def test_settings_of_matching_that_cannot_work(method: type[TfidfMatch]) -> None:
    with pytest.raises(ConfigError, match="language must be"):
        method(match=MatchConfig(language="xx")).fit(DATA)
