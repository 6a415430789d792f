"""Static embeddings: against model2vec, the formula of a text's vector, and the cache of distilled ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.distil import distilled
from everylabel.encoders.static import StaticEncoder
from everylabel.encoders.static_module import StaticModule
from everylabel.encoders.table import LEXICAL_LENGTH, random_signs
from everylabel.errors import ConfigError
from everylabel.mapping import is_mapped
from everylabel.vectors import unit_rows

TEXTS = ["fish in the sea and fish and fish", "customs law of the european union", "milk"]


@pytest.fixture
def static(made_folder: Path) -> StaticEncoder:
    return StaticEncoder.load(EncoderConfig(teacher=str(made_folder)))


def test_parity_with_model2vec(static: StaticEncoder, made_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("skeletoken")  # what model2vec[distill] brings
    from model2vec.distill import distill_from_model
    from transformers import AutoModel, AutoTokenizer

    theirs: Any = distill_from_model(
        AutoModel.from_pretrained(made_folder), AutoTokenizer.from_pretrained(made_folder), device="cpu", pca_dims=16
    )
    capsys.readouterr()  # it draws a bar
    place = {token: i for i, token in enumerate(theirs.tokens)}
    common = [token for token in static.tokenizer.vocabulary if token in place and not token.startswith("[")]
    ours = static.module.embedding.weight.detach().numpy()[[static.tokenizer.vocabulary[token] for token in common]]
    others = np.asarray(theirs.embedding, np.float32)[[place[token] for token in common]]
    # Other signs and slightly other tokens take part in their PCA: compare what both preserve, the angles.
    angles = unit_rows(ours) @ unit_rows(ours).T
    their_angles = unit_rows(others) @ unit_rows(others).T
    assert np.corrcoef(angles.ravel(), their_angles.ravel())[0, 1] > 0.95


def test_texts_of_distinct_tokens_are_as_model2vec_encodes_them(static: StaticEncoder) -> None:
    model2vec = pytest.importorskip("model2vec")
    from tokenizers import Tokenizer

    weight = static.module.embedding.weight.detach().numpy()
    theirs = model2vec.StaticModel(weight, Tokenizer.from_str(static.tokenizer.json), normalize=True)
    texts = ["fish in the sea", "customs law of the european union", "milk"]
    np.testing.assert_allclose(static.encode(texts), theirs.encode(texts), atol=1e-5)


def test_the_vector_of_a_text(static: StaticEncoder) -> None:
    weight = static.module.embedding.weight.detach().numpy()
    words = {"fish": 3, "in": 1, "the": 1, "sea": 1, "and": 2}
    expected = sum((1 + np.log(n)) * weight[static.tokenizer.vocabulary[word]] for word, n in words.items())
    np.testing.assert_allclose(static.encode(TEXTS)[0], expected / np.linalg.norm(expected), atol=1e-6)


def test_distinct_tokens_and_their_counts(static: StaticEncoder) -> None:
    ids, counts, offsets = static.module.distinct(Tokens.of([[7, 8, 7, 7], [], [9, 8]]))
    np.testing.assert_array_equal(ids, [7, 8, 9, 8])
    np.testing.assert_array_equal(counts, [3, 1, 1, 1])
    np.testing.assert_array_equal(offsets, [0, 2, 2, 4])


def test_states_and_counts_give_the_vector(static: StaticEncoder) -> None:
    tokens = static.tokenize(TEXTS)
    states, mask = static.module.states(tokens)
    _, counts, _ = static.module.distinct(tokens)
    weights = torch.zeros(mask.shape)
    weights[mask] = 1 + torch.from_numpy(counts).float().log()
    torch.testing.assert_close((states * weights[..., None]).sum(1), static.module(tokens))


def test_dropout_leaves_tokens_out_but_never_all() -> None:
    module = StaticModule(torch.ones(10, 4), dropout=0.5).train()
    torch.manual_seed(0)
    sums = module(Tokens.of([[1]] * 200 + [list(range(10))] * 200))[:, 0].detach()
    assert (sums[:200] > 0).all()
    assert sums[200:].std() > 0
    assert abs(float(sums[200:].mean()) - 10) < 1


def test_sums_and_their_gradients_are_those_of_embedding_bag(static: StaticEncoder) -> None:
    module = static.module
    tokens = static.tokenize(["the fish and the fish and the net", "", "a law on fish"])
    ids, counts, offsets = module.distinct(tokens)
    table = module.embedding.weight.detach().clone().requires_grad_()
    weights = 1 + torch.from_numpy(counts).float().log()
    expected = torch.nn.functional.embedding_bag(
        torch.from_numpy(ids).long(), table, torch.from_numpy(offsets), mode="sum", per_sample_weights=weights,
        include_last_offset=True,
    )  # fmt: skip
    expected.pow(2).sum().backward()  # type: ignore[no-untyped-call]
    found = module(tokens)
    torch.testing.assert_close(found, expected)
    module.zero_grad()
    found.pow(2).sum().backward()
    gradient = module.embedding.weight.grad
    assert gradient is not None
    torch.testing.assert_close(gradient.to_dense(), table.grad)
    module.zero_grad()


def test_special_and_unused_tokens_have_no_vector(static: StaticEncoder) -> None:
    weight = static.module.embedding.weight.detach()
    for token in ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[unused0]"):
        assert not weight[static.tokenizer.vocabulary[token]].any()
    assert weight[static.tokenizer.vocabulary["fish"]].any()


def test_distilled_once_and_again_when_damaged(
    made_folder: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = distilled(str(made_folder))
    first, recipe = made.embedding.copy(), made.recipe
    del made  # it is mapped, and shared as long as somebody has it
    (file,) = (cache_folder / "static").iterdir()
    for damage in (b"", file.read_bytes()[:500], file.read_bytes()[:-4] + b"\1\2\3\4"):
        file.write_bytes(damage)
        np.testing.assert_allclose(distilled(str(made_folder)).embedding, first, atol=1e-6)
    monkeypatch.setattr("everylabel.encoders.distil.distil", None)
    assert distilled(str(made_folder)).recipe == recipe


def test_a_cache_that_cannot_be_written_is_no_error(
    made_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("EVERYLABEL_CACHE", str(tmp_path / "file"))
    assert StaticEncoder.load(EncoderConfig(teacher=str(made_folder))).encode(TEXTS).any()


def test_lexical_dimensions_tell_tokens_apart(static: StaticEncoder, made_folder: Path) -> None:
    wide = StaticEncoder.load(EncoderConfig(teacher=str(made_folder), lexical=512))
    narrow, weight = (encoder.module.embedding.weight.detach().numpy() for encoder in (static, wide))
    np.testing.assert_array_equal(weight[:, : static.dim], narrow)
    lengths = np.linalg.norm(narrow, axis=1)
    np.testing.assert_allclose(np.linalg.norm(weight[:, static.dim :], axis=1), LEXICAL_LENGTH * lengths, rtol=1e-5)
    rows = weight[lengths > 0]
    angles = unit_rows(rows) @ unit_rows(rows).T
    assert np.abs(angles - np.eye(len(rows))).max() < 0.5
    assert wide.fingerprint != static.fingerprint


def test_random_signs_are_always_the_same() -> None:
    signs = random_signs(3, 70)
    np.testing.assert_allclose(np.linalg.norm(signs, axis=1), 1, rtol=1e-6)
    assert "".join("+" if sign > 0 else "-" for sign in signs[0, :16]) == "+--++-++++-++---"


@pytest.mark.parametrize("lexical", [-1, 10**9])
def test_lexical_dimensions_are_not_negative_nor_a_billion(lexical: int) -> None:
    with pytest.raises(ConfigError, match="lexical must be from 0 to"):
        EncoderConfig(lexical=lexical).check()


# --- the base and its factors


def factors_of(encoder: StaticEncoder, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.5, 9, encoder.table.n_rows).astype(np.float32)


@pytest.mark.parametrize("lexical", [0, 7, 32, 70])
def test_factors_are_applied_to_the_last_bit(made_folder: Path, lexical: int) -> None:
    """As if the table had been multiplied by them: a model ranks as one that was saved with its table did."""
    plain = StaticEncoder.load(EncoderConfig(teacher=str(made_folder), lexical=lexical))
    factors = factors_of(plain)
    texts = [*TEXTS, "", "wine and milk and wine", "x y z " * 40]
    table = plain.table.whole() * factors[:, None]
    if lexical:
        lengths = np.linalg.norm(plain.table.dense, axis=1, keepdims=True).astype(np.float32)
        signs = LEXICAL_LENGTH * lengths * random_signs(len(lengths), lexical)
        np.testing.assert_array_equal(table[:, -lexical:], signs * factors[:, None])
    scaled = plain.scaled(factors)
    np.testing.assert_array_equal(scaled.table.whole(), table)
    tokens = scaled.tokenize(texts)
    np.testing.assert_array_equal(scaled.table.sums(tokens), StaticModule.of(table.copy()).eval()(tokens).detach())


def test_a_weighed_encoder_is_saved_as_its_factors(static: StaticEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    weighed = static.weighed(static.tokenize(["fish and law", "fish", "the sea"]))
    df = {"fish": 2, "law": 1, "milk": 0}
    for word, n in df.items():
        factor = weighed.table.factors[static.tokenizer.vocabulary[word]]
        assert factor == pytest.approx(np.log(4 / (1 + n)) + 1)
    state = weighed.state()
    assert set(state) == {"fingerprint", "factors"}
    assert state["factors"].shape == (static.table.n_rows,)
    assert state["fingerprint"] == static.fingerprint != weighed.fingerprint
    monkeypatch.setattr("everylabel.encoders.distil.find_folder", None)  # the cache has the base: no teacher is needed
    again = StaticEncoder.restore(static.config, state)
    assert again.fingerprint == weighed.fingerprint
    np.testing.assert_array_equal(again.encode(TEXTS), weighed.encode(TEXTS))
    assert np.abs(again.encode(TEXTS) - static.encode(TEXTS)).max() > 1e-3


def test_encoders_of_a_process_share_one_base(static: StaticEncoder, made_folder: Path) -> None:
    other = StaticEncoder.load(EncoderConfig(teacher=str(made_folder), max_tokens=9)).scaled(factors_of(static))
    wide = StaticEncoder.load(EncoderConfig(teacher=str(made_folder), lexical=64))
    assert other.table.dense is static.table.dense is wide.table.dense
    assert is_mapped(static.table.dense)
    assert other.tokenizer is static.tokenizer


def test_a_trained_table_is_its_own(static: StaticEncoder) -> None:
    """The base and whoever shares it stay as they are; the encoder itself is another from the first step on."""
    weighed = static.scaled(factors_of(static))
    before, name = weighed.encode(TEXTS), weighed.fingerprint
    base = static.table.dense.copy()
    with torch.no_grad():
        weighed.module.embedding.weight.add_(0.5)
    assert np.abs(weighed.encode(TEXTS) - before).max() > 1e-3
    assert weighed.fingerprint != name
    assert set(weighed.state()) == {"fingerprint", "embedding", "tokenizer"}
    np.testing.assert_array_equal(static.table.dense, base)
    again = StaticEncoder.restore(weighed.config, weighed.state())
    assert again.fingerprint == weighed.fingerprint
    np.testing.assert_array_equal(again.encode(TEXTS), weighed.encode(TEXTS))


def test_asking_for_the_module_trains_nothing(static: StaticEncoder) -> None:
    weighed = static.scaled(factors_of(static))
    name, before = weighed.fingerprint, weighed.encode(TEXTS)
    module = weighed.module.train()
    np.testing.assert_array_equal(module.embedding.weight.detach(), weighed.table.whole())
    np.testing.assert_array_equal(weighed.encode(TEXTS), before)
    assert weighed.fingerprint == name
    assert set(weighed.state()) == {"fingerprint", "factors"}
    assert weighed.module is module


def test_encoding_needs_no_torch(static: StaticEncoder, made_folder: Path, cache_folder: Path, tmp_path: Path) -> None:
    """Loading, weighing, encoding and saving, in a fresh process."""
    expected = static.weighed(static.tokenize(TEXTS)).encode(TEXTS)
    script = (
        "import sys, numpy as np\n"
        "from everylabel.encoders.base import EncoderConfig\n"
        "from everylabel.encoders.build import load_encoder, restore_encoder\n"
        f"config = EncoderConfig(teacher={str(made_folder)!r})\n"
        f"encoder = load_encoder(config, {TEXTS!r})\n"
        "again = restore_encoder(config, encoder.state())\n"
        f"np.save({str(tmp_path / 'found.npy')!r}, again.encode({TEXTS!r}))\n"
        "print([name for name in ('torch', 'transformers', 'sentence_transformers') if name in sys.modules])\n"
    )
    environment = {**os.environ, "EVERYLABEL_CACHE": str(cache_folder)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), expected)
