# ruff: noqa: RUF001 (letters of other alphabets are what this is about)
r"""What a word is, in any script, and texts in one spelling.

A word is a run of two or more word characters (\w), as in scikit-learn's default. Three things are read otherwise,
which \w\w+ loses: each character of a script without spaces (Han, kana, Hangul, Thai, Lao, Khmer, Myanmar) and each
emoji is a word by itself, of which `text.kernels` makes n-grams of at least `reach` characters; marks of Indic, Arabic,
Thai and other scripts belong to the letter before them. Korean has spaces, but its endings are not apart from words.

`normal` spells a text in one way: composed characters (NFC), wide and narrow forms and ligatures as plain letters, "ß"
as "ss", Arabic without vowel signs and tatweel, Hebrew without points and final forms. Cost: nothing for ASCII, one
scan of a text that has no such character, about 10 ns a character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

SEPARATOR, LETTER, MARK, UNSPACED = 0, 1, 2, 3  # kinds of characters; from UNSPACED on a kind is UNSPACED + reach - 2

_BY_PAIRS = (  # n-grams of up to two characters
    (0x1100, 0x11FF), (0x3005, 0x3007), (0x3021, 0x3029), (0x3041, 0x30FF), (0x3105, 0x318E), (0x31A0, 0x31FF),
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA960, 0xA97C), (0xAC00, 0xD7FB), (0xF900, 0xFAFF), (0xFF66, 0xFFDC),
    (0x1B000, 0x1B2FF), (0x20000, 0x323AF),
)  # fmt: skip
_BY_THREES = (  # alphabets: a word is longer
    (0x0E01, 0x0E4E), (0x0E81, 0x0ECE), (0x0EDC, 0x0EDF), (0x1000, 0x103F), (0x1050, 0x108F), (0x1780, 0x17D3),
    (0x1950, 0x19C9), (0x1A20, 0x1A54), (0xA9E0, 0xA9FE), (0xAA60, 0xAADF),
)  # fmt: skip
_EMOJI = (
    (0x231A, 0x231B), (0x23E9, 0x23F3), (0x2600, 0x26FF), (0x2705, 0x2705), (0x2708, 0x270D), (0x2728, 0x2728),
    (0x2744, 0x2744), (0x274C, 0x274C), (0x2753, 0x2757), (0x2763, 0x2764), (0x2B50, 0x2B50), (0x1F000, 0x1F0FF),
    (0x1F1E6, 0x1F1FF), (0x1F300, 0x1FAFF),
)  # fmt: skip
_PLAIN_MARKS = (
    (0x0300, 0x036F),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE00, 0xFE2F),
)  # of any script
_WIDTHS = ((0x2F00, 0x2FD5), (0xFB00, 0xFDFF), (0xFE70, 0xFEFC), (0xFF01, 0xFFDC))  # forms of other characters: NFKC
_NOTHING = (  # left out: soft hyphen, joiner, directions, selectors; Arabic and Hebrew vowels, tatweel
    (0x00AD, 0x00AD), (0x200D, 0x200F), (0x202A, 0x202E), (0x2060, 0x2069), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0x0640, 0x0640), (0x064B, 0x065F), (0x0670, 0x0670), (0x06D6, 0x06DC), (0x06DF, 0x06E8), (0x0591, 0x05BD),
    (0x05BF, 0x05C7),
)  # fmt: skip
_OTHERWISE = dict(
    pair.split("=")
    for pair in ["ß=ss", "ẞ=ss", "ſ=s", "İ=i", "ς=σ", "آ=ا", "أ=ا", "إ=ا", "ٱ=ا", "ى=ي", "ی=ي", "ک=ك", "ة=ه"]
)
_OTHERWISE |= dict(zip("ךםןףץ", "כמנפצ", strict=True))


def _ranges(ranges: Iterable[tuple[int, int]]) -> str:
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


_FORMS = re.compile(f"[{_ranges(_WIDTHS)}]+")
_UNSEEN = re.compile(f"[{_ranges(_NOTHING)}]+")
_SPELT = re.compile(f"[{''.join(_OTHERWISE)}]")


@cache
def kinds() -> NDArray[np.uint8]:
    """The kind of each code point: once, a tenth of a second."""
    found = np.zeros(0x110000, np.uint8)
    found[np.fromiter(map(str.isalnum, map(chr, range(0x110000))), np.bool_, 0x110000)] = LETTER
    found[ord("_")] = LETTER  # as for re, which takes twice as long to find them
    for code in range(0x20000):  # beyond it there are no marks but selectors
        if unicodedata.category(chr(code))[0] == "M" and not _inside(code, _PLAIN_MARKS):
            found[code] = MARK
    for reach, ranges in ((2, _BY_PAIRS), (3, _BY_THREES)):
        for first, last in ranges:
            part = found[first : last + 1]
            letters = [unicodedata.category(chr(code))[0] == "L" for code in range(first, last + 1)]
            part[np.array(letters) & (part == LETTER)] = UNSPACED + reach - 2
    for first, last in _EMOJI:
        found[first : last + 1] = UNSPACED
    found[0x1F3FB:0x1F400] = SEPARATOR  # the colours of skin
    return found


_SOMETHING = re.compile(r"[^\W_]")
_PLAIN_WORD = re.compile(r"\w\w+")
_BEYOND = "\U00010000-\U0010ffff"  # as one range: a set of many such is slow


@cache
def _word() -> re.Pattern[str]:
    sets = (_characters(wanted) for wanted in (kinds() >= UNSPACED, kinds() == LETTER, kinds() == MARK))
    unspaced, letters, marks = sets
    return re.compile(f"[{unspaced}][{marks}]*|[{letters}][{letters}{marks}]+")


@cache
def _special() -> re.Pattern[str]:
    """A character that makes another word than \\w\\w+ does."""
    return re.compile(f"[{_characters((kinds() >= MARK)[:0x10000])}{_BEYOND}]")


def with_words(text: str, change: Callable[[str], str]) -> str:
    """The text with each word changed: words alone, or, in scripts without spaces, all of it but the words."""
    if is_plain(text):
        return " ".join(map(change, _PLAIN_WORD.findall(text)))
    return _word().sub(lambda found: change(found[0]), text)


def find_words(text: str) -> list[str]:
    """The words of a text, as the kernels find them. 10 million words a second; a tenth of it in other scripts."""
    return (_PLAIN_WORD if is_plain(text) else _word()).findall(text)


def word_matches(text: str) -> Iterator[re.Match[str]]:
    """As `find_words`, with their places."""
    return (_PLAIN_WORD if is_plain(text) else _word()).finditer(text)


def code_points(texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The texts as kernels read them, one after the other, and where each begins."""
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(list(map(len, texts)), out=offsets[1:])
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32), offsets


