"""How a transformer reads the texts of a training step: in parts, by several processes, in another precision.

Gradient caching ("Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup", GradCache): a batch is read
part by part without its activations, the loss compares the vectors of all parts, and on the way back each part is read
again. That is torch's checkpointing of a part, so no loss has to know of it. Memory: the activations of one part; time:
one more pass forward. Parts are of like length, so that little is padded; which texts meet in a batch does not change.

With peers each process reads its share of the rows, and all have the vectors of all: in-batch negatives are those of
the joint batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from everylabel.encoders.base import Tokens
from everylabel.types import LongArray

Read = Callable[[Tensor, Tensor], Tensor]  # of ids and mask
Send = Callable[[Tokens], tuple[Tensor, Tensor]]  # ids and mask of texts, where they are read


class Sharing(Protocol):
    """Processes that train together (train/peers.py)."""

    rank: int
    world: int

    def gathered(self, own: Tensor) -> Tensor:
        """The rows of all processes, one process after the other; gradients go back to their own."""


@dataclass(frozen=True)
class Reading:
    """The parts of a batch; with the defaults it is read as a whole."""

    bf16: bool = False
    tokens_at_once: int = 0  # 0: no gradient caching
    buckets: int = 1
    peers: Sharing | None = None

    def autocast(self, device: torch.device) -> AbstractContextManager[Any]:
        return torch.autocast(device.type, torch.bfloat16) if self.bf16 else nullcontext()

    def read(self, tokens: Tokens, send: Send, read: Read, extra: int) -> Tensor:
        """`read` of all rows, in their order; `extra`: special tokens of a text."""
        if self.peers is None or self.peers.world == 1 or not tokens.n_rows:
            return self._parts(tokens, send, read, extra)
        order = np.argsort(-tokens.lengths, kind="stable")  # each process has as many long texts as the others
        rank, world = self.peers.rank, self.peers.world
        own = order[rank::world]
        missing = -(-len(order) // world) - len(own)  # all have as many rows: empty ones where they do not add up
        texts = Tokens.join([tokens.take(own), Tokens.of([[]] * missing)]) if missing else tokens.take(own)
        with own_dropout(rank):
            found = self._parts(texts, send, read, extra, int(tokens.lengths.max()))
        gathered = self.peers.gathered(found)
        by_place = gathered.view(world, len(found), *found.shape[1:]).transpose(0, 1).flatten(0, 1)
        return by_place[torch.from_numpy(np.argsort(order)).to(by_place.device)]

    def _parts(self, tokens: Tokens, send: Send, read: Read, extra: int, longest: int = 0) -> Tensor:
        """Vectors, or states of all tokens, which are then as long as the longest row."""
        parts = list(self._rows(tokens.lengths, extra))
        if not parts or (len(parts) == 1 and not self.tokens_at_once and not longest):
            return read(*send(tokens))
        found = []
        for rows in parts:
            ids, mask = send(tokens.take(rows))
            found.append(self._kept(read, ids, mask))
        if found[0].ndim == 3:
            width = max(*(part.shape[1] for part in found), longest + extra)
            found = [torch.nn.functional.pad(part, (0, 0, 0, width - part.shape[1])) for part in found]
        back = np.argsort(np.concatenate(parts))
        return torch.cat(found)[torch.from_numpy(back).to(found[0].device)]

    def _kept(self, read: Read, ids: Tensor, mask: Tensor) -> Tensor:
        """Without activations, where they are computed again: torch remembers the draws of dropout by these tensors."""
        if not self.tokens_at_once:
            return read(ids, mask)
        found: Tensor = checkpoint(read, ids, mask, use_reentrant=False)
        return found

    def _rows(self, lengths: LongArray, extra: int) -> Iterator[LongArray]:
        """Rows of each part: those of like length together, the longest first."""
        order = np.argsort(-lengths, kind="stable")
        for bucket in np.array_split(order, min(self.buckets, max(1, len(order)))):
            size = max(1, len(bucket))
            first = 0
            while first < len(bucket):
                if self.tokens_at_once:
                    size = max(1, self.tokens_at_once // (int(lengths[bucket[first]]) + extra))
                yield bucket[first : first + size]
                first += size


@contextmanager
def own_dropout(rank: int) -> Iterator[None]:
    """Draws of this process alone; those after the block are again the same with all."""
    seed = int(torch.randint(2**62, ()))
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed + rank)
        yield
