"""docs/gpu.md: its settings are those that exist, and its memory is what the arithmetic gives."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer

import everylabel
from everylabel.cli.app import app
from everylabel.config import parse_settings
from everylabel.methods.maclr import selfsup
from everylabel.metrics.propensity import constants
from everylabel.registry import method_class
from everylabel.train import clusters
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


def commands(page: str = PAGE) -> list[str]:
    """All of the page, in its text, in tables and in blocks, from "everylabel" on."""
    blocks = re.findall(r"^    (?:.*\\\n)*.*", page, re.MULTILINE)
    spans = re.findall(r"`([^`\n]+)`", page)
    found = [re.sub(r"\\\n", " ", block) for block in blocks] + spans
    return [one[one.index("everylabel ") :] for one in found if re.search(r"everylabel (fit|evaluate) ", one)]


def parsed(command: str) -> tuple[str, dict[str, Any]]:
    """Its name and its options, by the command line's own parser, which refuses what it does not know."""
    _, name, *words = shlex.split(command)
    parser: Any = typer.main.get_command(app)
    own = parser.commands[name]
    values, _, _ = own.make_parser(own.context_class(own)).parse_args(args=words)
    return name, values


def test_commands_are_found_wherever_they_stand() -> None:
    page = "So: `everylabel fit A --set b=1` and\n\n    torchrun everylabel fit B \\\n      --set c=2\n\n"
    page += "| x | `everylabel evaluate C` |"
    assert [one.split() for one in sorted(commands(page))] == [
        ["everylabel", "evaluate", "C"],
        ["everylabel", "fit", "A", "--set", "b=1"],
        ["everylabel", "fit", "B", "--set", "c=2"],
    ]
    assert len(commands()) >= 20


@pytest.mark.parametrize("command", commands())
def test_the_commands_are_ones_that_work(command: str) -> None:
    """Options that exist, a method, a preset and settings that it has."""
    name, options = parsed(command)
    if name == "fit" and "..." not in command:
        settings = parse_settings(options.get("settings") or [])
        everylabel.method(options["method"], preset=options.get("preset"), **settings).check()
    if "propensity" in options:
        assert constants(options["propensity"]) != constants("default")
    assert ("features" in options) == ("--features" in command)


def test_every_paper_s_method_and_data_set_has_a_command() -> None:
    fits = [options for name, options in map(parsed, commands()) if name == "fit" and "method" in options]
    methods = {"matchxml", "depl", "maclr", "of-lan", "of-de", "xml0", "attentionxml", "ict", "fine-tuned"}
    assert methods <= {one["method"] for one in fits}
    assert all(one.get("features") == "tfidf-attnxml" for one in fits if one["method"] == "matchxml")
    assert all(one.get("vocabulary") for one in fits if one["method"] == "xml0")
    by_names = {"maclr", "ict", "fine-tuned", "of-de", "of-lan"}  # their papers read no more of a label
    assert all(one.get("names_only") for one in fits if one["method"] in by_names and one.get("preset"))
    for few, share in (("1", "0.01"), ("5", "0.05")):
        shares = [one["label_share"] for one in fits if one.get("preset") == f"paper:few-shot-{few}"]
        assert set(shares) == {share}
    for name in ("matchxml", "depl", "maclr"):  # what the page says of a method's data sets is what it has
        of_data = {preset.partition(":")[2].removesuffix("-ensemble") for preset in method_class(name).presets}
        assert all(found.lower() in PAGE.lower() for found in of_data if found and not found.startswith("few-shot"))


def test_the_operations_of_maclr_s_clusters() -> None:
    """LF-Wikipedia-500K: 1,813,391 documents, 512 dimensions, K = 2,048 doubled four times, each clustered twice."""
    paper: Any = everylabel.method("maclr", preset="paper:lf-wikipedia-500k")
    documents, dim, rounds, sample = 1_813_391, paper.head, clusters._FEW_ROUNDS, clusters._SAMPLE
    sizes = [paper.learn.first_clusters << i for i in range(selfsup.DOUBLINGS // 2)]
    twice = selfsup.CLUSTERINGS // selfsup.DOUBLINGS
    assign = {k: 2 * documents * k * dim for k in sizes}
    learn = {k: rounds * 2 * sample * k * k * dim for k in sizes}
    assert sizes[-1] == 32_768
    assert assign[32_768] == pytest.approx(6e13, rel=0.05)
    assert learn[32_768] == pytest.approx(7e13, rel=0.05)
    total = twice * (sum(assign.values()) + sum(learn.values()))
    assert total == pytest.approx(4.2e14, rel=0.05)
    assert total / 1e11 / 60 == pytest.approx(70, rel=0.05)
    assert len(sizes) * twice * documents == pytest.approx(18e6, rel=0.02)
    for said in ("6e13", "7e13 more", "4.2e14", "70 minutes", "18 million texts"):
        assert said in " ".join(PAGE.split())


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
