"""Checkpoints of the training loop: kept in the folder of a `Run` that has one, `Run(checkpoints=...)`, else nowhere.

A training is one file, NAME.safetensors: tensors, and in its header all that is JSON, so that one rename replaces it as
a whole. It belongs to an identity (data, settings, seed, shapes); one of another identity is ignored and replaced.
Beside it NAME.jsonl, the loss curve, a line a step. Cost of one: a write of the weights, twice that for AdamW, and the
best weights once more. torch is loaded only when something is trained.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from everylabel.atomic import replaced
from everylabel.forks import Lock
from everylabel.run import QUIET

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = 1
Say = Callable[[str], None]


class Saved(NamedTuple):
    """What a checkpoint holds."""

    plain: dict[str, Any]  # JSON values
    tensors: Mapping[str, Tensor]


@contextmanager
def checkpointing(
    folder: str | Path, key: Callable[[], str] | str = "", curves: str | Path | None = None, say: Say = QUIET.say
) -> Iterator[Checkpoints]:
    """For `Run(checkpoints=...)`: what is trained with that run is kept in the folder, and goes on from what is there.

    `key` stands for what the loop cannot see, the data and the method's settings: it is a part of each identity. A
    function is called once, and only if something is trained. Nothing is written, the folder neither, before that.
    However the block ends, its loss curves are copied to the folder `curves`.
    """
    checkpoints = Checkpoints(Path(folder), key)
    try:
        yield checkpoints
    finally:
        checkpoints.close()
        if curves is not None:
            checkpoints.copy_curves(Path(curves), say)


class Checkpoints:
    """The open folder. Safe in threads; jobs that run side by side each take a part of it by `within`."""

    def __init__(self, folder: Path, key: Callable[[], str] | str) -> None:
        self.folder = folder
        self._key = key
        self._stages: list[Stage] = []
        self._parts: dict[str, Checkpoints] = {}
        self._lock = Lock()

    def within(self, name: str) -> Checkpoints:
        """The part of the folder with this name: what is kept there has names of its own, whoever else is training."""
        name = _file_name(name)
        with self._lock:
            if name not in self._parts:
                self._parts[name] = Checkpoints(self.folder / name, self.key)
            return self._parts[name]

    @property
    def curves(self) -> list[Path]:
        """The loss curves that are there, in the order of their trainings; then those of the parts."""
        own = [stage.curve for stage in list(self._stages) if stage.curve.is_file()]
        return own + [curve for part in list(self._parts.values()) for curve in part.curves]

    def stage(self, name: str, identity: Mapping[str, Any], say: Say = QUIET.say) -> Stage:
        """The place of one training. A name that was used before gets a number: no two are mixed up."""
        name = _file_name(name)
        with self._lock:
            taken = {stage.name for stage in self._stages}
            name = next(n for n in chain([name], (f"{name}-{i}" for i in count(2))) if n not in taken)
            stage = Stage(self.folder, name, self.identity({"name": name, **identity}), say)
            self._stages.append(stage)
        return stage

    def key(self) -> str:
        with self._lock:
            if callable(self._key):
                self._key = self._key()
            return self._key

    def identity(self, about: Mapping[str, Any]) -> str:
        """Of something that is kept in the folder: a hash of the key, and of what is said about it."""
        whole = {"format": FORMAT, "key": self.key(), **about}
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    def copy_curves(self, folder: Path, say: Say = QUIET.say) -> None:
        """Under the names that they have here, those of a part in a folder of its name."""
        try:
            for curve in self.curves:
                with replaced(folder / curve.relative_to(self.folder)) as fresh:
                    fresh.write_bytes(curve.read_bytes())
        except OSError as error:  # what was learned is worth more than its curve
            say(f"{folder}: the loss curves cannot be written ({error}); they are in {self.folder}")

    def close(self) -> None:
        """Save what is still open: a `for` that an error left is closed only when the error's traceback is gone."""
        for stage in self._stages:
            stage.save()
            stage.close()
        for part in self._parts.values():
            part.close()


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "training"


