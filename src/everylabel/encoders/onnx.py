"""A frozen transformer with int8 weights in ONNX Runtime: about twice as fast as torch on a processor with AVX2.

Exported once (some 10 seconds), attention, layer norms and GELU fused, then quantised: weights per channel to 7 bits of
int8, since the 8-bit products of AVX2 without VNNI overflow otherwise; activations as they come. One text at a time,
since the scale of the activations is the batch's: a text's vector must not depend on its neighbours; that also needs
no padding. One session of one thread per core: no core waits for another. Cosine with torch's vectors: about 0.995.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from everylabel.atomic import replaced
from everylabel.encoders.cache import cache_root
from everylabel.encoders.pretrained import needed
from everylabel.errors import ConfigError
from everylabel.forks import Lock, renewed
from everylabel.parallel import n_threads
from everylabel.run import QUIET, Run

if TYPE_CHECKING:
    from everylabel.encoders.transformer import Padded

RECIPE = "int8 1"  # another way of exporting, another number: files of the old way are not used
_NAMES = ["input_ids", "attention_mask"]
_LOGGERS = ("onnxruntime.transformers", "onnxruntime.quantization", "torch.onnx", "onnxscript")
_exporting = Lock()


class OnnxTransformer:
    """Token vectors of padded batches; may be called from as many threads as there are cores."""

    def __init__(self, transformer: nn.Module, fingerprint: str, run: Run = QUIET) -> None:
        self._runtime = needed("onnxruntime")
        needed("onnx")
        model = _kept(transformer, f"{fingerprint} {RECIPE} {self._runtime.__version__}", run)
        self._all = [self._session(model) for _ in range(n_threads())]
        self._sessions = _queue(self._all)
        renewed(self)

    def __call__(self, padded: Padded) -> Tensor:
        sessions = self._sessions
        session = sessions.get()
        try:
            states = session.run(None, {"input_ids": padded.ids, "attention_mask": padded.mask.astype(np.int64)})[0]
        finally:
            sessions.put(session)
        return torch.from_numpy(states)

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


def _kept(transformer: nn.Module, made_from: str, run: Run) -> bytes:
    """The quantised model's bytes from the cache, or else made now and kept there; a damaged one is made again."""
    file = cache_root() / "onnx" / f"{hashlib.sha256(made_from.encode()).hexdigest()[:32]}.onnx"
    digest_file = file.with_suffix(".sha256")
    try:
        model = file.read_bytes()
        if digest_file.read_text(encoding="ascii") == hashlib.sha256(model).hexdigest():
            return model
    except (OSError, UnicodeDecodeError):
        pass
    run.say(f"exporting the encoder with int8 weights, once, into {file.parent}")
    model = export(transformer)
    try:
        with replaced(file) as fresh:
            fresh.write_bytes(model)
        with replaced(digest_file) as fresh:
            fresh.write_text(hashlib.sha256(model).hexdigest(), encoding="ascii")
    except OSError as error:
        run.say(f"{file}: cannot be kept ({error.strerror or error}); it will be made again the next time")
    return model


def export(transformer: nn.Module) -> bytes:
    """Fused and quantised. From a copy: others may use the module meanwhile."""
    with tempfile.TemporaryDirectory() as folder, _exporting, _silent():
        whole, fused, small = (Path(folder) / f"{name}.onnx" for name in ("whole", "fused", "small"))
        try:
            _export(deepcopy(transformer), whole)
        except (RuntimeError, ValueError, TypeError, torch.onnx.errors.OnnxExporterError) as error:
            raise ConfigError(f"this model has no ONNX form ({error}); set encoder.onnx=false") from error
        _fuse(transformer.config, whole, fused)
        _quantise(fused, small)
        return small.read_bytes()


class _States(nn.Module):
    def __init__(self, transformer: nn.Module) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        states: Tensor = self.transformer(
            input_ids=input_ids, attention_mask=attention_mask, return_dict=True
        ).last_hidden_state
        return states


def _export(transformer: Any, file: Path) -> None:
    """By tracing: the graphs of torch's newer exporter are not recognised by the fusion of attention."""
    ids = torch.ones((2, 8), dtype=torch.long)
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    axes = {0: "batch", 1: "tokens"}
    transformer.set_attn_implementation("eager")
    torch.onnx.export(
        _States(transformer).eval(),
        (ids, mask),
        str(file),
        input_names=_NAMES,
        output_names=["states"],
        dynamic_axes=dict.fromkeys([*_NAMES, "states"], axes),
        opset_version=17,
        dynamo=False,
    )


def _fuse(config: Any, whole: Path, fused: Path) -> None:
    optimizer = needed("onnxruntime.transformers.optimizer")
    options = needed("onnxruntime.transformers.fusion_options").FusionOptions("bert")
    options.enable_embed_layer_norm = False  # it wants int32 ids and gains nothing
    options.enable_gelu_approximation = True  # the tanh form: a third of the time, and no difference beside int8's
    optimizer.optimize_model(
        str(whole),
        model_type="bert",
        num_heads=getattr(config, "num_attention_heads", 0),
        hidden_size=getattr(config, "hidden_size", 0),
        optimization_options=options,
        opt_level=0,
        use_gpu=False,
    ).save_model_to_file(str(fused))


def _quantise(fused: Path, small: Path) -> None:
    quantization, onnx = needed("onnxruntime.quantization"), needed("onnx")
    model = onnx.load(str(fused))
    # It is fused already, so that onnxruntime need not ask for its pre-processing, by way of the root logger.
    onnx.helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    onnx.save(model, str(fused))
    quantization.quantize_dynamic(
        str(fused),
        str(small),
        nodes_to_exclude=_sensitive(model.graph),
        op_types_to_quantize=["MatMul", "Attention"],
        per_channel=True,
        reduce_range=True,
        weight_type=quantization.QuantType.QInt8,
        # fused nodes have no type that shape inference knows
        extra_options={"MatMulConstBOnly": True, "DefaultTensorType": 1},
    )


def _sensitive(graph: Any) -> list[str]:
    """The second dense layers of the feed-forward blocks in the first half of the model, left as they are.

    Their inputs have a few very large values, so that one scale for all is too coarse: half of the whole error of
    MiniLM comes from these 3 of its 24 products.
    """
    shapes = {weight.name: tuple(weight.dims) for weight in graph.initializer}
    narrowing = [
        node.name
        for node in graph.node
        if node.op_type == "MatMul" and (shape := shapes.get(node.input[1], (0, 0))) and shape[0] > shape[-1]
    ]
    return narrowing[: (len(narrowing) + 1) // 2]


class _ThisThread:
    """Matches all that this thread warns of until it is closed: the list of filters is that of the whole process."""

    def __init__(self) -> None:
        self._thread: int | None = threading.get_ident()

    def match(self, _module: str) -> bool:
        return self._thread == threading.get_ident()

    def close(self) -> None:
        self._thread = None


@contextmanager
def _silent() -> Iterator[None]:
    """The exporters warn of what cannot be changed here: their own loggers are quiet, and this thread's warnings.

    What others log and warn of meanwhile is heard as ever.
    """
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    here = _ThisThread()
    filters: Any = warnings.filters
    entry = ("ignore", None, Warning, here, 0)
    filters.insert(0, entry)
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        here.close()
        with suppress(ValueError):  # another thread may have put another list in its place
            filters.remove(entry)
