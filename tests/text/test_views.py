"""Every text is read once: for all who ask, in any thread, for some of the documents as for all; and nothing stays."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from tests.methods import conftest as methods

import everylabel
from everylabel import Tagger
from everylabel.data import load_dataset, sample
from everylabel.data.dataset import Dataset, Documents
from everylabel.encoders.base import EncoderConfig
from everylabel.encoders.build import load_encoder
from everylabel.encoders.tokenizer import TextTokenizer
from everylabel.errors import DataError
from everylabel.linear.nearest import InvertedLists
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.methods.xml0.fusion import Xml0
from everylabel.text import views as module
from everylabel.text.tfidf import Tfidf, TfidfConfig
from everylabel.text.views import Views

tiny_folder, cache, static = methods.tiny_folder, methods.cache, methods.static

TEXTS = ["the fish in the seas", "taxes and laws of the union", "wine, milk and fishes", "the ship", "customs of trade"]
TITLES = ["Fish", "", "Wines", "", "Trade"]
DOCUMENTS = Documents.of(TEXTS, TITLES)
VOCABULARY = Tfidf(config=TfidfConfig(ngrams=2, min_df=1, max_df=1.0)).fit(DOCUMENTS.full_texts)


@pytest.fixture(scope="module")
def train(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load_dataset(sample(tmp_path_factory.mktemp("views") / "sample"), "train").subset(range(120))


class Reading:
    """What was read, by whom: a call of `watched` is (what it is read by, the texts)."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[Any, tuple[str, ...]]] = []
        self._patch = patch

    def watch(self, owner: Any, name: str, reader: Callable[..., tuple[Any, Any]]) -> None:
        usual = getattr(owner, name)

        def watched(*arguments: Any, **more: Any) -> Any:
            by, texts = reader(*arguments)
            self.calls.append((by, tuple(texts)))
            time.sleep(0.01)  # so that others ask meanwhile
            return usual(*arguments, **more)

        self._patch.setattr(owner, name, watched)

    def watch_words(self) -> None:
        self.watch(Tfidf, "_rows", lambda own, texts, *_: (own.key, texts))
        self.watch(Tfidf, "transform_hashed", lambda own, texts: (own.key, map(str, texts.hashes.tolist())))

    def watch_base_forms(self) -> None:
        self.watch(module, "lemmatised", lambda texts, language: (language, texts))
        self.watch(module, "hashed_texts", lambda texts, language: (language, texts))

    def watch_tokens(self) -> None:
        self.watch(TextTokenizer, "__call__", lambda own, texts, *_: (own, texts))

    def watch_neighbours(self) -> None:
        self.watch(InvertedLists, "nearest", lambda own, vectors, _: (id(own), map(str, vectors.data.tolist())))

    @property
    def twice(self) -> list[Any]:
        return [call for call, n in Counter(self.calls).items() if n > 1]


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    return Reading(monkeypatch)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, csr_matrix):
        return (one != other).nnz == 0 and one.shape == other.shape  # type: ignore[no-any-return]
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(np.array_equal(one, other))


# --- once


Ask = Callable[[Views, Any], Any]
ASKED: dict[str, Ask] = {
    "full texts": lambda views, _: views.full_texts,
    "tf-idf": lambda views, given: views.tfidf(given["features"]),
    "fitted tf-idf": lambda views, _: views.fitted_tfidf(TfidfConfig()),
    "words": lambda views, _: views.words(VOCABULARY),
    "title words": lambda views, _: views.title_words(VOCABULARY),
    "base forms": lambda views, _: views.lemmatised("en"),
    "words in base forms": lambda views, _: views.lemmatised("en").words(VOCABULARY),
    "titles": lambda views, _: views.titles_only(),
    "tokens": lambda views, given: views.tokens(given["encoder"]),
    "vectors": lambda views, given: views.vectors(given["encoder"]),
}


@pytest.fixture
def given(static: EncoderConfig) -> dict[str, Any]:
    return {"features": Views(DOCUMENTS).fitted_tfidf(TfidfConfig())[0], "encoder": load_encoder(static)}


