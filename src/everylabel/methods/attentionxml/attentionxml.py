"""AttentionXML: each label looks at the words of a document that matter to it; down a tree where there are many labels.

"AttentionXML: Label Tree-based Attention-Aware Deep Model for High-Performance Extreme Multi-Label Text Classification"
(You et al., 2019). A document is a row of token states h_i; label j weighs them by softmax over i of h_i . w_j, and
their weighted sum is scored (eq. 1 to 4), by binary cross-entropy. With many labels a shallow, wide tree stands above
them: a level is learned on the children of the best nodes of the level above, and of the true ones, begins with the
weights of that level, and a label's score is the product of the probabilities on the way to it.

Without a preset it is made for a CPU: static token embeddings, a convolution over five tokens instead of the BiLSTM,
an output vector for each label instead of layers that all share; queries and outputs begin at what a label's documents
have and others have not, so that a few passes are enough.
Cost of a step: its tokens x width x dim, then documents x candidates x tokens x dim; of a document the same, once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.sparse import csr_matrix

from everylabel.data.dataset import Dataset
from everylabel.data.splits import in_order_of_ids, ranks
from everylabel.encoders.base import EncoderConfig
from everylabel.errors import ConfigError
from everylabel.methods.base import Method, State
from everylabel.methods.depl.settings import Learning
from everylabel.methods.facts import FEW_DOCUMENTS, Facts, Work, encoder_for
from everylabel.methods.traits import Traits, method
from everylabel.methods.words.linear import seen_labels
from everylabel.run import Run
from everylabel.text.matching import require_texts
from everylabel.text.tfidf import TfidfConfig
from everylabel.text.views import Views
from everylabel.tree.build import LabelTree, build_tree, flat_tree, pifa
from everylabel.types import Ranking

if TYPE_CHECKING:
    from everylabel.methods.attentionxml.module import Shape
    from everylabel.methods.attentionxml.ranker import AttentionRanker

MOST_DIMENSIONS, MOST_LAYERS = 4096, 4
_LARGE: dict[str, Any] = {"encoder": {"trainable": True}, "dim": 2 * 512, "hidden": [512, 256]}


@method("attentionxml", "each label looks at the words that matter to it, down a tree where there are many labels")
class AttentionXml(Method):
    """Token states, label-wise attention, a score; see the file for the cost.

    preset="paper" is what the authors' files have for EUR-Lex: a BiLSTM of 256 a direction over 500 tokens, whose
    vectors are not trained, a layer of 256 that all labels share, batches of 40, 30 passes, Adam at 0.001, no tree.
    "paper:DATASET" has the sizes, trees, candidates, passes and batches of the others.
    Deviations:
    - Token vectors are static embeddings of 256 dimensions, brought to a mean length of 1, not GloVe's 300 as they are.
      All levels share them, and the first one alone trains them; theirs goes on in each.
    - The weights are those after the last pass; theirs stops early, and takes those with the best nDCG@5 on documents
      that it holds out. No stochastic weight averaging either.
    - The rate rises in the first tenth of the steps and falls to 0 in a straight line, theirs stays; gradients are cut
      at 1, theirs by those of the steps before.
    - One model; the authors' scripts fit three, with a tree each where there are trees, and add their scores up.
    - A level has about as many nodes as the authors', whose trees are made by halves. Candidates are the children of
      the best nodes and of all true ones, theirs of `beam` nodes in all, the true ones first.
    - The BiLSTM starts from zeros, theirs from a state that it learns.
    """

    traits = Traits(why="attention of each label to words", needs_torch=True, least_documents=FEW_DOCUMENTS)
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "encoder": {"kind": "static", "max_tokens": 500, "trainable": False},
            "reader": "lstm",
            "dim": 2 * 256,
            "hidden": [256],
            "shared_output": True,
            "flat_below": 8_000,
            "label_lr": 1e-3,
            "learn": {"epochs": 30.0, "batch_size": 40, "lr": 1e-3, "layer_lr": 1e-3},
        },
        "paper:eurlex-4k": {},
        "paper:wiki10-31k": {"flat_below": 40_000},
        "paper:amazoncat-13k": {**_LARGE, "flat_below": 20_000, "learn": {"epochs": 10.0, "batch_size": 200}},
        "paper:amazon-670k": {
            **_LARGE,
            **{"leaf_size": 8, "arity": 8, "first_level": 1_024, "beam": 160},
            "learn": {"epochs": 10.0, "batch_size": 200},
        },
        "paper:wiki-500k": {
            **_LARGE,
            **{"leaf_size": 64, "arity": 64, "first_level": 4_096, "beam": 15},
            "learn": {"epochs": 5.0, "batch_size": 200},
        },
        "paper:amazon-3m": {
            **_LARGE,
            **{"leaf_size": 8, "arity": 8, "first_level": 4_096, "beam": 160},
            "learn": {"epochs": 5.0, "batch_size": 200},
        },
    }

    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(max_tokens=256))
    reader: Literal["convolution", "lstm"] = "convolution"  # of token states
    dim: int = 128  # of token states
    shared_output: bool = False  # layers that all labels share, as in the paper; False: a vector for each label
    hidden: tuple[int, ...] = (256,)  # of the shared layers
    flat_below: int = 1_000  # labels: with more of them there is a tree
    leaf_size: int = 64  # labels that are siblings at the bottom of the tree
    arity: int = 64  # branches of a node further up
    first_level: int = 32  # nodes: levels above with fewer are left out, so that the tree is shallow and wide
    beam: int = 10  # nodes of a level whose children are candidates
    learn: Learning = field(default_factory=lambda: Learning(epochs=6.0, batch_size=64))
    label_lr: float = 0.01  # of the labels' queries and output vectors

    @classmethod
    def cost(cls, facts: Facts) -> Work:
        candidates = min(facts.n_seen, 640)
        return Work(reading=5, training=facts.trained_on(6) * min(facts.words * 1.3, 256) * (2e-6 + 3e-8 * candidates))

    @classmethod
    def settings_for(cls, facts: Facts) -> dict[str, Any]:
        return encoder_for(facts)

    def check(self) -> None:
        self.encoder.check()
        self.learn.check("learn")
        if self.encoder.passages != "first":
            raise ConfigError(f"{self.name} reads a document as one text: encoder.passages must be 'first'")
        if not 2 <= self.dim <= MOST_DIMENSIONS or self.dim % 2:
            raise ConfigError(f"dim must be even, from 2 to {MOST_DIMENSIONS:,}; got {self.dim}")
        if not 1 <= len(self.hidden) <= MOST_LAYERS or not all(1 <= size <= MOST_DIMENSIONS for size in self.hidden):
            raise ConfigError(
                f"hidden must be 1 to {MOST_LAYERS} sizes of layers, from 1 to {MOST_DIMENSIONS:,}; got {self.hidden}"
            )
        if self.leaf_size < 2 or self.arity < 2 or min(self.beam, self.flat_below, self.first_level) < 1:
            raise ConfigError(
                "leaf_size and arity must be at least 2, beam, flat_below and first_level at least 1; "
                f"got {self.leaf_size}, {self.arity}, {self.beam}, {self.flat_below} and {self.first_level}"
            )
        if self.label_lr <= 0:
            raise ConfigError(f"label_lr must be above 0; got {self.label_lr}")

    def shape(self, width: int, n_nodes: int) -> Shape:
        from everylabel.methods.attentionxml.module import Shape

        return Shape(width, n_nodes, self.dim, self.hidden if self.shared_output else (), self.reader)

    def _fit(self, dataset: Dataset, run: Run) -> None:
        from everylabel.methods.attentionxml.learning import Learner
        from everylabel.methods.tower import Tower
        from everylabel.train.peers import by_first

        require_texts(dataset.documents)
        by_id = np.argsort(ranks(dataset.documents.ids))
        views = Views.in_run(dataset.documents, run).taken(by_id)
        labels, pairs = in_order_of_ids(dataset).labels, dataset.required_pairs[by_id]
        tower = Tower.load(self.encoder, views, labels, self.random_state, center=False, run=run)
        tree = by_first(lambda: self._tree(dataset, views, pairs, run))
        tokens = views.tokens(tower.encoder, run)
        rows = np.flatnonzero((np.diff(pairs.indptr) > 0) & (tokens.lengths > 0))
        truth = csr_matrix(pairs[rows][:, tree.order])
        learner = Learner(self, tower.encoder, tree, tokens.take(rows), truth, run)
        self.ranker_: AttentionRanker = learner.learn()

    def _tree(self, dataset: Dataset, views: Views, pairs: Any, run: Run) -> LabelTree:
        """By the words of the labels' documents, as in XR-Linear."""
        seen = seen_labels(dataset)
        if len(seen) <= self.flat_below:
            return flat_tree(seen)
        _, X = views.fitted_tfidf(TfidfConfig(), run)
        rng = np.random.default_rng(self.random_state)
        shape = {"leaf_size": self.leaf_size, "arity": self.arity}
        return shallow(build_tree(pifa(X, pairs[:, seen]), seen, rng=rng, run=run, **shape), self.first_level)

    def _rank(self, views: Views, k: int) -> Ranking:
        require_texts(views.documents)
        return self.ranker_.rank(views, k)

    def _state(self) -> State:
        return self.ranker_.state("ranker")

    def _restore(self, state: State) -> None:
        from everylabel.methods.attentionxml.ranker import AttentionRanker

        n_labels = len(self.labels_)
        self.ranker_ = AttentionRanker.restore(self.encoder, "ranker", state, self.shape, self.beam, n_labels)


def shallow(tree: LabelTree, first_level: int) -> LabelTree:
    """Without the levels above that have fewer nodes; that of the leaves stays."""
    sizes = [int(starts[-1]) for starts in tree.children]
    first = next((t for t, size in enumerate(sizes[:-1]) if size >= first_level), len(sizes) - 2)
    if first < 1:
        return tree
    return LabelTree(tree.order, (np.array([0, sizes[first]], np.int64), *tree.children[first + 1 :]))
