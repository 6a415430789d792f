"""Texts that two sets of documents share: what was trained on says little about how good a model is.

Contents are compared, not ids: the same text often comes under two ids. One pass over the characters of both.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from everylabel.data.dataset import Documents

EXAMPLES = 3


class SharedTexts(NamedTuple):
    n_docs: int  # documents of the second set whose text is in the first
    examples: list[tuple[str, str]]  # ids: in the second, in the first


def shared_texts(first: Documents, second: Documents) -> SharedTexts:
    known: dict[bytes, str] = {}
    for doc_id, title, text in zip(first.ids, first.titles, first.texts, strict=True):
        if key := content_key(title, text):
            known.setdefault(key, doc_id)
    pairs = zip(second.ids, map(content_key, second.titles, second.texts), strict=True)
    found = [(doc_id, known[key]) for doc_id, key in pairs if key in known]
    return SharedTexts(len(found), found[:EXAMPLES])


def content_key(title: str, text: str) -> bytes:
    """Equal for texts that differ in spaces and capitals alone, also where one has its title in the text; b"": none."""
    words = f"{title} {text}".casefold().split()
    return hashlib.blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest() if words else b""