@pytest.mark.parametrize("what", [what for what in ASKED if what != "titles"])
def test_each_representation_is_computed_once_by_eight_threads(what: str, given: Any, reading: Reading) -> None:
    """All get the very same object."""
    reading.watch_words()
    reading.watch_base_forms()
    reading.watch_tokens()
    views, together = Views(DOCUMENTS), threading.Barrier(8, timeout=10)

    def ask(_: int) -> Any:
        together.wait()
        return ASKED[what](views, given)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert all(own is found[0] for own in found)
    assert ASKED[what](views, given) is found[0]
    assert not reading.twice
    assert reading.calls or what in (
        "full texts",
        "base forms",
    )  # which are read when somebody asks for what is in them
    assert ASKED[what](Views(DOCUMENTS), given) is not found[0]  # those of another call are others


def test_vectors_are_of_the_tokens_that_others_read(given: Any, reading: Reading) -> None:
    encoder = given["encoder"]
    rare = encoder.weighed(encoder.tokenize(TEXTS))
    alone = encoder.encode(DOCUMENTS.full_texts), rare.encode(DOCUMENTS.full_texts)
    reading.watch_tokens()
    views = Views(DOCUMENTS)
    views.tokens(encoder)
    assert same(views.vectors(encoder), alone[0])
    assert same(views.vectors(rare), alone[1])  # another encoder with the same tokeniser
    assert len(reading.calls) == 1


def test_what_is_read_otherwise_is_read_again(reading: Reading) -> None:
    reading.watch_words()
    reading.watch_base_forms()
    views = Views(DOCUMENTS)
    other = VOCABULARY.weighed_by(VOCABULARY.idf_ * 2)
    assert not same(views.words(VOCABULARY), views.lemmatised("en").words(VOCABULARY))
    assert views.words(VOCABULARY) is not views.words(other)
    assert views.lemmatised("en") is not views.lemmatised("de")
    assert [len(calls) for calls in (reading.calls, set(reading.calls))] == [4, 4]  # base forms, and words three times


def test_titles_are_read_for_those_who_ask_for_them_alone(reading: Reading) -> None:
    alone = Views(Documents.of(TITLES)).lemmatised("en").words(VOCABULARY)
    reading.watch_words()
    reading.watch_base_forms()
    views = Views(DOCUMENTS)
    views.lemmatised("en").title_words(VOCABULARY)
    n_read = len(reading.calls)
    titles = views.titles_only()
    assert same(titles.lemmatised("en").words(VOCABULARY), alone)
    assert titles.documents.texts == TITLES
    assert len(reading.calls) == n_read == 2  # base forms of titles, and their words


# --- some rows


@pytest.mark.parametrize("what", [what for what in ASKED if what not in ("full texts", "fitted tf-idf")])
@pytest.mark.parametrize("rows", [[3, 1], [4, 3, 2, 1, 0], [2], [1, 1, 0]])
def test_taken_rows_are_what_reading_those_documents_alone_gives(
    what: str, rows: list[int], given: Any, reading: Reading
) -> None:
    alone = ASKED[what](Views(DOCUMENTS.subset(rows)), given)
    views = Views(DOCUMENTS)
    ASKED[what](views, given)
    reading.watch_words()
    reading.watch_base_forms()
    reading.watch_tokens()
    taken = ASKED[what](views.taken(np.array(rows)), given)
    assert not reading.calls  # all was read before
    if isinstance(alone, Views):
        assert taken.documents == alone.documents
        assert same(taken.words(VOCABULARY), alone.words(VOCABULARY))
    else:
        assert same(taken, alone)
    assert views.taken(np.array(rows)).full_texts == DOCUMENTS.subset(rows).full_texts


def test_all_rows_in_their_order_are_the_views_themselves() -> None:
    views = Views(DOCUMENTS)
    assert views.taken(np.arange(5)) is views
    assert views.taken(np.arange(4)) is not views


