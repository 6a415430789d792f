"""Labels by a name that is theirs, or nearly: what reconciliation asks for.

Candidates are what a search finds for the name, for its words, and for how it begins; they are compared by the share of
letters that they have in common, without regard to capital letters and accents. Some milliseconds.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import NamedTuple

from everylabel.text.word_starts import spelled
from everylabel.workflow.vocabulary import Found, LabelSearch

MOST_COMPARED = 200  # candidates of each kind
BEGINNING = 3  # letters with which a name begins that is alike
LEAST_ALIKE = 0.6


class Alike(NamedTuple):
    label: Found
    score: float  # 1: the very name


def labels_alike(search: LabelSearch, name: str, limit: int, language: str) -> list[Alike]:
    """The most alike first."""
    wanted = spelled(name)
    if not wanted.strip():
        return []
    asked = dict.fromkeys([name, *wanted.split()[:3], wanted[:BEGINNING]])
    found = {one.place: one for query in reversed(asked) for one in search.find(query, MOST_COMPARED, language)}
    scored = [Alike(one, _score(one, wanted)) for one in found.values()]
    likely = [one for one in scored if one.score >= LEAST_ALIKE]
    return sorted(likely, key=lambda one: (-one.score, -one.label.documents, one.label.place))[:limit]


def _score(found: Found, wanted: str) -> float:
    """Of the text that was found, or of the name: the better one."""
    texts = {spelled(found.matched), spelled(found.name)}
    return max(SequenceMatcher(None, text, wanted, autojunk=False).ratio() for text in texts)
