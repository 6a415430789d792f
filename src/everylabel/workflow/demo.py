"""The whole way on the embedded sample: its data, a tagger, and the tagger beside the best of its experts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from everylabel.data import Dataset, load_dataset, sample
from everylabel.run import QUIET, Run
from everylabel.workflow.evaluate import Evaluation, evaluate_part, match_labels

if TYPE_CHECKING:
    from everylabel.tagger.tagger import Tagger

MAIN = "nDCG@5"
N_EXAMPLES = 3


class SampleSplits(NamedTuple):
    train: Dataset
    dev: Dataset
    test: Dataset


def sample_splits() -> SampleSplits:
    with tempfile.TemporaryDirectory() as folder:
        path = sample(Path(folder) / "sample")
        return SampleSplits(*(load_dataset(path, split) for split in SampleSplits._fields))


def example_texts() -> tuple[str, ...]:
    """Three documents that the demo has not seen, a title and a text each."""
    documents = sample_splits().test.documents
    places = range(0, len(documents), max(1, len(documents) // N_EXAMPLES))
    return tuple(f"{documents.titles[at]}\n{documents.texts[at]}" for at in places)[:N_EXAMPLES]


def beside_best_expert(tagger: Tagger, test: Dataset, *, run: Run = QUIET) -> dict[str, Evaluation]:
    """The tagger and the best of its experts, by the same test documents: which favours the expert, if anyone."""
    truth = match_labels(tagger.labels_, tagger.counts_, test)
    experts = {name: evaluate_part(one, tagger, test, truth, run=run) for name, one in tagger.experts_.items()}
    best = max(experts, key=lambda name: experts[name].scores[MAIN])
    return {tagger.name: evaluate_part(tagger, tagger, test, truth, run=run), best: experts[best]}
