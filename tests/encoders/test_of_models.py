"""An encoder of a model comes from its content: no name that a model says is opened, looked up or downloaded."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.encoders.conftest import WORDS, make_folder
from tests.store.crafting import resign

import everylabel
from everylabel import store
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.encoders import pretrained
from everylabel.encoders.base import EncoderConfig
from everylabel.encoders.build import load_encoder, restore_encoder
from everylabel.encoders.places import VARIABLE
from everylabel.errors import ModelError

TEXTS = ["customs law of the european union", "fish and wine"]
Change = Callable[[dict[str, Any]], Any]


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is connected to, and no pretrained folder is looked for."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a model must not do that")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for module in ("transformer", "distil"):
        monkeypatch.setattr(f"everylabel.encoders.{module}.find_folder", refuse)
    monkeypatch.setattr(pretrained, "load_sentence_transformer", refuse)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("role", ["kind", "teacher"])
@pytest.mark.parametrize(
    "name", ["organisation/name", "/etc", "../..", "~", "https://example.org/x", "the tiny folder"]
)
def test_names_are_not_followed(made_folder: Path, name: str, role: str) -> None:
    named = str(made_folder) if name == "the tiny folder" else name
    config = EncoderConfig(kind=named) if role == "kind" else EncoderConfig(teacher=named)
    with pytest.raises(ModelError, match=rf"nothing was fitted with it here.*{VARIABLE}=1") as caught:
        restore_encoder(config, {"fingerprint": "0" * 64})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("role", ["kind", "teacher"])
def test_what_was_fitted_with_here_is_found_by_its_content_wherever_it_is_said_to_be(
    made_folder: Path, role: str, cache_folder: Path
) -> None:
    def given(name: str) -> EncoderConfig:
        return EncoderConfig(**{role: name})  # type: ignore[arg-type]

    encoder = load_encoder(given(str(made_folder)))
    for rest in (cache_folder / "static").glob("*"):
        rest.unlink()
    again = restore_encoder(given("somewhere/else"), encoder.state())
    np.testing.assert_allclose(again.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)
    with pytest.raises(ModelError, match="nothing was fitted with it here"):
        restore_encoder(given(str(made_folder)), {"fingerprint": "1" * 64})


def test_the_user_may_allow_it(made_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    encoder = load_encoder(EncoderConfig(kind=str(made_folder)))
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "another machine"))
    with pytest.raises(ModelError, match=VARIABLE):
        restore_encoder(encoder.config, encoder.state())
    monkeypatch.setenv(VARIABLE, "1")
    np.testing.assert_array_equal(restore_encoder(encoder.config, encoder.state()).encode(TEXTS), encoder.encode(TEXTS))
    with pytest.raises(ModelError, match=r"another .* encoder"):
        restore_encoder(encoder.config, {"fingerprint": "0" * 64})


# --- weights that a model brings


def transformer(**changes: Any) -> Change:
    def change(state: dict[str, Any]) -> None:
        state["transformer"] = json.dumps(json.loads(state["transformer"]) | changes)

    return change


def tokenizer(**changes: Any) -> Change:
    def change(state: dict[str, Any]) -> None:
        state["tokenizer"] = json.dumps(json.loads(state["tokenizer"]) | changes)

    return change


SPLIT = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
CRAFTED: dict[str, tuple[Change, str]] = {
    "huge": (transformer(hidden_size=10**6), "other weights"),
    "endless": (transformer(num_hidden_layers=10**6), "num_hidden_layers must be"),
    "unknown": (transformer(model_type="llama"), "none that is known here"),
    "no table": (lambda state: state.update(transformer="[]"), "without settings"),
    "class": (lambda state: state.update(architecture="BertForMaskedLM"), "a bert is a BertModel"),
    "head": (lambda state: state.update(heads=[["os.system", {}]]), "unknown part"),
    "activation": (
        lambda state: state["heads"].append(
            ["Dense", {"in_features": 2, "out_features": 2, "activation_function": "os.system"}]
        ),
        "unknown activation",
    ),
    "limit": (lambda state: state.update(limit=10**9), "limit must be"),
    "weights": (lambda state: state.pop("weight.transformer.embeddings.word_embeddings.weight"), "other weights"),
    "nan": (lambda state: state["weight.transformer.pooler.dense.bias"].fill(np.nan), "must be from"),
    "pattern": (tokenizer(pre_tokenizer=SPLIT), "an unknown pre_tokenizer"),
    "replaced": (tokenizer(normalizer={"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}), "pattern"),
    "tokens": (
        tokenizer(model={"type": "WordLevel", "vocab": {"a": 0, "b": 10**9}, "unk_token": "a"}),
        "more tokens",
    ),
}


@pytest.fixture(scope="module")
def trained(made_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], dict[str, Any]]:
    """The state of a trained transformer, a copy each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVERYLABEL_CACHE", str(tmp_path_factory.mktemp("cache")))
        encoder = load_encoder(EncoderConfig(kind=str(made_folder)))
        with torch.no_grad():
            for weight in encoder.module.parameters():
                weight.add_(0.01)
        kept = encoder.state()
    return lambda: {
        key: value.copy() if isinstance(value, np.ndarray) else json.loads(json.dumps(value))
        for key, value in kept.items()
    }


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_transformer_is_refused(trained: Callable[[], dict[str, Any]], name: str) -> None:
    change, message = CRAFTED[name]
    state = trained()
    change(state)
    with pytest.raises((ModelError, ValueError), match=message):
        restore_encoder(EncoderConfig(kind="organisation/name"), state)


