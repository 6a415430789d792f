"""docs/gpu.md: its settings are those that exist, and its memory is what the arithmetic gives."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import everylabel
from everylabel.config import parse_settings
from everylabel.train.config import Compute

PAGE = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text(encoding="utf-8")


def table(head: str) -> list[list[str]]:
    rows = PAGE.partition(f"| {head}")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def number(text: str) -> float:
    """ "1.6 MB" in bytes; the last of "1.8 to 2.0 GB"."""
    value, unit = re.findall(r"([\d.,]+) ([KMG])B?", text)[-1]
    return float(value.replace(",", "")) * {"K": 1e3, "M": 1e6, "G": 1e9}[unit]


def test_the_settings() -> None:
    rows = {row[0].strip("`"): row[1] for row in table("setting |")}
    assert set(rows) == {field.name for field in fields(Compute)}
    for name, said in rows.items():
        default = getattr(Compute(), name)
        if default is not None:
            assert said.strip("`").split(",")[0] == (f"{default:g}" if type(default) is float else str(default).lower())


@pytest.mark.parametrize("command", re.findall(r"everylabel fit [^`]*?--set[^`]*?\n\n", PAGE))
def test_the_commands_set_what_the_method_has(command: str) -> None:
    (name,) = re.findall(r"--method (\S+)", command)
    settings = re.findall(r"--set (\S+)", command)
    assert settings
    everylabel.method(name, **parse_settings(settings)).check()


def test_bytes_a_token() -> None:
    for name, weights, fp32, bf16, again in table("encoder |"):
        layers, width = (
            int(found.replace(",", "")) for found in re.findall(r"(\d+)(?: layers)?, (?:h )?([\d,]+)\)", name)[0]
        )
        assert number(fp32) == pytest.approx(66 * width * layers, rel=0.06)
        assert number(bf16) == pytest.approx(38 * width * layers, rel=0.06)
        assert number(again) == pytest.approx(4 * width * layers + 66 * width, rel=0.06)
        assert number(weights) == pytest.approx(16 * number(name), rel=0.2)


def test_heads() -> None:
    for labels, *sizes in table("labels |"):
        count = int(re.findall(r"[\d,]+", labels)[0].replace(",", ""))
        for said, width in zip(sizes, (16, 12, 4), strict=True):
            assert number(said) == pytest.approx(768 * width * count, rel=0.06, abs=0.05e9)


def test_cards() -> None:
    """BERT-base: 110 M weights; 0.8 of what is left. The page says no more than that, and not far less."""
    for card, precision, tokens, _ in table("card |"):
        memory, half = float(re.findall(r"(\d+) GB", card)[0]) * 1e9, "bf16" in precision
        most = 0.8 * (memory - 110e6 * (18 if half else 16)) / ((38 if half else 66) * 768 * 12)
        assert 0.9 * most < int(tokens.replace(",", "")) <= most


def kept(layers: int, *, recompute: bool = False) -> float:
    """Bytes a token and dimension that torch keeps for the way back, but for weights; attention by the fused kernel."""
    import torch
    from torch import Tensor, nn
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from transformers import BertConfig, BertModel

    shape = {"hidden_size": 128, "num_attention_heads": 2, "intermediate_size": 512, "vocab_size": 50}
    config = BertConfig(num_hidden_layers=layers, attention_probs_dropout_prob=0.0, **shape)  # the CPU's has none
    model = BertModel(config, add_pooling_layer=False).train()
    if recompute:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    weights = {weight.data_ptr() for weight in model.parameters()}
    found: dict[int, Tensor] = {}  # all stay alive, so that no two have one place

    def pack(tensor: Tensor) -> Tensor:
        if tensor.data_ptr() not in weights and not isinstance(tensor, nn.Parameter):
            found[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        model(input_ids=torch.zeros(4, 64, dtype=torch.int64), use_cache=False)
    return sum(tensor.untyped_storage().nbytes() for tensor in found.values()) / (4 * 64 * 128)


def test_a_layer_keeps_what_the_page_says() -> None:
    """A CPU keeps the masks of two dropouts as float32, a GPU as bytes: that is 6 less."""
    assert kept(2) - kept(1) - 6 == pytest.approx(66, rel=0.05)
    assert kept(2, recompute=True) - kept(1, recompute=True) == pytest.approx(4, rel=0.05)
