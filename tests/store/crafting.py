"""Models as somebody could write them who means harm: any content, with the right checksums."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from everylabel.store import manifest as manifests


def resign(model: Path, **changes: Any) -> None:
    """The manifest with these parts, and the checksums of the files as they are now."""
    manifest = json.loads((model / "manifest.json").read_text()) | changes
    del manifest["sha256"]
    manifest["files"] = {name: manifests.about(model / name) for name in manifest["files"]}
    manifests.write_manifest(model, manifest)


def craft(model: Path, key: str, change: Callable[[Any], Any], part: int = 0, where: str = "state") -> None:
    """Elements of an array of a value (of a csr matrix: data, indices or indptr; of texts: bytes or offsets)."""
    manifest = json.loads((model / "manifest.json").read_text())
    entry = manifest[where][key]
    name = entry["array"] if "array" in entry else (entry.get("csr") or entry["texts"])[part]
    place = manifest["arrays"][name]
    file = model / place["file"]
    data = bytearray(file.read_bytes())
    values = np.frombuffer(data, place["dtype"], int(np.prod(place["shape"])), place["offset"]).reshape(place["shape"])
    fresh = np.ascontiguousarray(change(values.copy()), values.dtype)
    data[place["offset"] : place["offset"] + values.nbytes] = fresh.tobytes()
    file.write_bytes(data)
    resign(model)


def craft_plain(model: Path, change: Callable[[dict[str, Any]], None]) -> None:
    plain = json.loads((model / "plain.json").read_text())
    change(plain)
    (model / "plain.json").write_text(json.dumps(plain))
    resign(model)


def put(at: Any, value: Any) -> Callable[[Any], Any]:
    """`values[at] = value`, as a function."""

    def change(values: Any) -> Any:
        values[at] = value
        return values

    return change
