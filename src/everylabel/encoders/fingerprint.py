"""Which encoder is this: a hash of weights and settings, taken again only when the weights have changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor, nn

Versions = tuple[tuple[int, int], ...]


def hash_weights(weights: Mapping[str, np.ndarray[Any, Any]], settings: str) -> str:
    """Of arrays by name, and of `settings`. One pass over them."""
    total = hashlib.sha256(settings.encode())
    for name, weight in sorted(weights.items()):
        array = np.ascontiguousarray(weight)
        total.update(f"\0{name} {array.dtype} {array.shape}\0".encode())
        total.update(array.reshape(-1).data.cast("B"))
    return total.hexdigest()


def versions(module: nn.Module) -> Versions:
    """Changes with every in-place operation on a weight and with every weight that is put in another's place."""
    return tuple((weight.data_ptr(), weight._version) for weight in module.parameters())


class Fingerprint:
    """The hash of a module's weights and of `settings`. Cost: a pass over the weights after a change, else nothing."""

    def __init__(self, module: nn.Module, settings: str) -> None:
        self._module = module
        self._settings = settings
        self._known: tuple[Versions, str] | None = None  # one reference, so that threads never mix two states
        self._start = self.value()

    def value(self) -> str:
        known, now = self._known, versions(self._module)
        if known is None or known[0] != now:
            weights = {name: _array(weight) for name, weight in self._module.state_dict().items()}
            self._known = known = now, hash_weights(weights, self._settings)
        return known[1]

    def changed(self) -> bool:
        """Is the module another one than when this was made?"""
        return self.value() != self._start


def _array(weight: Tensor) -> np.ndarray[Any, Any]:
    """Half precision as float32, which loses nothing: the same weights are the same encoder, however they are kept."""
    half = weight.is_floating_point() and weight.element_size() < 4
    return np.asarray((weight.float() if half else weight).detach().cpu().numpy())


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Without dropout; each part's mode is what it was before at the end. A module in use by threads is left alone."""
    modes = [(part, part.training) for part in module.modules() if part.training]
    for part, _ in modes:
        part.training = False
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
