"""Evidence for labels, each kind by the real method that it comes from; and texts that are hardly texts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from tests.methods import conftest
from tests.methods.clues import CLUES, data, labels

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.encoders.base import EncoderConfig
from everylabel.methods.base import Method
from everylabel.methods.depl.depl import Depl, DeRet
from everylabel.methods.depl.settings import Learning
from everylabel.methods.evidence import WINDOW, Clue
from everylabel.methods.maclr.semantic import Semantic
from everylabel.methods.onesided.onesided import OfDe
from everylabel.methods.onesided.variants import Lan, OfLan
from everylabel.methods.words.lexical import TfidfMatch
from everylabel.methods.words.linear import Svm
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.methods.xml0.fusion import Xml0
from everylabel.methods.xml0.variants import Conse
from everylabel.methods.zestxml.zest import ZestXml
from everylabel.tagger.explain import BEGINNING, Evidence, Place, Training, evidence
from everylabel.text.keywords import KeywordConfig
from everylabel.text.matching import MatchConfig
from everylabel.text.views import Views

tiny_folder, cache, static = conftest.tiny_folder, conftest.cache, conftest.static
NOTHING = Training.of([], [])
HOSTILE = [
    "",
    " \n",
    ". . . .",
    "İstanbul ΣΑΣ",
    "e\u0301\u200d🙂👩🏽",
    "\ud800 \udc00 sea ship",
    "\x00",
    "a" * 5000,
    "中文字 " * 40,
]

LABELS = LabelSet.of(
    [
        Label("f", "Fisheries of the sea", "What boats bring home.", ("angling",)),
        Label("t", "The tax", "Duties and levies."),
        Label("m", "Milk"),
        Label("n", "Fishing law"),
    ]
)
TEXTS = ["boats at sea", "a boat, the sea and taxes", "levies on milk", "cows give milk", "the law of taxes"]
LISTS = [[0], [0, 1], [1, 2], [2], [1]]
TITLES = ["Boats", "", "Milk\nquota " * 30, "", "Taxes"]
DATA = Dataset(Documents.of(TEXTS, TITLES), LABELS, pairs_from_lists(LISTS, len(LABELS)))
TRAINING = Training.of([f"d{i}" for i in range(5)], [title or text for title, text in zip(TITLES, TEXTS, strict=True)])


def of(experts: list[Method], text: str, label: int, training: Training = NOTHING, **more: Any) -> list[Evidence]:
    """By the experts' own names; the document is not the first."""
    one = Views.of(["fishing", text]).taken(np.array([1]))
    return evidence({own.name: own for own in experts}, one, label, training, **more)


def texts_of(found: list[Evidence], kind: str) -> list[str]:
    return [item.text for item in found if item.kind == kind]


def assert_evidence(found: list[Evidence], most: int = 3) -> None:
    kinds = ["words", "keywords", "passage", "made of", "document"]
    assert [kinds.index(item.kind) for item in found] == sorted(kinds.index(item.kind) for item in found)
    for kind in kinds:
        weights = [item.weight for item in found if item.kind == kind]
        assert len(weights) <= most
        assert weights == sorted(weights, reverse=True)
        assert len(set(texts_of(found, kind))) == len(weights)
    for item in found:
        assert 0 < item.weight <= 1
        assert isinstance(item.weight, float)
        assert item.text == " ".join(item.text.split()) != ""
        item.text.encode()


# --- words


