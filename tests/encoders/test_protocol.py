"""What every encoder promises, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from everylabel.encoders.base import Encoder, Tokens
from everylabel.encoders.build import restore_encoder
from everylabel.errors import ModelError
from everylabel.vectors import unit_rows

TEXTS = ["fish in the sea", "customs law of the european union, 1 2 3.", "milk", "wine and milk and wine", "ships"]
HOSTILE = ["\ud800", "fish \ud800 sea", "\x00\x00", "a\x0cb\x1cc\x85d", "🐟 🌊", "x" * 20_000, "fish " * 4000, "[SEP]"]


def train_a_step(encoder: Encoder) -> None:
    module: Any = encoder.module
    optimiser = torch.optim.SGD(module.parameters(), lr=0.01)
    module.train()
    loss = module(encoder.tokenize(TEXTS)).pow(2).sum()
    loss.backward()
    optimiser.step()


def test_unit_rows(encoder: Encoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), encoder.dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_and_no_tokens(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dim)
    vectors = encoder.encode(["", "fish", " \n"])
    assert not vectors[0].any()
    assert vectors[1].any()
    assert not vectors[2].any()


def test_hostile_texts(encoder: Encoder) -> None:
    vectors = encoder.encode(HOSTILE)
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(vectors, np.concatenate([encoder.encode([text]) for text in HOSTILE]), atol=2e-5)


def test_other_texts_of_the_batch_do_not_matter(encoder: Encoder) -> None:
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    together = encoder.encode([*TEXTS, "the european union " * 20, *TEXTS[::-1]])
    np.testing.assert_allclose(together[:5], alone, atol=1e-5)
    np.testing.assert_array_equal(together[:5], together[:-6:-1])


def test_module_and_encode_agree(encoder: Encoder) -> None:
    module: Any = encoder.module.eval()
    with torch.no_grad():
        raw = module(encoder.tokenize([*TEXTS, ""])).numpy()
    np.testing.assert_allclose(unit_rows(raw), encoder.encode([*TEXTS, ""]), atol=1e-5)


def test_encode_leaves_the_mode_and_the_random_state(encoder: Encoder) -> None:
    encoder.module.train()
    before = torch.random.get_rng_state()
    first = encoder.encode(TEXTS)
    assert encoder.module.training
    assert torch.equal(before, torch.random.get_rng_state())
    np.testing.assert_array_equal(first, encoder.encode(TEXTS))


def test_tokens_have_no_special_ones(encoder: Encoder) -> None:
    tokens = encoder.tokenize(["fish in the sea", "", "milk"])
    np.testing.assert_array_equal(tokens.lengths, [4, 0, 1])
    np.testing.assert_array_equal(encoder.tokenize(["fish in the sea"], max_tokens=2).ids, tokens.ids[:2])


def test_gradients_flow(encoder: Encoder) -> None:
    module: Any = encoder.module.train()
    module(encoder.tokenize(TEXTS)).pow(2).sum().backward()
    gradients = [weight.grad for weight in module.parameters() if weight.grad is not None]
    assert sum(float(gradient.abs().sum()) for gradient in gradients) > 0


def test_training_mode_has_dropout(encoder: Encoder) -> None:
    module: Any = encoder.module.train()
    tokens = encoder.tokenize(TEXTS)
    assert not torch.equal(module(tokens), module(tokens))


def test_passages(make: Callable[..., Encoder]) -> None:
    text = "fish in the sea and milk of the european union and wine"
    encoder = make(max_tokens=6, passages="mean")
    vectors, begins = encoder.encode_passages(["", text, "fish"])
    np.testing.assert_array_equal(begins, np.sort(begins))
    assert begins[0] == 0
    assert begins[-1] == len(vectors)
    assert begins[2] - begins[1] >= 2
    assert not vectors[0].any()
    mean = unit_rows(vectors[begins[1] : begins[2]].sum(axis=0, keepdims=True))
    np.testing.assert_allclose(encoder.encode([text]), mean, atol=1e-5)
    first = make(max_tokens=6)
    np.testing.assert_allclose(first.encode([text])[0], vectors[begins[1]], atol=1e-5)


def test_states_are_masked(encoder: Encoder) -> None:
    module: Any = encoder.module.eval()
    states, mask = module.states(encoder.tokenize(TEXTS))
    assert states.shape == (*mask.shape, encoder.dim)
    assert mask.dtype == torch.bool
    assert mask.any(dim=1).all()


def test_an_untrained_encoder_saves_its_fingerprint_only(encoder: Encoder) -> None:
    state = encoder.state()
    assert set(state) == {"fingerprint"}
    again = restore_encoder(encoder.config, state)
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))
    with pytest.raises(ModelError, match="nothing was fitted with it here"):
        restore_encoder(encoder.config, {"fingerprint": "0" * 64})


def test_a_trained_encoder_is_restored_from_its_state_alone(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    before, fingerprint = encoder.encode(TEXTS), encoder.fingerprint
    train_a_step(encoder)
    after = encoder.encode(TEXTS)
    assert np.abs(before - after).max() > 1e-3
    assert encoder.fingerprint != fingerprint
    state = encoder.state()
    assert all(isinstance(value, (np.ndarray, str, int, list)) for value in state.values())
    monkeypatch.setattr("everylabel.encoders.transformer.find_folder", None)
    monkeypatch.setattr("everylabel.encoders.distil.find_folder", None)
    again = restore_encoder(encoder.config, state)
    np.testing.assert_array_equal(again.encode(TEXTS), after)
    assert again.fingerprint == encoder.fingerprint
    train_a_step(again)
    assert "tokenizer" in again.state()
    np.testing.assert_array_equal(encoder.encode(TEXTS), after)  # the two share no weights


def test_tokens_of_no_rows(encoder: Encoder) -> None:
    module: Any = encoder.module.eval()
    assert module(Tokens.of([[]])).shape == (1, encoder.dim)
    assert not module(Tokens.of([[]])).any()
