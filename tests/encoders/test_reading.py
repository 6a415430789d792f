"""A training step's texts in parts, in bf16, with layers computed again, compiled: the same vectors and gradients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.devices import are_elsewhere, elsewhere, pretended
from torch import Tensor, nn

from everylabel.encoders import transformer
from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.encoders.reading import Reading
from everylabel.encoders.transformer import TransformerEncoder, TransformerModule
from everylabel.errors import ConfigError

LENGTHS = [9, 2, 0, 30, 5, 1, 70, 12]  # one is empty, one is longer than the model reads


@pytest.fixture
def module(made_folder: Path) -> TransformerModule:
    return TransformerEncoder.load(EncoderConfig(kind=str(made_folder))).module.train()


def without_dropout(module: nn.Module) -> None:
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0


def tokens() -> Tokens:
    rng = np.random.default_rng(0)
    return Tokens.of([rng.integers(6, 40, length).tolist() for length in LENGTHS])


def contrastive(module: TransformerModule) -> Tensor:
    """Every text with every other: what gradient accumulation cannot do."""
    vectors = nn.functional.normalize(module(tokens()), dim=1)
    return (vectors @ vectors.T).div(0.2).logsumexp(dim=1).sum()


def by_states(module: TransformerModule) -> Tensor:
    states, mask = module.states(tokens())
    assert mask.shape == states.shape[:2]
    vectors = (states * mask[..., None]).sum(dim=1)
    return (vectors @ vectors.T).tanh().sum()


def learned(module: TransformerModule, loss: Callable[[Any], Tensor], reading: Reading, **how: Any) -> list[Tensor]:
    """The loss, and each weight's gradient."""
    module.zero_grad()
    with module.trained_as(reading, **how):
        torch.manual_seed(1)
        found = loss(module)
        found.backward()  # type: ignore[no-untyped-call]
    gradients = [w.grad for w in module.parameters() if w.grad is not None]
    assert len(gradients) > 20
    assert {gradient.dtype for gradient in gradients} == {torch.float32}
    return [found.detach(), *(gradient.clone() for gradient in gradients)]


def assert_alike(one: list[Tensor], other: list[Tensor], rtol: float = 1e-4, atol: float = 1e-5) -> None:
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a, b, rtol=rtol, atol=atol)


@pytest.mark.parametrize("loss", [contrastive, by_states])
@pytest.mark.parametrize("reading", [Reading(tokens_at_once=40), Reading(buckets=3), Reading(False, 25, 2)], ids=str)
def test_parts_are_the_whole(module: TransformerModule, loss: Any, reading: Reading) -> None:
    without_dropout(module)
    assert_alike(learned(module, loss, Reading()), learned(module, loss, reading))


def test_texts_that_are_read_again_drop_out_as_before(module: TransformerModule) -> None:
    """The same parts, with activations and without: the very same draws."""
    kept = learned(module, contrastive, Reading(buckets=3))
    again = learned(module, contrastive, Reading(buckets=3, tokens_at_once=10_000))
    assert all(torch.equal(one, other) for one, other in zip(kept, again, strict=True))
    without_dropout(module)
    assert not torch.equal(learned(module, contrastive, Reading())[0], kept[0])


def kept_bytes(module: TransformerModule, reading: Reading, **how: Any) -> int:
    """Of all that is kept for the way back."""
    sizes: list[int] = []

    def pack(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, nn.Parameter):
            sizes.append(tensor.numel() * tensor.element_size())
        return tensor

    with module.trained_as(reading, **how), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        contrastive(module)
    return sum(sizes)


def test_gradient_caching_keeps_next_to_nothing(module: TransformerModule) -> None:
    whole = kept_bytes(module, Reading())
    assert kept_bytes(module, Reading(tokens_at_once=40)) < whole / 20
    assert kept_bytes(module, Reading(), recompute=True) < whole / 3


