"""What the jobs of a fit, and the rows of a comparison, are given of a cluster."""

from __future__ import annotations

from typing import Any

from everylabel.distributed.executor import Needs
from everylabel.registry import method_class


def needs_of(job: Any, cores: int, gpus: int) -> Needs:
    """A job of a tagger, or anything with a method's name: all cores of a job, or one where more are of little use; a
    GPU for what is trained by torch, if there is one."""
    traits = method_class(job.name).traits
    alone = traits.on_one_core < 2
    return Needs(1 if alone else cores, 1 if gpus and traits.needs_torch else 0)
