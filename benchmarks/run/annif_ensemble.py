"""Annif 1.4 with its usual ensemble on a library's catalogue in German, beside the Tagger.

python -m benchmarks.run.annif_ensemble --data DIR

omikuji (Bonsai) and fastText are trained on tibkat-de's training documents, MLLM on 5,000 of dev, which the others have
not read; the ensemble is the mean of the three. Its vocabulary is SKOS with all alternative names, words are read by
simplemma, as base forms. All rank 5,000 test documents, a fixed-seed choice; the rows of `run.tagger` that kept their
ranking are measured on the same ones. What is there is not made again; Annif has an environment of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import everylabel
from benchmarks.record import WORK, read_result, write_result
from benchmarks.run.command import data_folder, data_parser, environment
from benchmarks.run.feedback_peers import WORKER, Asked
from benchmarks.run.serving_annif import address_of, annif_env, fetch_sentences, write_corpus
from benchmarks.run.shown import ranking_path, read_ranking
from benchmarks.run.tagger import measured
from everylabel.data import Dataset, LabelSet
from everylabel.types import Ranking

CORPUS, NAME = "tibkat-de", "annif-tibkat-de"
PACKAGES = ["annif[omikuji,fasttext]==1.4.3"]
TAUGHT, ASKED, DEPTH = 5_000, 5_000, 100
TOGETHER = 500  # documents that are asked for at a time
PARTS = "language=de\nanalyzer=simplemma(de)\nvocab=labels\nlimit=100\n"
SETTINGS = {
    "omikuji": "cluster_balanced=False\ncluster_k=100\nmax_depth=3\n",
    "fasttext": "dim=300\nlr=0.25\nepoch=30\nloss=hs\nchunksize=24\n",
    "mllm": "",
    "ensemble": "sources=omikuji,fasttext,mllm\n",
}
TAGGERS = ("tagger-tibkat-de",)


def main() -> None:
    data = data_folder(data_parser(__doc__).parse_args().data) / CORPUS
    train, dev, test = (everylabel.load_dataset(data, split) for split in ("train", "dev", "test"))
    test = test.subset(chosen(len(test), ASKED))
    folder, python = prepared(train, dev), environment("annif-ensemble", PACKAGES)
    found: dict[str, Any] = (read_result(NAME) or {}).get("systems", {})
    for backend in SETTINGS:
        if backend not in found:
            seconds = 0.0 if backend == "ensemble" else trained(backend, folder, python)
            found[backend] = {"train_seconds": seconds, **asked(backend, folder, python, test, train)}
            print(backend, found[backend], flush=True)
            write(found, len(test))
    for name in TAGGERS:
        if ranking_path(name).exists():
            kept = read_ranking(ranking_path(name))
            rows = chosen(len(kept.ids), ASKED)
            found[name] = measured(Ranking(kept.ids[rows], kept.scores[rows]), *about(test, train))
    write(found, len(test))


def write(found: dict[str, Any], n: int) -> None:
    values = {"data": CORPUS, "packages": PACKAGES, "config": PARTS, "settings": SETTINGS, "asked": n}
    write_result(NAME, values | {"systems": found}, "python -m benchmarks.run.annif_ensemble")


def about(test: Dataset, train: Dataset) -> tuple[Any, Any, int]:
    return test.required_pairs, train.counts, len(train)


def chosen(n: int, most: int) -> list[int]:
    return sorted(np.random.default_rng(0).permutation(n)[:most].tolist())


def prepared(train: Dataset, dev: Dataset) -> Path:
    """A folder with Annif's projects, vocabulary and corpora; once."""
    folder = WORK / NAME
    if (folder / "ready").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    projects = (f"[{one}]\nname={one}\nbackend={one}\n{PARTS}{own}" for one, own in SETTINGS.items())
    (folder / "projects.cfg").write_text("\n".join(projects), encoding="utf-8")
    fetch_sentences(folder / "nltk_data")
    (folder / "labels.ttl").write_text("".join(triples(train.labels)), encoding="utf-8")
    write_corpus(folder / "train.jsonl.gz", train)
    write_corpus(folder / "dev.jsonl.gz", dev.subset(chosen(len(dev), TAUGHT)))
    env, python = annif_env(folder), environment("annif-ensemble", PACKAGES)
    command = [str(python.parent / "annif"), "load-vocab", "labels", "labels.ttl"]
    subprocess.run(command, cwd=folder, env=env, check=True)
    (folder / "ready").touch()
    return folder


def triples(labels: LabelSet) -> Iterator[str]:
    """As SKOS, for Annif."""
    from rdflib.namespace import RDF, SKOS
    from rdflib.term import Literal

    for label in labels:
        about = f"<{address_of(label.id)}>"
        yield f"{about} {RDF.type.n3()} {SKOS.Concept.n3()} .\n"
        yield f"{about} {SKOS.prefLabel.n3()} {Literal(label.name, lang='de').n3()} .\n"
        for other in label.alternatives:
            yield f"{about} {SKOS.altLabel.n3()} {Literal(other, lang='de').n3()} .\n"


def trained(backend: str, folder: Path, python: Path) -> float:
    begun = time.perf_counter()
    corpus = "dev.jsonl.gz" if backend == "mllm" else "train.jsonl.gz"
    command = [str(python.parent / "annif"), "train", "--jobs", "2", backend, corpus]
    subprocess.run(command, cwd=folder, env=annif_env(folder), check=True)
    return round(time.perf_counter() - begun, 1)


def asked(backend: str, folder: Path, python: Path, test: Dataset, train: Dataset) -> dict[str, Any]:
    """How good and how fast it ranks, in one process as its command does; the first documents load the models."""
    pipe = subprocess.PIPE
    command = [str(python), str(WORKER.absolute()), backend]
    with subprocess.Popen(command, cwd=folder, env=annif_env(folder), stdin=pipe, stdout=pipe, text=True) as process:
        annif = Asked(process)
        annif.rank(test.subset(range(2)), DEPTH)
        begun = time.perf_counter()
        parts = [range(at, min(at + TOGETHER, len(test))) for at in range(0, len(test), TOGETHER)]
        ranking = Ranking.joined([annif.rank(test.subset(part), DEPTH) for part in parts])
        seconds = time.perf_counter() - begun
        process.stdin.close()  # type: ignore[union-attr]
    rate = {"documents_per_second": round(len(test) / seconds, 1)}
    return rate | measured(ranking, *about(test, train))


if __name__ == "__main__":
    main()
