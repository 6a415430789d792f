"""Fine-tuning down a tree: shortlists, the linear start of a head, the search of a level, and what is learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from tests.encoders import conftest as encoders

from everylabel.data.dataset import pairs_from_lists
from everylabel.encoders.base import EncoderConfig
from everylabel.encoders.build import load_encoder
from everylabel.linear.ranker import documents_of_nodes
from everylabel.methods.matchxml import levels as levels_module
from everylabel.methods.matchxml.levels import Heads, Levels, Shortlists, best_nodes, bootstrapped, hinge
from everylabel.methods.matchxml.matchxml import FineTuning
from everylabel.tree.build import LabelTree

tiny_folder = encoders.made_folder
WORDS = ["wine", "law", "fish", "customs", "ship", "tax", "milk", "sea"]
TREE = LabelTree(np.arange(8, dtype=np.int32), (np.array([0, 2]), np.array([0, 4, 8])))
TEXTS = [f"{WORDS[i]} {WORDS[i]} the {WORDS[(i + 1) % 4 + 4 * (i // 4)]}" for i in range(8)] * 4
PAIRS = pairs_from_lists([[i, (i + 1) % 4 + 4 * (i // 4)] for i in range(8)] * 4, 8)


def levels(folder: Path, kind: str = "static", **settings: object) -> Levels:
    config = EncoderConfig(teacher=str(folder)) if kind == "static" else EncoderConfig(kind=str(folder))
    fine_tuning = FineTuning(batch_size=8, negatives=2, **settings)  # type: ignore[arg-type]
    return Levels(fine_tuning, load_encoder(config), TEXTS, seed=0)


@pytest.fixture(autouse=True)
def own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERYLABEL_CACHE", str(cache))


def test_a_shortlist_has_the_own_nodes_first_and_others_below_the_branches(tiny_folder: Path) -> None:
    first_branch = csr_matrix(np.tile([[1.0, 0.0]], (len(TEXTS), 1)))
    batches = Shortlists(levels(tiny_folder), PAIRS, first_branch, TREE.children[1])
    batch = batches(0, np.random.default_rng(0))
    assert batch.texts.n_rows == 8
    for nodes, hits, there in zip(batch.nodes, batch.hits, batch.there, strict=True):
        own, others = nodes[hits], nodes[there & ~hits]
        assert len(own) == 2
        assert own.tolist() in [sorted(pair.tolist()) for pair in np.split(PAIRS.indices, len(TEXTS))]
        assert len(others) == 2
        assert others.max() < 4  # below the first branch
        assert not set(own) & set(others)


def test_a_head_starts_as_the_linear_model() -> None:
    rng = np.random.default_rng(0)
    centres = np.eye(4, 6, dtype=np.float32)
    vectors = np.repeat(centres, 10, axis=0) + rng.normal(0, 0.05, (40, 6)).astype(np.float32)
    own = csr_matrix(np.repeat(np.eye(4), 10, axis=0))
    head = bootstrapped(vectors, own, csr_matrix(np.ones((40, 1))), np.array([0, 4]), seed=0)
    assert head.shape == (4, 7)
    scores = vectors @ head[:, :-1].T + head[:, -1]
    assert (scores.argmax(axis=1) == np.repeat(np.arange(4), 10)).all()
    assert scores[np.arange(40), np.repeat(np.arange(4), 10)].min() > 0


def test_the_best_nodes_are_those_of_sorting_all_equal_ones_by_their_number() -> None:
    rng = np.random.default_rng(0)
    vectors, head = rng.integers(-2, 3, (30, 3)).astype(np.float32), rng.integers(-2, 3, (40, 4)).astype(np.float32)
    above = csr_matrix((rng.random((30, 10)) < 0.5).astype(np.float32))
    found = best_nodes(vectors, head, above, np.arange(0, 41, 4), beam=5).toarray() > 0
    scores = vectors @ head[:, :-1].T + head[:, -1]
    scores[~np.repeat(above.toarray() > 0, 4, axis=1)] = -np.inf
    for row, own in enumerate(scores):
        order = np.argsort(-own, kind="stable")[:5]
        assert set(np.flatnonzero(found[row])) == set(order[own[order] > -np.inf])


def test_the_best_nodes_are_looked_for_below_the_branches_only() -> None:
    vectors = np.array([[1, 0], [0, 1]], np.float32)
    head = np.array([[3, 0, 0], [1, 0, 0.5], [2, 2, 0], [0, 1, 0]], np.float32)
    above = csr_matrix(np.array([[1, 0], [1, 1]], np.float32))
    found = best_nodes(vectors, head, above, np.array([0, 2, 4]), beam=2).toarray()
    assert found.tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]


def test_a_document_counts_for_a_node_as_often_as_it_has_labels_below_it(tiny_folder: Path) -> None:
    own = documents_of_nodes(PAIRS, TREE, 1)  # both labels of a document are below the same node
    root = csr_matrix(np.ones((len(TEXTS), 1), np.float32))
    plain, weighted = (
        Shortlists(levels(tiny_folder, weighted=asked), own, root, TREE.children[0])(0, np.random.default_rng(0))
        for asked in (False, True)
    )
    assert plain.weights is None
    np.testing.assert_array_equal(weighted.weights, np.where(weighted.hits, 2, 1))
    heads = Heads(torch.nn.Identity(), np.zeros((2, 3), np.float32))
    heads.texts = lambda _tokens: torch.zeros(8, 2)  # type: ignore[method-assign, assignment]
    # all scores are 0, so that each of the two nodes costs 1, and a document's own one 2
    assert hinge(heads, plain).item() == pytest.approx(2)
    assert hinge(heads, weighted).item() == pytest.approx(3)


def test_a_head_starts_from_the_documents_that_are_sent_to_its_parent_wrongly_too(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[csr_matrix] = []
    usual = levels_module.bootstrapped

    def watched(vectors: Any, own: Any, branches: Any, *args: Any, **settings: Any) -> Any:
        seen.append(branches)
        return usual(vectors, own, branches, *args, **settings)

    monkeypatch.setattr(levels_module, "bootstrapped", watched)
    monkeypatch.setattr(levels_module, "train", lambda *_, **__: iter(()))
    for asked in (False, True):
        levels(tiny_folder, matcher_start=asked).fine_tune(PAIRS, TREE)
    _, parents, _, both = (branches.toarray() > 0 for branches in seen)
    assert (parents <= both).all()
    assert both.sum() > parents.sum()


def test_each_stage_has_its_steps_and_its_rate(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = []

    def watched(_heads: Any, _batches: Any, loss: Any, schedule: Any, *, groups: Any, name: str, **_more: Any) -> Any:
        stages.append((name, schedule.steps, *(group.lr for group in groups), getattr(loss, "__name__", "")))
        return iter(())

    monkeypatch.setattr(levels_module, "train", watched)
    levels(tiny_folder, stage_lr=(0.2, 0.1), stage_steps=(3, 5), head_lr=0.3).fine_tune(PAIRS, TREE)
    levels(tiny_folder, stage_lr=(0.2,), epochs=2.0).fine_tune(PAIRS, TREE)
    assert stages == [
        ("fine-tuning, 2 nodes", 3, 0.2, 0.3, "hinge"),
        ("fine-tuning, 8 nodes", 5, 0.1, 0.3, "matching"),
        ("fine-tuning, 2 nodes", 8, 0.2, 1e-3, "hinge"),
        ("fine-tuning, 8 nodes", 8, 0.2, 1e-3, "matching"),
    ]


def test_a_transformer_has_the_optimiser_of_table_iv(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decay 0.1 of matrices alone, epsilon 1e-6, betas 0.9 and 0.98; the head has no decay."""
    stages: list[tuple[Any, Any]] = []

    def watched(heads: Any, *_: Any, groups: Any, **__: Any) -> Any:
        stages.append((heads, groups))
        return iter(())

    monkeypatch.setattr(levels_module, "train", watched)
    levels(tiny_folder, "transformer", lr=0.2, head_lr=0.3).fine_tune(PAIRS, TREE)
    assert len(stages) == 2
    for heads, (matrices, vectors, head) in stages:
        assert [group.weight_decay for group in (matrices, vectors, head)] == [0.1, 0, 0]
        assert [group.sparse for group in (matrices, vectors, head)] == [False, False, True]
        assert [group.lr for group in (matrices, vectors, head)] == [0.2, 0.2, 0.3]
        assert {(group.eps, group.betas) for group in (matrices, vectors, head)} == {(1e-6, (0.9, 0.98))}
        names = {id(weight): name for name, weight in heads.encoder.named_parameters()}
        decaying, others = ([names[id(weight)] for weight in group.members] for group in (matrices, vectors))
        assert {*decaying, *others} == set(names.values())
        assert others
        assert all(name.endswith("bias") or "LayerNorm" in name for name in others)
        assert not any(name.endswith("bias") or "LayerNorm" in name for name in decaying)
        assert [weight.shape[0] for weight in head.members] == [len(heads.head.weight)]


