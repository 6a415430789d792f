"""label2vec beside PIFA: time and size of the label vectors, and how good a tree they give.

python -m benchmarks.run.label_vectors --data DIR [--sets eurlex57k wordnet-reverse]

A tree is good when the labels of one document are in few of its leaves: leaves of 16 labels, documents of dev, only the
labels that have training pairs; `random` is a tree of labels in any order. Also what xr-linear makes of the tree.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import everylabel
from benchmarks.record import read_result, write_result
from benchmarks.run.command import data_folder, data_parser
from everylabel.linear.ranker import LinearRanker
from everylabel.linear.solver import Features
from everylabel.metrics.ranking import evaluate
from everylabel.text.features import DocumentFeatures
from everylabel.text.tfidf import TfidfConfig
from everylabel.tree.build import LabelTree, build_tree, pifa
from everylabel.tree.label2vec import Label2VecConfig, completed, label2vec
from everylabel.types import Csr

LEAF, ARITY = 16, 16


def made(kind: str, X: Csr, own: Csr) -> Any:
    if kind == "pifa":
        return pifa(X, own)
    if kind == "random":
        return np.random.default_rng(0).normal(size=(own.shape[1], 100)).astype(np.float32)
    vectors, known = label2vec(own, Label2VecConfig(), 0)
    return vectors if known.all() else completed(vectors, known, pifa(X, own))


def leaves_a_document(tree: LabelTree, pairs: Csr) -> float:
    """Distinct leaves over labels, mean over documents with two labels or more: from 1 (bad) down to 1 / labels."""
    leaf = np.full(pairs.shape[1], -1)
    leaf[tree.order] = tree.node_of_label(tree.depth - 1)
    shares = []
    for row in range(pairs.shape[0]):
        own = leaf[pairs.indices[pairs.indptr[row] : pairs.indptr[row + 1]]]
        own = own[own >= 0]
        if len(own) > 1:
            shares.append(len(np.unique(own)) / len(own))
    return float(np.mean(shares))


def megabytes(vectors: Any) -> float:
    parts = (vectors.data, vectors.indices, vectors.indptr) if hasattr(vectors, "indptr") else (vectors,)
    return float(sum(part.nbytes for part in parts)) / 1e6


def measure(folder: Any) -> dict[str, Any]:
    train, dev = everylabel.load_dataset(folder, "train"), everylabel.load_dataset(folder, "dev")
    features = DocumentFeatures(TfidfConfig())
    X, X_dev = features.fit_transform(train.documents), features.transform(dev.documents)
    labels = np.flatnonzero(train.counts > 0).astype(np.int32)
    own = train.required_pairs[:, labels]
    found: dict[str, Any] = {}
    for kind in ("label2vec", "pifa", "random"):
        begun = time.perf_counter()
        vectors = made(kind, X, own)
        vector_seconds = time.perf_counter() - begun
        begun = time.perf_counter()
        tree = build_tree(vectors, labels, leaf_size=LEAF, arity=ARITY, rng=np.random.default_rng(0))
        tree_seconds = time.perf_counter() - begun
        ranker = LinearRanker(matcher_negatives=False).fit(Features.of(X), train.required_pairs, tree)
        ranking = ranker.rank(Features.of(X_dev), 100)
        scores = evaluate(ranking, dev.required_pairs, train.counts, len(train)).values
        found[kind] = {
            "vector_seconds": round(vector_seconds, 1),
            "tree_seconds": round(tree_seconds, 1),
            "megabytes": round(megabytes(vectors), 1),
            "leaves_over_labels": round(leaves_a_document(tree, dev.required_pairs), 4),
            "nDCG@5": round(scores["nDCG@5"], 4),
            "R@100": round(scores["R@100"], 4),
        }
        print(f"{folder.name}, {kind}: {found[kind]}", flush=True)
    return {"labels": len(labels), "documents": len(train), "kinds": found}


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--sets", nargs="*", default=["eurlex57k", "wordnet-reverse"])
    arguments = parser.parse_args()
    data = data_folder(arguments.data)
    sets: dict[str, Any] = (read_result("label-vectors") or {}).get("sets", {})
    for name in arguments.sets:
        if name not in sets:
            sets[name] = measure(data / name)
            write_result("label-vectors", {"sets": sets}, "python -m benchmarks.run.label_vectors")


if __name__ == "__main__":
    main()
