"""Static token embeddings, distilled from a transformer: a text is the sum of its tokens' vectors.

v(text) = sum over its distinct tokens of (1 + ln count) x embedding; the length of a token's embedding carries the
weight of its frequency. `lexical` dimensions more are random and of twice that length: tokens of like meaning are near
each other in the distilled ones and nearly orthogonal in these, so that the same word counts for more than a like one.
Cost of a text: tokens x (256 + lexical) additions; thousands of long documents a second. torch is loaded only when the
embeddings are trained (`module`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from everylabel import checks
from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.distil import Distilled, distilled, kept_distilled, recipe_of
from everylabel.encoders.fingerprint import Versions, hash_weights, versions
from everylabel.encoders.passages import mean_passages, split_passages
from everylabel.encoders.places import BUNDLED, place_of
from everylabel.encoders.table import TokenTable
from everylabel.encoders.tokenizer import TextTokenizer, require_known_parts, shared_tokenizer
from everylabel.errors import ModelError
from everylabel.forks import Lock
from everylabel.run import QUIET, Run
from everylabel.types import FloatArray, LongArray
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from everylabel.encoders.static_module import StaticModule

CHUNK = 512  # texts whose tokens are summed at a time
_LARGEST = 1e4  # of a number in an embedding
DOCUMENTS = "documents"  # no teacher: what was learned of them (learned.py) is a part of the state


class StaticEncoder:
    """See `Encoder`. `load` distils (or finds in the cache), `restore` takes a state."""

    def __init__(self, config: EncoderConfig, table: TokenTable, tokenizer: TextTokenizer, fingerprint: str) -> None:
        self.config, self.tokenizer, self.dim = config, tokenizer, table.dim
        self._table = table
        self._base = self._untrained = fingerprint  # of the table without its factors, and with them
        self._factors: FloatArray | None = None  # None: the base as it is
        self._source: Distilled | None = None  # held, so that the next encoder finds it in memory
        self._trained = False  # the table is nobody else's, and can only come from a state
        self._grown_from: StaticEncoder | None = None  # what a trained one was, if its state has trained rows alone
        self._module: StaticModule | None = None
        self._made: Versions = ()  # of the module, as the table is
        self._learned: tuple[Versions, TokenTable] | None = None  # of the module, as it was last looked at
        self._hashed: tuple[Versions, str] | None = None
        self._lock = Lock()

    @classmethod
    def load(cls, config: EncoderConfig, run: Run = QUIET) -> StaticEncoder:
        return cls._of(config, distilled(config.teacher, run))

    @classmethod
    def taught(cls, config: EncoderConfig, made: Distilled) -> StaticEncoder:
        """By embeddings that nobody else has."""
        return cls._of(config, made)

    @classmethod
    def restore(cls, config: EncoderConfig, state: dict[str, Any], run: Run = QUIET) -> StaticEncoder:
        """A trained one from the state alone; else the base from the cache, or distilled again and compared."""
        found = str(state.get("fingerprint"))
        if "trained_tokens" in state:
            kept = ("factors", "taught", "tokenizer")
            own = {key: state[key] for key in kept if key in state} | {"fingerprint": state["base"]}
            untrained = cls.restore(config, own, run)
            tokens, rows = state["trained_tokens"], state["trained_rows"]
            checks.indexes(tokens, "trained tokens", untrained._table.n_rows)
            checks.numbers(rows, "trained rows", len(tokens), untrained.dim, most=_LARGEST)
            table = untrained._table.with_rows(tokens, rows)
            encoder = cls(config, table, untrained.tokenizer, found)
            encoder._trained, encoder._grown_from = True, untrained
            return encoder
        if "embedding" in state:
            tokenizer = shared_tokenizer(require_known_parts(state["tokenizer"]))
            checks.numbers(state["embedding"], "embedding", None, None, most=_LARGEST)
            checks.require(tokenizer.n_ids <= len(state["embedding"]), "a tokeniser with more tokens than embeddings")
            encoder = cls(config, TokenTable.of(state["embedding"]), tokenizer, found)
            encoder._trained = True
            return encoder
        if "taught" in state:
            tokenizer = shared_tokenizer(require_known_parts(state["tokenizer"]))
            checks.numbers(state["taught"], "embedding", None, None, most=_LARGEST)
            checks.require(tokenizer.n_ids <= len(state["taught"]), "a tokeniser with more tokens than embeddings")
            made = Distilled(state["taught"], state["tokenizer"], found.partition(" ")[0])
        else:
            made = cls._base_of(config, found, run)
        encoder = cls._of(config, made)
        if "factors" not in state:
            return encoder
        checks.numbers(state["factors"], "factors of tokens", encoder._table.n_rows, most=_LARGEST)
        return encoder.scaled(state["factors"])

    @classmethod
    def _base_of(cls, config: EncoderConfig, fingerprint: str, run: Run) -> Distilled:
        """By its content: from the cache, or distilled again from what is found; nothing is made for another one."""
        recipe = fingerprint.partition(" ")[0]
        found, now = kept_distilled(recipe), recipe
        if found is None:
            teacher = place_of(config.teacher, recipe)
            now = recipe_of(teacher)
            found = distilled(teacher, run) if now == recipe else None
        if found is None or _name_of(recipe, config.lexical) != fingerprint:
            raise ModelError(
                f"the model was made with another 'static' encoder ({fingerprint[:12]}) than the one found now "
                f"({now[:12]}): put the old weights back in its place, or fit again"
            )
        return found

    @classmethod
    def _of(cls, config: EncoderConfig, made: Distilled) -> StaticEncoder:
        name, tokenizer = _name_of(made.recipe, config.lexical), shared_tokenizer(made.tokenizer)
        encoder = cls(config, made.table(config.lexical), tokenizer, name)
        encoder._source = made
        return encoder

    @property
    def fingerprint(self) -> str:
        """Of distilled weights that of what they were made from: they differ a little from machine to machine."""
        learned, hashed = self._now(), self._hashed
        if learned is not None:
            if hashed is None or hashed[0] != learned[0]:
                weights = {"embedding.weight": learned[1].whole()}
                self._hashed = hashed = learned[0], hash_weights(weights, self.tokenizer.json)
            return hashed[1]
        return self._untrained

    @property
    def module(self) -> StaticModule:
        """Made on first use, with a copy of the table: 4 bytes a number."""
        with self._lock:
            if self._module is None:
                from everylabel.encoders.static_module import StaticModule

                module = StaticModule.of(self._table.whole()).eval()
                self._made, self._module = versions(module), module
            return self._module

    @property
    def table(self) -> TokenTable:
        """As it is now: the module's, once that was trained."""
        learned = self._now()
        return self._table if learned is None else learned[1]

    def weighed(self, tokens: Tokens) -> StaticEncoder:
        """Each token's embedding scaled by how rare it is among these rows: ln((1 + rows) / (1 + rows with it)) + 1."""
        ids, _, _ = self._table.distinct(tokens)
        df = np.bincount(ids, minlength=self._table.n_rows)
        return self.scaled((np.log((1 + tokens.n_rows) / (1 + df)) + 1).astype(np.float32))

    def scaled(self, factors: FloatArray) -> StaticEncoder:
        """Another encoder on the same base, untrained: it is saved as its factors."""
        scaled = StaticEncoder(self.config, self._table.scaled(factors), self.tokenizer, self._base)
        scaled._factors, scaled._source = scaled._table.factors, self._source
        named = f"{self._base}\0".encode() + scaled._factors.astype("<f4").tobytes()
        scaled._untrained = hashlib.sha256(named).hexdigest()
        return scaled

    @property
    def limit(self) -> int | None:
        return self.config.max_tokens

    def tokenize(self, texts: Sequence[str], max_tokens: int | None = None, *, run: Run = QUIET) -> Tokens:
        """At most as many tokens a text as are asked for or configured; else all."""
        return self.tokenizer(texts, self.config.max_tokens if max_tokens is None else max_tokens, run=run)

    def encode(self, texts: Sequence[str], *, keep: bool = False, run: Run = QUIET) -> FloatArray:  # noqa: ARG002
        """Nothing is kept: encoding is as fast as looking it up."""
        if self.config.passages == "first":
            return self.encode_tokens(self.tokenize(texts, run=run), run=run)
        vectors, begins = self.encode_passages(texts, run=run)
        return mean_passages(vectors, begins)

    def encode_tokens(self, tokens: Tokens, *, unit: bool = True, run: Run = QUIET) -> FloatArray:
        vectors, table = np.empty((tokens.n_rows, self.dim), np.float32), self.table
        with run.task("encoding", tokens.n_rows) as advance:
            for first in range(0, tokens.n_rows, CHUNK):
                last = min(first + CHUNK, tokens.n_rows)
                part = tokens if last - first == tokens.n_rows else tokens.take(np.arange(first, last))
                sums = table.sums(part)
                vectors[first:last] = unit_rows(sums) if unit else sums
                advance(last - first)
        return vectors

    def encode_passages(self, texts: Sequence[str], *, run: Run = QUIET) -> tuple[FloatArray, LongArray]:
        passages, begins = split_passages(self.tokenizer(texts, run=run), self.config.max_tokens)
        return self.encode_tokens(passages, run=run), begins

    def state(self) -> dict[str, Any]:
        """Of a trained one the rows that training has changed, if the others can be had everywhere; else all."""
        if not self._trained and self._now() is None:
            factors = {} if self._factors is None else {"factors": self._factors}
            return {"fingerprint": self._base, **factors, **self._taught_state()}
        before, table = self._before, self.table
        if before is None:
            return {"fingerprint": self.fingerprint, "embedding": table.whole(), "tokenizer": self.tokenizer.json}
        tokens = np.flatnonzero(table.own_row >= 0).astype(np.int32)
        factors = {} if before._factors is None else {"factors": before._factors}
        trained = {"trained_tokens": tokens, "trained_rows": table.own[table.own_row[tokens]]}
        return {"fingerprint": self.fingerprint, "base": before._base, **factors, **trained, **before._taught_state()}

    def _taught_state(self) -> dict[str, Any]:
        """What cannot be made again from a teacher."""
        if self.config.teacher != DOCUMENTS or self._source is None:
            return {}
        return {"taught": self._source.embedding, "tokenizer": self._source.tokenizer}

    @property
    def _before(self) -> StaticEncoder | None:
        """What can be had everywhere, so that a trained one is saved as the rows that are others; None: as all rows."""
        before = self._grown_from if self._trained else self
        return before if self.config.teacher in (BUNDLED, DOCUMENTS) else None

    def _now(self) -> tuple[Versions, TokenTable] | None:
        """The module's own table, once it is another than ours; as it will be restored, rows in the same places: then
        products with its rows are the same to the last bit, too."""
        module, known = self._module, self._learned
        if module is None or (now := versions(module)) == self._made:
            return None
        if known is None or known[0] != now:
            whole, before = module.embedding.weight.detach().cpu().numpy(), self._before
            if before is None:
                known = now, TokenTable.of(whole)
            else:
                tokens = np.flatnonzero((whole != before._table.whole()).any(axis=1)).astype(np.int32)
                known = now, before._table.with_rows(tokens, whole[tokens])
            self._learned = known
        return known


def _name_of(recipe: str, lexical: int) -> str:
    return f"{recipe} lexical={lexical}" if lexical else recipe
