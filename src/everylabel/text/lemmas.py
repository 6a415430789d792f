"""Words as their base forms, so that "fisheries" finds "fishery": simplemma's dictionaries, each distinct word once.

A language is a code ("de"), several where texts are mixed ("fi+sv+en": each word in the first of them that knows it, so
that documents and labels agree whatever language they are in), "any" (unknown: no base forms, but pieces of words), or
"none" (words as they are). "zh" and the like are read by characters. In languages that write compounds as one word, and
in unknown ones, the pieces of words are features, too, by which "Windkraftanlage" finds "Windkraft" and an ending does
not hide a stem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

from everylabel.errors import ConfigError
from everylabel.forks import Lock
from everylabel.text.scripts import composed, find_words, one_spelling, with_words

_MOST_WORDS = 2_000_000  # base forms kept at a time: about 200 MB
PIECE = 5  # characters; chosen on dev documents of tibkat-de and finna-fi
COMPOUNDING = {"de", "nl", "sv", "da", "nb", "nn", "is", "lb", "fi", "et", "hu"}  # write compounds as one word
CHARACTERS = {"zh", "ja", "ko", "th", "lo", "km", "my"}  # read by characters (scripts.py): no dictionary is needed
PREFIXED = {"ar", "he", "tr"}  # articles, conjunctions or long chains of endings are part of the word

# Function words: they match everything and mean nothing. Those of other languages are the package stop-words'.
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


class _Dictionaries:
    """simplemma's, each loaded once (one to five seconds) and kept: its own cache has eight, and forgets one that a
    model needs as soon as somebody asks for the language of a text."""

    def __init__(self) -> None:
        self._known: dict[str, Mapping[str, str]] = {}
        self._loading = Lock()

    def get_dictionary(self, lang: str) -> Mapping[str, str]:
        if lang not in self._known:
            from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory

            with self._loading:
                if lang not in self._known:
                    self._known[lang] = DefaultDictionaryFactory(1).get_dictionary(lang)
        return self._known[lang]


_dictionaries = _Dictionaries()


class _Lemmas(dict[str, str]):
    """word -> base form, filled as words come. All dictionaries are loaded at once: each is asked for a word that those
    before it do not know, and a server that has ranked one text must not have to load another."""

    def __init__(self, codes: tuple[str, ...]) -> None:
        from simplemma import Lemmatizer
        from simplemma.strategies import DefaultStrategy

        super().__init__()
        for code in codes:
            _dictionaries.get_dictionary(code)
        strategy = DefaultStrategy(dictionary_factory=_dictionaries)
        self._find = partial(Lemmatizer(lemmatization_strategy=strategy).lemmatize, lang=codes)

    def __missing__(self, word: str) -> str:
        lemma = str(self._find(word))
        if lemma == word:  # dictionaries have "Straße" as it is written, and Arabic without vowel signs
            lemma = str(self._find(one_spelling(word)))
        lemma = self[word] = one_spelling(lemma).lower()
        return lemma


@lru_cache(maxsize=16)
def _lemmas(codes: tuple[str, ...]) -> _Lemmas:
    return _Lemmas(codes)


def lemmas_of(codes: tuple[str, ...]) -> Mapping[str, str]:
    """Lower-cased word -> base form. A word takes a microsecond the first time, and 100 bytes from then on."""
    lemmas = _lemmas(codes)
    if len(lemmas) > _MOST_WORDS:
        lemmas.clear()
    return lemmas


@lru_cache(maxsize=64)
def codes_of(language: str) -> tuple[str, ...]:
    """The languages with a dictionary."""
    return tuple(code for code in language.split("+") if code not in ("none", "any") and code not in CHARACTERS)


def pieces_of(language: str) -> int:
    """How many characters the pieces of words have that are read beside them; 0: none."""
    return PIECE if (COMPOUNDING | PREFIXED | {"any"}).intersection(language.split("+")) else 0


def check_language(language: str) -> None:
    try:
        if codes := codes_of(language):
            _lemmas(codes)["word"]
    except ValueError:
        raise ConfigError(
            "language must be 'none' (words stay as they are), 'any' (words and their pieces) or a code that simplemma "
            f"knows, such as en, de, fr, es, fi, or several, as in 'fi+sv+en'; got {language!r}"
        ) from None


@lru_cache(maxsize=16)
def stop_words(language: str) -> tuple[str, ...]:
    """The languages' function words, as `lemmatised` leaves them."""
    words = [word for code in language.split("+") for word in _listed(code)]
    return tuple(sorted({*map(one_spelling, words), *lemmatised(words, language)} - {""}))


def _listed(code: str) -> Sequence[str]:
    if code in STOP_WORDS:
        return STOP_WORDS[code]
    from stop_words import LANGUAGE_MAPPING, get_stop_words

    known = {"nn": "nb"}.get(code, code)
    texts = map(composed, get_stop_words(known) if known in LANGUAGE_MAPPING else ())
    return [text for text in texts if find_words(text) == [text]]  # no phrases, whose words may mean something


def lemmatised(texts: Sequence[str], language: str) -> list[str]:
    """Each text's words (as `text.scripts` finds them), spelt one way, in base forms. About 5 million words a second.

    An underscore separates words, as in names of software.
    """
    texts = [composed(text.replace("_", " ")) for text in texts]
    codes = codes_of(language)
    if not codes:
        return list(map(one_spelling, texts))
    look = lemmas_of(codes).__getitem__
    return [with_words(text.lower(), look) for text in texts]
