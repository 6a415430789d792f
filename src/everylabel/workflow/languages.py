"""Which of several languages a text is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from everylabel.errors import ConfigError
from everylabel.text.identifier import known_codes, language_probabilities, names_of

MOST_CHARACTERS = 20_000  # that are looked at
OTHERS_WEIGHT = 0.03  # of a language that nobody asks about, beside one that somebody does. Chosen on messages of
# programs in 41 languages: with 1 more are taken for a relative that was not asked about, with 0.01 for one that was


class LanguageScore(NamedTuple):
    language: str | None  # None: none of them
    score: float  # its probability


def detect_language(text: str, languages: Sequence[str]) -> list[LanguageScore]:
    """Best first. At most 10 milliseconds, whatever the languages; the first call loads text/identifier.py's table."""
    names = {code: names_of(code) for code in languages}
    if unknown := [code for code in names if not names[code]]:
        raise ConfigError(f"the language {unknown[0]!r} cannot be told; these can: {', '.join(known_codes())}")
    text = text[:MOST_CHARACTERS]
    if not any(letter.isalpha() for letter in text):
        return [LanguageScore(None, 1.0), *(LanguageScore(code, 0.0) for code in names)]
    shares = language_probabilities(text)
    weights: dict[str | None, float] = {code: max(shares[name] for name in own) for code, own in names.items()}
    asked = {name for own in names.values() for name in own}
    weights[None] = OTHERS_WEIGHT * sum(share for name, share in shares.items() if name not in asked)
    total = sum(weights.values())
    scores = [LanguageScore(code, weight / total) for code, weight in weights.items()]
    return sorted(scores, key=lambda one: -one.score)
