"""The language of a text by its pieces of words: py3langid's table, naive Bayes over n-grams of bytes, 139 languages.

A dictionary knows single words better, but takes seconds and hundreds of MB a language; the table is one for all of
them: 0.4 seconds of a processor and 90 MB at the first use, then 0.05 milliseconds a sentence, 0.1 a thousand
characters. It reads nothing but its own file, and many threads may ask it at once.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from everylabel.forks import Lock

NO_LANGUAGE = "zxx"  # numbers, markup and the like
OTHER_NAMES = {"nb": ("no",), "hbs": ("bs", "hr", "sr")}  # simplemma's codes of languages that the table has by others
_loading = Lock()  # threads that ask first would each load it


def names_of(code: str) -> tuple[str, ...]:
    """What the table calls a language; (): it does not know it."""
    if code in OTHER_NAMES:
        return OTHER_NAMES[code]
    return (code,) if code in _names() else ()


def known_codes() -> list[str]:
    return sorted(_names().union(OTHER_NAMES))


def language_probabilities(text: str) -> dict[str, float]:
    """Of every language by the table's name, and of `NO_LANGUAGE`; all the same where nothing can be told."""
    return dict(_identifier().rank(text))


@cache
def _names() -> frozenset[str]:
    return frozenset(_identifier().labels) - {NO_LANGUAGE}


def _identifier() -> Any:
    with _loading:
        return _loaded()


@cache
def _loaded() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
