"""A reporter that writes down what it is told."""

from __future__ import annotations

import itertools


class Recorder:
    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []
        self._keys = itertools.count()

    def start(self, name: str, total: int | None) -> object:
        key = next(self._keys)
        self.told.append(("start", key, name, total))
        return key

    def advance(self, key: object, amount: int) -> None:
        self.told.append(("advance", key, amount))

    def finish(self, key: object) -> None:
        self.told.append(("finish", key))

    def say(self, message: str) -> None:
        self.told.append(("say", message))

    @property
    def started(self) -> list[str]:
        """The names of the tasks, in their order."""
        return [str(line[2]) for line in self.told if line[0] == "start"]

    @property
    def said(self) -> list[str]:
        return [str(line[1]) for line in self.told if line[0] == "say"]

    @property
    def all_finished(self) -> bool:
        return sum(line[0] == "start" for line in self.told) == sum(line[0] == "finish" for line in self.told)
