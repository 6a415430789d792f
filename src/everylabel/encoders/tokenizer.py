"""Texts to token ids, without special tokens, fast enough for whole corpora of long documents.

BERT's tokenisers treat each run of characters between white space by itself, and words repeat: so each distinct word
goes through the tokeniser once, and a text is a row of compiled look-ups of hashes: 4 times as fast as tokenising it at
first, and more than 10 times once the words are known. Other tokenisers read whole texts, on all cores. Cost:
O(characters); memory: that of the words, some 100 MB at most, shared by all encoders with this tokeniser.

Threads look words up at the same time, without waiting for each other: what is known only grows, and a word is found
only after its tokens are there. Who meets new words tokenises them by itself and takes a lock to add them.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from everylabel import checks
from everylabel.encoders.base import Tokens
from everylabel.errors import DataError
from everylabel.forks import Lock
from everylabel.run import QUIET, Run
from everylabel.text.hash_table import Hashes, HashTable
from everylabel.text.scripts import code_points
from everylabel.types import IntArray, LongArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Array = TypeVar("Array", IntArray, LongArray)
CHUNK = 1024  # texts at a time: bounds the memory of their words
MEMORY = 8_000_000  # characters of remembered words
# BERT deletes these control characters, where str.split would take them for white space.
_NO_SPACE = {ord(c): None for c in "\x0b\x0c\x1c\x1d\x1e\x1f\x85"}


# What tokenisers of texts are made of. Patterns are matched by a library that follows anything: few are known.
_PARTS = {
    "normalizer": "BertNormalizer Lowercase NFC NFD NFKC NFKD Nmt Precompiled Prepend Replace Sequence Strip "
    "StripAccents",
    "pre_tokenizer": "BertPreTokenizer ByteLevel Digits Metaspace Punctuation Sequence UnicodeScripts Whitespace "
    "WhitespaceSplit",
    "model": "BPE Unigram WordLevel WordPiece",
    "post_processor": "BertProcessing ByteLevel RobertaProcessing Sequence TemplateProcessing",
    "decoder": "BPEDecoder ByteFallback ByteLevel Fuse Metaspace Replace Sequence Strip WordPiece",
}
_PATTERNS = (" {2,}", r"\s+", r"\s", r" +")
_PROBE = "a 1 \u2603 \u4e2d."  # characters that few vocabularies have


def require_known_parts(tokenizer_json: Any) -> str:
    """The JSON of a tokeniser that a model has, if it is made of known parts; ValueError otherwise."""
    checks.require(isinstance(tokenizer_json, str), "a tokeniser must be JSON")
    settings = json.loads(tokenizer_json)
    checks.require(isinstance(settings, dict), "a tokeniser must be a table")
    for part, known in _PARTS.items():
        waiting = [settings.get(part)]
        while waiting:
            own = waiting.pop()
            if own is None:
                continue
            checks.require(isinstance(own, dict) and own.get("type", "BPE") in known.split(), f"an unknown {part}")
            pattern = own.get("pattern", {})
            pattern = pattern.get("Regex", "\\s") if isinstance(pattern, dict) else ""
            checks.require(pattern in _PATTERNS, f"a {part} with an unknown pattern")
            waiting += [item for item in own.values() if _is_part(item)]
            waiting += [item for items in own.values() if isinstance(items, list) for item in items if _is_part(item)]
    return str(tokenizer_json)


def _is_part(item: Any) -> bool:
    """A vocabulary may have the word "type", too: its number is no name of a part."""
    return isinstance(item, dict) and isinstance(item.get("type"), str)


@contextmanager
def _no_panic() -> Iterator[None]:
    """What goes wrong in the tokeniser's own code is no Exception there, and would end a server."""
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise DataError(f"the model's tokeniser cannot read this text ({str(error)[:100]}); fit again") from None


