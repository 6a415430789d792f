"""Static token embeddings from a transformer, the way of model2vec (github.com/MinishLab/model2vec, MIT).

Each token of the teacher's vocabulary goes through the teacher by itself; PCA; then a weight a / (a + p) with p by
Zipf's law from the token's place in the vocabulary (WordPiece's is in the order of frequency) and a = 1e-4. The
difference: the teacher's own pooling is used, the ids stay the teacher's, and tokens that no text has ("[unused7]",
"[CLS]") are rows of zeros. About a minute of processor time for MiniLM, once: kept in the cache by the teacher's
content.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from everylabel.atomic import replaced
from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.cache import cache_root
from everylabel.encoders.pretrained import find_folder, folder_hash, needed
from everylabel.progress import say, task
from everylabel.types import FloatArray, LongArray

DIM = 256
SIF = 1e-4
RECIPE = f"model2vec 1 dim={DIM} sif={SIF}"  # another recipe, another name: cached files of the old one are not used
_BATCH = 512


class Distilled(NamedTuple):
    embedding: FloatArray
    tokenizer: str
    recipe: str  # hash of what decides the embedding


def distilled(teacher: str) -> Distilled:
    """From the cache, or else made now and kept there."""
    folder = find_folder(teacher)
    recipe = hashlib.sha256(f"{folder_hash(folder)} {RECIPE}".encode()).hexdigest()
    file = cache_root() / "static" / f"{recipe[:32]}.safetensors"
    kept = _read(file)
    if kept is not None:
        return Distilled(*kept, recipe)
    say(f"no static embeddings of {teacher} yet: distilling them, once, into {file.parent}")
    embedding, tokenizer = distil(teacher)
    _write(file, embedding, tokenizer)
    return Distilled(embedding, tokenizer, recipe)


def distil(teacher: str) -> tuple[FloatArray, str]:
    """The embedding of each of the teacher's token ids, and the tokeniser's JSON."""
    import torch

    from everylabel.encoders.transformer import TransformerEncoder

    encoder = TransformerEncoder.load(EncoderConfig(kind=teacher, cache=False))
    kept = kept_ids(encoder.tokenizer.vocabulary, encoder.tokenizer.special_ids())
    vectors = np.empty((len(kept), encoder.dim), np.float32)
    with torch.inference_mode(), task("distilling", len(kept)) as advance:
        for first in range(0, len(kept), _BATCH):
            ids = kept[first : first + _BATCH].astype(np.int32)
            tokens = Tokens(ids, np.arange(len(ids) + 1))
            vectors[first : first + _BATCH] = encoder.module(tokens).numpy()
            advance(len(ids))
    embedding = np.zeros((encoder.tokenizer.n_ids, min(DIM, encoder.dim)), np.float32)
    embedding[kept] = principal(vectors, DIM) * zipf_weights(len(kept))[:, None]
    return embedding, encoder.tokenizer.json


def kept_ids(vocabulary: dict[str, int], special: list[int]) -> LongArray:
    """The ids that texts have, in the order of the vocabulary."""
    left_out = set(special)
    kept = [i for token, i in vocabulary.items() if i not in left_out and not re.fullmatch(r"\[unused\d+\]", token)]
    return np.array(sorted(kept), np.int64)


def principal(vectors: FloatArray, dim: int) -> FloatArray:
    """The first principal components, the sign of each such that its largest value is positive.

    In double precision, so that the result depends on the machine as little as can be. O(n d^2 + d^3).
    """
    centred = vectors.astype(np.float64)
    centred -= centred.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    scores = centred @ directions[:, ::-1][:, :dim]
    largest = scores[np.abs(scores).argmax(axis=0), np.arange(scores.shape[1])]
    return np.asarray(scores * np.where(largest < 0, -1, 1), np.float32)


def zipf_weights(n_tokens: int) -> FloatArray:
    inverse_rank = 1 / np.arange(2, n_tokens + 2)
    probability = inverse_rank / inverse_rank.sum()
    return np.asarray(SIF / (SIF + probability), np.float32)


def _read(file: Path) -> tuple[FloatArray, str] | None:
    """None when there is none or it is damaged: then it is made again."""
    safetensors = needed("safetensors")
    try:
        with safetensors.safe_open(file, framework="numpy") as stored:
            embedding = np.asarray(stored.get_tensor("embedding"), np.float32)
            notes = stored.metadata() or {}
    except (OSError, safetensors.SafetensorError):
        return None
    tokenizer = notes.get("tokenizer", "")
    whole = notes.get("sha256") == hashlib.sha256(embedding.tobytes() + tokenizer.encode()).hexdigest()
    return (embedding, tokenizer) if whole else None


def _write(file: Path, embedding: FloatArray, tokenizer: str) -> None:
    """A cache that cannot be written is no error: the embeddings are made again the next time."""
    from safetensors.numpy import save_file

    digest = hashlib.sha256(embedding.tobytes() + tokenizer.encode()).hexdigest()
    try:
        with replaced(file) as fresh:
            save_file({"embedding": embedding}, fresh, metadata={"tokenizer": tokenizer, "sha256": digest})
    except OSError as error:
        say(f"{file}: cannot be kept ({error.strerror or error}); it will be made again the next time")
