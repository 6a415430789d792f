"""What it is worth to fit the experts again on train and dev, on documents that are neither: part of the dev split.

python -m benchmarks.run.refit --data DIR [--only eurlex57k cve-libraries]

A seed is a draw: of the training documents some, of the dev documents some to blend on, the others to measure on. Test
is not looked at. Bands and propensities go by train alone, as for the fit that does not know dev. Beside `refit` as it
is: what the blend is told of labels' frequencies in other ways, and those experts fitted again, too, that do not learn
from pairs. Also how far probabilities are off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.record import read_result, write_result
from benchmarks.run.command import chosen_conditions
from benchmarks.run.fitting import with_changes
from benchmarks.run.shown import load_train
from benchmarks.run.tagger import calibration, measured, ranked

if TYPE_CHECKING:
    from pathlib import Path

    from everylabel import Tagger
    from everylabel.data import Dataset

RESULT = "refit"
QUICKEST = ("tfidf", "knn", "xr-linear")
# documents of train and of dev that are shown, of what is left of dev those that are measured on, and the experts
ROWS: dict[str, dict[str, Any]] = {
    "eurlex57k": {"train": 10_000, "dev": 2_000, "measured": 4_000, "tagger": {"experts": QUICKEST}},
    "cve-libraries": {"train": 100_000, "dev": 0.5, "measured": 4_000, "tagger": {"accuracy": "fast"}},
}
SEEDS = (0, 1, 2)


def main() -> None:
    folder, asked = chosen_conditions(__doc__, ROWS)
    for row in asked:
        for seed in SEEDS:
            found: dict[str, Any] = (read_result(RESULT) or {}).get("rows", {})
            name = f"{row}, seed {seed}"
            if name not in found:
                found[name] = run(ROWS[row], folder / row, seed)
                write_result(RESULT, {"rows": found}, "python -m benchmarks.run.refit")


def run(spec: dict[str, Any], folder: Path, seed: int) -> dict[str, Any]:
    import everylabel

    train, dev, check = shown(spec, folder, seed)
    tagger = everylabel.Tagger(random_state=seed, refit=False, **spec["tagger"])
    alone = tagger.fit(train, dev).model_
    again = refitted(alone, train, dev)
    before, share = train.counts, len(train) / again.n_train_
    counts = {
        "counts of train": before,
        "counts of both": again.counts_,
        "counts of both by train's size": np.ceil(again.counts_ * share).astype(np.int64),
        "counts of both, first seen are unseen": np.where(before > 0, again.counts_, 0),
    }
    variants = {
        "train alone": alone,
        "refit": again,
        **{f"refit, {name}": with_changes(again, {"fitted_counts_": own}) for name, own in counts.items()},
        "refit, those who learn from no pairs, too": all_again(again, train, dev),
    }
    truth = check.required_pairs, train.counts, len(train)
    first_seen = int(((train.counts == 0) & (again.counts_ > 0)).sum())
    rankings = {name: ranked(model, check) for name, model in variants.items()}
    result: dict[str, Any] = {
        "documents": {"train": len(train), "dev": len(dev), "measured": len(check)},
        "labels_first_seen_in_dev": first_seen,
        "history": [event for event in again.history_ if "again" in event["what"]],
        "costs": again.costs_,
        "scores": {name: measured(found, *truth) for name, found in rankings.items()},
        "calibration": {name: calibration(found, *truth[:2]) for name, found in rankings.items()},
        "first_seen_R@10": {name: recall_of(found, check, train, again) for name, found in rankings.items()},
    }
    for name, scores in result["scores"].items():
        shown_scores = {key: round(100 * scores[key], 2) for key in ("P@1", "nDCG@5", "PSP@5", "tail/F1@5", "ZSR@100")}
        print(f"  {name:45}", shown_scores, result["first_seen_R@10"][name])
    return result


def shown(spec: dict[str, Any], folder: Path, seed: int) -> tuple[Dataset, Dataset, Dataset]:
    """Train, dev, and what is measured on."""
    import everylabel

    rng = np.random.default_rng(seed)
    train, dev = load_train(folder), everylabel.load_dataset(folder, "dev")
    order = rng.permutation(len(dev))
    n_dev = spec["dev"] if isinstance(spec["dev"], int) else round(spec["dev"] * len(dev))
    own, rest = order[:n_dev], order[n_dev : n_dev + spec["measured"]]
    kept = np.sort(rng.permutation(len(train))[: spec["train"]])
    return train.subset(kept), dev.subset(np.sort(own)), dev.subset(np.sort(rest))


def refitted(alone: Tagger, train: Dataset, dev: Dataset) -> Tagger:
    """As a fit goes on with `refit`: the rest would be the same."""
    from everylabel.run import QUIET
    from everylabel.tagger.clock import Clock
    from everylabel.tagger.refit import fit_again

    again = with_changes(alone, {"refit": True, "costs_": {}})
    again.plan_ = again.plan(train, dev)
    fit_again(again, train, dev, Clock(again.plan_.budget, again.costs_), QUIET.sharing())
    return again


def all_again(again: Tagger, train: Dataset, dev: Dataset) -> Tagger:
    """With those experts on train and dev that learn from documents, but from no pairs."""
    from everylabel.tagger.experts import fit_expert
    from everylabel.tagger.refit import with_dev

    both = with_dev(train, dev)
    assert both is not None
    readers = {
        name: fit_expert(again._new(choice), both)
        for choice in again.plan_.experts
        if (name := choice.name) not in again.plan_.refit
    }
    return with_changes(again, {"experts_": again.experts_ | readers})


def recall_of(found: Any, check: Dataset, train: Dataset, again: Tagger) -> list[float]:
    """Of the pairs of labels that dev has and train has not: how many are among the first ten, and all of them."""
    from everylabel.data.splits import of_labels
    from everylabel.metrics.ranking import find_hits

    labels = np.flatnonzero((train.counts == 0) & (again.counts_ > 0))
    pairs = of_labels(check.required_pairs, labels, keep=True)
    hits = find_hits(found.top(10), pairs)
    return [float(hits.hit.sum()), int(pairs.nnz)]


if __name__ == "__main__":
    main()