class TextTokenizer:
    """A tokeniser's JSON as a function of texts. Safe to call from several threads."""

    def __init__(self, tokenizer_json: str) -> None:
        from tokenizers import Tokenizer

        with _no_panic():
            self._tokenizer: Tokenizer = Tokenizer.from_str(tokenizer_json)
            self._tokenizer.no_truncation()
            self._tokenizer.no_padding()
            self.json = self._tokenizer.to_str()
            self.prefix, self.suffix = self._special()
            self._tokenizer.encode(_PROBE)  # a vocabulary without a token for the unknown fails now, not later
        self._by_word = _by_word(json.loads(self.json))
        self._known = _Known()

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Token to id."""
        return dict(self._tokenizer.get_vocab())

    @property
    def n_ids(self) -> int:
        return 1 + max(self.vocabulary.values(), default=0)

    def __call__(self, texts: Sequence[str], max_tokens: int | None = None, *, run: Run = QUIET) -> Tokens:
        """The tokens of each text, at most `max_tokens` of each."""
        read = self._read_words if self._by_word else self._read_whole
        parts = [Tokens.of([])]
        with run.task("tokenising", len(texts)) as advance:
            for first in range(0, len(texts), CHUNK):
                chunk = texts[first : first + CHUNK]
                tokens = read(chunk, max_tokens)
                parts.append(tokens if max_tokens is None else tokens.cut(max_tokens))
                advance(len(chunk))
        return parts[1] if len(parts) == 2 else Tokens.join(parts)

    def spans(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """All tokens of a text, and from where to where the word reaches in it that each of them is a part of."""
        encoding = self._tokenizer.encode(_clean(text), add_special_tokens=False)
        reach: dict[int | None, tuple[int, int]] = {}
        for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
            first, last = reach.get(word, (start, end))
            reach[word] = min(first, start), max(last, end)
        return list(encoding.ids), [reach[word] for word in encoding.word_ids]

    def special_ids(self) -> list[int]:
        """The ids of [CLS], [PAD] and the like."""
        return [i for i, token in self._tokenizer.get_added_tokens_decoder().items() if token.special]

    def __reduce__(self) -> tuple[Callable[[str], TextTokenizer], tuple[str]]:
        """To another process: the one that it has, or a new one."""
        return shared_tokenizer, (self.json,)

    def _read_whole(self, texts: Sequence[str], _max_tokens: int | None) -> Tokens:
        rows = self._tokenizer.encode_batch_fast([_clean(text) for text in texts], add_special_tokens=False)
        return Tokens.of([row.ids for row in rows])

    def _read_words(self, texts: Sequence[str], max_tokens: int | None) -> Tokens:
        readable = list(map(_readable, texts))
        if max_tokens is None:
            return self._look_up(readable)[0]
        # Nearly every word is a token or more, so as many words as tokens are enough, but for texts of odd characters.
        tokens, has_more = self._look_up(readable, max_tokens)
        short = np.flatnonzero(has_more & (tokens.lengths < max_tokens))
        if not len(short):
            return tokens
        whole = Tokens.join([tokens, self._look_up([readable[i] for i in short])[0]])
        rows = np.arange(len(texts))
        rows[short] = len(texts) + np.arange(len(short))
        return whole.take(rows)

    def _look_up(self, texts: list[str], most: int = sys.maxsize) -> tuple[Tokens, NDArray[np.bool_]]:
        """The tokens of each text's first words, and whether it has more of these."""
        from everylabel.encoders.kernels import hash_runs

        if self._known.characters > MEMORY:
            self._known = _Known()  # others go on with the old one, and let it go
        known = self._known
        codes, offsets = code_points(texts)
        hashes, spans, begins, has_more = hash_runs(codes, offsets, _spaces(), most)

        def learn(places: LongArray) -> Hashes:
            ends = spans[places].tolist()
            words = [codes[start:end].tobytes().decode("utf-32-le", "surrogatepass") for start, end in ends]
            return known.added(words, self._of_words(words))

        numbers = known.numbers.look_up(hashes, learn)
        tokens = known.table.take(numbers.astype(np.int64) - 1)  # asked for after the numbers: it has all of them
        return Tokens(tokens.ids, tokens.offsets[begins]), has_more

    def _of_words(self, words: list[str]) -> list[list[int]]:
        """As one text, several times as fast as each by itself; a token belongs to the word that it begins in."""
        cleaned = [_clean(word) for word in words]
        with _no_panic():
            # A batch of one: only batches are read without the interpreter's lock, which other requests wait for.
            (found,) = self._tokenizer.encode_batch([" ".join(cleaned)], add_special_tokens=False)
        begins = np.cumsum([0] + [len(word) + 1 for word in cleaned])
        owners = np.searchsorted(begins, [start for start, _ in found.offsets], side="right")
        firsts = np.searchsorted(owners, np.arange(1, len(words) + 2)).tolist()
        ids = found.ids
        return [ids[first:last] for first, last in pairwise(firsts)]

    def _special(self) -> tuple[IntArray, IntArray]:
        """What the tokeniser's template puts before and after a single text."""
        encoding = self._tokenizer.encode("a")
        text = [i for i, special in enumerate(encoding.special_tokens_mask) if not special] or [1]
        ids = np.array(encoding.ids, np.int32)
        return ids[: text[0]], ids[text[-1] + 1 :]


