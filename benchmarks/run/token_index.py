"""Label texts searched by their tokens (everylabel.index.tokens), beside all of their vectors (everylabel.index.exact).

python -m benchmarks.run.token_index --data DIR

The label texts and some training documents of wordnet-reverse and of wiktionary-translations, by the static encoder
with 256 lexical dimensions, its tokens weighed by the label texts; vectors of wordnet-reverse alone, they would be 4 GB
of the other. CPU milliseconds of a query alone and of one of 64 together: the median of nine rounds, since other work
on the machine takes caches away. "by lists": where there are very many texts, those alone that lists lead to, and which
share of the best labels that finds. "as numbered": labels as the vocabulary has them, not in the order of their shape.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from benchmarks.record import write_result
from benchmarks.run.command import data_folder, data_parser
from everylabel.data import load_dataset
from everylabel.encoders.base import EncoderConfig
from everylabel.encoders.static import StaticEncoder
from everylabel.index.exact import ExactIndex
from everylabel.index.tokens import Layer, Part, TokenIndex
from everylabel.text.matching import label_texts
from everylabel.types import FloatArray, Ranking

DATA = ("wordnet-reverse", "wiktionary-translations")
QUERIES, ALONE, ROUNDS, K = 64, 8, 9, 100
KS = (5, 10, 50, 100)
MOST_VECTORS = 200_000
Search = Callable[[FloatArray, int], Ranking]


def main() -> None:
    arguments = data_parser(__doc__).parse_args()
    for name in DATA:
        values = measured(name, arguments.data)
        write_result(f"token-index-{name}", values, "python -m benchmarks.run.token_index --data DIR")


def measured(name: str, given: str | None) -> dict[str, Any]:
    data = load_dataset(data_folder(given) / name, "train")
    texts, owners = label_texts(data.labels)
    encoder = StaticEncoder.load(EncoderConfig(lexical=256))
    tokens = encoder.tokenize(texts)
    encoder = encoder.weighed(tokens)
    queries = encoder.encode(data.documents.texts[:QUERIES])
    seconds, index = spent(lambda: TokenIndex.of(encoder.table, tokens, owners))
    layer = Layer(np.eye(encoder.dim, dtype=np.float32), np.full(encoder.dim, 0.01, np.float32))
    with_layer, layered = spent(lambda: TokenIndex.of(encoder.table, tokens, owners, layer))
    rows: dict[str, dict[str, Any]] = {}
    if index.lists is not None:
        by_lists, index = index, TokenIndex(index.table, index.tokens, index.parts)
        layered = TokenIndex(layered.table, layered.tokens, layered.parts, layer)
        own = {"build_s": seconds, "mb": megabytes(index) + sum(part.nbytes for part in by_lists.lists or ()) / 2**20}
        rows["by lists"] = own | searched(by_lists.search, queries)
        rows["by lists"]["found"] = shares_found(by_lists.search(queries, K), index.search(queries, K))
    rows |= {
        "tokens": {"build_s": seconds, "mb": megabytes(index), **searched(index.search, queries)},
        "tokens, as numbered": searched(as_numbered(index).search, queries),
        "tokens, a layer": {"build_s": with_layer, "mb": megabytes(layered), **searched(layered.search, queries)},
    }
    if len(texts) <= MOST_VECTORS:
        begins, exact = np.searchsorted(owners, np.arange(int(owners[-1]) + 2)), ExactIndex(encoder.dim)
        seconds, vectors = spent(lambda: encoder.encode_tokens(tokens))
        exact.add(np.arange(len(vectors)), vectors)
        rows["vectors"] = {"build_s": seconds, "mb": vectors.nbytes / 2**20}
        rows["vectors"] |= searched(lambda some, k: exact.search_owners(some, begins, k), queries)
        same = exact.search_owners(queries, begins, K).ids == index.search(queries, K).ids
        rows["vectors"]["same_as_tokens"] = float(same.mean())
    counts = {"labels": len(data.labels), "texts": len(texts), "tokens": len(tokens.ids)}
    return {**counts, "distinct_tokens": len(np.unique(tokens.ids)), "dim": encoder.dim, "k": K, "rows": rows}


def searched(search: Search, queries: FloatArray) -> dict[str, Any]:
    """CPU milliseconds a query; the first round compiles, and is not counted."""
    alone, together = [], []
    for _ in range(1 + ROUNDS):
        together.append(1e3 * spent(lambda: search(queries, K))[0] / len(queries))
        each = [spent(lambda at=at: search(queries[at : at + 1], K))[0] for at in range(ALONE)]  # type: ignore[misc]
        alone.append(1e3 * sum(each) / ALONE)
    return {"alone_ms": median(alone[1:]), "together_ms": median(together[1:])}


def shares_found(some: Ranking, every: Ranking) -> dict[str, float]:
    """Of the best labels of a pass over all, how many are among as many of the others."""
    pairs = list(zip(some.ids, every.ids, strict=True))
    return {str(k): round(float(np.mean([np.isin(one[:k], other[:k]).mean() for one, other in pairs])), 4) for k in KS}


def spent(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.process_time()
    found = work()
    return time.process_time() - started, found


def as_numbered(index: TokenIndex) -> TokenIndex:
    labels, begins, texts = index.parts[0]
    order = np.argsort(labels)
    rows = np.concatenate([np.arange(begins[at], begins[at + 1]) for at in order])
    part = Part(labels[order], np.concatenate([[0], np.cumsum(np.diff(begins)[order])]), texts[rows])
    return TokenIndex(index.table, index.tokens, (part,), index.layer)


def megabytes(index: TokenIndex) -> float:
    parts = [(part.labels, part.begins, part.texts.data, part.texts.indices, part.texts.indptr) for part in index.parts]
    return sum(array.nbytes for part in parts for array in part) / 2**20


if __name__ == "__main__":
    main()
