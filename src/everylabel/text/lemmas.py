"""Words as their base forms, so that "fisheries" finds "fishery": simplemma's dictionaries, each distinct word once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

from everylabel.errors import ConfigError
from everylabel.text.tfidf import WORD

_MOST_WORDS = 2_000_000  # base forms kept at a time: about 200 MB

# Function words: they match everything and mean nothing. Other languages than English do without: rare words count
# more than frequent ones anyway.
STOP_WORDS: dict[str, tuple[str, ...]] = {
    "en": tuple(
        """a about above across after again against all almost along already also although always am among an and
        another any anyhow anyone anything are around as at be became because become been before being below between
        both but by can cannot could did do does doing done down during each either else ever every everyone everything
        few for from further had has have having he hence her here hers herself him himself his how however i if in
        indeed into is it its itself just least less many may me might mine more moreover most much must my myself
        neither never nevertheless no nobody none nor not nothing now nowhere of off often on once only onto or other
        others otherwise our ours ourselves out over own per perhaps rather same several shall she should since so some
        somehow someone something sometimes still such than that the their theirs them themselves then there thereby
        therefore therein these they this those though through throughout thus to together too toward towards under
        until up upon us very was we well were what whatever when whenever where whereas whereby wherein whether which
        while who whoever whole whom whose why will with within without would yet you your yours yourself""".split()  # noqa: SIM905 (a list of words is read as words)
    )
}


class _Lemmas(dict[str, str]):
    """word -> base form, filled as words come."""

    def __init__(self, language: str) -> None:
        import simplemma

        super().__init__()
        self._find = partial(simplemma.lemmatize, lang=language)

    def __missing__(self, word: str) -> str:
        lemma = self[word] = str(self._find(word)).lower()
        return lemma


@lru_cache(maxsize=4)
def _lemmas(language: str) -> _Lemmas:
    return _Lemmas(language)


def check_language(language: str) -> None:
    try:
        if language != "none":
            _lemmas(language)["word"]
    except ValueError:
        raise ConfigError(
            f"language must be 'none' (words stay as they are) or a code that simplemma knows, such as en, de, fr, es, "
            f"fi; got {language!r}"
        ) from None


def stop_words(language: str) -> tuple[str, ...]:
    """The language's function words, as `lemmatised` leaves them."""
    return tuple(sorted({*STOP_WORDS.get(language, ()), *lemmatised(STOP_WORDS.get(language, ()), language)} - {""}))


def lemmatised(texts: Sequence[str], language: str) -> list[str]:
    """Each text's words (as `text.tfidf` finds them) in their base forms. About 5 million words a second.

    An underscore separates words, as in names of software.
    """
    texts = [text.replace("_", " ") for text in texts]
    if language == "none":
        return texts
    lemmas = _lemmas(language)
    if len(lemmas) > _MOST_WORDS:
        lemmas.clear()
    look = lemmas.__getitem__
    return [" ".join(map(look, WORD.findall(text.lower()))) for text in texts]
