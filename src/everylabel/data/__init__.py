"""Data: the model of it (`dataset`), reading and writing (`formats`, `write`), splits, and a look at what is there.

Names are imported on use, as `import everylabel` must stay quick. `inspect` is not among them: it is the module's name.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everylabel.data.dataset import Dataset, Documents, Label, LabelSet
    from everylabel.data.formats.filters import load_filter
    from everylabel.data.formats.load import (
        load_dataset,
        load_documents,
        load_labelled,
        load_labels,
        stream_documents,
        whole_text,
    )
    from everylabel.data.formats.registry import available_splits, detect_format
    from everylabel.data.formats.rows import BadRows
    from everylabel.data.write import convert, sample

__all__ = [
    "BadRows",
    "Dataset",
    "Documents",
    "Label",
    "LabelSet",
    "available_splits",
    "convert",
    "detect_format",
    "load_dataset",
    "load_documents",
    "load_filter",
    "load_labelled",
    "load_labels",
    "sample",
    "stream_documents",
    "whole_text",
]

HOMES = {
    "BadRows": "formats.rows",
    "Dataset": "dataset",
    "Documents": "dataset",
    "Label": "dataset",
    "LabelSet": "dataset",
    "available_splits": "formats.registry",
    "convert": "write",
    "detect_format": "formats.registry",
    "load_dataset": "formats.load",
    "load_documents": "formats.load",
    "load_filter": "formats.filters",
    "load_labelled": "formats.load",
    "load_labels": "formats.load",
    "sample": "write",
    "stream_documents": "formats.load",
    "whole_text": "formats.load",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
