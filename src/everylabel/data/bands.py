"""How often a label was seen in training: the four groups that every report is split by."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BANDS: dict[str, tuple[int, float]] = {  # name: (fewest, most) training pairs
    "head": (100, np.inf),
    "middle": (10, 99),
    "tail": (1, 9),
    "unseen": (0, 0),
}


def in_band(counts: NDArray[np.integer], band: str) -> NDArray[np.bool_]:
    """Which labels belong to the band, given each label's number of training pairs."""
    fewest, most = BANDS[band]
    return np.asarray((counts >= fewest) & (counts <= most))


def band_of(counts: NDArray[np.integer]) -> list[str]:
    """The band's name of each label."""
    names = list(BANDS)
    member = np.stack([in_band(counts, name) for name in names])
    return [names[i] for i in member.argmax(axis=0)]
