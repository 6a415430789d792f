"""What of-de becomes with attention, free weights or other label sides: the rest of the table in onesided.py."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from everylabel.methods.facts import Facts, Work
from everylabel.methods.onesided.onesided import LabelSide, OfDe
from everylabel.methods.traits import Traits


@dataclass(kw_only=True)
class OfLan(OfDe):
    """of-de with label-wise attention: each label looks at the words of a document that matter to it."""

    name: ClassVar[str] = "of-lan"
    summary: ClassVar[str] = (
        "of-de with attention: each label looks at the words of a document that matter to it, and shows them"
    )
    traits: ClassVar[Traits] = replace(
        OfDe.traits,
        why="an encoder with attention, its label side frozen; shows passages",
        worth=100,
        reads_sentences=None,
    )

    attention: bool = True

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=5, training=facts.trained_on(5) * 8e-3)

    @classmethod
    def unfit(cls, facts: Facts) -> str:
        more = "of-de is as good here, and far faster; ask for it to be shown passages by attention"
        return super().unfit(facts) or more


@dataclass(kw_only=True)
class OvaClf(OfDe):
    """An encoder and free weights for each seen label."""

    name: ClassVar[str] = "ova-clf"
    summary: ClassVar[str] = "of-de with free weights for each label instead of its text"
    traits: ClassVar[Traits] = replace(
        OfDe.traits,
        why="an encoder with free weights a label",
        reads_label_texts=False,
        ranks_unseen=False,
        worth=None,
        reads_sentences=None,
    )

    label_side: LabelSide = "free"
    auxiliary: float = 0.0


@dataclass(kw_only=True)
class Lan(OfDe):
    """Label-wise attention with free queries and weights for each seen label."""

    name: ClassVar[str] = "lan"
    summary: ClassVar[str] = "of-lan with free weights and queries for each label instead of its text"
    traits: ClassVar[Traits] = replace(OvaClf.traits, why="an encoder with attention a label; shows passages")

    label_side: LabelSide = "free"
    attention: bool = True
    auxiliary: float = 0.0

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        return Work(reading=5, training=facts.trained_on(5) * 5e-3)


@dataclass(kw_only=True)
class Dpr(OfDe):
    """Two encoders, one of documents and one of label texts, both trained."""

    name: ClassVar[str] = "dpr"
    summary: ClassVar[str] = "two encoders, of documents and of label texts, both trained"
    traits: ClassVar[Traits] = replace(
        OfDe.traits, why="two encoders trained on the pairs", worth=None, reads_sentences=12
    )

    label_side: LabelSide = "second"
    auxiliary: float = 0.0


@dataclass(kw_only=True)
class Dexml(OfDe):
    """One encoder of documents and label texts, trained."""

    name: ClassVar[str] = "dexml"
    summary: ClassVar[str] = "one encoder of documents and label texts, trained"
    traits: ClassVar[Traits] = replace(
        OfDe.traits, why="one encoder of documents and labels, trained on the pairs", worth=None, reads_sentences=11
    )

    label_side: LabelSide = "same"
    auxiliary: float = 0.0