class _Known:
    """Words that were met, and the tokens of each. Words are only added, and rows of the table stay where they are."""

    def __init__(self) -> None:
        self.numbers = HashTable(MEMORY)  # of a word: 1 + its row
        self.table = Tokens.of([])
        self.characters = 0
        self._lock = Lock()
        self._ids, self._offsets = np.empty(0, np.int32), np.zeros(1, np.int64)  # with room for more

    def added(self, words: list[str], rows: list[list[int]]) -> Hashes:
        """The numbers of new words. The table first: a number stands for a row that is there.

        Amortised O(what is new): what does not fit moves to arrays of twice the size; who reads keeps the old ones.
        Two threads that meet the same word at the same time give it a row each, of the same tokens.
        """
        with self._lock:
            first, lengths = self.table.n_rows, list(map(len, rows))
            begin, n_new = int(self._offsets[first]), sum(lengths)
            self._ids = _with_room(self._ids, begin + n_new)
            self._offsets = _with_room(self._offsets, first + len(rows) + 1)
            self._ids[begin : begin + n_new] = list(chain.from_iterable(rows))
            self._offsets[first + 1 : first + len(rows) + 1] = begin + np.cumsum(lengths, dtype=np.int64)
            self.table = Tokens(self._ids[: begin + n_new], self._offsets[: first + len(rows) + 1])
            self.characters += sum(map(len, words)) + 20 * len(words)
        return np.arange(first + 1, first + 1 + len(rows), dtype=np.uint64)


@cache
def _spaces() -> NDArray[np.bool_]:
    """Of each code point: is it white space, as for str.split?"""
    found = np.zeros(0x110000, np.bool_)
    found[[code for code in range(0x10000) if chr(code).isspace()]] = True
    return found


def _with_room(array: Array, size: int) -> Array:
    """The array, or a copy with room for as many and as many again."""
    if size <= len(array):
        return array
    larger = np.empty(2 * size, array.dtype)
    larger[: len(array)] = array
    return larger


_shared: dict[bytes, TextTokenizer] = {}
_shared_lock = Lock()


def shared_tokenizer(tokenizer_json: str) -> TextTokenizer:
    """One a process for all encoders with this JSON: words that one of them met are known to the others."""
    with _shared_lock:
        key = _key(tokenizer_json)
        if key not in _shared:
            made = TextTokenizer(tokenizer_json)
            _shared[key] = _shared.setdefault(_key(made.json), made)  # as it is saved, and as it was given
        return _shared[key]


def _key(tokenizer_json: str) -> bytes:
    return hashlib.blake2b(tokenizer_json.encode()).digest()


def _by_word(settings: dict[str, Any]) -> bool:
    """Does the tokeniser treat what stands between white space by itself? Known of BERT's; not of the others."""
    parts = [(settings.get(part) or {}).get("type") for part in ("normalizer", "pre_tokenizer", "model")]
    added = settings.get("added_tokens", [])
    spaced = [token for token in added if any(map(str.isspace, token["content"])) or _takes_space(token)]
    cleans = bool((settings.get("normalizer") or {}).get("clean_text"))
    return parts == ["BertNormalizer", "BertPreTokenizer", "WordPiece"] and cleans and not spaced


def _takes_space(token: dict[str, Any]) -> bool:
    return bool(token.get("lstrip") or token.get("rstrip"))


def _readable(text: str) -> str:
    if any(chr(code) in text for code in _NO_SPACE):  # rare, and looking is cheaper than translating
        return text.translate(_NO_SPACE)
    return text


def _clean(text: str) -> str:
    """Half of a surrogate pair is no character: the tokeniser would refuse the text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
