"""A GPU where there is none: modules whose tensors say that they are elsewhere, and raise where devices mix.

torch's FakeTensorMode computes no numbers, only shapes, types and devices, forward and back. Elsewhere is the device
"meta": a torch without CUDA cannot even take a row of a pretended CUDA tensor; for the code it is as good as any that
is not the CPU. What a GPU refuses is refused: a tensor there has no numpy array. Numbers that are asked for are 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

ELSEWHERE = torch.device("meta")


class _Pretended(FakeTensorMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default:
            dtype = args[0].dtype
            return False if dtype == torch.bool else 0.0 if dtype.is_floating_point else 0
        return super().__torch_dispatch__(func, types, args, kwargs)


@contextmanager
def pretended() -> Iterator[None]:
    usual = torch.Tensor.numpy

    def strict(self: torch.Tensor, **options: Any) -> Any:
        if not isinstance(self, FakeTensor):
            return usual(self, **options)
        if self.device.type != "cpu":
            raise TypeError(f"can't convert {self.device} device type tensor to numpy")
        return np.zeros(tuple(self.shape), str(self.dtype).removeprefix("torch."))

    with pytest.MonkeyPatch.context() as patch, _Pretended(allow_non_fake_inputs=True):
        patch.setattr(torch.Tensor, "numpy", strict)
        yield


def elsewhere(module: Any) -> Any:
    """With all of its tensors; inside `pretended`."""
    moved: dict[int, Any] = {}  # parts may share a tensor
    for part in module.modules():
        for tensors in (part._parameters, part._buffers):
            for name, tensor in tensors.items():
                if tensor is not None:
                    there = torch.empty(tensor.shape, dtype=tensor.dtype, device=ELSEWHERE)
                    trained = isinstance(tensor, nn.Parameter)
                    there = nn.Parameter(there, requires_grad=tensor.requires_grad) if trained else there
                    tensors[name] = moved.setdefault(id(tensor), there)
    return module


def are_elsewhere(*tensors: Any) -> bool:
    return all(tensor.device == ELSEWHERE for tensor in tensors)
