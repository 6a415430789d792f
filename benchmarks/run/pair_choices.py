"""The settings of the methods with pairs, one changed at a time, on dev documents of eurlex57k.

python -m benchmarks.run.pair_choices --data DIR [--methods matchxml depl]

What is the default and what is not was chosen by these numbers; test documents have no part in it. Fitted on 10,000
training documents with one seed: differences of 0.2 are none. Labels are ranked as they come (rare_weight 0), and by
the fit with default settings also with other weights. A setting whose result is there is skipped.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks.record import read_result, write_result
from benchmarks.run.command import data_folder, data_parser, use_own_cache
from benchmarks.run.fitting import with_changes
from benchmarks.run.shown import load_train, some

DATA = "eurlex57k"
TRAIN_DOCUMENTS, DEV_DOCUMENTS = 10_000, 2_000
METRICS = ("P@1", "nDCG@5", "PSP@5", "R@100", "tail-F1@5", "ZSR@100")

RARE = (0.0, 0.1, 0.2, 0.3, 0.5)
LINEAR: dict[str, dict[str, Any]] = {"default": {}}
MATCHXML: dict[str, dict[str, Any]] = {
    "default": {},
    "lexical dimensions": {"encoder": {"lexical": 768}},
    "fine-tuned x 0.25": {"tuned_weight": 0.25},
    "encoder not fine-tuned": {"fine_tuning": {"epochs": 0}},
    "sentences x 0": {"sentence_weight": 0.0},
    "tree of 400 labels a leaf": {"leaf_size": 400},
}
DEPL: dict[str, dict[str, Any]] = {
    "default": {},
    "batches of 128": {"retrieve": {"batch_size": 128}},
    "learning rate x 0.5": {"retrieve": {"lr_share": 0.5}},
    "learning rate x 2": {"retrieve": {"lr_share": 2.0}},
    "32 tokens": {"description_tokens": 32},
    "64 tokens": {"description_tokens": 64},
    "from a classifier": {"initialise": True},
    "no lexical dimensions": {"encoder": {"lexical": 0}},
}
JOINT: dict[str, dict[str, Any]] = {"default": {}, "not from a classifier": {"initialise": False}}
CHOICES = {
    "svm": LINEAR,
    "xr-linear": LINEAR,
    "matchxml": MATCHXML,
    "classifier": LINEAR,
    "depl": DEPL,
    "depl+cls": JOINT,
}


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--methods", nargs="*", default=list(CHOICES))
    arguments = parser.parse_args()
    use_own_cache()
    measure(data_folder(arguments.data) / DATA, arguments.methods)


def measure(folder: Path, methods: list[str]) -> None:
    import everylabel
    from everylabel.metrics.ranking import evaluate

    train = some(load_train(folder), TRAIN_DOCUMENTS)
    dev = some(everylabel.load_dataset(folder, "dev"), DEV_DOCUMENTS)
    for method in methods:
        for choice, settings in CHOICES[method].items():
            if choice in known().get(method, {}):
                continue
            start = time.perf_counter()
            fitted = everylabel.method(method, rare_weight=0.0, **settings).fit(train)
            for weight in RARE if choice == "default" else (0.0,):
                ranking = with_changes(fitted, {"rare_weight": weight}).rank(dev.documents, k=100)
                scores = evaluate(ranking, dev.required_pairs, train.counts, len(train)).values
                values = {key: round(scores[key], 4) for key in METRICS}
                name = f"rare_weight {weight}" if weight else choice
                print(f"{method}, {name}: {values}, {time.perf_counter() - start:.0f} s", flush=True)
                found = known()
                found.setdefault(method, {})[name] = values
                sizes = {"train_documents": len(train), "dev_documents": len(dev)}
                write_result("pair_choices", {"found": found, **sizes}, "python -m benchmarks.run.pair_choices")


def known() -> dict[str, Any]:
    """What has been measured; read anew each time, as two processes may measure two methods."""
    found: dict[str, Any] = (read_result("pair_choices") or {}).get("found", {})
    return found


if __name__ == "__main__":
    main()
