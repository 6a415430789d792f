"""What the jobs of a fit, and the rows of a comparison, are given of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everylabel.data.dataset import Dataset
from everylabel.distributed.executor import Needs
from everylabel.methods.facts import Facts
from everylabel.registry import method_class


class NeedsOfJobs:
    """A job of a tagger, or anything with a method's name, on such data: all cores of a job, or one where more are of
    little use; a GPU for what is trained by torch, if there is one; and the memory that a plan counts with."""

    def __init__(self, cores: int, gpus: int) -> None:
        self._cores, self._gpus = cores, gpus
        self._known: tuple[Dataset, Facts] | None = None  # of the last data

    def __call__(self, job: Any, given: Mapping[str, Any]) -> Needs:
        method = method_class(job.name)
        alone, learns = method.traits.on_one_core < 2, method.traits.needs_torch
        data = given.get("dataset", given.get("train"))
        memory = 0.0 if data is None else method.fit_memory(self._facts(data))
        return Needs(1 if alone else self._cores, 1 if self._gpus and learns else 0, int(memory))

    def _facts(self, data: Dataset) -> Facts:
        if self._known is None or self._known[0] is not data:
            self._known = data, Facts.of(data)
        return self._known[1]
