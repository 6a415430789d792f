"""Static token embeddings that are learned from the documents at hand: for languages that the teacher does not know.

The bundled teacher knows English word pieces. Here the pieces are those of the documents (WordPiece: a
compound falls into the words that it is made of, an ending off its stem), and a piece's vector says which documents it
is in: the right singular vectors of the documents' TF-IDF (latent semantic analysis, Deerwester et al. 1990), each of
length 1. Lexical dimensions are as those of distilled embeddings (static.py).
Cost: a pass over at most DOCUMENTS documents for the pieces, and 2 x (1 + PASSES) x tokens x 272 operations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.distil import DIM, Distilled
from everylabel.encoders.static import StaticEncoder
from everylabel.encoders.tokenizer import shared_tokenizer
from everylabel.run import QUIET, Run
from everylabel.types import Csr, FloatArray
from everylabel.vectors import unit_rows

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PIECES = 30_000
DOCUMENTS = 20_000  # that are looked at
PASSES = 2  # of subspace iteration
LETTERS = 4_000  # characters that are pieces
UNKNOWN = "[UNK]"
BESIDE = 16  # directions more than are kept, so that these are exact


def learned_encoder(config: EncoderConfig, texts: Sequence[str], seed: int, run: Run = QUIET) -> StaticEncoder:
    """Of these documents; their order does not matter beyond rounding if they come in the order of their ids."""
    chosen = np.sort(np.random.default_rng(seed).permutation(len(texts))[:DOCUMENTS])
    some = [texts[i] for i in chosen]
    run.say(f"learning word pieces and their vectors from {len(some):,} documents")
    tokenizer = pieces_of_texts(some)
    tokens = shared_tokenizer(tokenizer)(some, run=run)
    vectors = meanings(tokens, shared_tokenizer(tokenizer).n_ids, seed)
    recipe = hashlib.sha256(tokenizer.encode() + vectors.tobytes()).hexdigest()
    return StaticEncoder.taught(config, Distilled(vectors, tokenizer, recipe))


def pieces_of_texts(texts: Sequence[str]) -> str:
    """A tokeniser's JSON: letters in lower case, accents as they are. The same texts give the same pieces: the letters
    are numbered beforehand, by which the trainer chooses between pairs that are as frequent."""
    from tokenizers.trainers import WordPieceTrainer

    readable = [text.encode("utf-8", "replace").decode() for text in texts]
    letters = _letters(readable)
    numbered = [UNKNOWN, *letters, *(f"##{letter}" for letter in letters)]
    trained = _tokenizer({})
    trainer = WordPieceTrainer(vocab_size=PIECES, min_frequency=2, special_tokens=numbered, show_progress=False)
    trained.train_from_iterator(readable, trainer)
    made = _tokenizer(trained.get_vocab())
    made.add_special_tokens([UNKNOWN])
    return str(made.to_str())


def _tokenizer(vocabulary: dict[str, int]) -> Tokenizer:
    """As BERT's, whose words are looked up one by one (tokenizer.py), but for the accents."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    made = Tokenizer(WordPiece(vocabulary, unk_token=UNKNOWN))
    made.normalizer = BertNormalizer(strip_accents=False)
    made.pre_tokenizer = BertPreTokenizer()
    return made


def _letters(texts: Sequence[str]) -> list[str]:
    """The commonest characters, in their order."""
    codes = np.frombuffer("".join(text.lower() for text in texts).encode("utf-32-le"), np.uint32)
    found, counts = np.unique(codes, return_counts=True)
    kept = np.sort(found[np.argsort(-counts, kind="stable")[:LETTERS]])
    return [letter for letter in map(chr, kept.tolist()) if not letter.isspace() and letter.isprintable()]


def meanings(tokens: Tokens, n_pieces: int, seed: int) -> FloatArray:
    """(pieces, DIM), rows of length 1, or fewer columns where there are fewer texts or pieces; 0 for [UNK]."""
    X = _tfidf(tokens, n_pieces)
    wanted = min(DIM, *X.shape)
    basis = np.random.default_rng(seed).standard_normal((X.shape[1], min(wanted + BESIDE, *X.shape))).astype(np.float32)
    for _ in range(1 + PASSES):
        basis, _ = np.linalg.qr(X @ basis)
        basis, _ = np.linalg.qr(X.T @ basis)
    _, _, turn = np.linalg.svd(X @ basis, full_matrices=False)
    found = unit_rows(np.asarray(basis @ turn[:wanted].T, np.float32))
    found[0] = 0
    return np.ascontiguousarray(np.pad(found, ((0, 0), (0, DIM - wanted))), np.float32)


def _tfidf(tokens: Tokens, n_pieces: int) -> Csr:
    """Texts x pieces."""
    X = csr_matrix((np.ones(len(tokens.ids), np.float32), tokens.ids, tokens.offsets), shape=(tokens.n_rows, n_pieces))
    X.sum_duplicates()
    idf = np.log((1 + X.shape[0]) / (1 + np.bincount(X.indices, minlength=n_pieces))) + 1
    X.data = ((1 + np.log(X.data)) * idf[X.indices]).astype(np.float32)
    return csr_matrix(unit_rows(X))