def test_each_stage_has_its_warm_up(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(
        levels_module,
        "train",
        lambda *args, **_: found.append(args[3].warmup) or iter(()),  # type: ignore[func-returns-value]
    )
    for asked in ((), (0.0,), (0.5, 0.25)):
        levels(tiny_folder, stage_warmup=asked).fine_tune(PAIRS, TREE)
    assert found == [0.1, 0.1, 0, 0, 0.5, 0.25]


@pytest.mark.parametrize(
    ("weighted", "start", "expected"), [(True, None, True), (True, False, False), (False, None, False)]
)
def test_heads_may_start_without_the_weights_of_the_hinge(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, weighted: bool, start: bool | None, expected: bool
) -> None:
    usual, asked = levels_module.bootstrapped, []

    def watched(*args: Any, **settings: Any) -> Any:
        asked.append(settings["weighted"])
        return usual(*args, **settings)

    monkeypatch.setattr(levels_module, "bootstrapped", watched)
    monkeypatch.setattr(levels_module, "train", lambda *_, **__: iter(()))
    levels(tiny_folder, weighted=weighted, weighted_start=start).fine_tune(PAIRS, TREE)
    assert asked == [expected, expected]


def test_the_hinge_may_stand_beside_the_matching(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a mean over the shortlist; and the head keeps the lengths of the linear model, which the hinge reads."""
    found: dict[bool, tuple[Any, Any]] = {}
    for asked in (False, True):
        tuned = levels(tiny_folder, hinge_too=asked)
        last: list[Any] = []
        monkeypatch.setattr(levels_module, "train", lambda *args, last=last, **_: last.append(args) or iter(()))
        tuned.fine_tune(PAIRS, TREE)
        heads, batches, loss, _ = last[-1]
        batch = batches(0, np.random.default_rng(0))
        found[asked] = heads, loss(heads, batch)
        if asked:
            assert found[asked][1]["hinge"].item() == pytest.approx(hinge(heads, batch).item() / batch.nodes.shape[1])
    assert set(found[False][1]) == {"text-label"}
    assert set(found[True][1]) == {"text-label", "hinge"}
    torch.testing.assert_close(found[True][1]["text-label"], found[False][1]["text-label"], atol=1e-4, rtol=1e-3)
    lengths = [heads.head.weight.detach().norm(dim=1).numpy() for heads, _ in (found[False], found[True])]
    np.testing.assert_allclose(lengths[0], 1, atol=1e-5)
    assert np.abs(lengths[1] - 1).max() > 0.01


def test_stages_end_where_a_level_has_too_many_nodes(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    monkeypatch.setattr(
        levels_module,
        "train",
        lambda *args, name, **_: names.append((name, args[2].__name__)) or iter(()),  # type: ignore[func-returns-value]
    )
    levels(tiny_folder, most_nodes=7).fine_tune(PAIRS, TREE)
    assert names == [("fine-tuning, 2 nodes", "matching")]


@pytest.mark.parametrize("kind", ["static", "transformer"])
@pytest.mark.parametrize("settings", [{"balance": 1.0}, {"balance": 0.5}, {"balance": 0.0}, {"matching": False}])
def test_texts_of_the_same_labels_move_together(tiny_folder: Path, kind: str, settings: dict[str, float]) -> None:
    rate = {"lr": 0.05} if kind == "static" else {"lr": 1e-3}
    tuned = levels(tiny_folder, kind, epochs=4, **rate, **settings)
    shared = (PAIRS @ PAIRS.T).toarray()[:8, :8]
    before = tuned.encoder.encode(TEXTS[:8])
    tuned.fine_tune(PAIRS, TREE)
    after = tuned.encoder.encode(TEXTS[:8])

    def gap(vectors: np.ndarray) -> float:
        cosines = vectors @ vectors.T
        return float(cosines[shared == 1].mean() - cosines[shared == 0].mean())

    assert gap(after) > gap(before) + 0.02


def test_fine_tuning_is_the_same_under_a_seed(tiny_folder: Path) -> None:
    vectors = []
    for _ in range(2):
        tuned = levels(tiny_folder, epochs=1)
        tuned.fine_tune(PAIRS, TREE)
        vectors.append(tuned.encoder.encode(TEXTS[:8]))
    np.testing.assert_array_equal(vectors[0], vectors[1])
