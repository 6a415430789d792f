"""Static token embeddings, distilled from a transformer: a text is the sum of its tokens' vectors.

v(text) = sum over its distinct tokens of (1 + ln count) x embedding; the length of a token's embedding carries the
weight of its frequency. `lexical` dimensions more are random and of twice that length: tokens of like meaning are near
each other in the distilled ones and nearly orthogonal in these, so that the same word counts for more than a like one.
Cost of a text: tokens x (256 + lexical) additions; thousands of long documents a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.distil import distilled
from everylabel.encoders.fingerprint import Fingerprint, evaluating
from everylabel.encoders.kernels import by_token, distinct_tokens, sum_bags, token_weights
from everylabel.encoders.passages import mean_passages, split_passages
from everylabel.encoders.tokenizer import TextTokenizer
from everylabel.parallel import for_each_part
from everylabel.progress import task
from everylabel.types import FloatArray, IntArray, LongArray
from everylabel.vectors import unit_rows

LEXICAL_LENGTH = 2.0  # of the lexical dimensions, beside 1 of the distilled ones
CHUNK = 512  # texts whose tokens are summed at a time


class BagSums(torch.autograd.Function):
    """Weighted sums of token vectors, compiled; the gradient is sparse: only the rows of tokens that occur."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: IntArray, weights: FloatArray, offsets: LongArray) -> Tensor:
        ctx.bags, ctx.shape = (ids, weights, offsets), table.shape
        n_rows = len(offsets) - 1
        out = np.zeros((n_rows, table.shape[1]), np.float32)
        values = table.detach().numpy()
        for_each_part(n_rows, lambda first, last: sum_bags(ids, weights, offsets, first, last, values, out))
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        gradient = np.ascontiguousarray(gradients[0].numpy())
        tokens, rows, weights, offsets = by_token(*ctx.bags, ctx.shape[0])
        out = np.zeros((len(tokens), ctx.shape[1]), np.float32)

        def work(first: int, last: int) -> None:  # places among the occurrences, since some tokens are everywhere
            part = np.searchsorted(offsets[:-1], (first, last))
            sum_bags(rows, weights, offsets, part[0], part[1], gradient, out)

        for_each_part(len(rows), work)
        at, values = torch.from_numpy(tokens)[None], torch.from_numpy(out)
        return (
            torch.sparse_coo_tensor(at, values, ctx.shape, is_coalesced=True, check_invariants=False),
            None,
            None,
            None,
        )


