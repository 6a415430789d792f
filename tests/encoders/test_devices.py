"""Encoders on a GPU: what they are given follows their weights, what comes out is in this machine's memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.devices import are_elsewhere, elsewhere, pretended

from everylabel.encoders import device
from everylabel.encoders.base import Encoder, EncoderConfig
from everylabel.encoders.build import load_encoder
from everylabel.errors import ConfigError

TEXTS = ["fish in the sea", "", "customs law of the european union", "milk and milk"]


@pytest.mark.parametrize("training", [False, True])
def test_vectors_and_states_are_where_the_weights_are(encoder: Encoder, training: bool) -> None:
    tokens, module = encoder.tokenize(TEXTS), encoder.module
    with pretended(), torch.no_grad():
        elsewhere(module).train(training)
        vectors = module(tokens)
        states, mask = module.states(tokens)  # type: ignore[operator]
    assert are_elsewhere(vectors, states, mask)
    assert vectors.shape == (4, encoder.dim)
    assert states.shape == (*mask.shape, encoder.dim)


def test_gradients_of_the_whole_module(encoder: Encoder) -> None:
    """Those of static embeddings are sparse, as their optimiser needs them."""
    tokens, module = encoder.tokenize(TEXTS), encoder.module
    with pretended():
        elsewhere(module).train()
        weights = [weight for name, weight in module.named_parameters() if "pooler" not in name]
        module(tokens).square().sum().backward()
        gradients = [weight.grad for weight in weights]
        module.zero_grad()
        module.states(tokens)[0].square().sum().backward()  # type: ignore[operator]
    assert are_elsewhere(*gradients, *(weight.grad for weight in weights))
    assert {gradient.is_sparse for gradient in gradients} == {encoder.config.kind == "static"}  # type: ignore[union-attr]


def test_encoding_while_the_module_is_on_a_gpu(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """As evaluations do in the middle of a training."""
    module = encoder.module
    monkeypatch.setattr("everylabel.encoders.static.versions", lambda _module: "trained")
    with pretended():
        elsewhere(module)
        vectors = encoder.encode_tokens(encoder.tokenize(TEXTS))
        if encoder.config.kind == "static":
            assert encoder.state()["embedding"].shape == module.embedding.weight.shape  # type: ignore[union-attr]
    assert isinstance(vectors, np.ndarray)
    assert vectors.shape == (4, encoder.dim)


def test_int8_states_are_pooled_where_the_weights_are(made_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder: Any = load_encoder(EncoderConfig(kind=str(made_folder), onnx=True, cache=False))
    monkeypatch.setenv("EVERYLABEL_THREADS", "1")  # what is pretended is pretended in this thread
    monkeypatch.setattr(type(encoder), "_frozen", True)
    encoder._is_mean = False  # a mean is taken without the module
    with pretended():
        elsewhere(encoder.module)
        encoder._onnx = lambda padded: np.zeros((*padded.ids.shape, encoder.dim), np.float32)
        assert encoder.encode(TEXTS).shape == (4, encoder.dim)


def test_a_trained_transformer_is_saved_from_a_gpu(made_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder: Any = load_encoder(EncoderConfig(kind=str(made_folder), cache=False))
    monkeypatch.setattr(type(encoder), "_frozen", False)
    monkeypatch.setattr("everylabel.encoders.fingerprint.versions", lambda _module: "trained")
    with pretended():
        elsewhere(encoder.module)
        state = encoder.state()
    assert all(isinstance(value, np.ndarray) for name, value in state.items() if name.startswith("weight."))


def test_a_frozen_transformer_is_copied_to_the_gpu_once(made_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module itself stays on the CPU: that is what is trained, saved and used by other threads."""
    encoder: Any = load_encoder(EncoderConfig(kind=str(made_folder), cache=False))
    monkeypatch.setattr("everylabel.encoders.placed.encoding_device", lambda _name: torch.device("meta"))
    placed = encoder._placed()
    assert next(placed.parameters()).device.type == "meta"
    assert next(encoder.module.parameters()).device.type == "cpu"
    assert encoder._placed() is placed
    with torch.no_grad():
        next(encoder.module.parameters()).mul_(2)
    assert encoder._placed() is not placed


@pytest.mark.parametrize("name", ["gpu", "cuda:x", "", "cpu:1", "Cuda"])
def test_names_are_checked_without_torch(name: str) -> None:
    with pytest.raises(ConfigError, match="device must be auto, cpu, cuda"):
        EncoderConfig(device=name).check()


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    monkeypatch.delenv(device.VARIABLE, raising=False)

    def found(count: int) -> None:
        monkeypatch.setattr("torch.cuda.is_available", lambda: count > 0)
        monkeypatch.setattr("torch.cuda.device_count", lambda: count)
        monkeypatch.setattr("torch.cuda.current_device", lambda: 0)

    return found


def test_auto_is_the_gpu_where_there_is_one(gpus: Callable[[int], None]) -> None:
    gpus(0)
    assert device.training_device("auto") == torch.device("cpu")
    gpus(2)
    assert device.training_device("auto") == torch.device("cuda:0")
    assert device.training_device("cuda:1") == torch.device("cuda:1")
    assert device.training_device("cpu") == torch.device("cpu")
    with pytest.raises(ConfigError, match="'cuda:2', and there are 2 CUDA devices, from cuda:0 on"):
        device.training_device("cuda:2")


def test_the_environment_says_what_auto_is(gpus: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(2)
    monkeypatch.setenv(device.VARIABLE, "cpu")
    assert device.training_device("auto") == torch.device("cpu")
    assert device.training_device("cuda:1") == torch.device("cuda:1")  # a setting is more than the environment
    monkeypatch.setenv(device.VARIABLE, "cuda:1")
    assert device.encoding_device("auto") == torch.device("cuda:1")
    monkeypatch.setenv(device.VARIABLE, "auto")
    assert device.training_device("auto") == torch.device("cuda:0")
    monkeypatch.setenv(device.VARIABLE, "gpu")
    with pytest.raises(ConfigError, match="got 'gpu'"):
        device.encoding_device("auto")


def test_a_missing_gpu_stops_a_training_and_no_ranking(gpus: Callable[[int], None]) -> None:
    gpus(0)
    with pytest.raises(ConfigError, match="'cuda', and torch finds no CUDA device; set device=auto or device=cpu"):
        device.training_device("cuda")
    assert device.encoding_device("cuda") == torch.device("cpu")
    with pytest.raises(ConfigError, match="device must be"):
        device.encoding_device("gpu")
