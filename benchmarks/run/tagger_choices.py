"""Variants of the Tagger's blend on dev beside each expert, some labels hidden from all.

python -m benchmarks.run.tagger_choices --data DIR

Reads what the experts of the row `eurlex57k` (`run.tagger`) said of the dev documents in the rehearsal, and learns
the blend anew for each variant, on one half of the documents for the other. Measured with the hidden labels in place:
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
# what is changed: constants of candidates.py and blend.py, or a setting of the blend
VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "300 ranks of an expert": {"DEPTH": 300},
    "1,000 ranks of an expert": {"DEPTH": 1_000},
    "no ranks among unseen labels": {"AMONG": 0.0},
    "ranks among unseen labels count twice": {"AMONG": 1.0},
    "no places for unseen labels": {"every": 0},
    "every third place, from the seventh on": {"every": 3},
    "every second place, from the third on": {"FIRST_PLACES": 2},
    "every second place, from the eleventh on": {"FIRST_PLACES": 10},
}


def main() -> None:
    import everylabel
    from everylabel.tagger import keeping
    from everylabel.tagger.experts import opinion_names
    from everylabel.tagger.rehearsal import in_vocabulary, rehearsals
    from everylabel.train.checkpoint import checkpointing

    folder = data_folder(data_parser(__doc__).parse_args().data) / ROW
    train = load_train(folder)
    dev = in_vocabulary(train.labels, everylabel.load_dataset(folder, "dev"))
    tagger = everylabel.Tagger()
    (one,) = rehearsals(train, dev, tagger.random_state)
    said: dict[str, Ranking] = {}
    with checkpointing(WORK / "checkpoints" / f"tagger-{ROW}", repr(tagger)):
        for choice in tagger.plan(train, dev).experts:
            kept = keeping.read(choice.name, tagger.kept_as(choice, 1))
            if kept is not None:
                said |= kept.said[0]
    names = opinion_names([name for name in said if "," not in name], texts=True)
    said = {name: said[name] for name in names}
    truth = one.held.required_pairs, one.train.counts, len(one.train)
    blends = {}
    for variant, change in VARIANTS.items():
        blends[variant] = blended(one, said, change)
        print(variant, measured(blends[variant], *truth), flush=True)
    experts = {name: found.top(100) for name, found in said.items()}
    result = {
        "data": ROW,
        "documents": len(one.held),
        "hidden_labels": len(one.hidden),
        "variants": {variant: measured(found, *truth) for variant, found in blends.items()},
        "experts": {name: measured(found, *truth) for name, found in experts.items()},
        "differences": differences(blends["as it is"], experts, *truth),
    }
    write_result("tagger-choices", result, "python -m benchmarks.run.tagger_choices")


def blended(one: Rehearsal, said: dict[str, Ranking], change: dict[str, Any]) -> Ranking:
    """The ranking of the rehearsal's documents, by trees that have not seen them."""
    from everylabel.metrics.ranking import inverse_propensity
    from everylabel.tagger import blend, candidates
    from everylabel.tagger.tagger import held_of

    with ExitStack() as changed:
        for module, (name, value) in product((candidates, blend), change.items()):
            if name.isupper() and hasattr(module, name):
                changed.enter_context(patch.object(module, name, value))
        held = held_of(one, said)
        margins, _ = blend.cross_fitted(held, held.hits, 0)
        own = blend.Blend(every=change.get("every", 2))
        blend.place(own, held, held.hits, margins, inverse_propensity(one.train.counts, len(one.train)))
        return held.table.ranking(own.with_room(held.table, own.scores_of(margins, held.counts), held.counts), 100)


if __name__ == "__main__":
    main()
