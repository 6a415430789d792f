"""The linear ranker beside PECOS and omikuji: the same features, one after the other in one run, on all cores.

python -m benchmarks.run.linear_peers --data DIR [--corpus wiktionary-translations] [--again]

Makes a virtual environment for each peer under benchmarks/work (needs a package index), computes the TF-IDF of the
corpus (eurlex57k, a catalogue in German, or one with 894,625 labels) once, trains and predicts with each system in
processes of their own, and prints the ratios. Steps whose result is there are skipped unless --again. We have the
settings that a Tagger's plan gives `xr-linear` for such data.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from scipy.sparse import load_npz, save_npz

import everylabel
from benchmarks.record import WORK, read_result, write_result
from benchmarks.run.command import data_folder, data_parser, environment
from everylabel.config import build, to_dict
from everylabel.methods.facts import Facts
from everylabel.methods.words.linear import XrLinear
from everylabel.metrics.ranking import evaluate
from everylabel.text.features import DocumentFeatures
from everylabel.text.tfidf import in_language
from everylabel.types import Ranking

CORPORA = ("eurlex57k", "tibkat-de", "wiktionary-translations")
HERE = Path(__file__).parent / "peers"
ENVIRONMENTS = {
    "pecos": ["numpy<2", "torch==2.13.0", "libpecos==1.2.8"],
    "omikuji": ["numpy", "scipy", "omikuji==0.5.2"],
}


class Corpus(NamedTuple):
    name: str
    ours: XrLinear

    @classmethod
    def of(cls, name: str, data: Path) -> Corpus:
        train, dev = (everylabel.load_dataset(data / name, split) for split in ("train", "dev"))
        facts = Facts.of(train, dev)
        return cls(name, build(XrLinear, XrLinear.settings_for(facts)))

    @property
    def result(self) -> str:
        return "linear-peers" + ("" if self.name == CORPORA[0] else f"-{self.name}")

    @property
    def work(self) -> Path:
        return WORK / f"peers-{self.name}"

    @property
    def command(self) -> str:
        which = "" if self.name == CORPORA[0] else f" --corpus {self.name}"
        return f"python -m benchmarks.run.linear_peers{which}"


def systems(ours: XrLinear) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Name -> environment, script, settings. PECOS with its defaults, and with the settings that are best for us."""
    both = {"leaf_size": ours.leaf_size, "arity": ours.arity, "beam": ours.beam, "k": 20}
    costs = {"cost_positive": ours.solver.cost_positive, "cost_negative": ours.solver.cost_negative}
    pecos = {
        "leaf_size": 100,
        "arity": 16,
        "beam": 10,
        "k": 20,
        "cost_positive": 1.0,
        "cost_negative": 1.0,
        "prune": 0.1,
    }
    return {
        "everylabel": ("", "ours.py", {**both, "solver": to_dict(ours.solver)}),
        "pecos": ("pecos", "pecos_linear.py", {"name": "pecos", "prune": 0.1, **pecos}),
        "pecos-wide": ("pecos", "pecos_linear.py", {"name": "pecos-wide", "prune": 0.1, **pecos, **both, **costs}),
        "omikuji": ("omikuji", "omikuji_parabel.py", {"beam": 10, "k": 20}),
    }


def interpreter(peer: str) -> Path | str:
    return environment(peer, ENVIRONMENTS[peer]) if peer else sys.executable


def write_features(corpus: Corpus, data: Path) -> None:
    if (corpus.work / "test.Y.npz").exists():
        return
    corpus.work.mkdir(exist_ok=True, parents=True)
    features = DocumentFeatures(in_language(corpus.ours.tfidf, corpus.ours.language))
    for split in ("train", "test"):
        dataset = everylabel.load_dataset(data / corpus.name, split)
        X = features.fit_transform(dataset.documents) if split == "train" else features.transform(dataset.documents)
        save_npz(corpus.work / f"{split}.X.npz", X, compressed=False)
        save_npz(corpus.work / f"{split}.Y.npz", dataset.required_pairs, compressed=False)


def measure(name: str, corpus: Corpus) -> dict[str, Any]:
    peer, script, settings = systems(corpus.ours)[name]
    work = corpus.work
    found: dict[str, Any] = {"settings": settings}
    for step in ("train", "predict", "predict_plain") if peer == "pecos" else ("train", "predict"):
        command = [str(interpreter(peer)), str(HERE / script), str(work), json.dumps(settings), step]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        values = json.loads(output.strip().splitlines()[-1])
        found |= {(f"{step}_peak_gb" if key == "peak_gb" else key): value for key, value in values.items()}
    counts = load_npz(work / "train.Y.npz").sum(axis=0).A1.astype(int)
    n_train = load_npz(work / "train.Y.npz").shape[0]
    output_name = settings.get("name", peer or "ours")
    ranking = Ranking.from_csr(load_npz(work / f"{output_name}.scores.npz"), 20)
    scores = evaluate(ranking, load_npz(work / "test.Y.npz"), counts, n_train, recall_ks=(20,))
    return found | {key: scores[key] for key in ("P@1", "nDCG@5", "PSP@5")}


def ratios(found: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """How many times faster and smaller we are than each peer (above 1 is better)."""
    ours = found["everylabel"]
    smaller = ("train_seconds", "train_peak_gb", "predict_peak_gb", "model_mb")
    return {
        name: {key: round(peer[key] / ours[key], 2) for key in smaller}
        | {
            key: round(ours["documents_per_second"] / peer[key], 2)
            for key in ("documents_per_second", "plain_documents_per_second")
            if key in peer
        }
        for name, peer in found.items()
        if name != "everylabel"
    }


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--corpus", default=CORPORA[0], choices=CORPORA)
    parser.add_argument("--again", action="store_true", help="measure again what is there already")
    arguments = parser.parse_args()
    data = data_folder(arguments.data)
    corpus = Corpus.of(arguments.corpus, data)
    for peer in ENVIRONMENTS:
        interpreter(peer)
    write_features(corpus, data)
    before = None if arguments.again else read_result(corpus.result)
    found: dict[str, dict[str, Any]] = {} if before is None else before["systems"]
    for name in systems(corpus.ours):
        if name not in found:
            found[name] = measure(name, corpus)
            print(name, json.dumps(found[name]), flush=True)
            values = {"corpus": corpus.name, "systems": found, "ratios": ratios(found)}
            write_result(corpus.result, values, corpus.command)
    print(json.dumps(ratios(found), indent=1))


if __name__ == "__main__":
    main()
