"""TF-IDF of eurlex57k's training documents: ours on all cores beside scikit-learn's on one, in one run.

python -m benchmarks.run.tfidf_speed --data DIR
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

import everylabel
from benchmarks.record import write_result
from benchmarks.run.command import data_folder, data_parser
from everylabel.text.tfidf import Tfidf, TfidfConfig, limits


def timed(vectoriser: Any, texts: list[str]) -> tuple[float, Any]:
    begun = time.perf_counter()
    matrix = vectoriser.fit_transform(texts)
    return time.perf_counter() - begun, matrix


def main() -> None:
    arguments = data_parser(__doc__).parse_args()
    texts = everylabel.load_dataset(data_folder(arguments.data) / "eurlex57k", "train").documents.full_texts
    config = TfidfConfig()
    ngrams, min_df = limits(config, texts)
    cuts = {"min_df": min_df, "max_df": config.max_df}
    peer: dict[str, Any] = {"ngram_range": (1, ngrams), "sublinear_tf": config.sublinear, **cuts}
    Tfidf(config=config).fit_transform(texts[:100])  # loads the compiled kernels
    seconds: dict[str, list[float]] = {"everylabel": [], "scikit-learn": []}
    for _ in range(3):  # in turns, so that a busy moment of the machine hits both
        ours, X = timed(Tfidf(config=config), texts)
        theirs, Z = timed(TfidfVectorizer(**peer), texts)
        seconds["everylabel"].append(round(ours, 2))
        seconds["scikit-learn"].append(round(theirs, 2))
        print(f"everylabel {ours:.1f} s, scikit-learn {theirs:.1f} s: {theirs / ours:.1f} times as fast", flush=True)
    difference = float(np.abs((X - Z).data).max(initial=0))
    ratio = statistics.median(seconds["scikit-learn"]) / statistics.median(seconds["everylabel"])
    values = {
        "data": "eurlex57k train",
        "documents": len(texts),
        "columns": X.shape[1],
        "values": int(X.nnz),
        "seconds": seconds,
        "ratio": round(ratio, 2),
        "largest_difference": difference,
    }
    write_result("tfidf-speed", values, "python -m benchmarks.run.tfidf_speed")


if __name__ == "__main__":
    main()
