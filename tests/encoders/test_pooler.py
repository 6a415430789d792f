"""A transformer's pooler output as an encoder's vectors: as transformers computes it, and the same each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.encoders.conftest import WORDS, make_plain_folder

from everylabel.encoders.base import EncoderConfig
from everylabel.encoders.build import load_encoder, restore_encoder
from everylabel.errors import ConfigError
from everylabel.vectors import unit_rows

TEXTS = ["fish of the sea", "law", "tax customs and ship of the european union"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {kind: str(make_plain_folder(tmp_path_factory.mktemp(kind), kind, WORDS)) for kind in ("roberta", "xlnet")}


def padded(encoder: Any, texts: list[str]) -> dict[str, Any]:
    ids, mask = encoder.module.pad(encoder.tokenize(texts))
    return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask).long()}


def test_bert_s_pooler_output(made_folder: Path) -> None:
    encoder: Any = load_encoder(EncoderConfig(kind=str(made_folder), pooling="pooler"))
    with torch.inference_mode():
        expected = encoder.module.transformer(**padded(encoder, TEXTS)).pooler_output
    np.testing.assert_allclose(encoder.encode(TEXTS), unit_rows(expected.numpy()), atol=1e-5)
    own = load_encoder(EncoderConfig(kind=str(made_folder)))
    assert np.abs(own.encode(TEXTS) - encoder.encode(TEXTS)).max() > 0.01


def test_xlnet_s_last_token_stands_for_the_text(plain: dict[str, str]) -> None:
    encoder: Any = load_encoder(EncoderConfig(kind=plain["xlnet"], pooling="pooler", max_tokens=128))
    assert encoder.module.limit == 128  # it has no limit of its own
    layer = encoder.module.heads[1].linear
    with torch.inference_mode():
        for text, found in zip(TEXTS, encoder.encode(TEXTS), strict=True):
            states = encoder.module.transformer(**padded(encoder, [text])).last_hidden_state
            expected = torch.tanh(layer(states[:, -1])).numpy()
            np.testing.assert_allclose(found, unit_rows(expected)[0], atol=1e-5)


@pytest.mark.parametrize("kind", ["roberta", "xlnet"])
def test_layers_without_weights_begin_the_same_each_time(plain: dict[str, str], kind: str) -> None:
    config = EncoderConfig(kind=plain[kind], pooling="pooler")
    torch.manual_seed(1)
    one = load_encoder(config)
    torch.manual_seed(2)
    other = load_encoder(config)
    assert one.fingerprint == other.fingerprint
    np.testing.assert_array_equal(one.encode(TEXTS), other.encode(TEXTS))
    restored = restore_encoder(config, one.state())
    np.testing.assert_array_equal(restored.encode(TEXTS), one.encode(TEXTS))


@pytest.mark.parametrize("kind", ["roberta", "xlnet"])
def test_a_trained_one_is_restored_from_its_state(plain: dict[str, str], kind: str) -> None:
    config = EncoderConfig(kind=plain[kind], pooling="pooler", max_tokens=32)
    encoder: Any = load_encoder(config)
    before = encoder.encode(TEXTS)
    with torch.no_grad():
        encoder.module.heads[1].linear.weight.add_(torch.eye(encoder.dim))
    after = encoder.encode(TEXTS)
    assert np.abs(after - before).max() > 1e-3
    np.testing.assert_array_equal(restore_encoder(config, encoder.state()).encode(TEXTS), after)


def test_what_has_no_pooler_is_refused() -> None:
    with pytest.raises(ConfigError, match="needs a transformer"):
        load_encoder(EncoderConfig(pooling="pooler"))
