"""Token vectors that are learned from documents: pieces of words, near each other where documents are the same."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from everylabel.encoders.base import EncoderConfig
from everylabel.encoders.build import load_encoder, restore_encoder
from everylabel.encoders.distil import DIM
from everylabel.encoders.static import StaticEncoder
from everylabel.errors import ConfigError

TEXTS = [
    "Windkraftanlagen an der Küste: Windkraft und Strom",
    "Strom aus Windkraft, Windkraftanlagen auf See",
    "Fischerei und Fischfang an der Küste",
    "Fischfang mit Netzen: die Fischerei auf See",
    "Windkraft Strom Anlagen",
    "Fischerei Netze Fischfang",
] * 5
LEARNED = EncoderConfig(teacher="documents", lexical=32)


@pytest.fixture(scope="module")
def encoder() -> StaticEncoder:
    found = load_encoder(LEARNED, TEXTS)
    assert isinstance(found, StaticEncoder)
    return found


def test_words_of_the_same_documents_are_near_each_other(encoder: StaticEncoder) -> None:
    wind, power, fish = load_encoder(EncoderConfig(teacher="documents"), TEXTS).encode(
        ["Windkraft", "Strom", "Fischerei"]
    )
    assert wind @ power > wind @ fish + 0.3
    assert encoder.dim == DIM + 32


def test_a_compound_falls_into_its_words(encoder: StaticEncoder) -> None:
    pieces = {i: piece for piece, i in encoder.tokenizer.vocabulary.items()}
    row = encoder.tokenize(["Windkraftstrom"]).ids.tolist()
    assert pieces[row[0]] == "windkraft"
    assert encoder.tokenize(["küste"]).lengths.tolist() == [1]  # accents stay


def test_it_is_saved_with_what_it_learned(encoder: StaticEncoder) -> None:
    again = restore_encoder(LEARNED, encoder.state())
    assert again.fingerprint == encoder.fingerprint
    np.testing.assert_array_equal(again.encode(TEXTS[:6]), encoder.encode(TEXTS[:6]))


def test_a_trained_one_is_saved_as_the_rows_that_changed() -> None:
    import torch

    encoder = load_encoder(LEARNED, TEXTS)
    before, module = encoder.state(), cast(Any, encoder.module)
    with torch.no_grad():
        module.embedding.weight[3] += 1.0
    state = encoder.state()
    assert state["trained_tokens"].tolist() == [3]
    assert state["taught"].shape == before["taught"].shape
    again = restore_encoder(LEARNED, state)
    np.testing.assert_allclose(again.encode(TEXTS[:6]), encoder.encode(TEXTS[:6]), atol=1e-6)


def test_the_same_documents_give_the_same_vectors(encoder: StaticEncoder) -> None:
    assert load_encoder(LEARNED, TEXTS).fingerprint == encoder.fingerprint


def test_texts_of_no_known_character_and_few_texts(encoder: StaticEncoder) -> None:
    assert not encoder.encode(["", "\u732b"]).any()
    one = load_encoder(LEARNED, ["ein Wort und ein Wort", "ein Wort"])
    assert one.encode(["Wort"]).any()


def test_without_documents_there_is_nothing_to_learn_from() -> None:
    with pytest.raises(ConfigError, match="learns from documents"):
        load_encoder(LEARNED)