@pytest.mark.parametrize(("rows", "own"), [([4, 3, 2, 1, 0], False), ([0, 1], True), ([0, 0, 1, 2, 3], True)])
def test_features_are_fitted_on_the_same_documents_once_in_any_order(rows: list[int], own: bool) -> None:
    """Of other documents they are others, as are those of documents that are there twice."""
    views = Views(DOCUMENTS)
    features, whole = views.fitted_tfidf(TfidfConfig())
    of_rows, found = views.taken(np.array(rows)).fitted_tfidf(TfidfConfig())
    expected, alone = Views(DOCUMENTS.subset(rows)).fitted_tfidf(TfidfConfig())
    assert of_rows.names == expected.names
    assert same(found, alone)
    assert (of_rows is not features) == own
    assert whole.shape[0] == 5


def test_neighbours_of_some_documents_are_looked_for_with_those_of_all(train: Dataset, reading: Reading) -> None:
    knn, documents = NearestNeighbours().fit(train), train.documents.subset(range(20))
    rows = np.array([7, 3])
    alone = knn.nearest(Views(documents.subset(rows)))
    reading.watch_neighbours()
    views = Views(documents)
    knn.nearest(views)
    assert same(knn.nearest(views.taken(rows)), alone)
    assert len(reading.calls) == 1


def test_a_bag_of_words_is_as_it_is() -> None:
    bag = Views(Documents(["0"], [""], [""], csr_matrix([[1.0]])))
    assert bag.lemmatised("en") is bag


# --- errors


def test_an_error_is_everybodys_and_is_not_kept() -> None:
    views, together, made = Views(DOCUMENTS), threading.Barrier(4, timeout=10), []

    def make() -> str:
        made.append(1)
        time.sleep(0.2)
        raise LookupError("no answer")

    def ask(_: int) -> BaseException | None:
        together.wait()
        try:
            views.once("key", make)
        except LookupError as error:
            return error
        return None

    with ThreadPoolExecutor(4) as pool:
        errors = list(pool.map(ask, range(4)))
    assert len(made) == 1
    assert errors[0] is not None
    assert all(error is errors[0] for error in errors)
    assert views.once("key", lambda: "an answer") == "an answer"
    assert views.once("key", make) == "an answer"


def test_an_interrupt_is_no_answer() -> None:
    views = Views(DOCUMENTS)

    def interrupted() -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        views.once("key", interrupted)
    assert views.once("key", lambda: "an answer") == "an answer"


# --- nothing stays


class Seen:
    """All views that were made, as long as they are there."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.all: list[weakref.ref[Views]] = []
        usual = Views.__init__

        def watched(views: Views, documents: Documents, *more: Any) -> None:
            self.all.append(weakref.ref(views))
            usual(views, documents, *more)

        patch.setattr(Views, "__init__", watched)

    def alive_after(self, work: Callable[[], object]) -> list[Views]:
        """Done a second time: a kernel that is compiled on first use leaves cycles behind, with the caller in them."""
        work()
        gc.collect()
        self.all.clear()
        work()
        return [views for ref in self.all if (views := ref()) is not None]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """Without the collector of cycles, which comes when it likes: in a server that is a thousand texts later."""
    gc.collect()
    gc.disable()
    yield Seen(monkeypatch)
    gc.enable()


@pytest.fixture(scope="module")
def tagger(train: Dataset, tiny_folder: Path, cache: Path) -> Iterator[Tagger]:
    """All experts that read in different ways, with a tiny encoder; only to be read."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVERYLABEL_CACHE", str(cache))
        patch.setenv("EVERYLABEL_THREADS", "1")
        encoder = {"teacher": str(tiny_folder), "lexical": 64}
        settings = {
            "semantic": {"encoder": encoder},
            "xml0": {"encoder": encoder, "label_encoder": "", "base": "knn", "search": "greedy"},
            "of-de": {"encoder": encoder, "learn": {"steps": 3}},
        }
        experts = ("tfidf", "knn", "svm", "zestxml", *settings)
        yield Tagger(experts=experts, settings=settings).fit(train)


def test_nothing_is_kept_of_what_is_ranked(tagger: Tagger, train: Dataset, seen: Seen) -> None:
    assert not seen.alive_after(lambda: tagger.rank(train.documents.subset(range(5)), 5))
    assert not seen.alive_after(lambda: tagger.tag(train.documents.texts[:1], 3))
    assert seen.all


