"""docs/gpu.md: its settings are those that exist, and its memory is what the arithmetic gives."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import everylabel
from everylabel.cli.app import app
from everylabel.config import parse_settings
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.methods.facts import Facts
from everylabel.methods.maclr import selfsup
from everylabel.methods.onesided.onesided import LABEL_TOKENS
from everylabel.methods.xml0.fusion import Xml0
from everylabel.metrics.propensity import constants
from everylabel.registry import method_class, method_classes
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
    methods = {cls.name for cls in method_classes() if cls.presets} | {"zestxml", "xr-linear-pseudo"}
    assert methods == {one["method"] for one in fits}
    assert all(one.get("features") == "tfidf-attnxml" for one in fits if one["method"] == "matchxml")
    assert all(one.get("vocabulary") for one in fits if issubclass(method_class(one["method"]), Xml0))
    without = {"matchxml", "xr-transformer", "attentionxml", "classifier", "ova-clf", "lan"}  # they read no labels
    more = {"depl", "depl+cls", "de-ret", "xml0", "label-fusion", "conse"}  # the others' papers read names alone
    by_names = [one for one in fits if one["method"] not in without | more and one["data"] not in ("...", "DATA")]
    assert all(one.get("names_only") for one in by_names)
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


def labels_of_data() -> dict[str, tuple[int, list[str]]]:
    """Labels of each data set, and what they take."""
    found: dict[str, tuple[int, list[str]]] = {}
    for labels, *sizes in table("labels |"):
        count, names = re.findall(r"([\d,]+) \((.*)\)", labels)[0]
        found |= {name.lower(): (int(count.replace(",", "")), sizes) for name in names.split(", ")}
    return found


def commands_of_data() -> dict[str, set[str]]:
    """Which methods the page has for each data set."""
    found: dict[str, set[str]] = {}
    names: list[str] = []
    for first, _, command in table("data |"):
        named = [name for name in re.findall(r"[\w-]*\d+[KM]\b|MIMIC-III|MAG-CS", first, re.IGNORECASE) if name]
        names = names if first.startswith("the same") else named
        for name in names:
            asked = [parsed(one)[1]["method"] for one in re.findall(r"`([^`]+)`", command)]
            found.setdefault(name.lower(), set()).update(asked)
    return found


COLUMNS = {  # what is in them, and bytes a label
    "classifier": ({"classifier", "depl", "ova-clf"}, 16 * 768),
    "lan": ({"lan"}, 32 * 768),
    "matchxml": ({"matchxml", "xr-transformer"}, 12 * 768),
    "attentionxml": ({"attentionxml"}, 0),
    "of-de": ({"of-de", "of-lan"}, 4 * 4096),
    "maclr": ({"maclr"}, 4 * 512),
}


def test_what_labels_take() -> None:
    """Every data set that is named has a row, and each method that it has a command for a cell."""
    sizes, asked = labels_of_data(), commands_of_data()
    asked["amazoncat-13k"] |= asked["eurlex57k"]  # OF-DE's family: one command stands for all
    asked["mimic-iii"] |= asked["eurlex57k"]
    assert set(sizes) == set(asked)
    asked["wiki-500k"] |= asked["lf-wikipedia-500k"]  # one row
    assert sizes.pop("lf-wikipedia-500k") == sizes["wiki-500k"]
    of_matchxml: Any = everylabel.method("matchxml", preset="paper")
    for name, (count, cells) in sizes.items():
        for (column, (methods, width)), cell in zip(COLUMNS.items(), cells, strict=True):
            assert (cell != "-") == bool(methods & asked[name]), (name, column)
            if cell == "-":
                continue
            if column == "attentionxml":
                preset = f"paper:{name}" if f"paper:{name}" in method_class(column).presets else "paper"
                paper: Any = everylabel.method(column, preset=preset)
                width = 12 * paper.dim
            rows = min(count, of_matchxml.fine_tuning.most_nodes) if column == "matchxml" else count
            assert number(cell) == pytest.approx(width * rows, rel=0.03, abs=0.006e9), (name, column)


def test_what_attention_keeps() -> None:
    """Of each document and candidate, in torch's own words, and what that makes of the papers' batches."""
    import torch
    from torch import Tensor, nn

    from everylabel.methods.attentionxml.module import Level, Read, Shape

    def kept(tokens: int, dim: int, hidden: tuple[int, ...], *, tree: bool) -> float:
        level, rows, candidates = Level(nn.Identity(), Shape(2, 400, dim, hidden, "lstm")), 8, 400
        states = torch.randn(rows, tokens, dim, requires_grad=True)
        own = {weight.data_ptr() for weight in (*level.parameters(), states)}
        found: dict[int, Tensor] = {}

        def pack(tensor: Tensor) -> Tensor:
            if tensor.data_ptr() not in own:
                found[tensor.untyped_storage().data_ptr()] = tensor
            return tensor

        nodes = np.tile(np.arange(candidates), (rows, 1)) if tree else np.arange(candidates)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            level(Read(states, torch.ones(rows, tokens, dtype=torch.bool)), nodes)
        return sum(tensor.untyped_storage().nbytes() for tensor in found.values()) / (rows * candidates)

    for tree in (False, True):
        assert kept(40, 16, (12, 8), tree=tree) == pytest.approx(4 * (40 + 16 * (1 + tree) + 20), rel=0.1)
    said = " ".join(PAGE.split())
    sums = {"eurlex-4k": 0.8, "wiki10-31k": 6.3, "amazoncat-13k": 24, "amazon-670k": 3.5, "amazon-3m": 4.2}
    of_true = {"amazon-670k": 5.45, "amazon-3m": 36.04}  # labels a document, each below another node at most
    for name, expected in sums.items():
        paper: Any = everylabel.method("attentionxml", preset=f"paper:{name}")
        tree = name in of_true
        candidates = (paper.beam + of_true[name]) * paper.leaf_size if tree else labels_of_data()[name][0]
        texts, width = paper.learn.batch_size * candidates, 500 + paper.dim * (1 + tree) + sum(paper.hidden)
        assert 4 * texts * width == pytest.approx(expected * 1e9, rel=0.03)
        assert f"{expected} + {8 * 500 * texts / 1e9:.{1 if texts < 2e6 else 0}f} GB" in said


def test_memory_of_the_host() -> None:
    said = " ".join(PAGE.partition("## Memory of the host")[2].partition("\n## ")[0].split())
    paper: Any = everylabel.method("matchxml", preset="paper:amazon-3m")
    assert paper.sentence_weight > 0
    assert paper.tuned_weight > 0
    facts = Facts.of(Dataset(Documents.of(["a"]), LabelSet.of([Label("a", "a")]), pairs_from_lists([[0]], 1)))
    one, more = facts, replace(facts, n_labels=1_001, n_seen=1_001)
    of_svm, of_depl = (
        (cls.fit_memory(more) - cls.fit_memory(one)) / 1_000 for cls in map(method_class, ("svm", "depl"))
    )
    assert of_svm == 12_000  # twice
    assert of_depl == 24_000
    for documents, name in ((1_779_881, "wiki-500k"), (1_717_899, "amazon-3m")):
        vectors, weights = 3 * documents * 1_536 * 4, labels_of_data()[name][0] * (2 * 8 * 1_536 + of_svm)
        assert f"{vectors / 1e9:.0f} GB, then {weights / 1e9:.0f} GB" in said
    assert f"{of_depl * 501_070 / 1e9:.0f} GB on Wiki-500K" in said
    assert f"{8 * 2 * 7.1:.0f} GB of the host with eight" in said


def test_batches() -> None:
    paper: Any = everylabel.method("maclr", preset="paper")
    learn, texts = paper.learn, paper.encoder.max_tokens
    of_maclr = learn.batch_size * (2 * texts + paper.label_tokens) + learn.label_negatives * paper.label_tokens
    family: Any = everylabel.method("of-de", preset="paper")
    of_texts = family.learn.batch_size * family.encoder.max_tokens
    of_family = of_texts + family.learn.batch_size * LABEL_TOKENS
    assert f"at most {-(-of_maclr // 1000)},000 tokens" in PAGE
    assert f"at most {-(-of_family // 1000)},000." in PAGE
    for name, said in (("eurlex57k", "404,000 tokens on EURLEX57K"), ("amazoncat-13k", "984,000 on AmazonCat-13K")):
        found = of_texts + labels_of_data()[name][0] * LABEL_TOKENS
        assert said.startswith(f"{round(found, -3):,}")
        assert said in PAGE
    at_once = {card: int(tokens.replace(",", "")) for card, _, tokens, _ in table("card |")}
    assert at_once["A100, H100, 80 GB"] >= of_maclr
    assert 2 * at_once["A100, 40 GB"] >= of_maclr > at_once["A100, 40 GB"]


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
