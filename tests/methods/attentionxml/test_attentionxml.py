"""AttentionXML: attention by hand, candidates of a tree by hand, what is learned, what is saved and what is refused."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import everylabel
from everylabel import config
from everylabel.data.dataset import Dataset, Documents, Label, LabelSet, pairs_from_lists
from everylabel.encoders.base import EncoderConfig, Tokens
from everylabel.errors import ConfigError, ModelError
from everylabel.methods.attentionxml import learning
from everylabel.methods.attentionxml.attentionxml import AttentionXml, shallow
from everylabel.methods.attentionxml.learning import Batch, Batches, Learner, candidate_loss
from everylabel.methods.attentionxml.module import Level, Read, Reader, Shape, token_vectors
from everylabel.methods.attentionxml.ranker import children_of, parts_of
from everylabel.methods.depl.settings import Learning
from everylabel.run import QUIET, Run
from everylabel.text.views import Views
from everylabel.train.checkpoint import checkpointing
from everylabel.tree.build import LabelTree

NAMES = ["fish", "sea", "ship", "tax", "law", "wine", "milk", "customs"]
LABELS = LabelSet.of(Label(f"q{(5 * i) % 9}", name) for i, name in enumerate([*NAMES, "never"]))
LISTS = [(i,) for i in range(8) for _ in range(4)] + [(i, (i + 3) % 8) for i in range(8)]
TEXTS = [" of the ".join(f"{NAMES[i]} {NAMES[i]}" for i in own) for own in LISTS]
DATA = Dataset(Documents.of(TEXTS), LABELS, pairs_from_lists(LISTS, len(LABELS)), name="toy")
TREE = {"flat_below": 2, "leaf_size": 2, "arity": 2, "first_level": 1, "beam": 2}


def made(encoder: EncoderConfig, **more: Any) -> AttentionXml:
    return AttentionXml(**{"encoder": encoder, "dim": 16, "learn": Learning(steps=30, batch_size=16), **more})


# --- attention


def level_of(n_nodes: int = 5, hidden: tuple[int, ...] = ()) -> Level:
    torch.manual_seed(0)
    return Level(torch.nn.Identity(), Shape(6, n_nodes, 4, hidden, "convolution")).eval()


@pytest.mark.parametrize("hidden", [(), (6,)])
@pytest.mark.parametrize("together", [False, True])
def test_attention_by_hand(hidden: tuple[int, ...], together: bool) -> None:
    """Each label's weights are the softmax of its query with the states that are there; their sum is scored."""
    level, rng = level_of(hidden=hidden), np.random.default_rng(0)
    states, lengths = rng.normal(size=(3, 4, 4)).astype(np.float32), [4, 2, 1]
    mask = np.arange(4) < np.array(lengths)[:, None]
    nodes = np.array([4, 0, 2]) if together else np.array([[0, 4], [2, 2], [1, 3]])
    with torch.inference_mode():
        found = level(Read(torch.from_numpy(states * mask[..., None]), torch.from_numpy(mask)), nodes).numpy()
    weights = {name: value.numpy() for name, value in level.own_state().items()}
    for row, n in enumerate(lengths):
        for column, node in enumerate(nodes if together else nodes[row]):
            own = states[row, :n]
            logits = own @ weights["queries.weight"][node]
            shares = np.exp(logits - logits.max())
            seen = shares @ own / shares.sum()
            if hidden:
                layer = np.maximum(0, weights["layers.0.weight"] @ seen + weights["layers.0.bias"])
                expected = float((weights["layers.2.weight"] @ layer + weights["layers.2.bias"])[0])
            else:
                expected = float(weights["outputs.weight"][node] @ seen + weights["biases.weight"][node, 0])
            assert found[row, column] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", ["convolution", "lstm"])
def test_states_do_not_depend_on_padding(kind: str) -> None:
    torch.manual_seed(0)
    reader = Reader(Shape(6, 1, 4, (), kind)).eval()
    vectors = torch.randn(2, 5, 6)
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    with torch.inference_mode():
        both, alone = reader(vectors, mask), reader(vectors[1:, :2], mask[1:, :2])
    torch.testing.assert_close(both[1, :2], alone[0])
    assert not both[1, 2:].any()
    assert (both[0].norm(dim=1) > 0).all()


def test_a_convolution_and_an_lstm_know_the_order_of_words() -> None:
    for kind in ("convolution", "lstm"):
        torch.manual_seed(0)
        reader = Reader(Shape(6, 1, 4, (), kind)).eval()
        vectors, mask = torch.randn(1, 4, 6), torch.ones(1, 4, dtype=torch.bool)
        with torch.inference_mode():
            one, other = reader(vectors, mask), reader(vectors.flip(1), mask).flip(1)
        assert (one - other).abs().max() > 1e-3