def test_nothing_is_kept_of_what_is_ranked_in_parts(train: Dataset, seen: Seen, static: EncoderConfig) -> None:
    method = Xml0(base="knn", search="greedy", label_encoder="", encoder=static)
    assert not seen.alive_after(lambda: method.fit(train))
    many = Documents.of(train.documents.texts * 3)  # more than are scored at a time
    assert not seen.alive_after(lambda: method.rank(many, 5))
    assert seen.all


def test_nothing_is_kept_of_what_is_fitted(train: Dataset, seen: Seen) -> None:
    tagger = Tagger(experts=("tfidf", "knn", "zestxml"))
    assert not seen.alive_after(lambda: tagger.fit(train))
    assert len(seen.all) > 5
    assert not seen.alive_after(lambda: tagger.learn([(train.documents.texts[0], [train.labels[0].id])]))
    assert seen.all


def test_nothing_is_kept_of_an_error(seen: Seen) -> None:
    knn = NearestNeighbours().fit(
        Dataset(
            DOCUMENTS, everylabel.LabelSet.of([everylabel.Label("a", "a")]), csr_matrix(np.ones((5, 1), np.float32))
        )
    )
    bag = Documents(["0"], [""], [""], csr_matrix([[1.0]]))

    def refused() -> None:
        with pytest.raises(DataError, match="bag of words"):
            knn.rank(bag, 1)

    assert not seen.alive_after(refused)
    assert seen.all


def test_nothing_is_kept_of_a_bag_of_words(seen: Seen) -> None:
    features = csr_matrix(np.eye(4, dtype=np.float32))
    bag = Documents(list("abcd"), [""] * 4, [""] * 4, features)
    labels = everylabel.LabelSet.of(everylabel.Label(str(i), f"label {i}") for i in range(4))
    assert not seen.alive_after(lambda: everylabel.method("zestxml").fit(Dataset(bag, labels, features)).rank(bag, 2))
    assert seen.all


# --- a tagger


@pytest.mark.parametrize("how", ["fitted", "loaded"])
def test_a_tagger_reads_a_text_once(how: str, tagger: Tagger, train: Dataset, reading: Reading, tmp_path: Path) -> None:
    """However many experts there are: TF-IDF, base forms, tokens and neighbours."""
    own: Any = tagger
    if how == "loaded":
        tagger.save(tmp_path / "model")
        own = everylabel.load(tmp_path / "model")
    documents = train.documents.subset([3])
    expected = own.rank(documents, 20)
    for watch in (reading.watch_words, reading.watch_base_forms, reading.watch_tokens, reading.watch_neighbours):
        watch()
    assert same(own.rank(documents, 20), expected)
    assert not reading.twice
    kinds = Counter("base forms" if by == "en" else type(by).__name__ for by, _ in reading.calls)
    assert kinds["TextTokenizer"] == 1  # semantic, xml0 and of-de
    assert kinds["base forms"] == 2  # the text's and the title's
    lists = [by for by, _ in reading.calls if isinstance(by, int)]
    assert len(lists) == 3  # neighbours, of knn and xml0; labels' words, of the document and of its title


def test_the_evidence_is_found_in_what_was_read_to_rank(tagger: Tagger, train: Dataset, reading: Reading) -> None:
    """For any number of labels: only sentences are texts of their own."""
    reading.watch_neighbours()
    text = train.documents.full_texts[3]
    tagger.tag([text], 8)
    knn = tagger.experts_["knn"]
    assert isinstance(knn, NearestNeighbours)
    assert [by for by, _ in reading.calls].count(id(knn.lists_)) == 1


def test_the_jobs_of_a_fit_read_its_documents_once(train: Dataset, reading: Reading) -> None:
    reading.watch_words()
    reading.watch_base_forms()
    Tagger(experts=("tfidf", "knn", "svm", "zestxml")).fit(train)
    assert len(reading.calls) > 10
    assert not reading.twice
