"""What the transformer adds where it scores a shortlist. python -m benchmarks.run.hybrid_shortlist --data DIR

wordnet-reverse: 148,897 labels; `hybrid` without its transformer, with it on the shortlist of words and static
embeddings, and with it on all labels, by vectors in float32. nDCG@5 and R@100 on 1,000 documents of dev; what each
part takes of a processor, and how many label texts a second of it the transformer encodes. Then what `hybrid` adds to
others: a logistic regression on the reciprocal ranks of tfidf, knn, xr-linear and semantic, with `hybrid` and without,
learned on one half of these documents and measured on the other. `--model`: a folder where `hybrid` is, or is put once
it is fitted.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.linear_model import LogisticRegression

import everylabel
from benchmarks.record import write_result
from benchmarks.run.command import data_folder, data_parser
from everylabel.data import Dataset
from everylabel.encoders.build import load_encoder
from everylabel.methods.facts import Facts
from everylabel.methods.maclr.hybrid import Hybrid, combined
from everylabel.methods.maclr.shortlist import Shortlisted
from everylabel.methods.readings import MEANING, WORDS
from everylabel.methods.tower import Tower
from everylabel.metrics.ranking import by_document, evaluate, find_hits
from everylabel.metrics.significance import paired_bootstrap
from everylabel.registry import method_class
from everylabel.text.views import Views
from everylabel.types import Csr, Ranking

NAME, COMMAND = "hybrid-shortlist", "python -m benchmarks.run.hybrid_shortlist"
DATA, DEPTH = "wordnet-reverse", 600
OTHERS = ("tfidf", "knn", "xr-linear", "semantic")
BLENDED = 100  # ranks of each expert
ENCODED, ALONE = 2_000, 50  # label texts, and documents that are ranked one by one
R = TypeVar("R")


def timed(work: Callable[[], R]) -> tuple[R, float]:
    """With its seconds of a processor."""
    first = time.process_time()
    found = work()
    return found, round(time.process_time() - first, 6)


def quality(found: Ranking, dev: Dataset, train: Dataset) -> dict[str, float]:
    scores = evaluate(found, dev.required_pairs, train.counts, len(train))
    return {key: round(float(scores[key]), 5) for key in ("nDCG@5", "R@100")}


def fitted(name: str, train: Dataset, dev: Dataset) -> Any:
    facts = Facts.of(train, dev)
    return everylabel.method(name, **method_class(name).settings_for(facts)).fit(train).model_


def label_texts_a_second(model: Hybrid) -> dict[str, int]:
    """By int8 and by float32; of a processor."""
    names = [model.labels_[i].name for i in range(0, len(model.labels_), len(model.labels_) // ENCODED)]
    found = {}
    for kind, onnx in (("int8", True), ("float32", False)):
        encoder = load_encoder(replace(model.encoder, onnx=onnx, cache=False))
        encoder.encode(names[:10])
        found[kind] = round(len(names) / timed(partial(encoder.encode, names))[1])
    return found


def parts_of(model: Hybrid, train: Dataset, dev: Dataset) -> dict[str, Any]:
    short = model.tower_
    assert isinstance(short, Shortlisted)
    assert model.learned_ is not None
    views, n = Views.of(dev.documents), len(dev)
    result: dict[str, Any] = {"seconds": {}}
    words, result["seconds"][WORDS] = timed(lambda: model.matcher_.rank(views, DEPTH))
    learned = model.learned_
    meaning, result["seconds"][MEANING] = timed(lambda: learned.rank(views, DEPTH))
    _, result["seconds"]["documents by the transformer"] = timed(lambda: short.tower.queries(views))
    some, result["seconds"]["shortlist"] = timed(lambda: short.rank(views, [words, meaning]))
    result["labels of a shortlist"] = round(float((some.ids >= 0).sum(axis=1).mean()), 1)
    tower, result["seconds"]["index of all labels"] = timed(
        lambda: Tower(short.encoder, short.tower.mean).index_labels(model.labels_, "exact")
    )
    every, result["seconds"]["all labels"] = timed(lambda: tower.rank(views, DEPTH))
    alone = [timed(partial(model.rank, [text], DEPTH))[1] for text in dev.documents.full_texts[:ALONE]]
    result["milliseconds of one document"] = round(1000 * float(np.median(alone)), 1)
    own = [2 * model.dense_weight * model._read(views, short.encoder), np.full(n, 2 * model.learned_weight, np.float32)]
    rankings = {
        "without": combined(words, [meaning], own[1:], DEPTH),
        "shortlist": combined(words, [some, meaning], own, DEPTH),
        "all labels": combined(words, [every, meaning], own, DEPTH),
    }
    result |= {name: quality(found, dev, train) for name, found in rankings.items()}
    both = zip(rankings["shortlist"].ids[:, :10].tolist(), rankings["all labels"].ids[:, :10].tolist(), strict=True)
    result["same best 10"] = round(float(np.mean([len(set(one) & set(other)) / 10 for one, other in both])), 4)
    return result


def rows_of(rankings: list[Ranking]) -> tuple[Any, Any, Any]:
    """(documents, labels, reciprocal ranks) of all that any of them has among its first."""
    n_labels = 1 + max(int(found.ids.max()) for found in rankings)
    keys = [
        np.where(found.ids >= 0, np.arange(len(found.ids))[:, None] * n_labels + found.ids, -1)[:, :BLENDED]
        for found in rankings
    ]
    pairs = np.unique(np.concatenate([own.ravel() for own in keys]))
    pairs = pairs[pairs >= 0]
    features = np.zeros((len(pairs), len(rankings)))
    for column, own in enumerate(keys):
        row, place = np.nonzero(own >= 0)
        features[np.searchsorted(pairs, own[row, place]), column] = 10 / (10 + place)
    return pairs // n_labels, pairs % n_labels, features


def blended(rankings: list[Ranking], truth: Csr) -> Ranking:
    """By what the other half of the documents says of the experts."""
    documents, labels, features = rows_of(rankings)
    right = np.asarray(truth[documents, labels]).ravel() > 0
    scores = np.empty(len(labels))
    for half in (0, 1):
        own = documents % 2 == half
        scores[own] = LogisticRegression().fit(features[~own], right[~own]).decision_function(features[own])
    begins = np.searchsorted(documents, np.arange(len(rankings[0].ids) + 1))
    found = Ranking.empty(len(rankings[0].ids), BLENDED)
    for document in range(len(found.ids)):
        part = slice(begins[document], begins[document + 1])
        order = np.lexsort((labels[part], -scores[part]))[:BLENDED]
        found.ids[document, : len(order)], found.scores[document, : len(order)] = (
            labels[part][order],
            scores[part][order],
        )
    return found


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--model", type=Path, help="where hybrid is, or is put")
    parser.add_argument("--documents", type=int, default=1_000, help="of dev")
    options = parser.parse_args()
    folder = data_folder(options.data) / DATA
    train, dev = (everylabel.load_dataset(folder, split) for split in ("train", "dev"))
    dev = dev.subset(np.sort(np.random.default_rng(0).permutation(len(dev))[: options.documents]))
    result: dict[str, Any] = {"data": DATA, "documents": len(dev)}
    if options.model is not None and options.model.exists():
        hybrid = everylabel.load(options.model).model_
    else:
        hybrid, result["processor seconds to fit"] = timed(lambda: fitted("hybrid", train, dev))
        if options.model is not None:
            hybrid.save(options.model)
    assert isinstance(hybrid, Hybrid)
    result |= parts_of(hybrid, train, dev) | {"label texts a second": label_texts_a_second(hybrid)}
    print(result, flush=True)
    rankings = [fitted(name, train, dev).rank(dev.documents, BLENDED) for name in OTHERS]
    result["others"] = {name: quality(found, dev, train) for name, found in zip(OTHERS, rankings, strict=True)}
    print(result["others"], flush=True)
    blends = [blended(own, dev.required_pairs) for own in (rankings, [*rankings, hybrid.rank(dev.documents, BLENDED)])]
    result["blend"] = dict(zip(("without", "with"), (quality(own, dev, train) for own in blends), strict=True))
    ndcgs = [by_document(find_hits(own, dev.required_pairs), train.counts, len(train))["nDCG@5"] for own in blends]
    result["difference"] = paired_bootstrap(ndcgs[1], ndcgs[0])._asdict()
    result["peak MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    write_result(NAME, result, COMMAND)
    print(result, flush=True)


if __name__ == "__main__":
    main()