def random_signs(n_rows: int, n_columns: int) -> FloatArray:
    """Rows of length 1, always the same: the generator's bits are what numpy promises to keep."""
    n_words = -(-n_rows * n_columns // 64)
    bits = np.unpackbits(np.random.Philox(key=0).random_raw(n_words).astype("<u8").view(np.uint8))
    signs = bits[: n_rows * n_columns].reshape(n_rows, n_columns).astype(np.float32) * 2 - 1
    return np.asarray(signs / np.sqrt(n_columns), np.float32)


class StaticModule(nn.Module):
    """While training, each distinct token of a text is left out with probability `dropout`; never all of them."""

    def __init__(self, weight: Tensor, *, dropout: float = 0.1) -> None:
        super().__init__()
        n_ids, self.dim = weight.shape
        self.embedding = nn.Embedding(n_ids, self.dim, _weight=weight)
        self.dropout = dropout

    def forward(self, tokens: Tokens) -> Tensor:
        ids, counts, offsets = self.distinct(tokens)
        chances = torch.rand(len(ids)) if self.training and self.dropout > 0 else torch.empty(0)
        weights = token_weights(counts, offsets, chances.numpy(), self.dropout)
        table = self.embedding.weight
        if table.device.type == "cpu":
            summed: Tensor = BagSums.apply(table, ids, weights, offsets)  # type: ignore[no-untyped-call]
            return summed
        parts = (torch.from_numpy(part).to(table.device) for part in (ids.astype(np.int64), offsets, weights))
        at, begins, scales = parts
        return nn.functional.embedding_bag(
            at, table, begins, mode="sum", per_sample_weights=scales, include_last_offset=True
        )

    def states(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        """The embeddings of the distinct tokens, in the order they first come; without dropout and counts."""
        ids, _, offsets = self.distinct(tokens)
        lengths = np.diff(offsets)
        mask = np.arange(max(1, int(lengths.max(initial=0)))) < lengths[:, None]
        padded = np.zeros(mask.shape, np.int64)
        padded[mask] = ids
        inside = torch.from_numpy(mask)
        states = nn.functional.embedding(torch.from_numpy(padded), self.embedding.weight)
        return states * inside[..., None], inside

    def distinct(self, tokens: Tokens) -> tuple[IntArray, IntArray, LongArray]:
        """(ids, counts, offsets) of each row's distinct tokens. O(tokens)."""
        ids, counts, offsets = distinct_tokens(tokens.ids, tokens.offsets, self.embedding.num_embeddings)
        return ids, counts, offsets


class StaticEncoder:
    """See `Encoder`. `load` distils (or finds in the cache), `restore` takes the state of a trained one."""

    def __init__(self, config: EncoderConfig, weight: FloatArray, tokenizer: TextTokenizer, recipe: str | None) -> None:
        self.config = config
        self.tokenizer = tokenizer
        self._module = StaticModule(torch.from_numpy(np.array(weight, np.float32)))  # a copy: training writes into it
        self._module.eval()
        self.dim = self._module.dim
        self._trained = recipe is None
        self.factors: FloatArray | None = None
        self._fingerprint = Fingerprint(self._module, tokenizer.json, recipe)

    @classmethod
    def load(cls, config: EncoderConfig) -> StaticEncoder:
        made = distilled(config.teacher)
        weight, recipe = made.embedding, made.recipe
        if config.lexical:
            lengths = np.linalg.norm(weight, axis=1, keepdims=True).astype(np.float32)
            weight = np.concatenate(
                [weight, LEXICAL_LENGTH * lengths * random_signs(len(weight), config.lexical)], axis=1
            )
            recipe = f"{recipe} lexical={config.lexical}"
        return cls(config, weight, TextTokenizer(made.tokenizer), recipe)

    @classmethod
    def restore(cls, config: EncoderConfig, state: dict[str, Any]) -> StaticEncoder:
        return cls(config, state["embedding"], TextTokenizer(state["tokenizer"]), None)

    @property
    def fingerprint(self) -> str:
        return self._fingerprint.value()

    @property
    def module(self) -> StaticModule:
        return self._module

    def weigh(self, tokens: Tokens) -> None:
        """Scale each token's embedding by how rare it is among these rows: ln((1 + rows) / (1 + rows with it)) + 1."""
        ids, _, _ = self._module.distinct(tokens)
        df = np.bincount(ids, minlength=self._module.embedding.num_embeddings)
        self.scale((np.log((1 + tokens.n_rows) / (1 + df)) + 1).astype(np.float32))

    def scale(self, factors: FloatArray) -> None:
        """Of each token's embedding. Kept as `factors`: with them it can be made again after it was trained."""
        with torch.no_grad():
            self._module.embedding.weight.mul_(torch.from_numpy(factors)[:, None])
        self.factors = factors

    def tokenize(self, texts: Sequence[str], max_tokens: int | None = None) -> Tokens:
        """At most as many tokens a text as are asked for or configured; else all."""
        return self.tokenizer(texts, self.config.max_tokens if max_tokens is None else max_tokens)

    def encode(self, texts: Sequence[str]) -> FloatArray:
        if self.config.passages == "first":
            return self.encode_tokens(self.tokenize(texts))
        vectors, begins = self.encode_passages(texts)
        return mean_passages(vectors, begins)

    def encode_tokens(self, tokens: Tokens) -> FloatArray:
        vectors = np.empty((tokens.n_rows, self.dim), np.float32)
        with evaluating(self._module), torch.inference_mode(), task("encoding", tokens.n_rows) as advance:
            for first in range(0, tokens.n_rows, CHUNK):
                rows = np.arange(first, min(first + CHUNK, tokens.n_rows))
                vectors[rows] = unit_rows(self._module(tokens.take(rows)).numpy())
                advance(len(rows))
        return vectors

    def encode_passages(self, texts: Sequence[str]) -> tuple[FloatArray, LongArray]:
        passages, begins = split_passages(self.tokenizer(texts), self.config.max_tokens)
        return self.encode_tokens(passages), begins

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"fingerprint": self.fingerprint}
        if self._trained or self._fingerprint.changed():
            state["embedding"] = self._module.embedding.weight.detach().numpy()
            state["tokenizer"] = self.tokenizer.json
        return state
