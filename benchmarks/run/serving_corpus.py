"""What is served in the measurements: eurlex57k and its Tagger, fitted once; or the embedded sample, to try things."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.record import WORK
from benchmarks.run.command import data_folder, data_parser, use_own_cache
from benchmarks.run.fitting import fit
from benchmarks.run.watch import Aloud
from everylabel.data import Dataset, Documents, load_dataset
from everylabel.tagger.tagger import Tagger
from everylabel.workflow.demo import sample_splits

SAMPLE, EURLEX = "sample", "eurlex57k"
FEW = ("tfidf", "knn")  # experts of the sample's tagger: it is there to try, not to measure


@dataclass(frozen=True)
class Corpus:
    name: str
    train: Dataset
    dev: Dataset
    test: Dataset

    @property
    def work(self) -> Path:
        return WORK / "serving" / self.name

    def model(self, given: Path | None = None) -> Path:
        """The folder of its tagger, which is fitted the first time (eurlex57k: 15 minutes)."""
        if given is not None:
            return given
        if self.name == SAMPLE:
            return self._fitted(Tagger(experts=FEW), self.work / SAMPLE)
        return self._fitted(Tagger(refit=False), WORK / "models" / f"tagger-{self.name}")  # as run.tagger keeps it

    def fast_model(self) -> Path:
        """That of `accuracy="fast"` (eurlex57k: 4 minutes)."""
        return self._fitted(Tagger(accuracy="fast"), WORK / "models" / f"tagger-{self.name}-fast")

    def _fitted(self, tagger: Tagger, path: Path) -> Path:
        if not (path / "manifest.json").is_file():
            fit(tagger, self.train, Aloud(), dev=self.dev, keep=WORK / "checkpoints" / path.name)
            tagger.save(path)
        return path


def sample_corpus() -> Corpus:
    return Corpus(SAMPLE, *sample_splits())


def eurlex_corpus(data: Path) -> Corpus:
    folder = data / EURLEX
    return Corpus(EURLEX, *(load_dataset(folder, split) for split in ("train", "dev", "test")))


def corpus_parser(description: str | None) -> argparse.ArgumentParser:
    """With --data, --model and --sample."""
    parser = data_parser(description)
    parser.add_argument("--model", type=Path, help="folder of a tagger of the data; fitted once if it is left out")
    parser.add_argument("--sample", action="store_true", help="the embedded sample in place of eurlex57k, to try it")
    return parser


def chosen_corpus(arguments: argparse.Namespace) -> Corpus:
    use_own_cache()
    return sample_corpus() if arguments.sample else eurlex_corpus(data_folder(arguments.data))


def marked(documents: Documents, mark: str) -> Documents:
    """With a word more, so that nothing that was kept of them helps."""
    return replace(documents, texts=[f"{text} {mark}" for text in documents.texts])


def write_documents(documents: Documents, file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    pairs = zip(documents.texts, documents.titles, strict=True)
    file.write_text("".join(json.dumps(pair) + "\n" for pair in pairs), encoding="utf-8")
    return file


def read_documents(file: Path) -> Documents:
    pairs = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return Documents.of([text for text, _ in pairs], [title for _, title in pairs])