def test_words_stand_as_they_are_written_and_rare_ones_come_first() -> None:
    method = TfidfMatch().fit(DATA)
    found = of([method], "The FISHERY of the_Sea: angled fish, a boat, seas, none of them taxed", 0)
    assert_evidence(found)
    words = [item for item in found if item.kind == "words"]
    assert [item.text for item in words] == ["FISHERY", "angled", "Sea"]  # "of" and "the" are no words of a label
    idf = dict(zip(method.matcher_.words_.names_, method.matcher_.words_.idf_, strict=True))
    largest = max(idf.values())
    assert [item.weight for item in words] == pytest.approx([1, 1, idf["sea"] / largest])
    assert idf["sea"] < largest  # which two documents have
    assert {item.source for item in words} == {"tfidf"}
    assert texts_of(of([method], "the FISHERY and the sea", 0, most=1), "words") == ["FISHERY"]
    assert of([method], "the FISHERY and the sea", 0, most=0) == []
    assert texts_of(of([method], "the FISHERY and the sea", 2), "words") == []


def test_words_of_the_description_and_of_the_title_count() -> None:
    method = TfidfMatch().fit(DATA)
    one = Views(Documents.of(["bring it"], ["Three Boats"]))
    found = evidence({"tfidf": method}, one, 0, NOTHING)
    assert sorted(texts_of(found, "words")) == ["Boats", "bring"]


def test_words_are_read_in_the_language_of_the_expert() -> None:
    plain = TfidfMatch(match=MatchConfig(language="none")).fit(DATA)
    assert texts_of(of([plain], "Sea, fishery, taxes", 0), "words") == ["Sea"]
    assert texts_of(of([plain, ZestXml().fit(DATA)], "Sea, fishery, taxes", 0), "words") == ["Sea"]
    assert texts_of(of([ZestXml(language="none").fit(DATA)], "fishery, sea", 0), "words") == ["sea"]
    assert texts_of(of([ZestXml().fit(DATA)], "the fishery, sea", 0), "words") == [
        "fishery",
        "sea",
    ]  # all weigh the same


def test_an_expert_that_does_not_read_label_texts_has_no_words_but_of_new_labels() -> None:
    method = Svm().fit(DATA)
    assert of([method], "the fishery at sea and cheese", 0) == []
    method.add_labels([Label("c", "Cheeses")])
    assert of([method], "the fishery at sea and cheese", 4) == [
        Evidence("words", "cheese", 1.0, "svm", (Place("text", 23, 29),))
    ]


# --- places


def read_at(documents: Documents, item: Evidence) -> list[tuple[str, str]]:
    fields = {"title": documents.titles[0], "text": documents.texts[0]}
    return [(place.field, fields[place.field][place.start : place.end]) for place in item.places]


def test_words_are_marked_wherever_they_stand_in_whatever_form() -> None:
    method = TfidfMatch().fit(DATA)
    documents = Documents.of(["A fishery, two fisheries: FISHERIES of_the_sea."], ["Fisheries at sea"])
    found = {item.text: item for item in evidence({"tfidf": method}, Views(documents), 0, NOTHING)}
    assert read_at(documents, found["Fisheries"]) == [
        ("title", "Fisheries"),
        ("text", "fishery"),
        ("text", "fisheries"),
        ("text", "FISHERIES"),
    ]
    assert read_at(documents, found["sea"]) == [("title", "sea"), ("text", "sea")]


def test_a_sentence_is_marked_as_it_stands() -> None:
    method = TfidfMatch().fit(DATA)
    sentence = "The  fisheries\tof the sea bring home"
    documents = Documents.of([f"Something else comes first. {sentence}. And then it ends here."], ["A title"])
    (passage,) = (item for item in evidence({"tfidf": method}, Views(documents), 0, NOTHING) if item.kind == "passage")
    assert read_at(documents, passage) == [("text", f"{sentence}.")]
    assert passage.text == "The fisheries of the sea bring home."


def test_a_passage_over_both_fields_is_marked_in_both() -> None:
    class Shows(TfidfMatch):
        def evidence(self, views: Views, label: int) -> Any:  # noqa: ARG002
            yield Clue("passage", views.full_texts[0][2:9], 1.0)

    documents = Documents.of(["text"], ["title"])
    found = evidence({"tfidf": Shows().fit(DATA)}, Views(documents), 2, NOTHING)
    assert read_at(documents, found[0]) == [("title", "tle"), ("text", "tex")]


