"""Texts before they are tagged; evidence is shown in what was given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import everylabel
from everylabel.data.dataset import Documents
from everylabel.errors import ConfigError, DataError
from everylabel.tagger.explain import Place
from everylabel.workflow.tag import Cut, suggest
from everylabel.workflow.transform import Fields, First, InLanguage, fields_of, transformed, transforms_of

GERMAN = "Der Leuchtturm steht an der Küste und warnt die Schiffe, die in der Nacht mit dem Wind kommen. "
ENGLISH = "The lighthouse stands at the coast and warns the ships that come with the wind of the night. "


def of(texts: list[str], *given: str, **more: Any) -> Any:
    return transformed(Documents([str(i) for i in range(len(texts))], texts, **more), transforms_of(given))


def test_they_are_written_down_as_they_are() -> None:
    assert transforms_of(["fields=title, abstract", "first=20", "language=de"]) == (
        Fields(("title", "abstract")),
        First(20),
        InLanguage("de"),
    )
    assert fields_of(transforms_of(["fields=title,abstract,text"])) == ("abstract",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["last=5"], "expected a transform first=N, fields=A,B or language=CODE; got 'last=5'"),
        (["first"], "first needs a number"),
        (["first=0"], "first needs a number"),
        (["fields="], "fields needs names"),
        (["language=dee"], "did you mean 'de'"),
        (["first=5", "fields=a"], "must be the first transform"),
    ],
)
def test_what_cannot_be_done_is_said(given: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        transforms_of(given)


def test_the_beginning_ends_with_a_word() -> None:
    text = "one two three"
    cuts = {n: of([text], f"first={n}", titles=["A long title"]).documents for n in (3, 5, 7, 8, 12, 13, 99)}
    assert {n: found.texts[0] for n, found in cuts.items()} == {
        3: "one",
        5: "one",
        7: "one two",
        8: "one two",
        12: "one two",
        13: text,
        99: text,
    }
    assert {found.titles[0] for found in cuts.values()} == {"A long title"}
    assert of(["x" * 500], "first=300", titles=[""]).documents.texts == ["x" * 300]


def test_chosen_fields() -> None:
    fields = [{"abstract": "short", "notes": "more"}, {"abstract": "", "notes": "alone"}]
    given: Any = {"titles": ["A", "B"], "fields": fields}
    found = of(["long", "longer"], "fields=abstract,notes", **given)
    assert found.documents.texts == ["short\nmore", "alone"]
    assert found.documents.titles == ["", ""]
    assert found.given_places(0, [Place("text", 6, 10)]) == (Place("notes", 0, 4),)
    assert found.given_places(0, [Place("text", 2, 8)]) == (Place("abstract", 2, 5), Place("notes", 0, 2))
    with_title = of(["long", "longer"], "fields=title,text", **given)
    assert (with_title.documents.texts, with_title.documents.titles) == (["long", "longer"], ["A", "B"])
    with pytest.raises(DataError, match="no document has a field 'sumary'"):
        of(["long", "longer"], "fields=sumary", **given)


def test_sentences_of_one_language() -> None:
    text = GERMAN * 3 + ENGLISH * 2 + "Kurz. " + GERMAN
    found = of([text], "language=de", titles=[""])
    (read,) = found.documents.texts
    assert read == GERMAN * 3 + "\nKurz. " + GERMAN
    at = read.index("Kurz")
    assert found.given_places(0, [Place("text", at, at + 4)]) == (
        Place("text", text.index("Kurz"), text.index("Kurz") + 4),
    )
    assert of([text], "language=en", titles=[""]).documents.texts[0].startswith(ENGLISH)
    assert of([GERMAN * 8], "language=en", titles=[""]).documents.texts == [GERMAN * 8]  # nothing would be left
    assert of([ENGLISH], "language=de", titles=[""]).documents.texts == [ENGLISH]  # too short to tell


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([GERMAN, ENGLISH, "Ja. ", "a b\n", "x" * 120]), max_size=12),
    st.text(max_size=60),
    st.integers(1, 900),
)
def test_every_character_is_led_back_to_itself(parts: list[str], abstract: str, n: int) -> None:
    given: Any = {"titles": ["T"], "fields": [{"abstract": abstract}]}
    text = "".join(parts)
    found = of([text], "fields=title,abstract,text", "language=de", f"first={n}", **given)
    all_fields, (read,) = {"title": "T", "text": text, "abstract": abstract}, found.documents.texts
    assert len(read) <= n
    for at, character in enumerate(read):
        for place in found.given_places(0, [Place("text", at, at + 1)]):
            assert all_fields[place.field][place.start : place.end] == character
        if character != "\n":
            assert found.given_places(0, [Place("text", at, at + 1)])


def test_a_bag_of_words_has_no_text() -> None:
    with pytest.raises(DataError, match="bags of words"):
        of([""], "first=5", titles=[""], features=csr_matrix((1, 3)))


def test_evidence_stands_in_the_text_as_it_was_given(fitted_tagger: Path) -> None:
    method = everylabel.load(fitted_tagger)
    text = GERMAN * 4 + "The lighthouse keepers and the ships they watched over all night long on the coast. " * 3
    document = Documents(["a"], [text], ["On lighthouses"])
    plain = suggest(method, document, Cut(5), explain=True)[0].labels
    found = suggest(method, document, Cut(5), explain=True, transforms=transforms_of(["language=en", "first=90"]))[0]
    fields = {"title": "On lighthouses", "text": text}
    n_spans = 0
    for label in (*plain, *found.labels):
        for item in label["evidence"]:
            spans = {item.get("field"): item.get("spans", ())} | item.get("other_fields", {})
            for field, places in spans.items():
                for start, end in places:
                    n_spans += 1
                    shown = fields[field][start:end]
                    assert shown
                    if item["kind"] == "words":
                        assert shown.lower()[:4] == item["text"].lower()[:4]
                    else:
                        assert " ".join(shown.split())[:40] in item["text"] or item["text"] in shown
    assert n_spans
    start = text.index("The lighthouse")
    for label in found.labels:
        for item in label["evidence"]:
            if item.get("field") == "text":
                assert all(start <= first < last <= start + 90 for first, last in item["spans"])
