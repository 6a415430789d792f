"""Annif's learning backend on the stream of documents that benchmarks.run.feedback has.

python -m benchmarks.run.feedback_peers --data DIR [--only eurlex57k cve-libraries] [--small]

Of Annif 1.4's backends only nn_ensemble learns. Its sources, omikuji and tfidf, are trained on 400 of the first 500
documents, and it on the other 100, as Annif's documentation advises (on what a source has learned, that source looks
better than it is). Then as in feedback.py: ten labels of each document are shown, corrected, and each batch of 50 is
learned. A corpus that is measured is not measured again; one that was interrupted begins anew. `--small`: 200
documents, and nothing is written.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.record import WORK, read_result, write_result
from benchmarks.run.command import data_folder, data_parser, environment, use_own_cache
from benchmarks.run.feedback import CORPORA, Sizes, Stream, corrected, score
from benchmarks.run.serving_annif import address_of, annif_env, fetch_sentences, write_corpus, write_vocabulary
from everylabel.data import Dataset
from everylabel.types import Ranking

NAME, COMMAND = "feedback-peers", "python -m benchmarks.run.feedback_peers"
PACKAGES = ["annif[nn,omikuji]==1.4.3"]
PROJECT, SOURCES = "nn", ("omikuji", "tfidf")
FOR_SOURCES = 0.8  # of the first documents
PARTS = f"""language=en
analyzer=snowball(english)
vocab=labels
limit=100
allow_learn=true
name={PROJECT}
"""
CONFIG = "".join(f"[{one}]\nbackend={one}\n{PARTS}" for one in SOURCES)
CONFIG += f"[{PROJECT}]\nbackend=nn_ensemble\nsources={','.join(SOURCES)}\n{PARTS}"
WORKER = Path(__file__).parent / "peers" / "annif_stream.py"


class Asked:
    """A worker, a line at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def rank(self, data: Dataset, k: int) -> Ranking:
        found = Ranking.empty(len(data), k)
        places = {address_of(label): at for label, at in data.labels.index.items()}
        for row, hits in enumerate(self._answer({"rank": data.documents.full_texts, "k": k})):
            hits = [(places[uri], value) for uri, value in hits[:k] if value > 0]
            found.ids[row, : len(hits)] = [at for at, _ in hits]
            found.scores[row, : len(hits)] = [value for _, value in hits]
        return found

    def learn(self, data: Dataset) -> None:
        ids, pairs = data.labels.ids, data.required_pairs
        texts = enumerate(data.documents.full_texts)
        self._answer(
            {
                "learn": [
                    {"text": text, "subjects": [address_of(ids[at]) for at in pairs[i].indices]} for i, text in texts
                ]
            }
        )

    def _answer(self, asked: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"Annif ended with {self._process.wait()}; what it said is above")
        return json.loads(line)


@contextmanager
def trained(stream: Stream) -> Iterator[Asked]:
    python, folder = environment("annif-nn", PACKAGES), stream.work / "annif"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "projects.cfg").write_text(CONFIG, encoding="utf-8")
    fetch_sentences(folder / "nltk_data")
    write_vocabulary(folder / "labels.tsv", stream.first.labels)
    n = round(FOR_SOURCES * len(stream.first))
    write_corpus(folder / "sources.jsonl.gz", stream.first.subset(range(n)))
    write_corpus(folder / "ensemble.jsonl.gz", stream.first.subset(range(n, len(stream.first))))
    env = annif_env(folder)
    command = str(python.parent / "annif")
    subprocess.run([command, "load-vocab", "labels", "labels.tsv", "--language", "en"], cwd=folder, env=env, check=True)
    for project in (*SOURCES, PROJECT):
        corpus = "ensemble.jsonl.gz" if project == PROJECT else "sources.jsonl.gz"
        subprocess.run([command, "train", project, corpus], cwd=folder, env=env, check=True)
    pipe = subprocess.PIPE
    started = [str(python), str(WORKER), PROJECT]
    with subprocess.Popen(started, cwd=folder, env=env, stdin=pipe, stdout=pipe, text=True) as process:
        yield Asked(process)


def run(stream: Stream) -> list[dict[str, Any]]:
    sizes, points = stream.sizes, []
    n_batches = min(sizes.stream, len(stream.later)) // sizes.batch
    with trained(stream) as annif:
        for i in range(n_batches + 1):
            point: dict[str, Any] = {"documents": i * sizes.batch, "model": f"batch {i}", "taken": True}
            point["test"] = score(annif.rank(stream.test, 5), stream.test)
            if i < n_batches:
                batch = stream.later.subset(range(i * sizes.batch, (i + 1) * sizes.batch))
                ranking = annif.rank(batch, sizes.shown)
                decisions = corrected(batch, ranking)
                point |= {"before": score(ranking, batch), "labels": sum(len(one.labels) for one in decisions)}
                point["typed"] = sum(len(one.added) for one in decisions)
                annif.learn(batch)
            points.append(point)
            print(stream.name, "Annif", point, flush=True)
    return points


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--only", nargs="*", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--small", action="store_true", help="200 documents, to try it; nothing is written")
    options = parser.parse_args()
    use_own_cache()
    found: dict[str, Any] = (read_result(NAME) or {}).get("conditions", {})
    for corpus in options.only:
        name = f"{corpus}, Annif's nn_ensemble"
        if name in found and not options.small:
            continue
        sizes = Sizes(stream=200, tested=100) if options.small else Sizes()
        stream = Stream.of(
            data_folder(options.data), corpus, sizes, WORK / ("feedback-small" if options.small else "feedback")
        )
        found[name] = {"points": run(stream)}
        if not options.small:
            write_result(NAME, {"conditions": found, "packages": PACKAGES, "config": CONFIG.splitlines()}, COMMAND)


if __name__ == "__main__":
    main()
