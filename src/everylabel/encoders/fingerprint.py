"""Which encoder is this: a hash of weights and settings, taken again only when the weights have changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


class Fingerprint:
    """The hash of a module's weights and of `settings`; `recipe` stands for the weights as they are now.

    Distilled weights differ in the last digits from machine to machine, so that the hash of what they were made from
    says better which encoder it is. Cost: one pass over the weights after each change of them, else nothing.
    """

    def __init__(self, module: nn.Module, settings: str, recipe: str | None = None) -> None:
        self._module = module
        self._settings = settings
        self._state = _state_of(module)
        self._known = recipe
        self._start = self.value()

    def value(self) -> str:
        state = _state_of(self._module)
        if self._known is None or state != self._state:
            self._known, self._state = _hash(self._module, self._settings), state
        return self._known

    def changed(self) -> bool:
        """Is the module another one than when this was made?"""
        return self.value() != self._start


def _state_of(module: nn.Module) -> tuple[tuple[int, int], ...]:
    """Changes with every in-place operation on a weight and with every weight that is put in another's place."""
    return tuple((weight.data_ptr(), weight._version) for weight in module.parameters())


def _hash(module: nn.Module, settings: str) -> str:
    total = hashlib.sha256(settings.encode())
    for name, weight in sorted(module.state_dict().items()):
        array = weight.detach().cpu().contiguous().numpy()
        total.update(f"\0{name} {array.dtype} {array.shape}\0".encode())
        total.update(memoryview(array.reshape(-1)).cast("B"))
    return total.hexdigest()


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Without dropout; each part's mode is what it was before at the end."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in modes:
            part.training = training
