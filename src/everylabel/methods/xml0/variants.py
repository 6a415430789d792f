"""Parts of XML0 (fusion.py) as methods of their own: `label-fusion`, its first score alone, and `conse`."""

from __future__ import annotations

from dataclasses import replace

from everylabel.methods.traits import method
from everylabel.methods.xml0.fusion import Xml0
from everylabel.methods.xml0.subsets import SearchKind


@method("label-fusion", "the part of xml0 that makes new labels of those that a method finds")
class LabelFusion(Xml0):
    """Unseen labels by the best subset of the base's labels alone: XML0 without the document's own likeness.

    Deviations: those of `xml0` but "Both scores".
    """

    traits = replace(Xml0.traits, worth=None)

    weight: float | None = 1.0


@method("conse", "label-fusion without a search: all labels that a method finds, added up")
class Conse(Xml0):
    """Unseen labels by the sum of all of the base's labels: one direction for a document that has several topics.

    Deviations: those of `xml0` but "Both scores".
    """

    traits = replace(Xml0.traits, worth=None)

    search: SearchKind = "full"
    weight: float | None = 1.0
