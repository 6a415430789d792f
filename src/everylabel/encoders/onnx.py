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
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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
from everylabel.parallel import n_threads
from everylabel.progress import say

if TYPE_CHECKING:
    from everylabel.encoders.transformer import Padded

RECIPE = "int8 1"  # another way of exporting, another number: files of the old way are not used
_NAMES = ["input_ids", "attention_mask"]


class OnnxTransformer:
    """Token vectors of padded batches; may be called from as many threads as there are cores."""

    def __init__(self, transformer: nn.Module, fingerprint: str) -> None:
        self._runtime = needed("onnxruntime")
        needed("onnx")
        model = _kept(transformer, f"{fingerprint} {RECIPE} {self._runtime.__version__}")
        self._sessions: SimpleQueue[Any] = SimpleQueue()
        for _ in range(n_threads()):
            self._sessions.put(self._session(model))

    def __call__(self, padded: Padded) -> Tensor:
        session = self._sessions.get()
        try:
            states = session.run(None, {"input_ids": padded.ids, "attention_mask": padded.mask.astype(np.int64)})[0]
        finally:
            self._sessions.put(session)
        return torch.from_numpy(states)

    def _session(self, model: bytes) -> Any:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return self._runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _kept(transformer: nn.Module, made_from: str) -> bytes:
    """The quantised model's bytes from the cache, or else made now and kept there; a damaged one is made again."""
    file = cache_root() / "onnx" / f"{hashlib.sha256(made_from.encode()).hexdigest()[:32]}.onnx"
    digest_file = file.with_suffix(".sha256")
    try:
        model = file.read_bytes()
        if digest_file.read_text(encoding="ascii") == hashlib.sha256(model).hexdigest():
            return model
    except (OSError, UnicodeDecodeError):
        pass
    say(f"exporting the encoder with int8 weights, once, into {file.parent}")
    model = export(transformer)
    try:
        with replaced(file) as fresh:
            fresh.write_bytes(model)
        with replaced(digest_file) as fresh:
            fresh.write_text(hashlib.sha256(model).hexdigest(), encoding="ascii")
    except OSError as error:
        say(f"{file}: cannot be kept ({error.strerror or error}); it will be made again the next time")
    return model


def export(transformer: nn.Module) -> bytes:
    """Fused and quantised."""
    with tempfile.TemporaryDirectory() as folder, _silent():
        whole, fused, small = (Path(folder) / f"{name}.onnx" for name in ("whole", "fused", "small"))
        try:
            _export(transformer, whole)
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
    attention = transformer.config._attn_implementation
    ids = torch.ones((2, 8), dtype=torch.long)
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    axes = {0: "batch", 1: "tokens"}
    transformer.set_attn_implementation("eager")
    try:
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
    finally:
        transformer.set_attn_implementation(attention)


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
    quantization = needed("onnxruntime.quantization")
    quantization.quantize_dynamic(
        str(fused),
        str(small),
        nodes_to_exclude=_sensitive(fused),
        op_types_to_quantize=["MatMul", "Attention"],
        per_channel=True,
        reduce_range=True,
        weight_type=quantization.QuantType.QInt8,
        # fused nodes have no type that shape inference knows
        extra_options={"MatMulConstBOnly": True, "DefaultTensorType": 1},
    )


def _sensitive(fused: Path) -> list[str]:
    """The second dense layers of the feed-forward blocks in the first half of the model, left as they are.

    Their inputs have a few very large values, so that one scale for all is too coarse: half of the whole error of
    MiniLM comes from these 3 of its 24 products.
    """
    graph = needed("onnx").load(str(fused)).graph
    shapes = {weight.name: tuple(weight.dims) for weight in graph.initializer}
    narrowing = [
        node.name
        for node in graph.node
        if node.op_type == "MatMul" and (shape := shapes.get(node.input[1], (0, 0))) and shape[0] > shape[-1]
    ]
    return narrowing[: (len(narrowing) + 1) // 2]


@contextmanager
def _silent() -> Iterator[None]:
    """The exporters warn of what cannot be changed here, and set up the root logger for that."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
        root.handlers[:] = handlers
