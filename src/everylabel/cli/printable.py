"""Names, ids and texts of others, as they may stand on a screen: what would move, colour or reverse is spelled out.

A label's name may hold a terminal's commands (`\\x1b[2J` clears the screen), line ends that forge a line of output, or
marks that reverse the order of what follows (U+202E). Letters of any script, combining marks, emoji and the joiners in
them stay. Only for people: JSON in a pipe is the value as it is.
"""

from __future__ import annotations

import re
import unicodedata

_SPELLED_OUT = ("Cc", "Cs", "Zl", "Zp")  # controls, halves of characters, ends of lines and paragraphs
# Joiners of letters and emoji, marks of a direction (which reverse nothing), soft hyphens, signs of Arabic numbers.
_HARMLESS = frozenset("\u00ad\u200c\u200d\u200e\u200f\u061c" + "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2")
_IN_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")


def printable(text: str) -> str:
    """In one line, without anything that a terminal would take for a command."""
    if text.isprintable():  # nearly always
        return text
    return "".join(_escaped(c) if _commands(c) else c for c in text)


def printable_lines(text: str) -> str:
    """As `printable`, of a message that has several lines."""
    return "\n".join(map(printable, text.split("\n")))


def printable_json(text: str) -> str:
    """JSON of the same value: what it may hold unescaped, and a screen should not get, as escapes."""
    return _IN_JSON.sub(lambda found: "".join(f"\\u{half:04x}" for half in _halves(found[0])), text)


def _commands(character: str) -> bool:
    kind = unicodedata.category(character)
    return kind in _SPELLED_OUT or (kind == "Cf" and character not in _HARMLESS)


def _escaped(character: str) -> str:
    """As Python writes it: \\x1b, \\n, \\u202e."""
    return character.encode("unicode_escape").decode("ascii")


def _halves(character: str) -> list[int]:
    """As JSON counts: characters beyond the first 65,536 are two."""
    data = character.encode("utf-16-be")
    return [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]
