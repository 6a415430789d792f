"""A frozen transformer with int8 weights in ONNX Runtime: about twice as fast as torch on a processor with AVX2.

Exported once (onnx_export.py), then from the cache: nothing here loads torch. One text at a time, since the scale of
the activations is the batch's: a text's vector must not depend on its neighbours; that also needs no padding. One
session of one thread per core: no core waits for another. Cosine with torch's vectors: about 0.995.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from everylabel.atomic import replaced
from everylabel.encoders.cache import cache_root
from everylabel.encoders.padding import Padded
from everylabel.encoders.pretrained import needed
from everylabel.forks import renewed
from everylabel.parallel import n_threads
from everylabel.run import QUIET, Run
from everylabel.types import FloatArray

RECIPE = "int8 1"  # another way of exporting, another number: files of the old way are not used
INPUTS = ["input_ids", "attention_mask"]
_ADDED_AT_ONCE = 16


class OnnxTransformer:
    """Token vectors of padded batches; may be called from as many threads as there are cores."""

    def __init__(self, fingerprint: str, export: Callable[[], bytes], run: Run = QUIET) -> None:
        """`export` gives the graph where there is none in the cache, or a damaged one."""
        self._runtime = needed("onnxruntime")
        model = _kept(fingerprint, export, run)
        self._all = [self._session(model) for _ in range(n_threads())]
        self._sessions = _queue(self._all)
        renewed(self)

    def __call__(self, padded: Padded) -> FloatArray:
        sessions = self._sessions
        session = sessions.get()
        try:
            values = (padded.ids, padded.mask.astype(np.int64))
            states: FloatArray = session.run(None, dict(zip(INPUTS, values, strict=True)))[0]
        finally:
            sessions.put(session)
        return states

    def renew(self) -> None:
        """In a forked child: what the parent's threads had taken never comes back."""
        free = []
        while not self._sessions.empty():
            free.append(self._sessions.get_nowait())
        self._sessions = _queue(free or self._all)

    def _session(self, model: bytes) -> Any:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return self._runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _queue(items: Iterable[Any]) -> SimpleQueue[Any]:
    queue: SimpleQueue[Any] = SimpleQueue()
    for item in items:
        queue.put(item)
    return queue


def mean_of(states: FloatArray) -> FloatArray:
    """Of the rows. By sixteens, as torch adds them: vectors that were kept by older versions have the same bits."""
    total, sums = np.zeros(states.shape[1], np.float32), states
    while len(sums):
        whole = len(sums) // _ADDED_AT_ONCE * _ADDED_AT_ONCE
        total += sums[whole:].sum(axis=0)
        sums = sums[:whole].reshape(-1, _ADDED_AT_ONCE, states.shape[1]).sum(axis=1)
    return total / np.float32(len(states))


@dataclass(frozen=True)
class Around:
    """What an encoder is beside the graph and a mean of token vectors: enough to encode without torch."""

    tokenizer: str
    limit: int
    pad_id: int
    dim: int

    def keep(self, fingerprint: str, max_tokens: int | None, run: Run = QUIET) -> None:
        body = json.dumps(asdict(self)).encode()
        _write(_around_file(fingerprint, max_tokens), _digest(body) + b"\n" + body, run)

    @classmethod
    def kept(cls, fingerprint: str, max_tokens: int | None) -> Around | None:
        """None where there is none, where it is damaged, or where there is no graph: this machine has made both."""
        try:
            digest, _, body = _around_file(fingerprint, max_tokens).read_bytes().partition(b"\n")
            if digest == _digest(body) and _graph_file(fingerprint).is_file():
                return cls(**json.loads(body))
        except (OSError, ValueError, TypeError):
            pass
        return None


def _kept(fingerprint: str, export: Callable[[], bytes], run: Run) -> bytes:
    """The quantised model's bytes from the cache, or else made now and kept there; a damaged one is made again."""
    file = _graph_file(fingerprint)
    digest_file = file.with_suffix(".sha256")
    try:
        model = file.read_bytes()
        if digest_file.read_bytes() == _digest(model):
            return model
    except OSError:
        pass
    run.say(f"exporting the encoder with int8 weights, once, into {file.parent}")
    model = export()
    _write(file, model, run)
    _write(digest_file, _digest(model), run)
    return model


def _graph_file(fingerprint: str) -> Path:
    return _file(f"{fingerprint} {RECIPE} {needed('onnxruntime').__version__}", "onnx")


def _around_file(fingerprint: str, max_tokens: int | None) -> Path:
    return _file(f"{fingerprint} {RECIPE} {max_tokens}", "json")


def _file(made_from: str, ending: str) -> Path:
    return cache_root() / "onnx" / f"{hashlib.sha256(made_from.encode()).hexdigest()[:32]}.{ending}"


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _write(file: Path, content: bytes, run: Run) -> None:
    try:
        with replaced(file) as fresh:
            fresh.write_bytes(content)
    except OSError as error:
        run.say(f"{file}: cannot be kept ({error.strerror or error}); it will be made again the next time")
