"""Which of several languages a text is in, by the words that their dictionaries know."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

from everylabel.errors import ConfigError
from everylabel.text.scripts import find_words

MOST_CHARACTERS = 20_000  # that are looked at
OTHERS = "unk"  # simplemma's name of none of them
_one_at_a_time = threading.Lock()  # threads that miss the same dictionary would each load it, hundreds of MB at once


class LanguageScore(NamedTuple):
    language: str | None  # None: none of them
    score: float  # the share of words that are known


def detect_language(text: str, languages: Sequence[str]) -> list[LanguageScore]:
    """Best first. Some milliseconds; a dictionary that nobody has asked for yet takes seconds to load, the largest
    (Finnish) 5 seconds and 350 MB."""
    from simplemma import langdetect
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    wanted = tuple(dict.fromkeys(languages))
    if unknown := [code for code in wanted if code not in SUPPORTED_LANGUAGES]:
        known = ", ".join(sorted(SUPPORTED_LANGUAGES))
        raise ConfigError(f"there is no dictionary of the language {unknown[0]!r}; there are: {known}")
    words = " ".join(find_words(text[:MOST_CHARACTERS]))
    with _one_at_a_time:
        found = dict(langdetect(words, wanted)) if words else {}
    scores = [LanguageScore(code, float(found.get(code, 0.0))) for code in wanted]
    scores.append(LanguageScore(None, float(found.get(OTHERS, 0.0 if found else 1.0))))
    return sorted(scores, key=lambda one: -one.score)
