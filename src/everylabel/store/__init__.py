"""A model is a folder: manifest.json, plain.json (values that are no arrays) and arrays/, one memory-mapped file each.

    MODEL/manifest.json         versions, configuration, which array belongs where, sizes and checksums of all files
    MODEL/plain.json            what was learned and is no array
    MODEL/arrays/HASH.npy       an array of 64 KB or more, named by its content: what occurs twice is stored once
    MODEL/arrays/small.npy      the smaller ones, one after the other
    MODEL/arrays/HASH.exact     an index of label vectors, or HASH.ann
    MODEL/README.md             a card for people and model hubs (card.py); no part of the model

The vocabulary is arrays as the rest. A model is written beside its final place and exchanged with what is there, so
that a reader finds the old model or the new one, and an interrupted save leaves the old. Loading runs no code and
copies nothing: a model of any size is open in some milliseconds.
"""

from __future__ import annotations

from everylabel.store.describe import Description, describe
from everylabel.store.lock import locked
from everylabel.store.manifest import FORMAT, MANIFEST, read_manifest
from everylabel.store.read import Checked, check, load
from everylabel.store.write import check_destination, save_method

__all__ = [
    "FORMAT",
    "MANIFEST",
    "Checked",
    "Description",
    "check",
    "check_destination",
    "describe",
    "load",
    "locked",
    "read_manifest",
    "save_method",
]
