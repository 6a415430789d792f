"""everylabel: tag a text with the right labels out of a very large vocabulary.

    import everylabel

    data = everylabel.load_dataset("DATA")
    tagger = everylabel.Tagger().fit(data)
    tagger.tag(["a new text"], k=5)  # labels with probability, band and evidence
    tagger.save("MODEL")
    tagger = everylabel.load("MODEL")

A single method is `everylabel.method("xr-linear").fit(data)`. The metrics are in `everylabel.metrics.ranking`.
Names are imported on first use: `import everylabel` itself loads nothing heavy.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

for _variable in ("EVERYLABEL_THREADS", "OMP_NUM_THREADS"):
    if os.environ.get(_variable, "").isdecimal():
        # numpy's products and tokenizers ask once, when they are loaded, for variables of their own
        os.environ.setdefault("OPENBLAS_NUM_THREADS", os.environ[_variable])
        os.environ.setdefault("RAYON_NUM_THREADS", os.environ[_variable])

_EXPORTS = {
    "Dataset": "everylabel.data.dataset",
    "Documents": "everylabel.data.dataset",
    "EverylabelError": "everylabel.errors",
    "Label": "everylabel.data.dataset",
    "LabelSet": "everylabel.data.dataset",
    "load_dataset": "everylabel.data",
    "load_documents": "everylabel.data",
    "Ranking": "everylabel.types",
    "Tagger": "everylabel.tagger.tagger",
    "load": "everylabel.store",
}

if TYPE_CHECKING:
    from everylabel.data import load_dataset as load_dataset
    from everylabel.data import load_documents as load_documents
    from everylabel.data.dataset import Dataset as Dataset
    from everylabel.data.dataset import Documents as Documents
    from everylabel.data.dataset import Label as Label
    from everylabel.data.dataset import LabelSet as LabelSet
    from everylabel.errors import EverylabelError as EverylabelError
    from everylabel.methods.base import Method
    from everylabel.store import load as load
    from everylabel.tagger.tagger import Tagger as Tagger
    from everylabel.types import Ranking as Ranking

__all__ = [
    "Dataset",
    "Documents",
    "EverylabelError",
    "Label",
    "LabelSet",
    "Ranking",
    "Tagger",
    "__version__",
    "load",
    "load_dataset",
    "load_documents",
    "method",
]


def method(name: str, *, preset: str | None = None, **settings: Any) -> Method:
    """An unfitted method by its name (`everylabel methods` lists them) with settings as keyword arguments.

    Nested settings are dictionaries: `method("xr-linear", leaf_size=200, tfidf={"ngrams": 1})`. `preset` is what they
    are put on, instead of the defaults: `method("of-de", preset="paper")`; `everylabel methods of-de` lists them.
    """
    from everylabel.config import build, merge
    from everylabel.registry import method_class

    cls = method_class(name)
    return build(cls, settings if preset is None else merge(cls.preset(preset), settings))


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module 'everylabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