def test_what_is_not_in_the_text_has_no_place() -> None:
    method = NearestNeighbours().fit(DATA)
    found = of([method], "Boats and a sea of taxes", 1, TRAINING)
    assert [item.kind for item in found] == ["document"] * len(found)
    assert not any(item.places for item in found)


# --- documents


def test_near_documents_that_have_the_label() -> None:
    method = NearestNeighbours().fit(DATA)
    found = of([method], "boats and a sea of taxes", 1, TRAINING)
    near = method.nearest(Views.of(["boats and a sea of taxes"]))
    assert_evidence(found)
    weights = dict(zip(near.ids[0].tolist(), near.scores[0].tolist(), strict=True))
    assert weights[0] > 0  # near, and not about taxes
    expected = [("a boat, the sea and taxes", weights[1]), ("Taxes", weights[4])]
    assert [(item.text, item.weight) for item in found] == sorted(expected, key=lambda own: -own[1])
    assert {(item.kind, item.source) for item in found} == {("document", "knn")}
    assert len(of([method], "boats and a sea of taxes", 1, TRAINING, most=1)) == 1
    assert of([method], "boats and a sea of taxes", 3, TRAINING) == []  # nobody has it
    assert of([method], "nothing known", 1, TRAINING) == []


def test_a_document_is_its_beginning_or_its_id() -> None:
    method = NearestNeighbours().fit(DATA)
    long = of([method], "cows, levies and milk quota", 2, TRAINING)[0].text
    assert long.startswith("Milk quota Milk quota")
    assert long.endswith("…")
    assert len(long) <= BEGINNING
    nameless = Training.of(TRAINING.ids, [""] * 5)
    assert {item.text for item in of([method], "cows, levies and milk quota", 2, nameless)} == {"d2", "d3"}


def test_labels_that_were_added_have_no_documents() -> None:
    method = NearestNeighbours().fit(DATA).add_labels([Label("c", "Cheese")])
    assert texts_of(of([method], "boats and cheese", 4, TRAINING), "document") == []


def test_a_bag_of_words_has_documents_only() -> None:
    features = csr_matrix(np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1]], np.float32))
    bags = Documents(list("abc"), ["boats", "sea", "tax"], [""] * 3, features)
    knn = NearestNeighbours().fit(Dataset(bags, LABELS, pairs_from_lists([[0], [0], [1]], len(LABELS))))
    experts: dict[str, Method] = {"knn": knn, "tfidf": TfidfMatch().fit(DATA)}
    found = evidence(experts, Views(bags.subset([1])), 0, Training.of("abc", "xyz"))
    assert [(item.kind, item.text) for item in found] == [("document", "y"), ("document", "x")]
    assert found[0].weight == pytest.approx(1, abs=2e-5)  # neighbours have four bytes an entry
    assert found[1].weight == pytest.approx(0.5**0.5, abs=2e-5)


# --- what is trained

CLUE_LABELS = labels(Label("new0", "fishery"))
CLUE_DATA = data(CLUE_LABELS)
LEARNING = Learning(steps=30, batch_size=8, lr=0.1)
New = Callable[..., Any]


@pytest.fixture
def lexical(static: EncoderConfig) -> EncoderConfig:
    return replace(static, lexical=64)


def test_keywords_of_the_document(static: EncoderConfig) -> None:
    settings: dict[str, Any] = {"encoder": static, "classify": LEARNING, "retrieve": LEARNING}
    method = Depl(**settings, keywords=KeywordConfig(min_df=1, max_df=1.0)).fit(DATA)
    weights = {keyword.word: keyword.weight for keyword in method.describe("f").keywords}
    assert 0 < weights["boat"] != weights["sea"] > 0
    found = of([method], "Milk for all Boats at SEA, boats and seas", 0)
    assert_evidence(found)
    keywords = {item.text: item.weight for item in found if item.kind == "keywords"}
    largest = max(weights.values())
    assert keywords == pytest.approx({"Boats": weights["boat"] / largest, "SEA": weights["sea"] / largest})
    assert {item.source for item in found} == {"depl"}
    assert texts_of(of([method], "Milk for all Boats at SEA", 3), "keywords") == []  # nobody has used it
    assert texts_of(of([DeRet(**settings, hard_negatives=0).fit(DATA)], "Boats at SEA", 0), "keywords") == []


