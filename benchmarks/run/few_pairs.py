"""The Tagger with 8, 20, 50 and 200 labelled documents: with what other corpora say of label texts, and without.

python -m benchmarks.run.few_pairs --data DIR [--only "tibkat-de, 20" ...]

Fitted on as many training documents of eurlex57k, tibkat-de and cve-libraries, measured on dev documents: nDCG@5 and
the calibration error of both Taggers. These corpora are among those that the prior was learned from (their dev
documents): so for each a prior is learned here that has not seen it, from what `benchmarks.run.prior` has kept. Where
trees are learned from the documents (60 of them at least), the package has no prior in the blend: the rows of 200 show
why. A condition whose result is there is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from benchmarks.record import read_result, write_result
from benchmarks.run.command import chosen_conditions
from benchmarks.run.prior import PARTS, SOURCES, asked_of, kept, learned
from benchmarks.run.shown import load_train, some
from benchmarks.run.tagger import ranked

if TYPE_CHECKING:
    from everylabel.tagger.prior import Prior

CONDITIONS = {
    f"{data}, {n}": (data, n) for n in (8, 20, 50, 200) for data in ("eurlex57k", "tibkat-de", "cve-libraries")
}
TESTED = 1_000  # dev documents


def main() -> None:
    folder, asked = chosen_conditions(__doc__, CONDITIONS)
    found: dict[str, Any] = (read_result("few-pairs") or {}).get("conditions", {})
    for name in asked:
        if name not in found:
            found[name] = run(folder, *CONDITIONS[name])
            print(name, found[name], flush=True)
            write_result("few-pairs", {"conditions": found}, "python -m benchmarks.run.few_pairs")


def run(folder: Path, data: str, n_documents: int) -> dict[str, Any]:
    import everylabel
    from everylabel.metrics.ranking import find_hits, ndcg
    from everylabel.metrics.reliability import reliability
    from everylabel.metrics.significance import paired_bootstrap

    train, dev = (
        some(load_train(folder / data), n_documents),
        some(everylabel.load_dataset(folder / data, "dev"), TESTED),
    )
    truth = dev.required_pairs
    result: dict[str, Any] = {}
    scores = {}
    for name, prior in {"with": learned_without(data), "without": None}.items():
        with given(prior):
            found = ranked(everylabel.Tagger().fit(train), dev)
        scores[name] = ndcg(find_hits(found, truth), 5)
        result[name] = {"nDCG@5": round(scores[name].value, 4), "ECE": round(reliability(found, truth).ece, 4)}
    difference = paired_bootstrap(scores["with"], scores["without"])._asdict()
    return {**result, "difference": {key: round(value, 4) for key, value in difference.items()}}


def learned_without(data: str) -> Prior:
    others = [name for name in SOURCES if SOURCES[name] != SOURCES[data] and kept(name, "dev").exists()]
    return learned({name: asked_of(name, "dev", PARTS[0]) for name in others}, PARTS[0])


@contextmanager
def given(prior: Prior | None) -> Iterator[None]:
    """In the place of the one that comes with the package."""
    with (
        patch("everylabel.tagger.jobs.prior_among", lambda *_: prior),
        patch("everylabel.tagger.tagger.prior_among", lambda *_: prior),
    ):
        yield


if __name__ == "__main__":
    main()
