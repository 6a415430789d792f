"""Transformers that were exported here before are read without torch: same vectors, and never another's graph."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers.sentence_transformer.modules import Pooling

from everylabel.encoders.base import Encoder, EncoderConfig
from everylabel.encoders.build import load_encoder, restore_encoder
from everylabel.encoders.frozen import FrozenEncoder
from everylabel.encoders.onnx import mean_of
from everylabel.encoders.transformer import TransformerEncoder
from everylabel.errors import ModelError

pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.usefixtures("cache_folder")
TEXTS = ["fish in the sea", "", "customs law of the european union, 1 2 3.", "trading ships " * 60, "milk"]
PROBE = """
import json, sys
from everylabel.encoders.base import EncoderConfig
from everylabel.encoders.build import restore_encoder
encoder = restore_encoder(EncoderConfig(kind=sys.argv[1], onnx=True), {"fingerprint": sys.argv[2]})
vectors = encoder.encode(json.loads(sys.argv[3]))
loaded = [name for name in ("torch", "transformers", "sentence_transformers", "onnx") if name in sys.modules]
print(json.dumps([vectors.tobytes().hex(), loaded]))
"""


@pytest.fixture
def config(made_folder: Path) -> EncoderConfig:
    return EncoderConfig(kind=str(made_folder), onnx=True)


@pytest.fixture
def whole(config: EncoderConfig) -> Encoder:
    encoder = load_encoder(config)
    encoder.encode(["fish"])  # exports it
    return encoder


def test_the_first_one_is_whole_and_the_next_is_not(config: EncoderConfig, whole: Encoder) -> None:
    assert isinstance(whole, TransformerEncoder)
    found = restore_encoder(config, whole.state())
    assert isinstance(found, FrozenEncoder)
    assert (found.dim, found.limit, found.fingerprint) == (whole.dim, whole.limit, whole.fingerprint)
    assert found.state() == whole.state()
    np.testing.assert_array_equal(found.encode(TEXTS), whole.encode(TEXTS))
    np.testing.assert_array_equal(found.encode_passages(TEXTS)[0], whole.encode_passages(TEXTS)[0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).encode(TEXTS), whole.encode(TEXTS))


def test_neither_torch_nor_its_libraries_are_loaded(config: EncoderConfig, whole: Encoder, cache_folder: Path) -> None:
    command = [sys.executable, "-c", PROBE, config.kind, whole.fingerprint, json.dumps(TEXTS)]
    environment = {**os.environ, "EVERYLABEL_CACHE": str(cache_folder)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [whole.encode(TEXTS).tobytes().hex(), []]


@pytest.mark.parametrize("ending", ["onnx", "sha256", "json"])
@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_what_is_damaged_is_made_again(
    config: EncoderConfig, whole: Encoder, cache_folder: Path, ending: str, damage: str
) -> None:
    (file,) = (cache_folder / "onnx").glob(f"*.{ending}")
    good = file.read_bytes()
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(good[:-9] if damage == "cut" else good[:-9] + b"damaged!!")
    found = restore_encoder(config, whole.state())
    np.testing.assert_array_equal(found.encode(TEXTS), whole.encode(TEXTS))
    assert file.is_file()
    assert isinstance(restore_encoder(config, whole.state()), FrozenEncoder)


def test_other_settings_have_another_limit(config: EncoderConfig, whole: Encoder) -> None:
    shorter = EncoderConfig(kind=config.kind, onnx=True, max_tokens=8)
    first, then = (restore_encoder(shorter, whole.state()) for _ in range(2))
    assert first.limit == then.limit == 6
    first.encode(TEXTS)
    found = restore_encoder(shorter, whole.state())
    assert isinstance(found, FrozenEncoder)
    assert found.limit == 6
    np.testing.assert_array_equal(found.encode(TEXTS), first.encode(TEXTS))
    assert isinstance(restore_encoder(EncoderConfig(kind=config.kind), whole.state()), TransformerEncoder)


def test_the_module_is_loaded_when_it_is_asked_for_and_its_training_counts(
    config: EncoderConfig, whole: Encoder
) -> None:
    found = restore_encoder(config, whole.state())
    tokens = found.tokenize(TEXTS)
    np.testing.assert_array_equal(found.encode_tokens(tokens, unit=False), whole.encode_tokens(tokens, unit=False))
    with torch.no_grad():
        for encoder in (found, whole):
            next(encoder.module.transformer.parameters()).mul_(1.5)  # type: ignore[union-attr]
    assert found.fingerprint == whole.fingerprint
    assert sorted(found.state()) == sorted(whole.state())
    np.testing.assert_array_equal(found.encode(TEXTS), whole.encode(TEXTS))


def test_a_model_gets_only_what_this_machine_knows(config: EncoderConfig, whole: Encoder) -> None:
    assert restore_encoder(config, whole.state())
    with pytest.raises(ModelError, match="nothing was fitted with it here"):
        restore_encoder(config, {"fingerprint": "f" * 64})
    with pytest.raises(ModelError):
        restore_encoder(config, {"fingerprint": "\ud800"})


@pytest.mark.parametrize("n_tokens", [1, 15, 16, 17, 64, 255, 256, 300])
def test_a_mean_is_torchs(n_tokens: int) -> None:
    states = np.random.default_rng(0).standard_normal((n_tokens, 384)).astype(np.float32)
    features = {"token_embeddings": torch.from_numpy(states[None]), "attention_mask": torch.ones(1, n_tokens)}
    theirs = Pooling(384, pooling_mode="mean")(features)["sentence_embedding"][0]
    np.testing.assert_allclose(mean_of(states), theirs.numpy(), rtol=1e-5, atol=1e-7)
