"""Any sentence-transformers model as an encoder. Cost of a text: about 2 x parameters x tokens operations.

What the module is given follows its parameters' device; on a machine with a GPU texts are encoded there (placed.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from everylabel import checks
from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.encoding import Encoding
from everylabel.encoders.fingerprint import Fingerprint, evaluating
from everylabel.encoders.onnx import Around, OnnxTransformer, mean_of
from everylabel.encoders.padding import Padding
from everylabel.encoders.placed import Placed, budget
from everylabel.encoders.places import BUNDLED, place_of, remember_place
from everylabel.encoders.pooler import pooler_heads
from everylabel.encoders.pretrained import find_folder, load_sentence_transformer, needed
from everylabel.encoders.reading import Read, Reading
from everylabel.encoders.rebuilt import KINDS, can_be_rebuilt, heads_config, rebuilt
from everylabel.encoders.tokenizer import TextTokenizer, require_known_parts, shared_tokenizer
from everylabel.errors import ConfigError, ModelError
from everylabel.run import Run
from everylabel.types import FloatArray, LongArray
from everylabel.vectors import unit_rows

MAX_TOKENS = 256
MOST_TOKENS = 1 << 16  # of a text, where a model has no limit of its own
BACKEND = "inductor"  # of torch.compile


class TransformerModule(nn.Module):
    """The transformer, pooling and dense layers of a sentence-transformers model, on ragged tokens."""

    def __init__(self, transformer: nn.Module, heads: Sequence[nn.Module], tokenizer: TextTokenizer, limit: int):
        super().__init__()
        self.transformer = transformer
        self.heads = nn.ModuleList(heads)
        self.reading: Reading | None = None  # while it is trained
        pad_id = int(getattr(transformer.config, "pad_token_id", None) or 0)
        self.pad = Padding(tokenizer.prefix, tokenizer.suffix, limit, pad_id)
        pooling: Any = heads[0]
        self.dim = int(pooling.pooling_output_dimension)
        for head in heads[1:]:
            self.dim = int(head.out_features)  # type: ignore[arg-type]

    @property
    def limit(self) -> int:
        return self.pad.limit

    def forward(self, tokens: Tokens) -> Tensor:
        return self._without_empty(tokens, self._read(tokens, self._vectors))

    def pooled(self, states: FloatArray) -> FloatArray:
        """One text's vector from the last layer's states, which came from elsewhere."""
        there = torch.from_numpy(states[None]).to(next(self.parameters()).device)
        found: FloatArray = self._headed(there, torch.ones(there.shape[:2], device=there.device))[0].cpu().numpy()
        return found

    def states(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        """The special tokens' vectors are among them; dense layers are applied to each token's vector."""
        states = self._read(tokens, self._token_states)
        if states.shape[-1] != self.dim:
            raise ConfigError("this model joins several kinds of pooling: its tokens have no vectors of its dimension")
        return states, torch.from_numpy(self.pad(tokens).mask).to(states.device)

    @contextmanager
    def trained_as(self, reading: Reading, *, recompute: bool = False, compiled: bool = False) -> Iterator[None]:
        """How texts are read in the steps of a training; afterwards as before."""
        transformer: Any = self.transformer
        if recompute:
            if not getattr(transformer, "supports_gradient_checkpointing", False):
                raise ConfigError(
                    f"a {type(transformer).__name__} cannot compute its layers again: set recompute=false"
                )
            transformer.gradient_checkpointing_enable({"use_reentrant": False})
        if compiled:
            transformer.compile(backend=BACKEND, dynamic=True)
        self.reading = reading
        try:
            yield
        finally:
            self.reading = None
            transformer._compiled_call_impl = None
            if recompute:
                transformer.gradient_checkpointing_disable()

    def _read(self, tokens: Tokens, read: Read) -> Tensor:
        if self.reading is None or not self.training or not torch.is_grad_enabled():
            return read(*self._sent(tokens))
        return self.reading.read(tokens.cut(self.pad.room), self._sent, read, self.limit - self.pad.room)

    def _sent(self, tokens: Tokens) -> tuple[Tensor, Tensor]:
        device = next(self.parameters()).device
        padded = self.pad(tokens)
        return torch.from_numpy(padded.ids).to(device), torch.from_numpy(padded.mask).to(device)

    def _vectors(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self._headed(self._hidden(ids, mask), mask)

    def _token_states(self, ids: Tensor, mask: Tensor) -> Tensor:
        features = {"sentence_embedding": self._hidden(ids, mask)}
        for head in self.heads[1:]:
            features = head(features)
        return features["sentence_embedding"]

    def _headed(self, states: Tensor, mask: Tensor) -> Tensor:
        features = {"token_embeddings": states, "attention_mask": mask.long()}
        for head in self.heads:
            features = head(features)
        return features["sentence_embedding"]

    def _without_empty(self, tokens: Tokens, vectors: Tensor) -> Tensor:
        """A text of no token has no vector."""
        empty = tokens.lengths == 0
        if not empty.any():
            return vectors
        return vectors.masked_fill(torch.from_numpy(empty).to(vectors.device)[:, None], 0)

    def _hidden(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The last layer's states, in float32 whatever the layers' precision: all that follows is in it."""
        with nullcontext() if self.reading is None else self.reading.autocast(ids.device):
            found = self.transformer(input_ids=ids, attention_mask=mask.long(), return_dict=True)
        states: Tensor = found.last_hidden_state
        return states.float()


