"""Why a label was suggested for a text: what the experts of a tagger can show for it, each in its own way.

| kind | what it is | from |
|---|---|---|
| words | a word of the document that the label's texts share in base form | experts that read label texts |
| keywords | a word of the document that is a keyword of the label | depl |
| passage | the words in a row that the label looks at most; else the sentence that is most like it | of-lan; others |
| made of | a seen label that a label without documents is made of | xml0 |
| document | a near training document that has the label | knn |

A bag of words has no words to show: only documents. Cost of a call: the document's words are looked up once, or once
more with keywords; attention reads the document, or else at most 30 sentences are ranked; one search for neighbours.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from everylabel.data.columns import TextColumn
from everylabel.data.dataset import Documents
from everylabel.methods.base import Method
from everylabel.methods.depl.depl import Depl
from everylabel.methods.onesided.onesided import OfDe, text_of
from everylabel.methods.words.neighbours import NearestNeighbours
from everylabel.methods.xml0.fusion import Xml0
from everylabel.registry import METHODS
from everylabel.text.lemmas import lemmatised, stop_words
from everylabel.text.tfidf import WORD

if TYPE_CHECKING:
    from everylabel.methods.onesided.ranker import Span

WINDOW = 12  # words of a passage
BEGINNING = 80  # characters of a document that stand for it
_LONGEST = 40  # characters of a word of a passage: a longer one counts as several, as in scripts without spaces
_SHOWN = 300  # characters of a sentence
_SENTENCES, _LEAST_WORDS = 30, 4
_DEEP = 1_000  # ranks in which a sentence's label is looked for
_WORD = re.compile(rf"\S{{1,{_LONGEST}}}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
# who ranks sentences, if nobody has attention: trained with pairs, then without, then by words alone
_READERS: tuple[str, ...] = ("of-de", "dexml", "dpr", "depl", "depl+cls", "de-ret", "maclr", "rts", "ict")
_READERS += ("simcse", "semantic", "hybrid", "zestxml", "tfidf", "bm25")


class Evidence(NamedTuple):
    """One thing that speaks for a label; the weight is from 0 to 1, and only says more or less within a kind."""

    kind: str
    text: str
    weight: float
    source: str  # the expert's name


class Training(NamedTuple):
    """What is kept of training documents, in the order in which knn has them; without a title, the text's beginning."""

    ids: TextColumn
    titles: TextColumn

    @classmethod
    def of(cls, ids: Iterable[str], titles: Iterable[str]) -> Training:
        return cls(TextColumn.of(ids), TextColumn.of(titles))

    def extended(self, ids: Iterable[str], titles: Iterable[str]) -> Training:
        """With more documents after these, which are shared."""
        return Training(self.ids.extended(ids), self.titles.extended(titles))


Found = Iterator[Evidence]


def evidence(
    experts: Mapping[str, Method], documents: Documents, row: int, label: int, training: Training, *, most: int = 3
) -> list[Evidence]:
    """What speaks for a label (its number in the vocabulary) of one document, at most so many of each kind."""
    one = documents.subset([row])
    kinds = [_near(experts, one, label, training)]
    if one.features is None:
        kinds = [find(experts, one.full_texts[0], label) for find in (_words, _keywords, _passages, _made_of)] + kinds
    return [item for found in kinds for item in _best(found, most)]


def _best(found: Found, most: int) -> list[Evidence]:
    """The largest weights first, equal ones in their order; each text once."""
    by_text: dict[str, Evidence] = {}
    for item in sorted(found, key=lambda item: -item.weight):
        if item.weight > 0 and item.text:
            by_text.setdefault(item.text, item)
    return list(by_text.values())[:most]


def _item(kind: str, text: str, weight: float, source: str, most: int = _SHOWN) -> Evidence:
    """On one line, without halves of characters, which cannot be written anywhere."""
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    if len(line) > most:
        line = line[: most - 1].rstrip() + "…"
    return Evidence(kind, line, min(float(weight), 1.0), source)


def _words(experts: Mapping[str, Method], text: str, label: int) -> Found:
    readers = {name: own for name, own in experts.items() if _reads(own, label)}
    source = next((name for name, own in readers.items() if hasattr(own, "matcher_")), next(iter(readers), None))
    if source is None:
        return
    expert = readers[source]
    language, matcher = _language(expert), getattr(expert, "matcher_", None)
    own = _written(text_of(expert.labels_[label]), language)
    for base, word in _written(text, language).items():
        if base in own:
            yield _item("words", word, 1.0 if matcher is None else _rarity(matcher.words_, base), source)


