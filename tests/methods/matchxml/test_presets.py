"""The presets of MatchXML beside the numbers of its paper."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from everylabel import config
from everylabel.methods.matchxml.matchxml import MatchXml, XrTransformer
from everylabel.methods.matchxml.presets import BERT, ROBERTA, XLNET

LABELS = {  # table I
    "eurlex-4k": 3_956,
    "wiki10-31k": 30_938,
    "amazoncat-13k": 13_330,
    "wiki-500k": 501_070,
    "amazon-670k": 670_091,
    "amazon-3m": 2_812_281,
}
LABEL2VEC = {  # table II: exponent, epochs
    "eurlex-4k": (0.5, 20),
    "wiki10-31k": (1.0, 20),
    "amazoncat-13k": (0.5, 20),
    "wiki-500k": (-1.0, 50),
    "amazon-670k": (0.5, 50),
    "amazon-3m": (-0.5, 20),
}
STAGES = {  # table III: rates of the encoder, of the embedding layer, steps
    "eurlex-4k": ((5e-5,) * 3, 1e-3, (480, 620, 600)),
    "wiki10-31k": ((5e-5,) * 3, 1e-3, (500, 520, 350)),
    "amazoncat-13k": ((1e-4,) * 3, 1e-3, (10_000, 10_000, 20_000)),
    "wiki-500k": ((1e-4,) * 4, 1e-3, (10_000, 10_000, 20_000, 20_000)),
    "amazon-670k": ((5e-5, 5e-5, 2e-4), 1e-3, (4_000, 4_000, 12_000)),
    "amazon-3m": ((1.5e-4,) * 3, 5e-3, (10_000, 10_000, 10_000)),
}
ENCODERS = {  # table IV: encoder, batch, tokens, lambda, label embeddings
    "eurlex-4k": (BERT, 128, 128, 1.0, "pifa"),
    "wiki10-31k": (ROBERTA, 128, 256, 0.0, "label2vec"),
    "amazoncat-13k": (BERT, 128, 256, 1.0, "label2vec"),
    "wiki-500k": (BERT, 128, 128, 0.67, "label2vec"),
    "amazon-670k": (ROBERTA, 256, 128, 0.5, "label2vec"),
    "amazon-3m": (BERT, 256, 128, 0.9, "label2vec"),
}
WARM_UP = {  # the authors' code: steps of each stage
    "eurlex-4k": (0, 0, 0),
    "wiki10-31k": (50, 50, 30),
    "amazoncat-13k": (1_000, 1_000, 1_000),
    "wiki-500k": (5_000, 5_000, 5_000, 5_000),
    "amazon-670k": (200, 200, 200),
    "amazon-3m": (1_000, 1_000, 1_000),
}


def made(cls: type[Any], name: str) -> Any:
    method = config.build(cls, config.merge(cls.presets["paper"], cls.presets[f"paper:{name}"]))
    method.check()
    return method


@pytest.mark.parametrize("name", LABELS)
def test_the_paper_s_tables(name: str) -> None:
    method = made(MatchXml, name)
    tuning, vectors = method.fine_tuning, method.label2vec
    assert (vectors.exponent, vectors.epochs) == LABEL2VEC[name]
    assert (vectors.dim, vectors.negatives, vectors.rate) == (100, 20, 0.025)
    assert (tuning.stage_lr, tuning.head_lr, tuning.stage_steps) == STAGES[name]
    kind, batch, tokens, balance, tree = ENCODERS[name]
    assert (method.encoder.kind, method.encoder.max_tokens, method.encoder.pooling) == (kind, tokens, "pooler")
    assert (tuning.batch_size, tuning.balance, tuning.temperature, method.tree) == (batch, balance, 0.05, tree)
    assert tuning.negatives >= 500
    assert (tuning.weighted, tuning.matcher_start, tuning.matching, method.ranker_tree) == (True, True, True, "paper")
    assert (method.sentence.kind, method.sentence.max_tokens) == ("sentence-transformers/sentence-t5-base", 256)
    assert (method.tuned_weight, method.sentence_weight, method.rare_weight) == (1, 1, 0)


@pytest.mark.parametrize("name", LABELS)
def test_what_the_authors_code_has_beside_the_tables(name: str) -> None:
    method = made(MatchXml, name)
    tuning = method.fine_tuning
    shares = zip(tuning.stage_warmup, tuning.stage_steps, strict=True)
    assert tuple(round(share * steps) for share, steps in shares) == WARM_UP[name]
    assert tuning.hinge_too == (name == "eurlex-4k")
    assert (tuning.weighted_start is False) == (name in ("amazon-670k", "amazon-3m"))
    assert method.first_nodes == (128 if name == "amazoncat-13k" else None)


def test_the_general_preset_has_a_tree_for_few_labels_too() -> None:
    method = config.build(MatchXml, MatchXml.presets["paper"])
    of_data = made(MatchXml, "wiki10-31k")
    sizes = [(one.leaf_size, one.arity, one.beam, one.fine_tuning.first_nodes) for one in (method, of_data)]
    assert sizes == [(16, 16, 100, 128)] * 2


@pytest.mark.parametrize("cls", [MatchXml, XrTransformer])
@pytest.mark.parametrize("name", LABELS)
def test_ensembles_are_those_of_table_vi(cls: type[Any], name: str) -> None:
    """Three encoders for three small data sets, three trees for three large ones."""
    single, ensemble = made(cls, name), made(cls, f"{name}-ensemble")
    small = name in ("eurlex-4k", "wiki10-31k", "amazoncat-13k")
    kinds = {ensemble.encoder_of(number).kind for number in range(ensemble.members)}
    assert kinds == ({BERT, ROBERTA, XLNET} if small else {single.encoder.kind})
    assert replace(ensemble, members=1, member_encoders=()) == single
    assert ensemble.members == 3


@pytest.mark.parametrize("name", LABELS)
def test_there_are_as_many_stages_as_the_paper_says(name: str) -> None:
    """Section IV-B: three stages, four of Wiki-500K. None of them tells two nodes apart."""
    tuning = made(MatchXml, name).fine_tuning
    leaves = math.ceil(LABELS[name] / tuning.leaf_size)
    widths = [tuning.first_nodes]
    while widths[-1] < leaves:
        widths.append(min(widths[-1] * tuning.arity, leaves))
    widths = [width for width in [*widths, LABELS[name]] if width <= tuning.most_nodes]
    assert len(widths) == len(tuning.stage_steps) == (4 if name == "wiki-500k" else 3)
    assert widths[0] >= 16


@pytest.mark.parametrize("name", LABELS)
def test_xr_transformer_has_the_settings_of_table_xii_s_first_rows(name: str) -> None:
    method = made(XrTransformer, name)
    assert (method.tree, method.fine_tuning.matching, method.sentence_weight) == ("pifa", False, 0)
    assert method.fine_tuning.stage_steps == STAGES[name][2]
