"""What people say of documents: beside the labels that these have, those that they have not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everylabel.data.dataset import LabelSet, pairs_from_lists
from everylabel.errors import DataError
from everylabel.types import Csr


class Judgements(NamedTuple):
    """What people said of documents beside their labels."""

    rejected: Csr  # (documents, labels): shown to a person, who said that they are wrong
    complete: NDArray[np.bool_]  # of each document: its labels are all it has

    @classmethod
    def of(
        cls, n_docs: int, labels: LabelSet, rejected: Sequence[Sequence[str]], complete: Sequence[bool]
    ) -> Judgements:
        """Nothing given: nothing was rejected, all is complete. A label that is not in the vocabulary is nothing."""
        for name, given in (("rejected", rejected), ("complete", complete)):
            if len(given) not in (0, n_docs):
                raise DataError(f"{name} is given for {len(given)} documents, and there are {n_docs}; give it for each")
        lists = [[labels.index[label] for label in own if label in labels.index] for own in rejected or [()] * n_docs]
        return cls(pairs_from_lists(lists, len(labels)), np.array(complete or [True] * n_docs, np.bool_))
