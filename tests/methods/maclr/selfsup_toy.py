"""Documents and labels of ten words, and encoders that learn from them in no time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
from everylabel.encoders.base import EncoderConfig
from everylabel.methods.maclr.maclr import Ict, Maclr, Rts, SelfSupervision, SimCse
from everylabel.methods.maclr.selfsup import Learner
from everylabel.methods.tower import Tower
from everylabel.run import QUIET
from everylabel.text.views import Views

NAMES = ["fish", "sea", "ship", "law", "tax", "customs", "milk", "wine", "trade", "union"]
LABELS = LabelSet.of(
    Label(f"l{i}", name, alternatives=(f"the {name}", f"{name} in the european union")[: i % 3])
    for i, name in enumerate(NAMES)
)
ALL: dict[str, Any] = {"clustering": True, "label_regularisation": True, "pseudo_encoder": True, "pseudo_tfidf": True}
METHODS: list[type[Ict]] = [Maclr, Ict, SimCse, Rts]
New = Callable[..., Any]


def documents(n: int = 24) -> Documents:
    rng = np.random.default_rng(0)
    texts = [" ".join(["the", *rng.choice(NAMES, 6).tolist(), "of", *rng.choice(NAMES, 4).tolist()]) for _ in range(n)]
    return Documents.of(texts, titles=[" ".join(text.split()[1:3]) for text in texts])


DATA = Dataset(documents(), LABELS)


@pytest.fixture
def learner(static: EncoderConfig) -> New:
    """`learner(data, clustering=True)`."""

    def made(data: Dataset = DATA, **settings: Any) -> Learner:
        config = SelfSupervision(**{"batch_size": 8, "steps": 4, **settings})
        views = Views.of(data.documents)
        tower = Tower.load(static, views, data.labels, 0, center=True)
        return Learner(config, tower, data, views, 0, "exact", QUIET)

    return made
