"""What of-de becomes with attention, free weights or other label sides: the rest of the table in onesided.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from everylabel.methods.facts import FEW_DOCUMENTS, Facts, Work
from everylabel.methods.onesided.onesided import LabelSide, OfDe
from everylabel.methods.onesided.presets import ATTENTION, FREE, FROZEN, presets_of
from everylabel.methods.traits import Traits, method


@method("of-lan", "of-de with attention: each label looks at the words of a document that matter to it, and shows them")
class OfLan(OfDe):
    """of-de with label-wise attention: each label looks at the words of a document that matter to it.

    Deviations: those of `of-de`.
    - Special tokens have no part in attention.
    """

    traits = replace(
        OfDe.traits,
        why="an encoder with attention, its label side frozen; shows passages",
        worth=100,
        reads_sentences=None,
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = presets_of(FROZEN, ATTENTION)

    attention: bool = True

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=5, training=facts.trained_on(5) * 8e-3)

    @classmethod
    def unfit(cls, facts: Facts) -> str:
        more = "of-de is as good here, and far faster; ask for it to be shown passages by attention"
        return super().unfit(facts) or more


@method("ova-clf", "of-de with free weights for each label instead of its text")
class OvaClf(OfDe):
    """An encoder and free weights for each seen label.

    Deviations:
    - Not in the paper: loss, pooling, lengths. Here: decoupled softmax over all seen labels, the mean of the tokens,
      512 tokens of a document; gradients are cut to length 1. Free weights start at random.
    - The rate is the middle one of its three, of which it takes the best on dev: 2e-5, 5e-5, 1e-4.
    """

    traits = Traits(
        why="an encoder with free weights a label",
        needs_torch=True,
        on_one_core=1.83,
        least_documents=FEW_DOCUMENTS,
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = presets_of(FREE)

    label_side: LabelSide = "free"
    auxiliary: float = 0.0


@method("lan", "of-lan with free weights and queries for each label instead of its text")
class Lan(OvaClf):
    """Label-wise attention with free queries and weights for each seen label.

    Deviations: those of `ova-clf`.
    - Free queries start as 0, which is the mean of the tokens. Special tokens have no part in attention.
    """

    traits = replace(OvaClf.traits, why="an encoder with attention a label; shows passages")
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = presets_of(FREE, ATTENTION)

    attention: bool = True

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=5, training=facts.trained_on(5) * 5e-3)


@method("dpr", "two encoders, of documents and of label texts, both trained")
class Dpr(OfDe):
    """Two encoders, one of documents and one of label texts, both trained.

    Deviations: those of `of-de` but "Projections".
    """

    traits = replace(OfDe.traits, why="two encoders trained on the pairs", worth=None, reads_sentences=12)
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = presets_of()

    label_side: LabelSide = "second"
    auxiliary: float = 0.0


@method("dexml", "one encoder of documents and label texts, trained")
class Dexml(Dpr):
    """One encoder of documents and label texts, trained."""

    traits = replace(Dpr.traits, why="one encoder of documents and labels, trained on the pairs", reads_sentences=11)

    label_side: LabelSide = "same"
