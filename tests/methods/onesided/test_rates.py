"""The rate is chosen on held-out documents: a short run with each, then all documents at the best one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.methods.clues import data, labels

from everylabel.encoders.base import EncoderConfig
from everylabel.methods.depl import dual_learning
from everylabel.methods.depl.settings import Learning
from everylabel.methods.onesided import learning, rates
from everylabel.methods.onesided.onesided import OfDe
from everylabel.train import loop
from everylabel.train import rates as train_rates

DATA = data(labels())


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, list[float]]]:
    """Of each training: its name, documents, and the rates of its groups."""
    seen: list[tuple[str, int, list[float]]] = []
    usual = loop.train

    def train(module: Any, batches: Any, loss: Any, config: Any, **given: Any) -> Any:
        seen.append((given["name"], batches.pairs.documents.n_rows, [group.lr for group in given["groups"]]))
        return usual(module, batches, loss, config, **given)

    monkeypatch.setattr(learning, "train", train)
    return seen


def fitted(static: EncoderConfig) -> OfDe:
    return OfDe(encoder=static, learn=Learning(steps=4, batch_size=8, lr="auto")).fit(DATA)


def test_the_best_of_three(static: EncoderConfig, trained: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    scores: list[float] = []
    usual = train_rates.best_share

    def best_share(shares: Any, trial: Any, module: Any, run: Any) -> float:
        def kept(share: float) -> float:
            scores.append(trial(share))
            return scores[-1]

        return usual(shares, kept, module, run)

    monkeypatch.setattr(rates, "best_share", best_share)
    fitted(static)
    n = int((np.diff(DATA.required_pairs.indptr) > 0).sum())
    held = int(0.1 * n)
    assert held > 0
    assert [(name, rows) for name, rows, _ in trained] == [
        *((f"rate {share:g}", n - held) for share in (0.4, 1, 2)),
        ("fine-tuning", n),
    ]
    assert [row[2][0] for row in trained[:3]] == pytest.approx([0.012, 0.03, 0.06])  # of static embeddings
    assert [row[2][1] for row in trained[:3]] == pytest.approx([4e-4, 1e-3, 2e-3])  # of layers
    assert all(0 <= score <= 1 for score in scores)
    assert trained[3][2] == trained[int(np.argmax(scores))][2]


def test_the_paper_has_these_rates() -> None:
    """Appendix C: 2e-5, 5e-5, 1e-4."""
    assert [share * dual_learning.TRANSFORMER_LR for share in rates.SHARES] == pytest.approx([2e-5, 5e-5, 1e-4])


def test_short_runs_leave_no_trace(static: EncoderConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is learned is what the chosen rate alone learns."""
    monkeypatch.setattr(rates, "SHARES", (2.0, 1.0))
    monkeypatch.setattr(rates, "ndcg", lambda *_args: type("Metric", (), {"value": 0.5}))
    chosen = fitted(static).rank(DATA.documents, 5)
    given = Learning(steps=4, batch_size=8, lr_share=2.0, layer_lr=2e-3)
    alone = OfDe(encoder=static, learn=given).fit(DATA).rank(DATA.documents, 5)
    assert np.array_equal(chosen.ids, alone.ids)
    assert np.array_equal(chosen.scores, alone.scores)