@pytest.fixture
def planted(static: EncoderConfig) -> New:
    """`planted(OfLan)`: one word of each document says what it is about, and attention has learned it."""
    rng = np.random.default_rng(0)
    noise = ["a", "the", "of", "and", "in", "1", "2", "3", "milk", "wine"]
    texts = [" ".join(rng.permutation([CLUES[i % 4][0], *rng.choice(noise, 7)])) for i in range(64)]
    pairs = pairs_from_lists([[i % 4] for i in range(64)], len(CLUE_LABELS))
    learn = Learning(steps=100, batch_size=16, layer_lr=0.03)
    settings: dict[str, Any] = {"encoder": replace(static, trainable=False), "learn": learn, "auxiliary": 0.0}
    return lambda cls: cls(**settings).fit(Dataset(Documents.of(texts), CLUE_LABELS, pairs))


def test_the_passage_that_a_label_looks_at(planted: New) -> None:
    method = planted(OfLan)
    noise = "the wine of 1 and 2 and 3 in the milk of a wine, "
    text = f"{noise * 5}the Tax\n  of tax,  {noise * 5}"
    found = of([method, Semantic(encoder=method.encoder).fit(CLUE_DATA)], text, 1)
    assert_evidence(found)
    passages = [item for item in found if item.kind == "passage"]
    assert [item.source for item in passages] == ["of-lan"]
    assert "Tax of tax," in passages[0].text  # both of them, on one line
    assert passages[0].text in " ".join(text.split())
    assert len(passages[0].text.split()) == WINDOW
    weights = {(span.start, span.end): span.weight for span in method.explain(text, "l1")}
    shown = text.index("Tax")
    assert passages[0].weight >= weights[shown, shown + 3] * 2 - 1e-6
    assert passages[0].weight < 1
    short = [item for item in of([method], "the tax", 1) if item.kind == "passage"]
    assert [item.text for item in short] == ["the tax"]
    assert short[0].weight == pytest.approx(1, abs=1e-5)


def test_a_passage_of_a_text_without_spaces_is_short(planted: New) -> None:
    passages = texts_of(of([planted(OfLan)], f"{'wine,' * 300}tax,tax,{'milk,' * 300}", 1), "passage")
    assert len(passages) == 1
    assert "tax" in passages[0]
    assert len(passages[0]) <= 500


def test_where_attention_knows_nothing_of_a_label_a_sentence_is_shown(planted: New) -> None:
    method = planted(Lan)
    assert texts_of(of([method], "a sea of fishery wine", 0), "passage") == ["a sea of fishery wine"]
    assert texts_of(of([method], "a sea of fishery wine", 4), "passage") == []  # no document had it
    method.add_labels([Label("c", "Cheese")])
    assert texts_of(of([method], "a sea of fishery wine", 5), "passage") == []
    found = of([method, TfidfMatch().fit(CLUE_DATA)], "a sea and a tax. a wine of the fishery", 4)
    assert [(item.text, item.source) for item in found if item.kind == "passage"] == [
        ("a wine of the fishery", "tfidf")
    ]


