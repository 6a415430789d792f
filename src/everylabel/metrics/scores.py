"""What an evaluation gives, and how a number of it is printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isnan, nan
from typing import Any, NamedTuple, Self

from everylabel.errors import ConfigError


class CurvePoint(NamedTuple):
    """One bin of labels of about the same frequency: how many, their mean number of training pairs, their mean F1."""

    labels: int
    train_count: float
    f1: float


@dataclass(frozen=True)
class Scores:
    """The result of `evaluate`, in fractions of 1; nan where there is nothing to measure."""

    values: dict[str, float]
    n_docs: int  # that count
    n_skipped: int  # that have no true label, and don't count
    n_zero_shot_docs: int  # that have an unseen true label
    bands: dict[str, dict[str, float]] = field(default_factory=dict)
    curve: list[CurvePoint] = field(default_factory=list)

    def __getitem__(self, key: str) -> float:
        """A value by its name ("P@1"), or a band's ("tail/R@10")."""
        band, _, name = key.rpartition("/")
        values = self.bands.get(band, {}) if band else self.values
        if name not in values:
            known = [*self.values, *(f"{band}/{name}" for band in self.bands for name in self.bands[band])]
            raise ConfigError(f"{key!r} was not evaluated; there is {', '.join(known)}")
        return values[name]

    def to_json(self) -> dict[str, Any]:
        """For `json.dumps`: JSON has no nan, so it becomes null."""
        plain = asdict(self) | {"curve": [point._asdict() for point in self.curve]}
        plain["values"] = _nan_to_none(self.values)
        plain["bands"] = {name: _nan_to_none(band) for name, band in self.bands.items()}
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        return cls(
            values=_none_to_nan(plain["values"]),
            n_docs=plain["n_docs"],
            n_skipped=plain["n_skipped"],
            n_zero_shot_docs=plain["n_zero_shot_docs"],
            bands={name: _none_to_nan(band) for name, band in plain["bands"].items()},
            curve=[CurvePoint(**point) for point in plain["curve"]],
        )


def _nan_to_none(values: Mapping[str, float]) -> dict[str, float | None]:
    return {key: None if isnan(value) else value for key, value in values.items()}


def _none_to_nan(values: Mapping[str, float | None]) -> dict[str, float]:
    return {key: nan if value is None else value for key, value in values.items()}


def band_rows(scores: Scores) -> list[tuple[str, dict[str, float]]]:
    """A row for each band and the last one for all labels; every row has the same columns."""
    return [(name, dict(values)) for name, values in scores.bands.items()]


def percent(value: float) -> str:
    """A fraction as tables print it; a dash where nothing was measured."""
    return "-" if isnan(value) else f"{100 * value:.1f}"