def test_parts_hold_as_many_tokens_as_said_and_buckets_pad_less(
    module: TransformerModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[torch.Size] = []
    usual = module._sent

    def watched(texts: Tokens) -> tuple[Tensor, Tensor]:
        found = usual(texts)
        sent.append(found[0].shape)
        return found

    monkeypatch.setattr(module, "_sent", watched)
    numbers: dict[str, int] = {}
    for name, reading in {"all": Reading(), "buckets": Reading(buckets=4), "cached": Reading(False, 40)}.items():
        sent.clear()
        with module.trained_as(reading):
            module(tokens())
        numbers[name] = sum(shape.numel() for shape in sent)
        assert sum(shape[0] for shape in sent) == len(LENGTHS)
        if name == "cached":
            assert all(shape.numel() <= 40 or shape[0] == 1 for shape in sent)
    assert numbers["buckets"] < 0.7 * numbers["all"]
    assert numbers["cached"] < 0.7 * numbers["all"]


def test_bf16_is_for_the_layers_alone(module: TransformerModule) -> None:
    without_dropout(module)
    inner: set[torch.dtype] = set()
    layer = module.transformer.encoder.layer[0].attention.self.query  # type: ignore[union-attr, index]
    hook = layer.register_forward_hook(lambda _module, _given, out: inner.add(out.dtype))
    exact = learned(module, contrastive, Reading())
    assert inner == {torch.float32}
    inner.clear()
    rough = learned(module, contrastive, Reading(bf16=True))
    assert inner == {torch.bfloat16}
    hook.remove()
    assert {weight.dtype for weight in module.parameters()} == {torch.float32}
    with module.trained_as(Reading(bf16=True)):
        assert module(tokens()).dtype == module.states(tokens())[0].dtype == torch.float32
    assert float(rough[0]) == pytest.approx(float(exact[0]), rel=0.02)
    assert float(rough[0]) != float(exact[0])
    flat = [torch.cat([gradient.flatten() for gradient in found[1:]]) for found in (exact, rough)]
    assert float(nn.functional.cosine_similarity(flat[0], flat[1], dim=0)) > 0.99


def test_layers_that_are_computed_again(module: TransformerModule) -> None:
    usual = learned(module, contrastive, Reading())
    again = learned(module, contrastive, Reading(), recompute=True)
    assert_alike(usual, again, rtol=1e-5, atol=1e-6)
    assert not module.transformer.is_gradient_checkpointing
    both = learned(module, contrastive, Reading(tokens_at_once=10_000), recompute=True)
    parts = learned(module, contrastive, Reading(tokens_at_once=10_000))
    assert_alike(both, parts, rtol=1e-5, atol=1e-6)


def test_a_model_that_cannot_is_refused(module: TransformerModule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(module.transformer), "supports_gradient_checkpointing", False)
    with pytest.raises(ConfigError, match="set recompute=false"), module.trained_as(Reading(), recompute=True):
        pass


def test_compiled(module: TransformerModule, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a backend that only counts: what torch makes of it on a GPU is its own affair."""
    made: list[Any] = []

    def backend(graph: Any, _inputs: Any) -> Any:
        made.append(graph)
        return graph.forward

    monkeypatch.setattr(transformer, "BACKEND", backend)
    without_dropout(module)
    usual = learned(module, contrastive, Reading())
    assert not made
    assert_alike(usual, learned(module, contrastive, Reading(), compiled=True))
    assert made
    count = len(made)
    learned(module, contrastive, Reading())
    assert len(made) == count


def test_parts_on_another_device(module: TransformerModule) -> None:
    with pretended():
        moved = elsewhere(module)
        for reading in (Reading(buckets=3), Reading(tokens_at_once=40)):
            with moved.trained_as(reading):
                vectors = moved(tokens())
                states, mask = moved.states(tokens())
                assert are_elsewhere(vectors, states, mask)
                (vectors.sum() + states.sum()).backward()
        assert are_elsewhere(*(weight.grad for weight in moved.parameters() if weight.grad is not None))


def test_outside_of_steps_texts_are_read_as_ever(module: TransformerModule) -> None:
    module.eval()
    expected = module(tokens())
    with module.trained_as(Reading(tokens_at_once=40)), torch.no_grad():
        assert torch.equal(module(tokens()), expected)
    assert module.reading is None
