"""Variants of the Tagger's blend on dev beside each expert, some labels hidden from all.

python -m benchmarks.run.tagger_choices --data DIR

Reads how the experts of the row `eurlex57k` (`run.tagger`) ranked the dev documents in the rehearsal, and learns the
blend anew for each variant, on one half of the documents for the other. Measured with the hidden labels in place:
they count as unseen, so that hundreds of documents have one, not the few that have a label nobody has used.
"""

from __future__ import annotations

from contextlib import ExitStack
from itertools import product
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from benchmarks.record import WORK, write_result
from benchmarks.run.command import data_folder, data_parser
from benchmarks.run.shown import load_train
from benchmarks.run.tagger import differences, measured

if TYPE_CHECKING:
    from everylabel.tagger.rehearsal import Rehearsal
    from everylabel.types import Ranking

ROW = "eurlex57k"
# what is changed: constants of candidates.py, blend.py and order.py, or the order
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "300 ranks of an expert": {"DEEP": 300},
    "1,000 ranks of an expert": {"DEEP": 1_000},
    "no ranks among unseen labels": {"UNSEEN_RANK_WEIGHT": 0.0},
    "ranks among unseen labels count twice": {"UNSEEN_RANK_WEIGHT": 1.0},
    "by probability": {"order": "probability"},
    "places for unseen labels from the third on": {"FIRST_PLACES": 2},
    "places for unseen labels from the eleventh on": {"FIRST_PLACES": 10},
    "every second place to the end": {"DEEP_PLACES": 1_000},
}


def main() -> None:
    import everylabel
    from everylabel.run import Run
    from everylabel.tagger import job_cache
    from everylabel.tagger.experts import opinion_names
    from everylabel.tagger.jobs import cache_key, jobs_of
    from everylabel.tagger.probability import rate_of_unseen
    from everylabel.tagger.rehearsal import in_vocabulary, rehearsals
    from everylabel.train.checkpoint import checkpointing

    folder = data_folder(data_parser(__doc__).parse_args().data) / ROW
    train = load_train(folder)
    dev = in_vocabulary(train.labels, everylabel.load_dataset(folder, "dev"))
    tagger = everylabel.Tagger(refit=False)
    (one,) = rehearsals(train, dev, tagger.random_state)
    rankings: dict[str, Ranking] = {}
    with checkpointing(WORK / "checkpoints" / f"tagger-{ROW}", repr(tagger)) as checkpoints:
        for choice in tagger.plan(train, dev).experts:
            for job in jobs_of(choice.name, choice.settings, tagger.random_state, [one]):
                known = job_cache.read(job.label, cache_key(job, 1), Run(checkpoints=checkpoints))
                rankings |= known.rankings.get(0, {}) if known is not None else {}
    if not rankings:
        raise SystemExit(f"the row {ROW!r} has left nothing here; run it first, `python -m benchmarks.run.tagger`")
    names = opinion_names([name for name in rankings if "," not in name], titles=True)
    rankings = {name: rankings[name] for name in names}
    truth = one.held.required_pairs, one.train.counts, len(one.train)
    rate = rate_of_unseen(train.counts, len(train), dev.pairs)
    blends = {}
    for variant, change in VARIANTS.items():
        blends[variant] = blended(one, rankings, change, rate)
        print(variant, measured(blends[variant], *truth), flush=True)
    experts = {name: found.top(100) for name, found in rankings.items()}
    result = {
        "data": ROW,
        "documents": len(one.held),
        "hidden_labels": len(one.hidden),
        "variants": {variant: measured(found, *truth) for variant, found in blends.items()},
        "experts": {name: measured(found, *truth) for name, found in experts.items()},
        "differences": differences(blends["as it is"], experts, *truth),
    }
    write_result("tagger-choices", result, "python -m benchmarks.run.tagger_choices")


def blended(one: Rehearsal, rankings: dict[str, Ranking], change: dict[str, Any], unseen_rate: float) -> Ranking:
    """The ranking of the rehearsal's documents, by trees that have not seen them; interleaved if no order is named."""
    from everylabel.methods.calibrate import Calibration
    from everylabel.tagger import blend, candidates, order
    from everylabel.tagger.blending_set import blending_set
    from everylabel.tagger.probability import fit_levels

    with ExitStack() as changed:
        for module, (name, value) in product((candidates, blend, order), change.items()):
            if name.isupper() and hasattr(module, name):
                changed.enter_context(patch.object(module, name, value))
        data = blending_set(one, rankings)
        margins, _ = blend.cross_fitted(data, data.hits, 0)
        counts, n_train = one.train.counts, len(one.train)
        variant = blend.Blend(levels=fit_levels(data, data.hits, margins, counts, unseen_rate))
        found = data.table.ranking(variant.scores_of(margins, data.counts), order.DEPTH)
        if change.get("order") == "probability":
            return found.top(100)
        found = Calibration.learn(found, data.truth).apply(found)
        weight = order.best_rare_weight(found, data.truth, counts, n_train)
        return order.interleaved(found, counts, weight, 100)


if __name__ == "__main__":
    main()
