"""The contrastive losses of MACLR ("Extreme Zero-Shot Learning for Extreme Text Classification", eq. 2 to 4), and those
over shortlists of labels.

One deviation for all of MACLR's: the paper sums over the batch, these are means, so that a learning rate does not
depend on the size of the batch. Similarity is the dot product of the vectors as they are given: normalise them before
for cosine. The paper has no temperature, which is a temperature of 1. Cost: one n x m matrix of similarities.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

__all__ = [
    "decoupled_softmax",
    "info_nce",
    "label_regularisation",
    "of_positives",
    "squared_hinge",
    "supervised_contrastive",
]
NOWHERE = -1e4  # a logit that counts for nothing; minus infinity has no gradient where a row has no negative


def info_nce(x: Tensor, y: Tensor, temperature: float = 1.0) -> Tensor:
    """Eq. 2, one direction, x to y: the mean over i of -log softmax_j(x_i . y_j / temperature) at j = i.

    Rows of y beyond those of x, when there are some, are negatives for all.
    """
    logits = x @ y.T / temperature
    return functional.cross_entropy(logits, torch.arange(len(x), device=x.device))


def supervised_contrastive(x: Tensor, y: Tensor, positives: Tensor | NDArray[Any], temperature: float = 1.0) -> Tensor:
    """Eq. 3: the mean over i of -1/|P(i)| * the sum over p in P(i) of log softmax_j(x_i . y_j / temperature) at j = p.

    `positives` is a boolean mask, rows of x by rows of y, or how much each of them counts: |P(i)| is then their sum. A
    row without a positive has nothing to say and is skipped, and 0 comes out when none has one. With the identity as
    the mask it is `info_nce`.
    """
    return of_positives(x @ y.T / temperature, positives)


def of_positives(logits: Tensor, positives: Tensor | NDArray[Any]) -> Tensor:
    """The mean over rows of the (weighted) mean over their positives of -log softmax; rows without one are skipped."""
    weights = torch.as_tensor(positives, dtype=logits.dtype, device=logits.device)
    sums = weights.sum(dim=1)
    there = sums > 0
    shares = functional.log_softmax(logits, dim=1).masked_fill(weights == 0, 0)  # not minus infinity times 0
    losses = -(shares * weights).sum(dim=1) / sums.masked_fill(~there, 1)
    return losses.sum() / there.sum().clamp(min=1)


def decoupled_softmax(logits: Tensor, positives: NDArray[np.bool_], negatives: Any) -> Tensor:
    """The mean over all pairs of -log(exp(s_p) / (exp(s_p) + the sum over the row's negatives of exp(s_n))).

    "Dual-Encoders for Extreme Multi-label Classification" (DEXML): a row's positives do not compete with each other.
    What is neither positive nor negative has no part in it; 0 comes out when there is no positive. Pairs are few beside
    logits: only the sum over negatives is a pass over all of them.
    """
    mask = _as_mask(positives, logits)
    others = logits.masked_fill(mask | ~_as_mask(negatives, logits), NOWHERE).logsumexp(dim=1)
    pairs = np.nonzero(positives)  # in numpy, so that no GPU has to be waited for
    rows, columns = (torch.from_numpy(part).to(logits.device) for part in pairs)
    return functional.softplus(others[rows] - logits[rows, columns]).sum() / max(len(rows), 1)


def squared_hinge(scores: Tensor, positives: Any, there: Any, weights: Any = None) -> Tensor:
    """The mean over rows of the sum of max(0, 1 - y x score)^2, y = 1 for positives, -1 for others that are there.

    `weights`, where they are given, multiply each of them.
    """
    signs = 2.0 * _as_mask(positives, scores) - 1
    losses = functional.relu(1 - signs * scores).square()
    if weights is not None:
        losses = losses * torch.as_tensor(weights, dtype=losses.dtype, device=losses.device)
    return losses.masked_fill(~_as_mask(there, scores), 0).sum(dim=1).mean()


def label_regularisation(
    x: Tensor,
    twins: Tensor,
    labels: Tensor,
    temperature: float = 1.0,
    positives: Tensor | NDArray[np.bool_] | None = None,
) -> Tensor:
    """Eq. 4: `twins` (the same texts, other dropout masks) against random `labels`, which are negatives of all.

    As in the reference code all twins of the batch are in the denominator, too, and `positives` are those of x_i's
    cluster; None: its own twin alone. Eq. 4 as it is printed has no other twin; its gradient is gone at a temperature
    that is low enough for eq. 3, since a text is always nearer to itself than to any label.
    """
    if positives is None:
        return info_nce(x, torch.cat([twins, labels]), temperature)
    mask = _as_mask(positives, x)
    none = torch.zeros(len(x), len(labels), dtype=torch.bool, device=x.device)
    return supervised_contrastive(x, torch.cat([twins, labels]), torch.cat([mask, none], dim=1), temperature)


def _as_mask(positives: Any, like: Tensor) -> Tensor:
    return torch.as_tensor(positives, dtype=torch.bool, device=like.device)