@pytest.mark.parametrize("cls", [OfDe, Semantic, TfidfMatch])
def test_the_sentence_that_is_most_like_a_label(cls: type[Any], lexical: EncoderConfig) -> None:
    settings: dict[str, Any] = {} if cls is TfidfMatch else {"encoder": lexical}
    if cls is OfDe:
        settings["learn"] = LEARNING
    method = cls(**settings).fit(CLUE_DATA)
    sentences = ["The union of the trade", "A law of the law!", "law, law", "Wine and the milk of 3"]
    text = f"{sentences[0]}\n{sentences[1]}  {sentences[2]}\n\n{sentences[3]}"
    found = of([method], text, 1)
    assert_evidence(found)
    passages = [item for item in found if item.kind == "passage"]
    assert [(item.text, item.source) for item in passages] == [(sentences[1], method.name)]  # the next one is short
    ranked = method.rank([sentences[1]], 5)
    assert passages[0].weight == pytest.approx(float(ranked.scores[0, ranked.ids[0].tolist().index(1)]), abs=1e-6)
    far = "Wine and the milk of 3. " * 30 + sentences[1]
    assert texts_of(of([method], far, 1), "passage") != [sentences[1]]  # the first 30 are looked at


def test_a_sentence_of_no_end_is_cut(lexical: EncoderConfig) -> None:
    passage = texts_of(of([Semantic(encoder=lexical).fit(CLUE_DATA)], "the law of the sea " * 100, 1), "passage")[0]
    assert 250 < len(passage) <= 300


def test_what_an_unseen_label_is_made_of(lexical: EncoderConfig) -> None:
    names = ["fish", "sea", "ship", "tax", "law", "wine", "fish sea"]
    lists = [(i,) for i in range(6) for _ in range(3)] + [(i, (i + step) % 6) for i in range(6) for step in (1, 2)]
    texts = [" ".join(f"{names[label]} of {names[label]}" for label in own) for own in lists]
    vocabulary = LabelSet.of(Label(f"q{i}", name) for i, name in enumerate(names))
    toy = Dataset(Documents.of(texts), vocabulary, pairs_from_lists(lists, len(names)))
    text = "fish of fish and sea of sea"
    for cls in (Xml0, Conse):
        method = cls(encoder=replace(lexical, lexical=768), label_encoder="", base="svm").fit(toy)
        found = of([method], text, 6)
        assert_evidence(found)
        parts = [item for item in found if item.kind == "made of"]
        assert [item.text for item in parts][:2] in (["fish", "sea"], ["sea", "fish"])
        shares = {vocabulary[vocabulary.index[own.label]].name: own.share for own in method.explain(text, "q6")}
        assert {item.text: item.weight for item in parts}.items() <= shares.items()
        assert {item.source for item in found} == {method.name}
        assert of([method], text, 0) == []  # it has documents
        for odd in HOSTILE:
            assert_evidence(of([method], odd, 6))


# --- all together


def test_odd_texts_have_little_evidence_or_none(static: EncoderConfig) -> None:
    learn = Learning(steps=1, batch_size=8)
    experts: list[Method] = [
        TfidfMatch().fit(CLUE_DATA),
        NearestNeighbours().fit(CLUE_DATA),
        Depl(encoder=static, classify=learn, retrieve=learn, keywords=KeywordConfig(max_df=1.0)).fit(CLUE_DATA),
        OfLan(encoder=static, learn=learn).fit(CLUE_DATA),
        Lan(encoder=static, learn=learn).fit(CLUE_DATA),
        Semantic(encoder=static).fit(CLUE_DATA),
    ]
    training = Training.of(CLUE_DATA.documents.ids, CLUE_DATA.documents.texts)
    for own in [experts, experts[-1:], experts[:1], []]:
        assert of(own, "", 0, training) == []
        for label in range(len(CLUE_LABELS)):
            for text in [*HOSTILE, "the sea, a ship"]:
                assert_evidence(of(own, text, label, training))
    found = of(experts, "\ud800 \udc00 sea ship", 0, training)
    assert texts_of(found, "keywords") in (["sea", "ship"], ["ship", "sea"])
    assert texts_of(found, "passage") == ["? ? sea ship"]
    assert len(texts_of(found, "document")) == 3
