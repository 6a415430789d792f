"""A transformer becomes a graph with int8 weights for ONNX Runtime: exported, fused, quantised. Some 10 seconds.

Attention, layer norms and GELU are fused; weights are quantised per channel to 7 bits of int8, since the 8-bit products
of AVX2 without VNNI overflow otherwise; activations as they come.
"""

from __future__ import annotations

import logging
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from everylabel.encoders.onnx import INPUTS
from everylabel.encoders.pretrained import needed
from everylabel.errors import ConfigError
from everylabel.forks import Lock

_LOGGERS = ("onnxruntime.transformers", "onnxruntime.quantization", "torch.onnx", "onnxscript")
_exporting = Lock()


def export(transformer: nn.Module) -> bytes:
    """Fused and quantised. From a copy: others may use the module meanwhile."""
    needed("onnx")
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
        input_names=INPUTS,
        output_names=["states"],
        dynamic_axes=dict.fromkeys([*INPUTS, "states"], axes),
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
