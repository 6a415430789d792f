"""What a method without pairs reads of a document's labels, part by part: by words, by meaning, by a transformer.

A method that has such parts says what each of them says (`Reader`), so that somebody who knows what their agreement is
worth (tagger/prior.py) can make more of it than their sum.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from everylabel.text.views import Views
from everylabel.types import FloatArray, LongArray, Ranking

WORDS, MEANING, TRANSFORMER = "words", "meaning", "transformer"


@runtime_checkable
class Reader(Protocol):
    """A method whose parts can be asked one by one."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Their names, in the order of `readings`."""

    def readings(self, views: Views, k: int) -> dict[str, Ranking]:
        """The k best labels of each text by each part, by the part's name."""

    def summed(self, readings: dict[str, Ranking], views: Views, k: int) -> Ranking:
        """The k best labels by all parts together, from what they say of these texts: as the method ranks them."""

    def shares(self, views: Views, documents: LongArray, labels: LongArray) -> FloatArray:
        """(pairs, 2): how much of a label's name is in the text and in the title (`LabelMatcher.shares`)."""
