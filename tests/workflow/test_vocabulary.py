"""Labels found while one types, whatever the language; those that are never suggested are not among them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import everylabel
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, Translation, pairs_from_lists
from everylabel.workflow import vocabulary
from everylabel.workflow.labels import about_label, list_labels
from everylabel.workflow.vocabulary import LabelSearch

LABELS = LabelSet.of(
    [
        Label("l1", "Ships", notation="62.1", translations=(Translation("fi", "laivat"),), language="en"),
        Label("l2", "Shipping", alternatives=("Sea transport",), parents=("l1",), language="en"),
        Label("l3", "Steam ships", parents=("l1",), related=("l2",), uri="http://x/3", language="en"),
        Label("l4", "Ship hulks", deprecated=True, replaced_by=("l1",), language="en"),
        Label(
            "l5", "Ship chandlers", translations=(Translation("fi", "laivatarvikkeet", "alternative"),), language="en"
        ),
    ]
)
COUNTS = np.array([1, 9, 4, 0, 2])


def names(query: str, limit: int = 10, **more: str) -> list[str]:
    return [found.name for found in LabelSearch(LABELS, COUNTS).find(query, limit, **more)]


def test_exact_ones_then_beginnings_then_words_each_by_use() -> None:
    assert names("ship") == ["Shipping", "Ship chandlers", "Ships", "Steam ships"]
    assert names("ships") == ["Ships", "Steam ships"]
    assert names("SHIPS steam") == ["Steam ships"]
    assert names("ship", 2) == ["Shipping", "Ship chandlers"]
    assert names("sea tr") == ["Shipping"]
    assert names("submarine") == names("") == names("ship", 0) == []


def test_what_fits_is_told_and_names_are_in_the_language_asked_for() -> None:
    search = LabelSearch(LABELS, COUNTS)
    first, second = search.find("laivat", language="fi")
    assert (first.name, first.matched, first.exact, first.documents, first.place) == ("laivat", "laivat", True, 1, 0)
    assert (second.name, second.matched, second.exact) == ("Ship chandlers", "laivatarvikkeet", False)
    (noted,) = search.find("62.1")
    assert (noted.id, noted.matched, noted.exact) == ("l1", "62.1", True)
    (by_id,) = search.find("l3")
    assert (by_id.id, by_id.exact) == ("l3", True)


def test_deprecated_and_hidden_labels_are_not_found() -> None:
    assert names("hulks") == names("l4") == []
    hidden = np.array([True, False, False, False, False])
    assert [found.id for found in LabelSearch(LABELS, COUNTS, hidden).find("ships")] == ["l3"]


def test_of_a_model_it_is_what_the_model_suggests() -> None:
    data = Dataset(Documents.of(["a", "b"]), LABELS, pairs_from_lists([[1], [1, 2]], len(LABELS)))
    method = everylabel.method("popularity").fit(data)
    method.remove_labels(["l1"])
    assert [(found.id, found.documents) for found in LabelSearch.of(method).find("ship")] == [
        ("l2", 2), ("l5", 0), ("l3", 1),
    ]  # fmt: skip


def test_threads_that_ask_first_build_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built, index = [], vocabulary._indexed

    def counted(*given: Any) -> Any:
        built.append(1)
        return index(*given)

    monkeypatch.setattr(vocabulary, "_indexed", counted)
    search = LabelSearch(LABELS)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: search.find("ship"), range(32)))
    assert (len(built), len({tuple(one) for one in found})) == (1, 1)


def test_what_is_known_of_a_label() -> None:
    data = Dataset(Documents.of(["a"]), LABELS, pairs_from_lists([[1]], len(LABELS)))
    method = everylabel.method("popularity").fit(data)
    about = about_label(method, "ships", "fi")
    assert about == {
        "id": "l1",
        "name": "laivat",
        "notation": "62.1",
        "names": {"fi": "laivat"},
        "narrower": [{"id": "l2", "name": "Shipping"}, {"id": "l3", "name": "Steam ships"}],
    }
    steam = about_label(method, "l3")
    assert (steam["uri"], steam["broader"][0]["id"], steam["related"][0]["name"]) == ("http://x/3", "l1", "Shipping")
    hulks = about_label(method, "l4")
    assert (hulks["deprecated"], hulks["replaced_by"]) == (True, [{"id": "l1", "name": "Ships"}])
    assert next(label.name for label in list_labels(method, "fi")) == "laivat"
    assert [label.id for label in list_labels(method)] == ["l1", "l2", "l3", "l5"]


@pytest.mark.slow
def test_half_a_million_labels_are_found_at_once() -> None:
    import time

    n, words = 500_000, [f"{chr(97 + i % 26)}{i * 7919 % 100_003:x}" for i in range(50_000)]
    made = LabelSet.of(Label(f"l{i}", f"{words[i % 50_000]} {words[i * 31 % 50_000]} {i}") for i in range(n))
    search = LabelSearch(made).warm_up()
    taken = []
    for query in (*"abcdefgh", "a1", words[7], f"{words[3]} {words[93]}", "b 1", "499999"):
        start = time.process_time()
        assert search.find(query)
        taken.append(time.process_time() - start)
    assert max(taken) < 0.05