@pytest.mark.usefixtures("alone")
def test_settings_that_would_open_something_are_left_out(trained: Callable[[], dict[str, Any]]) -> None:
    state = trained()
    before = restore_encoder(EncoderConfig(kind="x"), state).encode(TEXTS)
    transformer(attn_implementation="kernels-community/flash-attn", auto_map={"AutoModel": "evil--model.Model"})(state)
    transformer(_attn_implementation="kernels-community/flash-attn", quantization_config={"a": 1})(state)
    np.testing.assert_array_equal(restore_encoder(EncoderConfig(kind="x"), state).encode(TEXTS), before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trained_tokens": np.array([10**6], np.int32)}, "trained tokens must be from 0"),
        ({"trained_tokens": np.array([-1], np.int32)}, "trained tokens must be from 0"),
        ({"trained_rows": np.ones((1, 3), np.float32)}, "trained rows must have the shape"),
        ({"factors": np.ones(3, np.float32)}, "factors of tokens must have the shape"),
    ],
)
def test_crafted_rows_of_static_embeddings_are_refused(made_folder: Path, changes: Any, message: str) -> None:
    config = EncoderConfig(teacher=str(made_folder))
    encoder = load_encoder(config)
    state: dict[str, Any] = {"fingerprint": "trained", "base": encoder.fingerprint}
    state |= {"trained_tokens": np.array([7], np.int32), "trained_rows": np.ones((1, encoder.dim), np.float32)}
    restore_encoder(config, state)
    with pytest.raises(ValueError, match=message):
        restore_encoder(config, state | changes)


def test_an_embedding_has_a_row_for_each_token(made_folder: Path) -> None:
    encoder = load_encoder(EncoderConfig(teacher=str(made_folder)))
    state = {"fingerprint": "x", "tokenizer": encoder.tokenizer.json}
    restore_encoder(encoder.config, state | {"embedding": np.ones((encoder.tokenizer.n_ids, 4), np.float32)})
    with pytest.raises(ValueError, match="more tokens than embeddings"):
        restore_encoder(encoder.config, state | {"embedding": np.ones((len(WORDS), 4), np.float32)})


def test_a_model_that_names_an_encoder_is_loaded_without_network(
    made_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the manifest on: a right checksum, and a name that its writer chose."""
    labels = LabelSet.of([Label("a", "fish"), Label("b", "law")])
    settings: dict[str, Any] = {"encoder": {"kind": str(made_folder), "trainable": False}}
    method = everylabel.method("semantic", **settings).fit(Dataset(Documents.of(TEXTS), labels))
    method.save(tmp_path / "model")
    expected = method.rank(TEXTS, 2)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a model must not do that")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    config = store.read_manifest(tmp_path / "model")["config"]
    for name in ("organisation/name", "/etc"):
        resign(tmp_path / "model", config=config | {"encoder": config["encoder"] | {"kind": name}})
        found = everylabel.load(tmp_path / "model").rank(TEXTS, 2)  # by its content, which was fitted with here
        np.testing.assert_array_equal(found.scores, expected.scores)
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "another machine"))
    with pytest.raises(ModelError, match="nothing was fitted with it here"):
        everylabel.load(tmp_path / "model")


def test_words_of_a_vocabulary_are_no_parts(tmp_path: Path) -> None:
    """The bundled transformer's has "type" and "pattern": once it was trained, it could not be loaded again."""
    folder = make_folder(tmp_path, [*WORDS, "type", "pattern"])
    encoder: Any = load_encoder(EncoderConfig(kind=str(folder), cache=False))
    with torch.no_grad():
        next(encoder.module.parameters()).mul_(1.1)
    again = restore_encoder(encoder.config, encoder.state())
    np.testing.assert_array_equal(again.encode(["type of fish"]), encoder.encode(["type of fish"]))
