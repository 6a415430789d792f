# ruff: noqa: RUF001 (letters of other alphabets are what this is about)
"""The languages of texts: by their script, their function words, and, where these are too few, by pieces of words.

A corpus may be in several: those of a twentieth of its documents or a tenth of its label texts are told, the commonest
of the documents first. Cost: some hundred documents, 20,000 label texts. What function words leave in doubt is looked
up in one table for all languages (identifier.py); a few words, which it cannot tell, in the English dictionary, which
takes half a second to load. Sentences by themselves need no dictionary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from everylabel.text.identifier import language_probabilities, names_of
from everylabel.text.lemmas import pieces_of
from everylabel.text.scripts import find_words, normal

if TYPE_CHECKING:
    from everylabel.data.dataset import Dataset

LEAST_FUNCTION_WORDS = 0.05  # of all words
LEAST_PROBABILITY = 0.5  # by pieces of words
LEAST_KNOWN = 0.6  # of the words, in a dictionary
LEAST_SHARE, LEAST_OF_LABELS = 0.05, 0.1  # of the documents and label texts whose language can be told: names of people
# have function words of other languages
LEAST_TEXTS = 5  # of a language beside the first one
MOST_LANGUAGES = 3
SAMPLE, LABEL_SAMPLE = 200, 20_000
FUNCTION_WORDS = {  # of languages whose base forms simplemma knows: the commonest that are theirs alone, or nearly
    "en": ["the", "of", "and", "to", "is", "for", "that", "with", "by", "are"],
    "de": ["der", "die", "und", "das", "von", "zu", "mit", "den", "ist", "im"],
    "fr": ["le", "les", "des", "et", "est", "dans", "une", "pour", "qui", "du"],
    "es": ["el", "los", "las", "y", "que", "una", "por", "del", "con", "para"],
    "it": ["il", "che", "di", "della", "per", "una", "non", "sono", "gli", "con"],
    "nl": ["het", "een", "van", "en", "dat", "op", "te", "niet", "zijn", "met"],
    "pt": ["os", "uma", "que", "do", "da", "para", "em", "não", "com", "dos"],
    "fi": ["ja", "on", "että", "ei", "oli", "se", "hän", "joka", "ovat", "myös"],
    "sv": ["och", "att", "det", "som", "en", "är", "av", "för", "inte", "på"],
    "da": ["og", "at", "det", "er", "af", "til", "ikke", "på", "som", "der"],
    "nb": ["og", "å", "det", "er", "av", "til", "ikke", "på", "som", "fra"],
    "pl": ["w", "i", "na", "się", "nie", "z", "że", "do", "jest", "przez"],
    "cs": ["a", "se", "na", "je", "že", "v", "s", "z", "do", "které"],
    "ru": ["и", "в", "не", "на", "что", "по", "как", "это", "из", "для"],
    "uk": ["і", "в", "не", "на", "що", "та", "як", "це", "з", "для"],
    "bg": ["и", "в", "не", "на", "че", "за", "се", "са", "от", "да"],
    "et": ["ja", "on", "ei", "et", "see", "kui", "ka", "oli", "mis", "või"],
    "hu": ["a", "az", "és", "hogy", "nem", "is", "egy", "van", "meg", "ez"],
    "ro": ["și", "să", "care", "în", "cu", "pe", "din", "este", "sunt", "pentru"],
    "tr": ["ve", "bir", "bu", "için", "ile", "olarak", "olan", "çok", "daha", "gibi"],
    "ca": ["els", "amb", "les", "i", "per", "una", "del", "és", "que", "dels"],
    "id": ["yang", "dan", "di", "dengan", "untuk", "dari", "ini", "pada", "adalah", "dalam"],
}
SCRIPTS = {  # of one language with a dictionary, or nearly: first and last letter
    "el": ("α", "ώ"), "he": ("א", "ת"), "hi": ("अ", "ह"), "ka": ("ა", "ჰ"), "hy": ("ա", "և"), "ml": ("അ", "ഹ"),
    "ar": ("ء", "ي"),
}  # fmt: skip
BY_CHARACTERS = {  # of `lemmas.CHARACTERS`; Japanese has Han characters, too
    "ja": ("ぁ", "ヿ"), "ko": ("가", "힣"), "th": ("ก", "๎"), "lo": ("ກ", "ໝ"), "km": ("ក", "៓"), "my": ("က", "ဿ"),
    "zh": ("一", "鿿"),
}  # fmt: skip
LEAST_KANA = 0.05  # of the letters of a Japanese text
LATIN = "la"  # names of animals and plants, in corpora of any language
PERSIAN = set("پچژگکی")


def language_of(dataset: Dataset) -> str:
    """The languages of documents and label texts, or of label names where there are no documents: "de", "fi+sv+en";
    "none": it cannot be told."""
    if dataset.documents.features is not None:
        return "none"
    texts, label_texts = _beginnings(dataset), dataset.labels.texts()[0]
    few = [label_texts[i] for i in range(0, len(label_texts), max(1, len(label_texts) // LABEL_SAMPLE))]
    main = language_of_texts(texts or few[:500])
    if main == "none":
        return main
    return _together(main, _beside(texts, LEAST_SHARE) + _beside(few, LEAST_OF_LABELS))


def language_of_documents(dataset: Dataset) -> str:
    """The languages of the documents alone; as `language_of` where there are none."""
    if dataset.documents.features is not None or not len(dataset.documents):
        return language_of(dataset)
    texts = _beginnings(dataset)
    main = language_of_texts(texts)
    return main if main == "none" else _together(main, _beside(texts, LEAST_SHARE))


def _beginnings(dataset: Dataset) -> list[str]:
    """Of some documents, spread evenly."""
    documents = dataset.documents
    rows = range(0, len(documents), max(1, len(documents) // SAMPLE))
    return [f"{documents.titles[i]} {documents.texts[i][:600]}" for i in rows]


def _together(main: str, others: Sequence[str]) -> str:
    return "+".join(list(dict.fromkeys([main, *others]))[:MOST_LANGUAGES])


def language_or_any(dataset: Dataset) -> str:
    """As `language_of`; "any" of words in an unknown language, whose pieces are read; "zh" and the like of scripts that
    are read by characters."""
    found = language_of(dataset)
    if found != "none" or dataset.documents.features is not None:
        return found
    texts = dataset.documents.subset(range(min(SAMPLE, len(dataset)))).full_texts or dataset.labels.texts()[0][:SAMPLE]
    words = [word for text in texts for word in find_words(normal(text[:600]).lower())]
    spaced = sum(len(word) > 1 and word[0].isalpha() for word in words)
    return "any" if 2 * spaced > len(words) else _by_characters("".join(words))


def _by_characters(letters: str) -> str:
    counts = {code: _between(letters, *ends) for code, ends in BY_CHARACTERS.items()}
    best = "ja" if counts["ja"] > LEAST_KANA * len(letters) else max(counts, key=lambda code: counts[code])
    return best if counts[best] else "none"


def _between(letters: str, first: str, last: str) -> int:
    return sum(first <= letter <= last for letter in letters)


def unread(language: str) -> str:
    """What to say of a language that is not known; "": nothing."""
    if "any" not in language.split("+"):
        return ""
    return (
        "the language of these texts is not known: words are read as they are, and by their pieces; "
        "say which it is if there is a dictionary (--set language=CODE; everylabel methods lists them)"
    )


def readings() -> list[tuple[str, str]]:
    """How texts are read, and the languages or scripts of each way."""
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    known = sorted(SUPPORTED_LANGUAGES)
    return [
        ("base forms, pieces of words", " ".join(code for code in known if pieces_of(code))),
        ("base forms", " ".join(code for code in known if not pieces_of(code))),
        ("characters in pairs", "Chinese, Japanese, Korean; emoji"),
        ("characters in threes", "Thai, Lao, Khmer, Myanmar"),
        ("words, pieces of words", "all others, with a warning"),
    ]


def language_of_texts(texts: Sequence[str]) -> str:
    """The one language that most of the words are in, or "none"."""
    words = " ".join(texts).lower().split()
    counts = _function_words(words)
    best = max(FUNCTION_WORDS, key=lambda code: counts[code])
    if counts[best] >= LEAST_FUNCTION_WORDS * len(words) > 0:
        return best
    found = _by_script(words) or _by_pieces(words)
    if found == "none" and _is_english(words):
        return "en"
    return "none" if found == LATIN else found


def language_of_sentence(sentence: str) -> str:
    """Of one alone, where a single function word says little; "none": it cannot be told. 0.05 milliseconds."""
    words = sentence.lower().split()
    return _by_script(words) or _by_pieces(words)


def told_languages() -> list[str]:
    """Those that a sentence can be told to be in: with a dictionary."""
    return sorted(_names_by_code())


@cache
def _names_by_code() -> dict[str, tuple[str, ...]]:
    """What the identifier calls them."""
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    return {code: names for code in SUPPORTED_LANGUAGES if (names := names_of(code))}


def _by_script(words: Sequence[str]) -> str:
    letters = "".join(words)[:20_000]
    for code, (first, last) in SCRIPTS.items():
        if _between(letters, first, last) > len(letters) / 2:
            return "fa" if code == "ar" and PERSIAN.intersection(letters) else code
    return ""


def _by_pieces(words: Sequence[str]) -> str:
    shares = language_probabilities(_beginning(words))
    known = {code: sum(shares[name] for name in names) for code, names in _names_by_code().items()}
    best = max(known, key=lambda code: known[code])
    return best if known[best] >= LEAST_PROBABILITY else "none"


def _is_english(words: Sequence[str]) -> bool:
    """By a dictionary: "fish", "tax" and "milk" have too few pieces."""
    import simplemma

    text = _beginning(words)
    return bool(text) and simplemma.in_target_language(text, lang="en") >= LEAST_KNOWN


def _beginning(words: Sequence[str]) -> str:
    return " ".join(find_words(" ".join(words[:500])))


def _beside(texts: Sequence[str], least_share: float) -> list[str]:
    """The languages that texts tell by themselves, the commonest first; those of few of them are left out."""
    told: Counter[str] = Counter()
    for text in texts:
        counts = _function_words(text.lower().split()).most_common(2)
        if counts and counts[0][1] and (len(counts) == 1 or counts[0][1] > counts[1][1]):
            told[counts[0][0]] += 1
    least = max(LEAST_TEXTS, least_share * told.total())
    return [code for code, count in told.most_common() if count >= least]


def _function_words(words: Sequence[str]) -> Counter[str]:
    """How many words of each language there are."""
    known = _languages_of_words()
    return Counter(code for word in words for code in known.get(word, ()))


@cache
def _languages_of_words() -> dict[str, list[str]]:
    words = {word for own in FUNCTION_WORDS.values() for word in own}
    return {word: [code for code, own in FUNCTION_WORDS.items() if word in own] for word in words}
