"""The language of texts, told by their function words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everylabel.data.dataset import Dataset

LEAST_FUNCTION_WORDS = 0.05  # of all words
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
    "pl": ["w", "i", "na", "się", "nie", "z", "że", "do", "jest", "przez"],
    "cs": ["a", "se", "na", "je", "že", "v", "s", "z", "do", "které"],
    "ru": ["и", "в", "не", "на", "что", "по", "как", "это", "из", "для"],
    "et": ["ja", "on", "ei", "et", "see", "kui", "ka", "oli", "mis", "või"],
    "hu": ["a", "az", "és", "hogy", "nem", "is", "egy", "van", "meg", "ez"],
}


def language_of(dataset: Dataset) -> str:
    """The language of documents, or of label names where there are none; "none": it cannot be told.

    By function words; dictionaries are large, so only the English one is asked, for texts that have none of them.
    """
    import simplemma

    documents = dataset.documents
    if documents.features is not None:
        return "none"
    rows = range(0, len(documents), max(1, len(documents) // 50))
    texts = [f"{documents.titles[i]} {documents.texts[i][:600]}" for i in rows] or dataset.labels.names[:500]
    words = " ".join(texts).lower().split()
    shares = {code: sum(map(known.count, words)) for code, known in FUNCTION_WORDS.items()}
    best = max(shares, key=lambda code: shares[code])
    if shares[best] >= LEAST_FUNCTION_WORDS * len(words) > 0:
        return best
    return "en" if simplemma.in_target_language(" ".join(words[:500]), lang="en") >= 0.6 else "none"
