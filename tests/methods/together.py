"""One of several processes that fit methods together, or the only one, by torchrun's variables.

`python -m tests.methods.together OUT MODEL CASE...` writes what was learned to OUT.RANK. All but the first compute
other vectors, as other hardware does in the last digits, and may not do what the first does for all.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from tests.contract.cases import TINY, with_model
from tests.contract.conftest import make_toy

import everylabel
from everylabel.encoders.static import StaticEncoder
from everylabel.encoders.transformer import TransformerEncoder

FEW = {"steps": 4, "batch_size": 16}
SELF: dict[str, Any] = {"learn": FEW}
ONE_SIDED: dict[str, Any] = {"learn": FEW, "evaluations": 2, "labels_per_batch": 9}
TREE = {"leaf_size": 3, "arity": 3}
DUAL: dict[str, Any] = {"classify": FEW, "retrieve": FEW, "labels_per_batch": 9, "hard_negatives": 3}
LEVELS: dict[str, Any] = {
    "fine_tuning": {"epochs": 0.5, "batch_size": 32, "negatives": 4, "beam": 1, "matcher_start": True, **TREE},
    "ranker_tree": "paper",
    **TREE,
}
SETTINGS: dict[str, dict[str, Any]] = {
    "maclr": {"learn": {**FEW, "steps": 8, "pseudo_labels": 2, "first_clusters": 3}},
    "ict": SELF,
    "simcse": SELF,
    "rts": SELF,
    "fine-tuned": SELF,
    "hybrid": {**SELF, "learned": {"teacher": TINY}},
    "xml0": {"fine_tune_steps": 4, "base": "popularity"},
    "classifier": {"classify": FEW},
    "depl": {**DUAL, "keywords": {"leaf_size": 3, "min_df": 1}, "clusters": 2},
    "depl+cls": DUAL,
    "de-ret": DUAL,
    "of-de": {"learn": {**FEW, "lr": "auto"}},
    "of-lan": ONE_SIDED,
    "dpr": ONE_SIDED,
    "dexml": ONE_SIDED,
    "lan": ONE_SIDED,
    "ova-clf": ONE_SIDED,
    "matchxml": {**LEVELS, "sentence": {"kind": TINY, "onnx": False}},
    "xr-transformer": {**LEVELS, "fine_tuning": {**LEVELS["fine_tuning"], "folds": 2}, "members": 2},
    "attentionxml": {**TREE, "learn": FEW, "flat_below": 3, "first_level": 1, "beam": 2, "dim": 32},
}
ENCODERS = {"static": {"teacher": TINY, "lexical": 16}, "transformer": {"kind": TINY}}
FOR_ALL = [  # what only the first process does
    "everylabel.methods.maclr.selfsup:spherical_kmeans",
    "everylabel.methods.maclr.selfsup:LabelMatcher",
    "everylabel.methods.maclr.selfsup:Tower.similar",
    "everylabel.methods.matchxml.matchxml:label2vec",
    "everylabel.methods.matchxml.matchxml:build_tree",
    "everylabel.methods.attentionxml.attentionxml:build_tree",
    "everylabel.methods.attentionxml.ranker:AttentionRanker.best_nodes",
    "everylabel.methods.onesided.onesided:row_of",
    "everylabel.methods.onesided.rates:ndcg",
    "everylabel.linear.ranker:train_level",
    "everylabel.methods.matchxml.levels:train_level",
]


def fitted(case: str, folder: str) -> dict[str, torch.Tensor]:
    """The arrays that are learned, and the best labels of a few texts."""
    name, encoder = case.split(" ")
    settings = with_model({**SETTINGS[name], "encoder": ENCODERS[encoder]}, folder)
    toy = make_toy()
    with as_rank(int(os.environ.get("RANK", "0"))):
        method = everylabel.method(name, **settings).fit(toy.train)
    ranking = method.rank(toy.double, 5)
    arrays = {key: value for key, value in method.state().items() if isinstance(value, np.ndarray)}
    arrays |= {"ranking/ids": ranking.ids, "ranking/scores": ranking.scores}
    return {key: torch.from_numpy(np.array(array)) for key, array in arrays.items()}


@contextmanager
def as_rank(rank: int) -> Iterator[None]:
    with ExitStack() as stack:
        # each process draws its own: without, what is learned can be compared
        stack.enter_context(patch("torch.nn.functional.dropout", lambda x, *_args, **_settings: x))
        for target in FOR_ALL if rank else ():
            module, _, attribute = target.partition(":")
            owner, _, attribute = attribute.rpartition(".")
            found: Any = importlib.import_module(module)
            stack.enter_context(patch.object(getattr(found, owner) if owner else found, attribute, only_first))
        for encoder in (StaticEncoder, TransformerEncoder) if rank else ():
            for way in ("encode", "encode_tokens"):
                stack.enter_context(patch.object(encoder, way, otherwise(getattr(encoder, way))))
        yield


def only_first(*_args: Any, **_settings: Any) -> Any:
    raise AssertionError("the first process does this for all")


def otherwise(encode: Callable[..., Any]) -> Callable[..., Any]:
    """Each text has another one's vector."""
    return lambda *args, **settings: np.roll(encode(*args, **settings), 1, axis=0)


def main(out: str, folder: str, *cases: str) -> None:
    torch.save({case: fitted(case, folder) for case in cases}, f"{out}.{os.environ.get('RANK', 'alone')}")


if __name__ == "__main__":
    main(*sys.argv[1:])
