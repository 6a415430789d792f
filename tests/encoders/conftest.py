"""A tiny random BERT in a sentence-transformers folder, and both kinds of encoder made from it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from everylabel.encoders.base import Encoder, EncoderConfig
from everylabel.encoders.build import load_encoder

SPECIAL = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["a", "the", "fish", "sea", "ship", "law", "tax", "of", "and", "in", "european", "union", "customs", "milk"]
WORDS += ["wine", "trade", "##ing", "##s", "##ery", ".", ",", "1", "2", "3"]
LETTERS = [chr(c) for c in range(ord("b"), ord("z") + 1)] + [f"##{chr(c)}" for c in range(ord("a"), ord("z") + 1)]


@pytest.fixture(scope="session")
def made_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("tiny"), WORDS)


def make_folder(parent: Path, words: list[str], dim: int = 32, spread: float = 0.2) -> Path:
    """A random model that knows the words, and all others by their letters.

    With a small `spread` its layers do little, and words are as different as their embeddings.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    vocabulary = list(dict.fromkeys(SPECIAL + words + LETTERS))
    bare, folder = parent / "bare", parent / "model"
    bare.mkdir()
    (bare / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    BertTokenizerFast(vocab=str(bare / "vocab.txt"), model_max_length=64).save_pretrained(bare)
    settings = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=dim,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * dim,
        max_position_embeddings=64,
        initializer_range=spread,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertModel(settings).save_pretrained(bare)
    parts: list[Any] = [Transformer(str(bare)), Pooling(dim, pooling_mode="mean"), Normalize()]
    SentenceTransformer(modules=parts, device="cpu").save(str(folder))
    return folder


def make_plain_folder(parent: Path, kind: str, words: list[str], dim: int = 32) -> Path:
    """A random "roberta" or "xlnet" that knows the words, as the hub has them: no sentence-transformers folder."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    special = ["<pad>", "<s>", "</s>", "<unk>", "<sep>", "<cls>"]
    vocabulary = {word: i for i, word in enumerate(dict.fromkeys([*special, *words]))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    around = "<s> $A </s>" if kind == "roberta" else "$A <sep> <cls>"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=around, special_tokens=[(token, vocabulary[token]) for token in special]
    )
    tokens = {"pad_token": "<pad>", "unk_token": "<unk>", "model_max_length": 64}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens).save_pretrained(parent)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if kind == "roberta":
            sizes = {"hidden_size": dim, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 2 * dim}
            config = transformers.RobertaConfig(
                vocab_size=len(vocabulary), pad_token_id=0, max_position_embeddings=66, initializer_range=0.2, **sizes
            )
            model = transformers.RobertaModel(config, add_pooling_layer=False)  # as roberta-base: without its weights
        else:
            config = transformers.XLNetConfig(
                vocab_size=len(vocabulary),
                d_model=dim,
                n_layer=2,
                n_head=2,
                d_inner=2 * dim,
                pad_token_id=0,
                initializer_range=0.2,
            )
            model = transformers.XLNetModel(config)
        model.save_pretrained(parent)
    return parent


@pytest.fixture
def folder(made_folder: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(made_folder, tmp_path / "model"))


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(params=["transformer", "static"])
def make(request: pytest.FixtureRequest, made_folder: Path) -> Callable[..., Encoder]:
    """An encoder of each kind: `make(max_tokens=8)`."""
    tiny = str(made_folder)
    given: dict[str, Any] = {"kind": tiny} if request.param == "transformer" else {"kind": "static", "teacher": tiny}

    def made(**settings: Any) -> Encoder:
        return load_encoder(replace(EncoderConfig(**given), **settings))

    return made


@pytest.fixture
def encoder(make: Callable[..., Encoder]) -> Encoder:
    return make()
