"""One of several processes that train together, or the only one: `python -m tests.train.peer OUT MODEL`, by torchrun's
variables.

A transformer, a layer and a sparse table, contrasted within the batch; what was learned is written to OUT.RANK.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.transformer import TransformerEncoder
from everylabel.run import QUIET, Run
from everylabel.train.checkpoint import checkpointing
from everylabel.train.loop import Group, TrainConfig, train
from everylabel.train.losses import info_nce
from everylabel.train.peers import by_first

N = 7  # texts of a batch: no multiple of two


def batches(_number: int, rng: np.random.Generator) -> Any:
    texts = [Tokens.of([rng.integers(6, 40, rng.integers(0, 12)).tolist() for _ in range(N)]) for _ in range(2)]
    return texts, torch.from_numpy(rng.integers(0, 9, N))


def loss(both: Any, batch: Any) -> dict[str, Tensor]:
    (one, other), rows = batch
    x, y = both["layer"](both["encoder"](one)), both["encoder"](other)
    states, mask = both["encoder"].states(one)
    size = (states * mask[..., None]).square().mean()
    return {"pairs": info_nce(x, y, 2.0), "rows": (both["table"](rows) * y).mean(), "size": 0.1 * size}


def learned(folder: str, *, dropout: float = 0.0, run: Run = QUIET, stop: int = 0, **settings: Any) -> dict[str, Any]:
    """Losses and weights; `stop`: left after so many steps."""
    torch.manual_seed(len(os.environ.get("RANK", "")) + int(os.environ.get("RANK", "0")))  # no process starts alike
    encoder = TransformerEncoder.load(EncoderConfig(kind=folder)).module
    for part in encoder.modules():
        if isinstance(part, nn.Dropout):
            part.p = dropout
    dim = encoder.dim
    parts = {"encoder": encoder, "layer": nn.Linear(dim, dim), "table": nn.Embedding(9, dim, sparse=True)}
    both = nn.ModuleDict(parts)
    if os.environ.get("RANK", "0") == "0":  # the others have what the first one has
        generator = torch.Generator().manual_seed(3)
        for name in ("layer", "table"):
            for weight in parts[name].parameters():
                weight.data = torch.randn(weight.shape, generator=generator) * 0.1
    # the gradient of a key's bias is 0 but for rounding, which Adam would make as large as any: not with this epsilon
    dense = [*encoder.parameters(), *parts["layer"].parameters()]
    groups = [Group(dense, lr=1e-3, weight_decay=0.1, eps=1e-3)]
    groups += [Group(parts["table"].parameters(), lr=1e-2, sparse=True)]
    config = TrainConfig(**{"steps": 4, "device": "cpu", "checkpoint_every": 0, **settings})
    losses = {}
    for step in train(both, batches, loss, config, groups=groups, seed=1, run=run):
        losses[step.number] = step.loss
        if step.number == stop:
            break
    return {"losses": losses, "weights": {name: weight.detach() for name, weight in both.state_dict().items()}}


def failed() -> str:
    """What all say of an error of the first."""

    def fail() -> None:
        raise ValueError("the first one's error" if os.environ.get("RANK", "0") == "0" else "another one's")

    try:
        by_first(fail)
    except ValueError as error:
        return str(error)
    return "no error"


def main(out: str, folder: str) -> None:
    """Without dropout, with it, as large encoders are trained; and a training that is left and goes on."""
    found = {
        "plain": learned(folder),
        "dropout": learned(folder, dropout=0.3),
        "parts": learned(folder, tokens_at_once=20, accumulate=2),
        "recomputed": learned(folder, recompute=True),
        "bf16": learned(folder, precision="bf16", recompute=True),
    }
    for stop in (2, 0):
        with checkpointing(out + ".training") as checkpoints:
            found["resumed"] = learned(folder, run=Run(checkpoints=checkpoints), stop=stop)
    found["first"] = {"told": by_first(lambda: os.environ.get("RANK", "0")), "failed": failed()}
    torch.save(found, f"{out}.{os.environ.get('RANK', 'alone')}")


if __name__ == "__main__":
    main(*sys.argv[1:])
