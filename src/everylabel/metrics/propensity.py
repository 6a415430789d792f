"""How likely a true label was also noted, p: PSP and PSnDCG count a hit 1 / p times, so that rare labels count more.

p = 1 / (1 + C (n + B)^-A), n the training documents of a label and C = (ln N - 1) (B + 1)^A ("Extreme Multi-label Loss
Functions", KDD 2016). A and B are those that the XMC repository says for each data set; published PSP needs them.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everylabel.errors import ConfigError

Propensity: TypeAlias = str | tuple[float, float]  # a name, "A,B", or (A, B)

PROPENSITY: dict[str, tuple[float, float]] = {  # A, B
    "default": (0.55, 1.5),
    "wikipedia": (0.5, 0.4),
    "amazon": (0.6, 2.6),
}
DATA_SETS: dict[str, str] = {
    **dict.fromkeys(("eurlex-4k", "eurlex57k", "wiki10-31k", "amazoncat-13k", "delicious-200k"), "default"),
    **dict.fromkeys(("lf-wikiseealso-320k", "lf-wikiseealsotitles-320k"), "default"),
    **dict.fromkeys(("wiki-500k", "wikipedia-500k", "wikilshtc-325k"), "wikipedia"),
    **dict.fromkeys(("lf-wikipedia-500k", "lf-wikititles-500k", "wikititles-500k"), "wikipedia"),
    **dict.fromkeys(("amazon-670k", "amazon-3m", "amazontitles-670k", "amazontitles-3m"), "amazon"),
    **dict.fromkeys(("lf-amazon-131k", "lf-amazontitles-131k", "lf-amazontitles-1.3m"), "amazon"),
}


def constants(propensity: Propensity) -> tuple[float, float]:
    """A and B."""
    if isinstance(propensity, str):
        name = propensity.strip().lower()
        if name in DATA_SETS or name in PROPENSITY:
            return PROPENSITY[DATA_SETS.get(name, name)]
        try:
            a, b = (float(part) for part in name.split(","))
        except ValueError:
            raise ConfigError(
                f"no propensity {propensity!r}; give A,B such as 0.55,1.5, or one of "
                f"{', '.join([*PROPENSITY, *DATA_SETS])}"
            ) from None
    else:
        a, b = propensity
    if not (0 < a < math.inf and 0 < b < math.inf):
        raise ConfigError(f"A and B of a propensity must be above 0; got {a} and {b}")
    return a, b


def inverse_propensity(
    train_counts: NDArray[np.integer[Any]], n_train: int, propensity: Propensity = "default"
) -> NDArray[np.float64]:
    """1 / p of each label, from its number of training documents."""
    a, b = constants(propensity)
    # under three training documents ln N - 1 is negative, and p would leave 0..1
    scale = max(np.log(max(n_train, 1)) - 1, 0.0) * (b + 1) ** a
    return np.asarray(1 + scale * (np.asarray(train_counts, np.float64) + b) ** -a)
