"""Where words stand in a text, as character offsets (code points, as Python counts them).

A text in one spelling (`scripts.normal`) may be shorter than it was: what was found there is led back, so that a place
is always one in the text as it was given.
Cost: O(characters).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from everylabel.text.scripts import normal, word_matches
from everylabel.types import LongArray

Span: TypeAlias = tuple[int, int]
MOST_SPANS = 100  # of one thing in one text: more would only be noise
_COMPOSED = {*range(0x1160, 0x1200), 0xFF9E, 0xFF9F}  # with the one before: parts of a syllable, narrow sound marks


def words_at(text: str) -> dict[str, list[Span]]:
    """The places of each word, as it is written; an underscore is a space."""
    found: dict[str, list[Span]] = {}
    for match in word_matches(text.replace("_", " ")):
        found.setdefault(match[0], []).append(match.span())
    return found


def find_all(text: str, wanted: str) -> Iterator[Span]:
    """Where this stands: as it is written, or else in one spelling."""
    if not wanted:
        return
    if wanted in text:
        yield from _literal(text, wanted)
        return
    starts, spelt = _spelt(text)
    for first, last in _literal(spelt, normal(wanted)):
        yield int(starts[first]), int(starts[last])


def _literal(text: str, wanted: str) -> Iterator[Span]:
    at = text.find(wanted)
    while at >= 0 and wanted:
        yield at, at + len(wanted)
        at = text.find(wanted, at + len(wanted))


def _spelt(text: str) -> tuple[LongArray, str]:
    """The text in one spelling, and where each character of it begins in the text as it was given, and the end.

    Letter by letter, each with the marks that follow it: what is composed is composed of these.
    """
    edges = [at for at, one in enumerate(text) if at == 0 or not _goes_on(one)] + [len(text)]
    parts = [normal(text[first:last]) for first, last in pairwise(edges)]
    sizes = np.fromiter(map(len, parts), np.int64, len(parts))
    return np.append(np.repeat(edges[:-1], sizes), len(text)), "".join(parts)


def _goes_on(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or ord(character) in _COMPOSED