def _reads(expert: Method, label: int) -> bool:
    """Does it rank the label by its texts? Those that never do know so the labels that were added later."""
    if isinstance(expert, Xml0):
        return bool(expert.counts_[label] == 0)
    return "label texts" in METHODS[expert.name].needs or label >= expert.n_fitted_


def _language(expert: Any) -> str:
    """Whose base forms the expert reads."""
    given = next((own for own in (getattr(expert, part, None) for part in ("match", "keywords")) if own), expert)
    return str(getattr(given, "language", "en"))


def _written(text: str, language: str) -> dict[str, str]:
    """Each base form of a text's words but function words, and the word as it is written where it comes first."""
    words = list(dict.fromkeys(WORD.findall(text.replace("_", " "))))
    empty, found = set(stop_words(language)), dict[str, str]()
    for word, read in zip(words, lemmatised(words, language), strict=True):
        for base in WORD.findall(read.lower()):
            if base not in empty:
                found.setdefault(base, word)
    return found


def _rarity(words: Any, base: str) -> float:
    """The word's idf, the rarest word's being 1."""
    at = bisect_left(words.names_, base)
    known = at < len(words.names_) and words.names_[at] == base
    return float(words.idf_[at] / words.idf_.max()) if known else 0.0


def _keywords(experts: Mapping[str, Method], text: str, label: int) -> Found:
    for source, expert in experts.items():
        if isinstance(expert, Depl):
            keywords = expert.describe(expert.labels_[label].id).keywords
            written = _written(text, expert.keywords.language) if keywords else {}
            for keyword in keywords:
                if keyword.word in written:
                    yield _item("keywords", written[keyword.word], keyword.weight / keywords[0].weight, source)


def _passages(experts: Mapping[str, Method], text: str, label: int) -> Found:
    attended = False
    for source, expert in experts.items():
        if isinstance(expert, OfDe) and expert.attention and _has_query(expert, label):
            spans = expert.explain(text, expert.labels_[label].id)
            if spans:
                attended = True
                yield _item("passage", *_window(text, spans), source, most=WINDOW * (_LONGEST + 1))
    if not attended:
        yield from _sentence(experts, text, label)


def _window(text: str, spans: list[Span]) -> tuple[str, float]:
    """The words in a row with the most weight, and how much it is."""
    words = [match.span() for match in _WORD.finditer(text)] or [(0, len(text))]
    at = np.searchsorted([start for start, _ in words], [span.start for span in spans], side="right") - 1
    weights = np.bincount(np.maximum(at, 0), [span.weight for span in spans], len(words))
    sums = np.convolve(weights, np.ones(min(WINDOW, len(words))), mode="valid")
    first = int(sums.argmax())
    return text[words[first][0] : words[first : first + WINDOW][-1][1]], float(sums[first])


def _has_query(expert: OfDe, label: int) -> bool:
    """Free queries are only there for labels of the fit that some document had."""
    outputs = expert.ranker_.vectors["outputs"]
    return label < len(outputs) and bool(outputs[label].any())


def _sentence(experts: Mapping[str, Method], text: str, label: int) -> Found:
    """The best one, by the first reader that ranks the label for any."""
    sentences = [part for part in _SENTENCE_END.split(text) if len(part.split()) >= _LEAST_WORDS][:_SENTENCES]
    for source in _READERS:
        if sentences and source in experts:
            expert = experts[source]
            found = expert.rank(sentences, min(_DEEP, len(expert.labels_)))
            scores = np.where(found.ids == label, found.scores, 0).max(axis=1)
            if scores.any():
                yield _item("passage", sentences[int(scores.argmax())], scores.max(), source)
                return


def _made_of(experts: Mapping[str, Method], text: str, label: int) -> Found:
    for source, expert in experts.items():
        if isinstance(expert, Xml0) and expert.counts_[label] == 0:
            for reason in expert.explain(text, expert.labels_[label].id):
                name = expert.labels_[expert.labels_.index[reason.label]].name
                yield _item("made of", name, reason.share, source)


def _near(experts: Mapping[str, Method], one: Documents, label: int, training: Training) -> Found:
    for source, expert in experts.items():
        if isinstance(expert, NearestNeighbours) and label < expert.pairs_.shape[1]:
            ids, scores = (part[0] for part in expert.nearest(one))
            rows = ids[ids >= 0]
            for i in np.flatnonzero(expert.pairs_[rows][:, [label]].toarray().ravel()):
                title = training.titles[rows[i]] or training.ids[rows[i]]
                yield _item("document", title, scores[i], source, most=BEGINNING)
