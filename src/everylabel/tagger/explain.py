"""Why a label was suggested for a text: what the experts of a tagger can show for it, each in its own way.

| kind | what it is | from |
|---|---|---|
| words | a word of the document that the label's texts share in base form | experts that read label texts |
| keywords | a word of the document that is a keyword of the label | depl |
| passage | the words in a row that the label looks at most; else the sentence that is most like it | of-lan; others |
| made of | a seen label that a label without documents is made of | xml0 |
| document | a near training document that has the label | knn |

What an expert shows is its own affair (`Method.evidence`), and kinds that are not in this table come after these. A bag
of words has no words to show: only documents. Cost of a call: the document's words are looked up once, or once more
with keywords; attention reads the document, or else at most 30 sentences are ranked. Neighbours are those that ranking
has found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from everylabel.data.columns import TextColumn
from everylabel.data.dataset import Documents
from everylabel.methods.base import Method
from everylabel.methods.evidence import LONGEST_WORD, WINDOW, Clue
from everylabel.text.places import MOST_SPANS, find_all, words_at
from everylabel.text.views import Views

BEGINNING = 80  # characters of a document that stand for it
_KINDS = ("words", "keywords", "passage", "made of", "document")
_LONGEST = {"passage": WINDOW * (LONGEST_WORD + 1), "document": BEGINNING}  # characters that are shown
_SHOWN = 300  # of all else, and of a sentence
_ELSEWHERE = ("made of", "document")  # kinds that are not in the text
_SENTENCES, _LEAST_WORDS = 30, 4
_DEEP = 1_000  # ranks in which a sentence's label is looked for
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


class Place(NamedTuple):
    """Where something stands in a document: character offsets into its "title" or its "text"."""

    field: str
    start: int
    end: int


class Evidence(NamedTuple):
    """One thing that speaks for a label; the weight is from 0 to 1, and only says more or less within a kind."""

    kind: str
    text: str
    weight: float
    source: str  # the expert's name
    places: tuple[Place, ...] = ()  # where it stands in the document; none of what is not there, as other documents


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

    def n_among(self, documents: Documents) -> int:
        """How many of these are training documents, by their ids and beginnings. O(documents of both)."""
        known = set(zip(self.ids, self.titles, strict=True))
        return sum(pair in known for pair in zip(documents.ids, beginnings(documents), strict=True))

    def state(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Training:
        return cls(state["ids"], state["titles"])


def evidence(
    experts: Mapping[str, Method], one: Views, label: int, training: Training, *, most: int = 3
) -> list[Evidence]:
    """What speaks for a label (its number in the vocabulary) of one document, at most so many of each kind."""
    found: dict[str, list[tuple[Evidence, Clue]]] = {kind: [] for kind in _KINDS}
    for source, clue in _clues(experts, one, label):
        text = training.titles[clue.document] or training.ids[clue.document] if clue.document >= 0 else clue.text
        line = one_line(text, _LONGEST.get(clue.kind, _SHOWN))
        item = Evidence(clue.kind, line, min(float(clue.weight), 1.0), source)
        found.setdefault(clue.kind, []).append((item, clue))
    best = (one for kind in found.values() for one in _best(kind, most))
    return [item._replace(places=tuple(_places(one, clue))) for item, clue in best]


def one_line(text: str, most: int) -> str:
    """Without halves of characters, which cannot be written anywhere, and cut to so many."""
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _best(found: Iterable[tuple[Evidence, Clue]], most: int) -> list[tuple[Evidence, Clue]]:
    """The largest weights first, equal ones in their order; each text once."""
    by_text: dict[str, tuple[Evidence, Clue]] = {}
    for item, clue in sorted(found, key=lambda both: -both[0].weight):
        if item.weight > 0 and item.text:
            by_text.setdefault(item.text, (item, clue))
    return list(by_text.values())[:most]


def _places(one: Views, clue: Clue) -> Iterator[Place]:
    """Where it stands, title first: words wherever they are, a passage once. What is not in the text has no place."""
    if clue.document >= 0 or clue.kind in _ELSEWHERE or one.documents.features is not None:
        return
    text, n_title = one.full_texts[0], len(one.documents.titles[0])
    words = one.once("words at", lambda: words_at(text))
    spans = [span for form in clue.forms or (clue.text,) for span in words.get(form) or find_all(text, form)]
    for start, end in sorted(set(spans))[: 1 if clue.kind == "passage" else MOST_SPANS]:
        begins = n_title + 1 if n_title else 0  # of the text, after the title's line
        if start < n_title:
            yield Place("title", start, min(end, n_title))
        if end > begins:
            yield Place("text", max(start - begins, 0), end - begins)


def _clues(experts: Mapping[str, Method], one: Views, label: int) -> Iterator[tuple[str, Clue]]:
    """All that experts show, and by whom; shared words by one of them, a sentence if nobody shows a passage."""
    texts, passages = one.documents.features is None, False
    for source, expert in experts.items():
        if texts or not expert.traits.needs_texts:
            for clue in expert.evidence(one, label):
                passages |= clue.kind == "passage"
                yield source, clue
    if texts:
        readers = [source for source, expert in experts.items() if expert.reads(label)]
        for source in sorted(readers, key=lambda name: not experts[name].traits.weighs_words)[:1]:
            yield from ((source, clue) for clue in experts[source].shared_words(one.full_texts[0], label))
        if not passages:
            yield from _sentence(experts, one.full_texts[0], label)


def _sentence(experts: Mapping[str, Method], text: str, label: int) -> Iterator[tuple[str, Clue]]:
    """The best one, by the first that ranks the label for any: who has learned most is asked first."""
    sentences = [part for part in _SENTENCE_END.split(text) if len(part.split()) >= _LEAST_WORDS][:_SENTENCES]
    places = {source: expert.traits.reads_sentences for source, expert in experts.items()}
    for _, source in sorted((place, source) for source, place in places.items() if sentences and place is not None):
        expert = experts[source]
        found = expert.rank(sentences, min(_DEEP, len(expert.labels_)))
        scores = np.where(found.ids == label, found.scores, 0).max(axis=1)
        if scores.any():
            best = sentences[int(scores.argmax())]
            yield source, Clue("passage", one_line(best, _SHOWN), float(scores.max()), forms=(best,))
            return


def beginnings(documents: Documents) -> list[str]:
    """How a document is shown in a line: its title, or how it begins. No file takes halves of characters."""
    return [
        " ".join((title or text[: 2 * BEGINNING]).encode("utf-8", "replace").decode().split())[:BEGINNING]
        for title, text in zip(documents.titles, documents.texts, strict=True)
    ]
