"""Static token embeddings from a transformer, the way of model2vec (github.com/MinishLab/model2vec, MIT).

Each token of the teacher's vocabulary goes through the teacher by itself; PCA; then a weight a / (a + p) with p by
Zipf's law from the token's place in the vocabulary (WordPiece's is in the order of frequency) and a = 1e-4. The
difference: the teacher's own pooling is used, the ids stay the teacher's, and tokens that no text has ("[unused7]",
"[CLS]") are rows of zeros. About a minute of processor time for MiniLM, once: kept in the cache by the teacher's
content, and memory-mapped from there: all encoders of a process, and all processes, share it.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np

from everylabel.atomic import replaced
from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.cache import cache_root
from everylabel.encoders.places import BUNDLED, remember_place
from everylabel.encoders.pretrained import find_folder, folder_hash
from everylabel.forks import Lock
from everylabel.mapping import array_in, map_file
from everylabel.run import QUIET, Run
from everylabel.types import FloatArray, LongArray

if TYPE_CHECKING:
    from everylabel.encoders.table import TokenTable

DIM = 256
SIF = 1e-4
RECIPE = f"model2vec 1 dim={DIM} sif={SIF}"  # another recipe, another name: cached files of the old one are not used
_BATCH = 512


class Distilled:
    """What the teacher gave, and the tables that are made of it."""

    def __init__(self, embedding: FloatArray, tokenizer: str, recipe: str) -> None:
        self.embedding, self.tokenizer = embedding, tokenizer
        self.recipe = recipe  # hash of what decides the embedding
        self._tables: dict[int, TokenTable] = {}

    def table(self, n_signs: int) -> TokenTable:
        """One for all who ask for so many lexical dimensions."""
        from everylabel.encoders.table import TokenTable

        if n_signs not in self._tables:
            self._tables.setdefault(n_signs, TokenTable.of(self.embedding, n_signs))
        return self._tables[n_signs]


_in_use: WeakValueDictionary[str, Distilled] = WeakValueDictionary()
_lock = Lock()


def distilled(teacher: str, run: Run = QUIET) -> Distilled:
    """From memory or from the cache, or else made now and kept there."""
    recipe = recipe_of(teacher)
    if teacher != BUNDLED:
        remember_place(recipe, find_folder(teacher))
    kept = kept_distilled(recipe)
    if kept is not None:
        return kept
    file = _file_of(recipe)
    run.say(f"no static embeddings of {teacher} yet: distilling them, once, into {file.parent}")
    embedding, tokenizer = distil(teacher, run)
    _write(file, embedding, tokenizer, run)
    kept = kept_distilled(recipe)  # mapped; unless it could not be written
    return Distilled(embedding, tokenizer, recipe) if kept is None else kept


def recipe_of(teacher: str) -> str:
    """A hash of all that decides what is distilled."""
    return hashlib.sha256(f"{folder_hash(find_folder(teacher))} {RECIPE}".encode()).hexdigest()


def kept_distilled(recipe: str) -> Distilled | None:
    """The one of this recipe, from memory or from the cache: the teacher is not looked at."""
    with _lock:
        found = _in_use.get(recipe)
        if found is None and re.fullmatch("[0-9a-f]{64}", recipe):
            kept = _read(_file_of(recipe))
            if kept is not None:
                found = _in_use[recipe] = Distilled(*kept, recipe)
        return found


def distil(teacher: str, run: Run = QUIET) -> tuple[FloatArray, str]:
    """The embedding of each of the teacher's token ids, and the tokeniser's JSON."""
    import torch

    from everylabel.encoders.transformer import TransformerEncoder

    encoder = TransformerEncoder.load(EncoderConfig(kind=teacher, cache=False, trainable=False))
    kept = kept_ids(encoder.tokenizer.vocabulary, encoder.tokenizer.special_ids())
    vectors = np.empty((len(kept), encoder.dim), np.float32)
    with torch.inference_mode(), run.task("distilling", len(kept)) as advance:
        for first in range(0, len(kept), _BATCH):
            ids = kept[first : first + _BATCH].astype(np.int32)
            tokens = Tokens(ids, np.arange(len(ids) + 1))
            vectors[first : first + _BATCH] = encoder.module(tokens).cpu().numpy()
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


def _file_of(recipe: str) -> Path:
    return cache_root() / "static" / f"{recipe[:32]}.safetensors"


def _read(file: Path) -> tuple[FloatArray, str] | None:
    """The mapped embedding and the tokeniser; None when there is none or it is damaged: then it is made again.

    A safetensors file is the length of its header, the header and the numbers: nothing else is needed to map them.
    """
    try:
        with file.open("rb") as stream:
            size = int.from_bytes(stream.read(8), "little")
            header = json.loads(stream.read(min(size, file.stat().st_size)))
        notes, entry = header["__metadata__"], header["embedding"]
        embedding = array_in(map_file(file), "<f4", entry["shape"], 8 + size + int(entry["data_offsets"][0]))
        tokenizer = str(notes["tokenizer"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    return (embedding, tokenizer) if notes.get("sha256") == _digest(embedding, tokenizer) else None


def _digest(embedding: FloatArray, tokenizer: str) -> str:
    """One pass over the numbers: some 20 ms."""
    total = hashlib.sha256(np.ascontiguousarray(embedding).data)
    total.update(tokenizer.encode())
    return total.hexdigest()


def _write(file: Path, embedding: FloatArray, tokenizer: str, run: Run) -> None:
    """A cache that cannot be written is no error: the embeddings are made again the next time."""
    from safetensors.numpy import save_file

    notes = {"tokenizer": tokenizer, "sha256": _digest(embedding, tokenizer)}
    try:
        with replaced(file) as fresh:
            save_file({"embedding": embedding}, fresh, metadata=notes)
    except OSError as error:
        run.say(f"{file}: cannot be kept ({error.strerror or error}); it will be made again the next time")
