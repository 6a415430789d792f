"""Loading: every array is mapped where it is, nothing is copied, and no code is run.

Sizes of all files are compared with the manifest's, and the checksums of small ones; all checksums on request, which
reads every byte. A folder that this machine has neither written nor checked is checked first, all of what kernels use
(checks.py), and marked (known.py): checksums say nothing of one who has written them, too. A model that is replaced
meanwhile is opened again: what is loaded is the old one or the new one.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from everylabel import config
from everylabel.data.labels import LabelSet
from everylabel.errors import ModelError
from everylabel.registry import method_class
from everylabel.store import known
from everylabel.store.arrays import SMALL, SMALL_FILE, ArrayReader
from everylabel.store.manifest import MANIFEST, PLAIN, RESTORE, digest, read_manifest, read_plain
from everylabel.store.steady import steadily
from everylabel.store.values import check_values, values_of

if TYPE_CHECKING:
    from everylabel.methods.base import Method, State

_NO_FIT = (KeyError, TypeError, ValueError, AttributeError, IndexError)


class Checked(NamedTuple):
    files: int
    bytes: int


class _Opened(NamedTuple):
    manifest: dict[str, Any]
    labels: LabelSet
    state: State
    mark: str  # of the folder as it was opened


def load(path: str | Path, *, verify: bool = False) -> Method:
    """The fitted method in a model folder; a damaged, older or newer one is refused with what to do.

    Cost: a few dozen microseconds an array, whatever its size; of a model from elsewhere, once, a look at all bytes,
    below a second a GB; with `verify` a sha256 of all bytes, each time.
    """
    path = Path(path)
    opened = steadily(path, lambda: _open(path, read_manifest(path), verify))
    is_known = known.is_known(opened.mark)
    try:
        method = config.build(method_class(opened.manifest["method"]), opened.manifest["config"])
        if is_known:
            return method.restore(opened.labels, opened.state)
        _check_parts(opened)
        method.restore(opened.labels, opened.state)
        method.check_contents()
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
    except Exception as error:  # of any kind: what comes from elsewhere may be wrong in ways that nobody has thought of
        raise ModelError(f"{path}: the model's files do not fit together ({_spoken(error)}); fit it again") from error
    _mark(path, opened)
    return method


def check(path: str | Path) -> Checked:
    """Compare every file with its checksum. Reads all bytes."""
    path = Path(path)

    def read() -> Checked:
        manifest = read_manifest(path)
        _verify(path, manifest, all_bytes=True)
        files = manifest["files"]
        return Checked(1 + len(files), (path / MANIFEST).stat().st_size + sum(file["bytes"] for file in files.values()))

    return steadily(path, read)


def _open(path: Path, manifest: dict[str, Any], verify: bool) -> _Opened:
    _verify(path, manifest, all_bytes=verify)
    arrays = ArrayReader(path, manifest)
    try:
        mark = known.mark_of(path, manifest)
        labels = LabelSet.restored(values_of(manifest["labels"], arrays))
        return _Opened(manifest, labels, read_plain(path) | values_of(manifest["state"], arrays), mark)
    except OSError as error:
        raise ModelError(f"{error.filename or path}: cannot be read ({error.strerror or error}); {RESTORE}") from None
    except _NO_FIT as error:
        raise ModelError(f"{path}: the model's files do not fit together ({error}); fit it again") from error


def _check_parts(opened: _Opened) -> None:
    """Before anything is restored of them."""
    if len(opened.labels) != opened.manifest["n_labels"]:
        raise ValueError(f"{len(opened.labels)} labels instead of {opened.manifest['n_labels']}")
    opened.labels.check()
    check_values(opened.state)


def _mark(path: Path, opened: _Opened) -> None:
    """Next time it is known, unless it has changed meanwhile, or a change could not be seen."""
    with suppress(OSError):
        if known.mark_of(path, opened.manifest) == opened.mark and known.is_settled(path, opened.manifest):
            known.remember(opened.mark)


def _spoken(error: Exception) -> str:
    """In one line, and not too long a one."""
    said = f"{error} is missing" if isinstance(error, KeyError) else str(error) or type(error).__name__
    return " ".join(said.split())[:300]


def _verify(path: Path, manifest: dict[str, Any], *, all_bytes: bool) -> None:
    for name, expected in manifest["files"].items():
        file = path / name
        try:
            size = file.stat().st_size
            if size != expected["bytes"]:
                raise ModelError(f"{file}: is damaged ({size:,} bytes, expected {expected['bytes']:,}); {RESTORE}")
            small = size < SMALL or name in (SMALL_FILE, PLAIN)  # these are read in any case, or soon
            if (small or all_bytes) and digest(file) != expected["sha256"]:
                raise ModelError(f"{file}: is damaged (its checksum differs); {RESTORE}")
        except OSError:
            raise ModelError(f"{file}: is missing; the model is incomplete: {RESTORE}") from None
        except (KeyError, TypeError):
            raise ModelError(f"{path / MANIFEST}: says nothing of {name}; fit again") from None