def test_static_tokens_are_read_in_their_order(static: EncoderConfig) -> None:
    method = made(static).fit(DATA)
    encoder = method.ranker_.encoder
    tokens = encoder.tokenize(["sea fish sea", "", "law"])
    vectors, mask = token_vectors(encoder.module, tokens)
    assert mask.tolist() == [[True] * 3, [False] * 3, [True, False, False]]
    table: Any = encoder.module.embedding
    torch.testing.assert_close(vectors[0], table.weight[torch.from_numpy(tokens.ids[:3].astype(np.int64))])
    torch.testing.assert_close(vectors[0, 0], vectors[0, 2])


def test_the_paper_s_weights_start_as_the_authors_have_them(
    static: EncoderConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Xavier's uniform distribution, of queries, too; without shared layers at what a label's documents have."""
    started: list[Level] = []
    monkeypatch.setattr(Learner, "_train", lambda _self, _t, level, *_rest: started.append(level))
    paper = AttentionXml.preset("paper") | {"encoder": replace(static, trainable=False), "dim": 64}
    everylabel.method("attentionxml", **paper).fit(DATA)
    (level,) = started
    layers: Any = level.layers
    for weight in (part.weight.detach() for part in (level.queries, layers[0], layers[2])):
        bound = (6 / sum(weight.shape)) ** 0.5
        assert 0.8 * bound < float(weight.abs().max()) <= bound
        assert float(weight.std()) == pytest.approx(bound / 3**0.5, rel=0.15)
    made(static).fit(DATA)
    np.testing.assert_allclose(started[1].queries.weight.detach().norm(dim=1), learning.START, rtol=1e-4)


# --- the tree


@settings(deadline=None)
@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=6),
    rows=st.lists(st.lists(st.integers(-1, 5), min_size=3, max_size=3), min_size=1, max_size=4),
)
def test_children_are_those_of_each_node(counts: list[int], rows: list[list[int]]) -> None:
    starts = np.concatenate([[0], np.cumsum(counts)])
    parents = np.array([[node if node < len(counts) else -1 for node in row] for row in rows], np.int64)
    found = children_of(parents, starts)
    for row, own in zip(parents.tolist(), found.tolist(), strict=True):
        expected = [child for node in row if node >= 0 for child in range(starts[node], starts[node + 1])]
        assert own[: len(expected)] == expected
        assert set(own[len(expected) :]) <= {-1}


def test_every_row_is_read_once() -> None:
    lengths = np.array([3, 0, 900, 5, 5])
    assert sorted(np.concatenate(list(parts_of(lengths, 1000, 128))).tolist()) == [0, 1, 2, 3, 4]


def test_a_label_s_score_is_the_product_of_the_probabilities_on_the_way_to_it(static: EncoderConfig) -> None:
    """With a beam that keeps all nodes: by hand, level by level."""
    method = made(static, **{**TREE, "beam": 8}).fit(DATA)
    ranker = method.ranker_
    tree = ranker.tree
    assert tree.depth == 3
    assert [level.shape.n_nodes for level in ranker.levels] == [2, 4, 8]
    tokens = ranker.encoder.tokenize(["fish of the law", "wine"])
    expected = np.ones((2, 8))
    with torch.inference_mode():
        for t, level in enumerate(ranker.levels):
            shares = torch.sigmoid(level(level.read(tokens), np.arange(level.shape.n_nodes))).numpy()
            expected *= shares[:, tree.node_of_label(t + 1)]
    found = method.rank(["fish of the law", "wine"], 8)
    for row in range(2):
        by_label = dict(zip(tree.order.tolist(), expected[row], strict=True))
        scores = [by_label[label] for label in found.ids[row].tolist()]
        np.testing.assert_allclose(found.scores[row], scores, rtol=1e-4, atol=1e-30)
        assert len(by_label) == 8
    narrow = replace_beam(method, 1).rank(["fish of the law"], 8)
    assert (narrow.ids >= 0).sum() == 2  # the labels of one leaf


def replace_beam(method: AttentionXml, beam: int) -> AttentionXml:
    model = method.model_._copy()
    model.ranker_ = type(method.ranker_)(model.ranker_.encoder, model.ranker_.tree, model.ranker_.levels, beam)
    return model


def test_candidates_are_the_children_of_the_best_and_of_the_true_nodes(static: EncoderConfig) -> None:
    tree = LabelTree(np.arange(6, dtype=np.int32), (np.array([0, 3]), np.array([0, 2, 4, 6])))
    truth = csr_matrix(np.array([[1, 0, 0, 0, 0, 1], [0, 0, 1, 0, 0, 0]], np.float32))
    method: Any = made(static, learn=Learning(batch_size=2))
    encoder: Any = None
    learner = Learner(method, encoder, tree, Tokens.of([[1], [2, 3]]), truth, QUIET)
    batch = Batches(learner, 1, truth, np.array([[1], [-1]], np.int32))(0, np.random.default_rng(0))
    rows = {tuple(batch.documents.take([i]).ids.tolist()): i for i in range(2)}
    first, second = rows[(1,)], rows[(2, 3)]
    assert batch.nodes[first].tolist() == [0, 1, 2, 3, 4, 5]  # of true nodes 0 and 2, and of the best one, 1
    assert batch.truth[first].tolist() == [1, 0, 0, 0, 0, 1]
    assert batch.nodes[second][:2].tolist() == [2, 3]
    assert batch.there[second].tolist() == [1, 1, 0, 0, 0, 0]
    assert batch.truth[second].tolist() == [1, 0, 0, 0, 0, 0]
    np.testing.assert_array_equal(learner._truth(1).toarray(), [[1, 0, 1], [0, 1, 0]])


def test_the_loss_is_binary_cross_entropy_of_the_candidates_that_are_there() -> None:
    logits = np.array([[0.5, -1.0, 9.0], [2.0, 0.0, -3.0]], np.float32)

    class Fake:
        def read(self, _documents: Tokens) -> None: ...

        def __call__(self, _read: None, _nodes: Any) -> torch.Tensor:
            return torch.from_numpy(logits)

    truth, there = np.array([[1, 0, 1], [0, 0, 1]], np.float32), np.array([[1, 1, 0], [1, 1, 1]], np.float32)
    found = candidate_loss(Fake(), Batch(Tokens.of([[0], [1]]), np.zeros((2, 3), np.int64), truth, there))
    shares = 1 / (1 + np.exp(-logits.astype(np.float64)))
    losses = -np.log(np.where(truth > 0, shares, 1 - shares))
    assert found.item() == pytest.approx((losses * there).sum() / 5, abs=1e-6)


# --- the method


@pytest.mark.parametrize(
    "more", [{}, TREE, {"reader": "lstm"}, {"shared_output": True, "hidden": (32,), "dim": 64, "label_lr": 0.03}]
)
def test_it_learns_which_words_belong_to_a_label(static: EncoderConfig, tmp_path: Path, more: dict[str, Any]) -> None:
    learn = Learning(steps=60, batch_size=16)
    if "hidden" in more:  # random at first, as in the paper
        learn = Learning(steps=300, batch_size=16, layer_lr=0.01)
    method = made(static, learn=learn, **more).fit(DATA)
    found = method.rank(TEXTS[-8:], 9)  # of two labels each: where there is one word, all labels look at the same
    hits = sum(len(set(row[:2]) & set(own)) for row, own in zip(found.ids.tolist(), LISTS[-8:], strict=True))
    assert hits >= (12 if more else 16)
    assert 8 not in found.ids  # no document has it
    method.save(tmp_path / "model")
    again = everylabel.load(tmp_path / "model").rank(TEXTS[-8:], 9)
    np.testing.assert_array_equal(again.scores, found.scores)


def test_a_transformer_reads_the_tokens(static: EncoderConfig, tiny_folder: Path, tmp_path: Path) -> None:
    assert static.kind == "static"  # for its environment only
    encoder = EncoderConfig(kind=str(tiny_folder), max_tokens=16)
    method = made(encoder, learn=Learning(steps=2, batch_size=8)).fit(DATA)
    found = method.rank(["fish", "", "law of tax"], 3)
    assert (found.ids[[0, 2]] >= 0).all()
    assert (found.ids[1] < 0).all()
    method.save(tmp_path / "model")
    np.testing.assert_array_equal(
        everylabel.load(tmp_path / "model").rank(["fish", "", "law of tax"], 3).scores, found.scores
    )


def test_the_encoder_learns_with_the_first_level_alone(static: EncoderConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = []
    usual = Learner._train

    def watched(self: Learner, *given: Any) -> None:
        module: Any = self.encoder.module
        before = module.embedding.weight.detach().clone()
        usual(self, *given)
        tables.append(float((module.embedding.weight.detach() - before).abs().max()))

    monkeypatch.setattr(Learner, "_train", watched)
    made(static, **TREE).fit(DATA)
    assert tables[0] > 0
    assert tables[1:] == [0, 0]
    tables.clear()
    made(replace(static, trainable=False)).fit(DATA)
    assert tables == [0]


def test_an_interrupted_fit_goes_on_to_the_same_scores(
    static: EncoderConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {**TREE, "learn": Learning(steps=4, batch_size=8)}
    whole = made(static, **settings).fit(DATA)
    calls, usual = iter(range(1000)), learning.candidate_loss

    def stopping(level: Any, batch: Any) -> Any:
        if next(calls) == 6:  # in the second level
            os.kill(os.getpid(), signal.SIGINT)
        return usual(level, batch)

    with monkeypatch.context() as patch, checkpointing(tmp_path) as checkpoints:
        patch.setattr(learning, "candidate_loss", stopping)
        with pytest.raises(KeyboardInterrupt):
            made(static, **settings).fit(DATA, run=Run(checkpoints=checkpoints))
    with checkpointing(tmp_path) as checkpoints:
        resumed = made(static, **settings).fit(DATA, run=Run(checkpoints=checkpoints))
    np.testing.assert_array_equal(resumed.rank(NAMES, 8).scores, whole.rank(NAMES, 8).scores)


def test_weights_of_another_shape_are_refused(static: EncoderConfig, tmp_path: Path) -> None:
    method = made(static).fit(DATA)
    for change in (
        {"ranker/level0/queries.weight": np.zeros((3, 16), np.float32)},
        {"ranker/level0/reader.scale": np.float32(np.inf) * np.ones((), np.float32)},
        {"ranker/level0/more": np.zeros(3, np.float32)},
        {"ranker/tree/order": np.arange(1, 9, dtype=np.int32) * 2},
    ):
        with pytest.raises((ValueError, ModelError)):
            made(static).restore(LABELS, method.state() | change)
    made(static).restore(LABELS, method.state()).check_contents()
    assert tmp_path.is_dir()


def test_no_text_no_labels(static: EncoderConfig) -> None:
    method = made(static).fit(DATA)
    assert (method.rank(Views.of(["", "\u200d"]), 3).ids == -1).all()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"dim": 7}, "dim must be even, from 2 to 4,096; got 7"),
        ({"hidden": (0,)}, "hidden must be 1 to 4 sizes of layers"),
        ({"first_level": 0}, "first_level at least 1"),
        ({"beam": 0}, "beam, flat_below and first_level at least 1"),
        ({"leaf_size": 1}, "leaf_size and arity must be at least 2"),
        ({"label_lr": 0.0}, "label_lr must be above 0"),
        ({"learn": Learning(steps=0)}, "learn.steps at least 1"),
        ({"encoder": EncoderConfig(passages="max")}, "encoder.passages must be 'first'"),
    ],
)
def test_settings_that_cannot_work(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AttentionXml(**more).fit(DATA)


def test_small_levels_above_are_left_out() -> None:
    starts = (np.array([0, 2]), np.array([0, 2, 4]), np.array([0, 1, 2, 3, 4]), np.array([0, 2, 4, 6, 8]))
    tree = LabelTree(np.arange(8, dtype=np.int32), starts)
    assert shallow(tree, 1) is tree
    for least, sizes in ((2, [2, 4, 4, 8]), (3, [4, 4, 8]), (99, [4, 8])):
        found = shallow(tree, least)
        found.check(8)
        assert [int(level[-1]) for level in found.children] == sizes
        np.testing.assert_array_equal(found.node_of_label(found.depth - 1), tree.node_of_label(3))


# of the authors' files: hidden_size, linear_size, emb_trainable, batch_size, nb_epoch, top, max_leaf
FILES: dict[str, tuple[int, list[int], bool, int, int, int, int]] = {
    "eurlex-4k": (256, [256], False, 40, 30, 0, 0),
    "wiki10-31k": (256, [256], False, 40, 30, 0, 0),
    "amazoncat-13k": (512, [512, 256], True, 200, 10, 0, 0),
    "amazon-670k": (512, [512, 256], True, 200, 10, 160, 8),
    "wiki-500k": (512, [512, 256], True, 200, 5, 15, 64),
    "amazon-3m": (512, [512, 256], True, 200, 5, 160, 8),
}
LABEL_COUNTS = {"eurlex-4k": 3_956, "wiki10-31k": 30_938, "amazoncat-13k": 13_330}


@pytest.mark.parametrize("name", FILES)
def test_the_paper_s_numbers(name: str) -> None:
    size, layers, trained, batch, passes, top, leaf = FILES[name]
    presets = AttentionXml.presets
    found: Any = everylabel.method("attentionxml", **config.merge(presets["paper"], presets[f"paper:{name}"]))
    found.check()
    assert (found.reader, found.shared_output, found.encoder.max_tokens) == ("lstm", True, 500)
    assert (found.dim, list(found.hidden), found.encoder.trainable) == (2 * size, layers, trained)
    assert (found.learn.batch_size, found.learn.epochs) == (batch, passes)
    assert found.learn.lr == found.learn.layer_lr == found.label_lr == 1e-3
    if top:
        assert (found.beam, found.leaf_size) == (top, leaf)
    else:
        assert found.flat_below >= LABEL_COUNTS[name]  # no tree
