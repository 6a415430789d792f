"""What each minute buys: python -m benchmarks.run.tagger_minutes --data DIR [--only cve-libraries ...]

The Tagger with `--budget` of 1 to 180 minutes, by default (with `refit`) on test, until a larger budget gives the same
plan. A fit goes on with the experts that a smaller budget has fitted: its time is the sum of what all of them took.
Its experts, each by itself, are points beside the curve. A budget whose result is there is skipped. Results:
tagger-minutes-CORPUS.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.record import WORK, read_result, write_result
from benchmarks.run.command import chosen_conditions, start
from benchmarks.run.fitting import fit
from benchmarks.run.shown import load_train
from benchmarks.run.tagger import measured, ranked
from benchmarks.run.watch import Aloud

CORPORA = ("eurlex57k", "tibkat-de", "cve-libraries", "wordnet-reverse")
MINUTES = (1, 5, 15, 30, 60, 180)
MODULE = "run.tagger_minutes"


def main() -> None:
    folder, corpora = chosen_conditions(__doc__, [*CORPORA, *(f"{name}@{m}" for name in CORPORA for m in MINUTES)])
    for corpus in corpora:
        name, _, minutes = corpus.partition("@")
        if minutes and len(corpora) == 1:
            run(name, int(minutes), folder)
        elif not minutes:
            for budget in MINUTES:
                if str(budget) not in known(name):
                    start(MODULE, "--data", folder, "--only", f"{name}@{budget}")


def known(corpus: str) -> dict[str, Any]:
    found: dict[str, Any] = (read_result(f"tagger-minutes-{corpus}") or {}).get("budgets", {})
    return found


def run(corpus: str, minutes: int, data: Path) -> None:
    import everylabel

    budgets = known(corpus)
    train, dev = load_train(data / corpus), everylabel.load_dataset(data / corpus, "dev")
    tagger = everylabel.Tagger(budget=f"{minutes}m")
    plan = tagger.plan(train, dev)
    chosen = {"experts": [choice.name for choice in plan.experts], "again": list(plan.refit)}
    same = next((key for key, one in budgets.items() if one["planned"] == chosen), None)
    if same is not None and not plan.spare:
        budgets[str(minutes)] = budgets[same] | {"as": int(same)}
    else:
        fit(tagger, train, Aloud(), dev=dev, keep=WORK / "checkpoints" / f"tagger-minutes-{corpus}")
        test = everylabel.load_dataset(data / corpus, "test")
        truth = test.required_pairs, train.counts, len(train)
        budgets[str(minutes)] = {
            "planned": chosen,
            "fitted": list(tagger.experts_),
            "seconds": round(sum(tagger.costs_.values()), 1),
            "scores": measured(ranked(tagger, test), *truth),
            "experts": {name: measured(ranked(expert, test), *truth) for name, expert in tagger.experts_.items()},
            "costs": tagger.costs_,
        }
    write_result(
        f"tagger-minutes-{corpus}", {"budgets": budgets}, f"python -m benchmarks.run.tagger_minutes --only {corpus}"
    )


if __name__ == "__main__":
    main()
