"""How many weights `xr-linear` needs with many labels: python -m benchmarks.run.fewer_weights --data DIR [--only ...]

Fitted on all training documents with each limit below which weights are dropped (`solver.prune`), measured on dev
documents; megabytes of the weights' lists, seconds of the processor. Results: fewer-weights.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.record import read_result, write_result
from benchmarks.run.command import chosen_conditions

CORPORA = ("tibkat-de", "wordnet-reverse", "wiktionary-translations")
LIMITS = (0.0012, 0.012)
MEASURED = 2_000  # documents of dev
SHOWN = ("P@1", "nDCG@5", "PSP@5", "R@100")


def main() -> None:
    import everylabel
    from benchmarks.run.shown import load_train
    from everylabel.metrics.ranking import evaluate

    folder, corpora = chosen_conditions(__doc__, CORPORA)
    for corpus in corpora:
        train, dev = load_train(folder / corpus), everylabel.load_dataset(folder / corpus, "dev", limit=MEASURED)
        rows = dict[str, Any]()
        for limit in LIMITS:
            started = time.process_time()
            fitted: Any = everylabel.method("xr-linear", solver={"prune": limit}).fit(train)
            seconds = time.process_time() - started
            scores = evaluate(fitted.rank(dev.documents, k=100), dev.required_pairs, train.counts, len(train))
            lists = fitted.texts_.ranker.lists_.state().values()
            rows[str(limit)] = {
                "seconds": round(seconds, 1),
                "mb": round(sum(getattr(part, "nbytes", 0) for part in lists) / 1e6, 1),
                "scores": {key: round(scores[key], 5) for key in SHOWN},
            }
            print(corpus, limit, rows[str(limit)], flush=True)
        found: dict[str, Any] = (read_result("fewer-weights") or {}).get("corpora", {})
        known = found | {corpus: {"seen": int((train.counts > 0).sum()), "rows": rows}}
        write_result("fewer-weights", {"corpora": known}, "python -m benchmarks.run.fewer_weights")


if __name__ == "__main__":
    main()