def says_nothing(text: str) -> bool:
    """Not a letter, a digit or an emoji in it. As a rule the first character tells."""
    return not _SOMETHING.search(text) and (text.isascii() or not any(kinds()[ord(one)] >= UNSPACED for one in text))


def n_words_of(text: str) -> int:
    """About: spaces, and characters of scripts that have none."""
    return text.count(" ") + 1 if is_plain(text) else max(text.count(" ") + 1, len(_word().findall(text)))


def unspaced_runs(text: str) -> list[str]:
    """What is written without spaces, as long as it is, and emoji."""
    return [] if is_plain(text) else _run().findall(text)


@cache
def _run() -> re.Pattern[str]:
    unspaced, marks = (_characters(wanted) for wanted in (kinds() >= UNSPACED, kinds() == MARK))
    return re.compile(f"(?:[{unspaced}][{marks}]*)+")


def is_plain(text: str) -> bool:
    """Are its words those of \\w\\w+?"""
    return text.isascii() or not _special().search(text)


def joined(words: list[str]) -> str:
    """An n-gram as it is written: no space between characters of scripts that have none."""
    text = " ".join(words)
    if is_plain(text):
        return text
    text, known, before = "", kinds(), LETTER
    for word in words:
        kind = int(known[ord(word[0])])
        text += f" {word}" if text and not (before >= UNSPACED <= kind) else word
        before = kind
    return text


def normal(text: str) -> str:
    """The text in one spelling; letters stay as large or small as they are."""
    if text.isascii() or not _unusual().search(text):
        return text
    return one_spelling(composed(text))


def composed(text: str) -> str:
    """The first half of `normal`: the same letters, one code point each, and nothing that is not seen."""
    if text.isascii() or not _unusual().search(text):
        return text
    text = _FORMS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), unicodedata.normalize("NFC", text))
    return _UNSEEN.sub("", text)


def one_spelling(text: str) -> str:
    """The second: letters that are one with others. Dictionaries have them apart."""
    return _SPELT.sub(lambda found: _OTHERWISE[found[0]], text)


@cache
def _unusual() -> re.Pattern[str]:
    """A character for which `normal` may have something to do: those of it, and what NFC may change."""
    found = np.zeros(0x10000, np.bool_)
    for first, last in (*_WIDTHS, *_NOTHING, (0x1161, 0x11FF)):
        found[first : last + 1] = True
    found[list(map(ord, _OTHERWISE))] = True
    for code in range(0x80, 0x10000):
        character = chr(code)
        if unicodedata.category(character)[0] == "M" or not unicodedata.is_normalized("NFC", character):
            found[code] = True
    return re.compile(f"[{_characters(found)}{_BEYOND}]")


def _characters(wanted: NDArray[np.bool_]) -> str:
    """The inside of a regular expression's set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]]).astype(np.int8)))
    return _ranges([(int(first), int(last) - 1) for first, last in edges.reshape(-1, 2)])


def _inside(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)