class Stage:
    """The checkpoint and the loss curve of one training."""

    def __init__(self, folder: Path, name: str, identity: str, say: Say) -> None:
        self.name = name
        self.file = folder / f"{name}.safetensors"
        self.curve = folder / f"{name}.jsonl"
        self.source: Callable[[], Saved | None] | None = None  # gives the state when it can be saved, None when not
        self._identity = identity
        self._say = say
        self._stream: TextIO | None = None
        self._failed = False

    def read(self) -> Saved | None:
        """The checkpoint of this very training; None when there is none, or when it cannot be used (which is said)."""
        from safetensors import SafetensorError, safe_open

        if not self.file.is_file():
            return None
        try:
            with safe_open(self.file, framework="pt") as opened:
                header = json.loads(opened.metadata()["everylabel"])
                if header["identity"] != self._identity:
                    self._say(f"{self.name}: a checkpoint of other data or settings is ignored, and will be replaced")
                    return None
                return Saved(header["plain"], {key: opened.get_tensor(key) for key in opened.keys()})  # noqa: SIM118
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            self.damaged(error)
            return None

    def damaged(self, why: Exception) -> None:
        self._say(
            f"{self.name}: the checkpoint is damaged ({why}); it is ignored, and training starts from the beginning"
        )

    def save(self) -> None:
        """Write the state, if there is one that can be gone on from. A full disk is said, and training goes on."""
        saved = self.source() if self.source else None
        if saved is None:
            return
        from safetensors import SafetensorError
        from safetensors.torch import save_file

        header = json.dumps({"identity": self._identity, "plain": saved.plain})
        try:
            if self._stream:
                self._stream.flush()  # first: the curve must have every step that the checkpoint has
            with replaced(self.file) as fresh:
                save_file(_separate(saved.tensors), fresh, metadata={"everylabel": header})
        except (OSError, SafetensorError) as error:
            self._say_once(error)

    def rewind(self, number: int) -> None:
        """Keep the steps up to this number in the loss curve; it is open for more afterwards."""
        try:
            kept = [line for line in read_curve(self.curve) if line["step"] <= number]
            with replaced(self.curve) as fresh:
                fresh.write_text("".join(json.dumps(line) + "\n" for line in kept), encoding="utf-8")
            self._stream = self.curve.open("a", encoding="utf-8")
        except OSError as error:
            self._say_once(error)

    def log(self, line: Mapping[str, Any]) -> None:
        if self._stream:
            try:
                self._stream.write(json.dumps({key: _number(value) for key, value in line.items()}) + "\n")
            except OSError as error:
                self._say_once(error)

    def close(self) -> None:
        self.source = None
        if self._stream:
            try:
                self._stream.close()
            except OSError as error:
                self._say_once(error)
            self._stream = None

    def _say_once(self, error: Exception) -> None:
        if not self._failed:
            self._say(f"{self.name}: cannot keep checkpoints in {self.file.parent} ({error}); training goes on without")
        self._failed = True


def split_state(state: Mapping[str, Any]) -> Saved:
    """A state of arrays and JSON values as both kinds; other values are the caller's mistake."""
    import numpy as np
    import torch

    arrays = {key: value for key, value in state.items() if isinstance(value, (np.ndarray, np.generic))}
    plain = {key: value for key, value in state.items() if key not in arrays}
    json.dumps(plain)  # a TypeError that names what cannot be saved
    return Saved(plain, {key: torch.from_numpy(np.array(value)) for key, value in arrays.items()})


def _separate(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """On the CPU, each with its own memory, as safetensors wants them: parts of one tensor are copied."""
    seen: set[int] = set()
    found: dict[str, Tensor] = {}
    for key, tensor in tensors.items():
        tensor = tensor.detach().cpu().contiguous()
        at = tensor.untyped_storage().data_ptr()
        found[key] = tensor.clone() if at in seen else tensor
        seen.add(at)
    return found


def read_curve(file: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a curve; a last one that was cut off by a crash is none."""
    if not file.is_file():
        return
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("step"), int):
            yield value


def _number(value: Any) -> Any:
    """JSON has no NaN."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
