"""The linear ranker: one classifier a node of the label tree, trained level by level, searched with a beam.

XR-Linear (Yu et al., PECOS, 2022), and the last step of MatchXML (Ye et al., 2024). Negatives of a node: documents of
its siblings (teacher forcing), and, with `matcher_negatives`, documents that the levels above send to its parent
although they do not belong there. Scores are products of probabilities along the path.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix

from everylabel import checks
from everylabel.errors import ConfigError
from everylabel.linear.lists import Lists
from everylabel.linear.solver import Features, SolverConfig, train_level
from everylabel.parallel import parallel_map
from everylabel.run import QUIET, Run
from everylabel.states import add_prefix, strip_prefix
from everylabel.tree.build import LabelTree
from everylabel.types import Csr, IntArray, Ranking

_DOCS_PER_CALL = 256


@dataclass(kw_only=True)
class LinearRanker:
    """Fit O(per level: documents x siblings), rank O(per document: levels x beam x branch); see kernels and scoring.

    Learned: `tree_` and `lists_`, all levels' weights; `weights(level)` has them as a matrix.
    """

    solver: SolverConfig = field(default_factory=SolverConfig)
    beam: int = 10
    matcher_negatives: bool = True
    random_state: int = 0

    def fit(self, features: Features, pairs: Csr, tree: LabelTree, run: Run = QUIET) -> Self:
        self.solver.check()
        if self.beam < 1:
            raise ConfigError(f"beam must be at least 1; got {self.beam}")
        labels_in_order = csr_matrix(pairs)[:, tree.order]
        self.tree_, self.n_columns_ = tree, features.n_columns
        levels: list[Csr] = []
        candidates = csr_matrix(np.ones((features.n_docs, 1), np.float32))
        for t in range(tree.depth):
            if t > 0 and self.matcher_negatives:
                candidates = candidates + self._matched(features, levels, t)
            positives = documents_of_nodes(labels_in_order, tree, t + 1)
            if self.solver.shares:
                positives = shares(positives)
            name = f"linear ranker, level {t + 1} of {tree.depth}"
            seed = self.random_state + t
            settings: Any = {"seed": seed, "name": name, "weighted": self.solver.shares, "run": run}
            levels.append(train_level(features, positives, candidates, tree.children[t], self.solver, **settings))
            candidates = positives
        self.lists_ = Lists.of_levels(levels)
        return self

    def rank(self, features: Features, k: int, *, beam: int | None = None, deep: bool = False) -> Ranking:
        """The k best labels below the branches that the beam follows; padded where those have fewer than k. `deep`: a
        beam for k labels at least, up to all there are. A label's score does not depend on it."""
        if deep:
            n_groups = len(self.tree_.children[-1]) - 1
            beam = max(self.beam, -(-2 * k * n_groups // max(len(self.tree_.order), 1)))
        return self._search(features, self.lists_, self.tree_.children, self.tree_.order, k, beam)

    def weights(self, level: int) -> Csr:
        """(columns + bias, nodes of the level below `level`); the last level's nodes are the labels in tree order."""
        return self.lists_.level(level, int(self.tree_.children[level][-1]))

    def state(self) -> dict[str, Any]:
        return {**self.lists_.state(), "n_columns": self.n_columns_, **add_prefix("tree", self.tree_.state())}

    def restore(self, state: dict[str, Any]) -> Self:
        self.n_columns_ = int(state["n_columns"])
        self.lists_ = Lists.restored(state)
        self.tree_ = LabelTree.restored(strip_prefix(state, "tree"))
        return self

    def check(self, n_columns: int, n_labels: int) -> None:
        """Of one that was restored."""
        checks.require(self.n_columns_ == n_columns, f"{self.n_columns_} columns of weights for {n_columns}")
        self.tree_.check(n_labels)
        self.lists_.check(n_columns + 1, [int(level[-1]) for level in self.tree_.children])

    def labels_of_groups(self, features: Features, k: int) -> IntArray:
        """(documents, k x group's size) labels of each document's k best groups, -1 where there are fewer."""
        groups, order = self.best_groups(features, k).ids, self.tree_.order
        starts, sizes = self.tree_.children[-1][:-1], np.diff(self.tree_.children[-1])
        inside = np.arange(sizes.max())
        at = np.minimum(starts[groups][..., None] + inside, len(order) - 1)
        there = (groups >= 0)[..., None] & (inside < sizes[groups][..., None])
        return np.where(there, order[at], -1).reshape(len(groups), -1).astype(np.int32)

    def best_groups(self, features: Features, k: int) -> Ranking:
        """The k best groups of labels: nodes of the last level but one, places in `tree_.children[-1]`."""
        children = self.tree_.children[:-1]
        nodes = np.arange(len(self.tree_.children[-1]) - 1, dtype=np.int32)
        if not children:  # all labels are one group
            return Ranking(np.zeros((features.n_docs, 1), np.int32), np.ones((features.n_docs, 1), np.float32))
        return self._search(features, self.lists_, children, nodes, min(k, len(nodes)), max(k, self.beam))

    def _matched(self, features: Features, levels: list[Csr], t: int) -> Csr:
        """Documents x nodes of level t, where the levels above would take each training document."""
        children = self.tree_.children[:t]
        nodes = np.arange(children[-1][-1], dtype=np.int32)
        found = self._search(features, Lists.of_levels(levels), children, nodes, self.beam, self.beam)
        there = found.ids >= 0
        rows = np.repeat(np.arange(found.n_docs), there.sum(axis=1))
        ones = np.ones(len(rows), np.float32)
        return csr_matrix((ones, (rows, found.ids[there])), shape=(found.n_docs, len(nodes)))

    def _search(self, features: Features, lists: Lists, children: Any, names: Any, k: int, beam: int | None) -> Ranking:
        from everylabel.linear import scoring

        if features.n_columns != self.n_columns_:
            raise ConfigError(f"expected {self.n_columns_} feature columns, as in training; got {features.n_columns}")
        width = min(self.beam if beam is None else beam, max(int(level[-1]) for level in children))  # kept of a level
        nodes = np.concatenate(children)
        level_starts = np.concatenate([[0], np.cumsum([len(level) for level in children])])
        result = Ranking.empty(features.n_docs, k)

        def work(first: int) -> None:
            part = features.rows(first, first + _DOCS_PER_CALL)
            scoring.beam_search(
                part.sparse.indptr.astype(np.int64),
                part.sparse.indices,
                part.sparse.data,
                part.dense,
                part.sparse.shape[1],
                np.float32(self.solver.bias),
                lists,
                nodes,
                level_starts,
                names,
                width,
                result.ids[first : first + _DOCS_PER_CALL],
                result.scores[first : first + _DOCS_PER_CALL],
            )

        for _ in parallel_map(work, range(0, features.n_docs, _DOCS_PER_CALL)):
            pass
        return result


def documents_of_nodes(labels_in_order: Csr, tree: LabelTree, level: int) -> Csr:
    """Documents x nodes of a level: how many of its labels a document has below a node, where it has any."""
    if level == tree.depth:
        return labels_in_order
    node = tree.node_of_label(level)
    n_nodes = len(tree.children[level]) - 1
    ones = np.ones(len(node), np.float32)
    member = csr_matrix((ones, (np.arange(len(node)), node)), shape=(len(node), n_nodes))
    return csr_matrix(labels_in_order @ member)


def shares(positives: Csr) -> Csr:
    """Each row divided by its sum."""
    totals = np.asarray(positives.sum(axis=1)).ravel()
    rows = np.repeat(np.arange(len(totals)), np.diff(positives.indptr))
    return csr_matrix((positives.data / totals[rows], positives.indices, positives.indptr), shape=positives.shape)
