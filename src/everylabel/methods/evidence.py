"""What a method can show for a label of a text. Each method says it itself (`Method.evidence`); a tagger collects it.

What all methods that read label texts can show are the words of a text that a label's texts share, in base form.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from everylabel.text.lemmas import lemmatised, pieces_of, stop_words
from everylabel.text.scripts import find_words, normal, unspaced_runs

if TYPE_CHECKING:
    from everylabel.methods.onesided.ranker import Span

LEAST_PART = 4  # letters of a part of a compound
WINDOW = 12  # words of a passage
LONGEST_WORD = 40  # characters of a word of a passage: a longer one counts as several, as in scripts without spaces
_PIECE = re.compile(rf"\S{{1,{LONGEST_WORD}}}")


class Clue(NamedTuple):
    """One thing that speaks for a label: `kind` is what sort of thing, the weight is from 0 to 1 within a kind."""

    kind: str
    text: str
    weight: float
    document: int = -1  # a training document by its number, whose title is shown instead of a text
    forms: tuple[str, ...] = ()  # how it is written in the text, where that is not, or not only, `text`


def base_forms(text: str, language: str) -> dict[str, tuple[str, ...]]:
    """Each base form of a text's words but function words, and how it is written, in the order of the text."""
    words = [word for word in dict.fromkeys(find_words(text.replace("_", " "))) if not unspaced_runs(word)]
    empty, found = set(stop_words(language)), dict[str, list[str]]()
    for word, read in zip(words, lemmatised(words, language), strict=True):
        for base in find_words(read.lower()):
            if base not in empty and word not in (forms := found.setdefault(base, [])):
                forms.append(word)
    return {base: tuple(forms) for base, forms in found.items()}


def shared_words(text: str, label_text: str, language: str, rarity: Callable[[str], float]) -> Iterator[Clue]:
    """Words of the text that the label's text has, too, by how rare they are; where compounds are written as one word,
    also those that a word of the label is a part of; where words are not apart, what stands together in the label."""
    for run in dict.fromkeys(unspaced_runs(normal(label_text))):
        if run in normal(text):
            yield Clue("words", run, rarity(run))
    wanted = base_forms(label_text, language)
    parts = [base for base in wanted if len(base) >= LEAST_PART] if pieces_of(language) else []
    for base, forms in base_forms(text, language).items():
        if base in wanted:
            yield Clue("words", forms[0], rarity(base), forms=forms)
        elif part := max((part for part in parts if part in base), key=len, default=""):
            yield Clue("words", forms[0], rarity(part) * len(part) / len(base), forms=forms)


def heaviest_window(text: str, spans: Sequence[Span]) -> tuple[str, float]:
    """The words in a row with the most weight, and how much it is."""
    words = [match.span() for match in _PIECE.finditer(text)] or [(0, len(text))]
    at = np.searchsorted([start for start, _ in words], [span.start for span in spans], side="right") - 1
    weights = np.bincount(np.maximum(at, 0), [span.weight for span in spans], len(words))
    sums = np.convolve(weights, np.ones(min(WINDOW, len(words))), mode="valid")
    first = int(sums.argmax())
    return text[words[first][0] : words[first : first + WINDOW][-1][1]], float(sums[first])
