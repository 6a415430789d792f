"""Linear classifiers that learn from the labels whose words a document has: a baseline of MACLR's paper (its table 2).

"Extreme Zero-Shot Learning for Extreme Text Classification": XR-Linear on pseudo pairs of TF-IDF. The paper finds it
worse than TF-IDF itself, since the pairs are noisy.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

import numpy as np

from everylabel.data.dataset import Dataset, pairs_from_lists
from everylabel.errors import ConfigError, DataError
from everylabel.methods.facts import Facts, Work
from everylabel.methods.traits import method
from everylabel.methods.words.linear import XrLinear
from everylabel.run import Run
from everylabel.text.matching import LabelMatcher, MatchConfig, require_texts
from everylabel.text.views import Views

WHY = "linear classifiers, learned from label texts in documents"


@method("xr-linear-pseudo", "xr-linear without labelled documents: it learns from the labels that TF-IDF finds")
class PseudoXrLinear(XrLinear):
    """Cost: that of `tfidf` for all training documents, then that of `xr-linear`.

    Deviations: those of `xr-linear`.
    - How many labels a document has the paper does not say: the 3 of its stage II.
    """

    traits = replace(
        XrLinear.traits,
        why=WHY,
        pairs="unused",
        documents="needed",
        reads_label_texts=True,
        needs_texts=True,
        worth=None,
    )

    match: MatchConfig = field(default_factory=MatchConfig)  # of TF-IDF
    pseudo_labels: int = 3  # of a document

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        reading = 1.5e-6 * facts.all_words + 1e-4 * facts.n_labels
        return replace(super().cost(facts), reading=reading)

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        return super().settings_for(facts) | {"match": {"language": facts.language}}

    def check(self) -> None:
        super().check()
        self.match.check()
        if self.pseudo_labels < 1:
            raise ConfigError(f"pseudo_labels must be at least 1; got {self.pseudo_labels}")

    def _fit(self, dataset: Dataset, run: Run) -> None:
        require_texts(dataset.documents)
        views = Views.in_run(dataset.documents, run)
        found = LabelMatcher(self.match).fit(views, dataset.labels, run).rank(views, self.pseudo_labels).ids
        if not (found >= 0).any():
            raise DataError(f"{dataset.name}: no document has a word of a label's text: there is nothing to learn from")
        pairs = pairs_from_lists([np.sort(row[row >= 0]).tolist() for row in found], len(dataset.labels))
        super()._fit(dataset.with_pairs(pairs), run)