class TransformerEncoder(Encoding):
    """See `Encoder`. `load` makes one from a pretrained model, `restore` from the state of a trained one."""

    def __init__(self, config: EncoderConfig, module: TransformerModule, tokenizer: TextTokenizer, trained: bool):
        super().__init__(config, module.dim, tokenizer, module.pad)
        self._module = module
        self._trained = trained
        self._placed = Placed(module, config.device)
        heads = heads_config(module.heads)
        self._is_mean = len(heads) == 1 and heads[0][1].get("pooling_mode") == "mean"  # then int8 needs no torch
        self._fingerprint = Fingerprint(module, json.dumps([tokenizer.json, heads]))

    @classmethod
    def load(cls, config: EncoderConfig, kind: str | None = None) -> TransformerEncoder:
        """About a second for a small model, after the libraries are loaded."""
        folder = find_folder(kind or config.kind)
        own = not config.trainable and not config.onnx
        with torch.random.fork_rng(devices=[]):  # a layer that the folder has no weights for begins the same each time
            torch.manual_seed(0)
            model = load_sentence_transformer(folder, own_precision=own)
        encoder = cls._of(config, model, folder)
        if config.kind != BUNDLED:
            remember_place(encoder.fingerprint, folder)
        return encoder

    @classmethod
    def found(cls, config: EncoderConfig, fingerprint: str) -> TransformerEncoder:
        """The one that a model was made with, by what this machine has; another one is refused."""
        encoder = cls.load(config, place_of(config.kind, fingerprint))
        if encoder.fingerprint != fingerprint:
            raise ModelError(
                f"the model was made with another {config.kind!r} encoder ({fingerprint[:12]}) than "
                f"the one found now ({encoder.fingerprint[:12]}): put the old weights back in its place, or fit again"
            )
        return encoder

    @classmethod
    def _of(cls, config: EncoderConfig, model: Any, folder: Path) -> TransformerEncoder:
        parts = list(model)
        if parts and type(parts[-1]).__name__ == "Normalize":
            parts.pop()  # encode does that
        names = [type(part).__name__ for part in parts]
        if names[:2] != ["Transformer", "Pooling"] or not set(names[2:]) <= {"Dense"}:
            raise ConfigError(
                f"{folder}: expected the modules Transformer, Pooling, Dense and Normalize; got {', '.join(names)}"
            )
        first = parts[0]
        if config.pooling == "pooler":
            parts[1:] = pooler_heads(first.model)
        if config.trainable and not can_be_rebuilt(first.model):
            raise ConfigError(
                f"{folder}: is a {first.model.config.model_type!r}, and could not be loaded again once it is trained; "
                f"set encoder.trainable=false, or take one of {', '.join(KINDS)}"
            )
        tokenizer = shared_tokenizer(first.tokenizer.backend_tokenizer.to_str())
        limit = min(config.max_tokens or MAX_TOKENS, first.max_seq_length or MAX_TOKENS)
        if config.max_tokens and config.max_tokens > limit:  # positions beyond are untrained, or do not exist
            limit = min(config.max_tokens, positions(first.model, limit) or config.max_tokens)
        return cls(config, TransformerModule(first.model, parts[1:], tokenizer, limit), tokenizer, trained=False)

    def with_head(self, dim: int, seed: int) -> TransformerEncoder:
        """Another one, to be trained: a new linear layer of so many dimensions on the first token ([CLS])."""
        modules = needed("sentence_transformers.sentence_transformer.modules")
        width = int(self._module.transformer.config.hidden_size)  # type: ignore[union-attr, arg-type]
        pooling = modules.Pooling(width, pooling_mode="cls")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            linear = modules.Dense(width, dim, activation_function=nn.Identity())
        module = TransformerModule(self._module.transformer, [pooling, linear], self.tokenizer, self._module.limit)
        return type(self)(self.config, module.eval(), self.tokenizer, trained=True)  # nobody else has this layer

    @property
    def fingerprint(self) -> str:
        return self._fingerprint.value()

    @property
    def module(self) -> TransformerModule:
        return self._module

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = {"fingerprint": self.fingerprint}
        if self._frozen:
            return state
        transformer: Any = self._module.transformer
        weights = {f"weight.{name}": weight.cpu().numpy() for name, weight in self._module.state_dict().items()}
        return {
            **state,
            **weights,
            "tokenizer": self.tokenizer.json,
            "architecture": type(transformer).__name__,
            "transformer": transformer.config.to_json_string(use_diff=False),
            "heads": heads_config(self._module.heads),
            "limit": self._module.limit,
        }

    @classmethod
    def restore(cls, config: EncoderConfig, state: dict[str, Any]) -> TransformerEncoder:
        """From the state alone; what cannot be is refused (rebuilt.py, tokenizer.py)."""
        prefix = "weight."
        arrays = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
        transformer, heads = rebuilt(state, arrays)
        tokenizer = shared_tokenizer(require_known_parts(state["tokenizer"]))
        least = 1 + len(tokenizer.prefix) + len(tokenizer.suffix)
        limit = checks.whole(state["limit"], "limit", least, positions(transformer) or MOST_TOKENS)
        n_tokens = len(transformer.get_input_embeddings().weight)  # type: ignore[operator]
        checks.require(tokenizer.n_ids <= n_tokens, "a tokeniser with more tokens than the encoder has")
        module = TransformerModule(transformer, heads, tokenizer, limit)
        # a copy: training writes into it
        module.load_state_dict({key: torch.from_numpy(np.array(value)) for key, value in arrays.items()})
        return cls(config, module.eval(), tokenizer, trained=True)

    @property
    def _frozen(self) -> bool:
        return not self._trained and not self._fingerprint.changed()

    def _vectors(self, tokens: Tokens, advance: Callable[[int], None], run: Run, *, unit: bool = True) -> FloatArray:
        if self.config.onnx and self._frozen and unit:
            return self._vectors_int8(tokens, advance, run)
        vectors, module = np.zeros((tokens.n_rows, self.dim), np.float32), self._placed()
        with evaluating(module), torch.inference_mode():
            for rows in batches(tokens.lengths, budget(module)):
                found = module(tokens.take(rows)).cpu().numpy()
                vectors[rows] = unit_rows(found) if unit else found
                advance(len(rows))
        return vectors

    def _made_int8(self, run: Run) -> OnnxTransformer:
        from everylabel.encoders.onnx_export import export

        if self._is_mean:
            around = Around(self.tokenizer.json, self.pad.limit, self.pad.pad_id, self.dim)
            around.keep(self.fingerprint, self.config.max_tokens, run)
        return OnnxTransformer(self.fingerprint, lambda: export(self._module.transformer), run)

    def _head(self, states: FloatArray) -> FloatArray:
        if self._is_mean:
            return mean_of(states)
        with torch.inference_mode():
            return self._module.pooled(states)


def positions(transformer: Any, unknown: int = MAX_TOKENS) -> int | None:
    """How many tokens of a text it can read at most, `unknown` where it does not say; None: any number (XLNet's -1)."""
    found = getattr(transformer.config, "max_position_embeddings", None) or unknown
    return int(found) if found > 0 else None


def batches(lengths: LongArray, budget: int, extra: int = 2) -> Iterator[LongArray]:
    """Rows of like length together, as many as fit into the budget of tokens with their padding; longest first."""
    order = np.argsort(-lengths, kind="stable")
    first = 0
    while first < len(order):
        size = max(1, budget // (int(lengths[order[first]]) + extra))
        yield order[first : first + size]
        first += size
