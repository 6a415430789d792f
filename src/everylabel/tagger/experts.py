"""The experts of a tagger: methods that are fitted on the same data, and asked about the same documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from everylabel import config
from everylabel.data.dataset import Dataset, Documents
from everylabel.errors import ClusterError, ConfigError, EverylabelError
from everylabel.methods.base import Method
from everylabel.parallel import work_together
from everylabel.registry import method_class
from everylabel.run import QUIET, Run
from everylabel.tagger.candidates import PRIOR
from everylabel.tagger.prior import Prior
from everylabel.text.views import Views
from everylabel.types import Ranking

WORDS = "tfidf"
MOST_SAID = 300  # characters of an error
PART = 256  # documents that are ranked together elsewhere
TITLES = "tfidf, title"  # what words say of the title alone: an opinion of its own


def new_expert(name: str, settings: Mapping[str, Any], seed: int) -> Method:
    return config.build(method_class(name), {"random_state": seed, **settings}, f"settings.{name}.")


def fit_expert(expert: Method, dataset: Dataset, run: Run = QUIET) -> Method:
    """Without pairs for those that do not learn from them: what they say of a document never depends on its labels."""
    return expert.fit(dataset if expert.traits.learns_from_pairs else dataset.without_pairs(), run=run)


def why_unfitted(error: Exception) -> str:
    """In words, why an expert is left out of a fit: too little data, a training that diverged, or a fault of its own.

    A setting that cannot work, such as a device that is not there, is raised: its user has to know before the fit ends.
    So is the loss of a machine: the expert is not to blame.
    """
    if type(error) in (ConfigError, ClusterError):
        raise error
    what = str(error) if isinstance(error, EverylabelError) else f"{type(error).__name__}: {error}".rstrip(": ")
    return f"cannot be fitted on these data ({' '.join(what.split())[:MOST_SAID]})"


def opinions(
    experts: Mapping[str, Method], views: Views, prior: Prior | None = None, *, titles: bool = True
) -> dict[str, Ranking]:
    """What each expert says, in the order of `opinion_names`, and last what the prior makes of the parts of one of
    them. Each reads what the others have read. `titles`: words of the title alone, too.

    Side by side, each on one core: a single text has little in it that two cores could share.
    """
    names = opinion_names(list(experts), titles and views.documents.features is None)
    reader = None if prior is None else prior.reader(experts.values())

    def ask(name: str) -> Ranking:
        if name == PRIOR:
            assert prior is not None
            assert reader is not None
            return prior.rank(reader, views, reader.depth)
        return opinion(experts[WORDS], views.titles_only()) if name == TITLES else opinion(experts[name], views)

    names += [] if reader is None else [PRIOR]
    return dict(zip(names, work_together(ask, names), strict=True))


def opinions_of_parts(
    experts: Mapping[str, Method], documents: Documents, prior: Prior | None, run: Run
) -> dict[str, Ranking]:
    """The same, of parts of the documents, by all who help with this job."""
    parts = [range(first, min(first + PART, len(documents))) for first in range(0, len(documents), PART)]
    work = partial(_opinions_of_part, experts=experts, documents=documents, prior=prior)
    found = list(run.spread(work, parts))
    return {name: Ranking.joined([part[name] for part in found]) for name in found[0]}


def _opinions_of_part(
    part: range, experts: Mapping[str, Method], documents: Documents, prior: Prior | None
) -> dict[str, Ranking]:
    return opinions(experts, Views(documents.subset(part)), prior)


def opinion_names(experts: Sequence[str], titles: bool) -> list[str]:
    return [*experts, *([TITLES] if titles and WORDS in experts else [])]


def ranks_unseen(opinions: Sequence[str]) -> list[bool]:
    """Of each opinion: whether who has it can rank unseen labels."""
    return [name == PRIOR or method_class(WORDS if name == TITLES else name).traits.ranks_unseen for name in opinions]


def opinion(expert: Method, views: Views, depth: int | None = None) -> Ranking:
    """As deep as is worth it, unless a depth is given. A score of 0 says nothing."""
    found = expert.rank(views, min(depth or expert.depth, len(expert.labels_)))
    nothing = found.scores <= 0
    return Ranking(np.where(nothing, -1, found.ids), np.where(nothing, -np.inf, found.scores).astype(np.float32))
