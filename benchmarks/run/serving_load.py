"""The server under load: python -m benchmarks.run.serving_load --data DIR [--model MODEL] [--rounds 3] [--sample]

eurlex57k's Tagger, served by `everylabel serve`; 32 clients in a process of their own, each of which asks for the next
test document when it has its answer, by Annif's `suggest` and by our own `tag`. In each round `rank` is measured before
and after, in processes of its own: in batches of 256, in batches of 32, which is how many documents the server can know
of at a time, and one document at a time, which a single client's wait is held against. Then the same for a Tagger of
accuracy="fast", by `suggest`; and Annif 1.4.3 with omikuji, trained on the same documents, is asked by the same
clients. nDCG@5 is that of what was answered. All documents are asked for once before the clock starts: words that are
met for the first time take longer, and a server meets few. In each pass a document has a word more, so that nothing
that was kept of it helps.

The Taggers are fitted the first time (15 and 4 minutes), Annif's environment is made and trained, too; all stays below
benchmarks/work. A round that is measured is not measured again. `--sample`: to try it, nothing is written.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from benchmarks.record import read_result, write_result
from benchmarks.run.command import answer
from benchmarks.run.serving_annif import PROJECT, Annif, address_of
from benchmarks.run.serving_client import Answer, Driven, Request
from benchmarks.run.serving_corpus import Corpus, chosen_corpus, corpus_parser, marked, write_documents
from benchmarks.run.serving_process import Served
from everylabel.data import Documents, LabelSet
from everylabel.metrics.ranking import by_document, evaluate, find_hits
from everylabel.metrics.significance import paired_bootstrap
from everylabel.types import Csr, Ranking

NAME = "serving-load"
COMMAND = "python -m benchmarks.run.serving_load"
CLIENTS, K = 32, 10
ALONE = 200  # documents that a single client asks for, and that are ranked one at a time
MOST_SECONDS = 900.0  # of one pass
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


def by_suggest(project: str, documents: Documents) -> list[Request]:
    """Annif's interface, as its clients ask."""
    pairs = zip(documents.texts, documents.titles, strict=True)
    fields = ({"text": text, "limit": K} | ({"metadata_title": title} if title else {}) for text, title in pairs)
    return [Request(f"/v1/projects/{project}/suggest", FORM, urlencode(one)) for one in fields]


def by_tag(project: str, documents: Documents) -> list[Request]:
    """Our own."""
    pairs = zip(documents.texts, documents.titles, strict=True)
    fields = ({"text": text, "title": title, "k": K} for text, title in pairs)
    return [Request(f"/api/models/{project}/tag", JSON, json.dumps(one)) for one in fields]


def summary(found: dict[str, Any], n_clients: int) -> dict[str, Any]:
    """Documents a second, waits in ms, and what the clients themselves took, as a share of one core."""
    waits, rate = np.array(found["waits"]), found["answers"] / found["seconds"]
    return {
        "documents": found["answers"],
        "documents_per_second": round(rate, 1),
        **{f"p{q}_ms": round(1e3 * float(np.percentile(waits, q)), 2) for q in (50, 95, 99)},
        "mean_ms": round(1e3 * float(waits.mean()), 2),
        "p95_bound_ms": round(2e3 * n_clients / rate, 2),  # twice clients / throughput
        "statuses": found["statuses"],
        "client_cpu": found["client_cpu"],
    }


class Load:
    """One corpus and its models, `n` test documents."""

    def __init__(self, corpus: Corpus, model: Path, fast: Path, n: int) -> None:
        self.corpus, self.model, self.fast = corpus, model, fast
        self.documents = corpus.test.documents.subset(range(min(n, len(corpus.test))))
        self.answers: dict[str, list[Answer]] = {}  # of the latest round

    def round(self, number: int, annif: Annif | None) -> dict[str, Any]:
        found: dict[str, Any] = {"rank_before": self.ranked(f"before{number}")}
        found["everylabel"] = self.served("everylabel", self.model, number, {"suggest": by_suggest, "tag": by_tag})
        found["rank_after"] = self.ranked(f"after{number}")
        found["fast"] = self.served("fast", self.fast, number, {"suggest": by_suggest})
        if annif is not None:
            with annif.serving() as port:
                found["annif"] = self.passes("annif", port, PROJECT, number, {"suggest": by_suggest}, whole=True)
        return found | {"ratios": ratios(found)}

    def ranked(self, mark: str) -> dict[str, Any]:
        file = write_documents(marked(self.documents, mark), self.corpus.work / "documents.jsonl")
        found = answer("run.serving_rank", self.model, file, ALONE, CLIENTS)
        alone = 1e3 * np.array(found["alone"])
        one = {
            "documents_per_second": found["rate"],
            "documents_per_second_by_clients": found["rate_by_clients"],
            "alone_mean_ms": round(float(alone.mean()), 2),
            "alone_p50_ms": round(float(np.median(alone)), 2),
        }
        print(f"  rank, {mark}: {one}", flush=True)
        return one

    def served(self, name: str, model: Path, number: int, ways: dict[str, Any]) -> dict[str, Any]:
        work = self.corpus.work
        options = ["--quiet"]  # a line a request in the log would be on one side only
        with Served([model], work / "state", *options, log=work / "log") as server:
            project = server.ask("/v1/projects").body["projects"][0]["project_id"]
            found = self.passes(name, server.port, project, number, ways)
            return found | {"start_seconds": server.start_seconds}

    def passes(
        self, name: str, port: int, project: str, number: int, ways: dict[str, Any], *, whole: bool = False
    ) -> dict[str, Any]:
        """Each way by 32 clients and by one. `whole`: title and text are one text."""
        documents = Documents.of(self.documents.full_texts) if whole else self.documents
        found: dict[str, Any] = {}
        self._driven(name, port, next(iter(ways.values()))(project, marked(documents, "warm")), CLIENTS)
        for way, requests in ways.items():
            asked = requests(project, marked(documents, f"{way}{number}"))
            found[way] = self._driven(f"{name}-{way}", port, asked, CLIENTS)
            some = documents.subset(range(min(ALONE, len(documents))))
            found[f"{way}_alone"] = self._driven(name, port, requests(project, marked(some, f"one{number}")), 1)
        return found

    def _driven(self, name: str, port: int, requests: list[Request], n_clients: int) -> dict[str, Any]:
        clients = Driven(port, requests, self.corpus.work / name, clients=n_clients, seconds=MOST_SECONDS)
        found = summary(clients.result(), n_clients)
        self.answers[name] = list(clients.answers())
        rate, p95 = found["documents_per_second"], found["p95_ms"]
        print(f"  {name}, {n_clients} clients: {rate:,.1f} documents/s, p95 {p95} ms, {found['statuses']}", flush=True)
        return found

    def quality(self) -> dict[str, Any]:
        """nDCG@5 of what was answered under load, and the difference between both, on the same documents."""
        train = self.corpus.train
        truth: Csr = self.corpus.test.required_pairs[: len(self.documents)]
        rankings = {
            name.removesuffix("-suggest"): as_ranking(answers, train.labels, len(self.documents))
            for name, answers in self.answers.items()
            if name.endswith("-suggest")
        }
        counts = train.counts, len(train)
        found: dict[str, Any] = {name: ndcg_at_5(one, truth, *counts) for name, one in rankings.items()}
        values = {name: by_document(find_hits(one, truth), *counts)["nDCG@5"] for name, one in rankings.items()}
        if "annif" in values:
            for name in ("everylabel", "fast"):
                found[f"{name}_minus_annif"] = paired_bootstrap(values[name], values["annif"])._asdict()
        return found


def ndcg_at_5(ranking: Ranking, truth: Csr, counts: Any, n_train: int) -> float:
    return round(float(evaluate(ranking, truth, counts, n_train)["nDCG@5"]), 5)


def as_ranking(answers: list[Answer], labels: LabelSet, n_documents: int) -> Ranking:
    """What `suggest` answered; a document without an answer has no labels."""
    places = {labels.uri_of(at) or labels.ids[at]: at for at in range(len(labels))}
    places |= {address_of(label): at for label, at in labels.index.items()}
    found = Ranking.empty(n_documents, K)
    for one in answers:
        results = json.loads(one.body)["results"][:K] if one.status == 200 else []
        found.ids[one.request, : len(results)] = [places[hit["uri"]] for hit in results]
        found.scores[one.request, : len(results)] = [hit["score"] for hit in results]
    return found


def ratios(found: dict[str, Any]) -> dict[str, float]:
    """What must be shown: against `rank` (the mean of before and after), and against Annif."""
    ours = found["everylabel"]
    ranks = [found["rank_before"], found["rank_after"]]
    keys = ("documents_per_second", "documents_per_second_by_clients", "alone_mean_ms")
    rate, rate_by_clients, alone = (sum(one[key] for one in ranks) / len(ranks) for key in keys)
    result = {}
    for way in ("suggest", "tag"):
        result[f"{way}_of_rank"] = ours[way]["documents_per_second"] / rate
        result[f"{way}_of_rank_by_clients"] = ours[way]["documents_per_second"] / rate_by_clients
        result[f"{way}_p95_of_fair"] = 2 * ours[way]["p95_ms"] / ours[way]["p95_bound_ms"]
        result[f"{way}_alone_of_rank"] = ours[f"{way}_alone"]["mean_ms"] / alone
    if "annif" in found:
        theirs = found["annif"]["suggest"]["documents_per_second"]
        result["suggest_of_annif"] = ours["suggest"]["documents_per_second"] / theirs
        result["fast_of_annif"] = found["fast"]["suggest"]["documents_per_second"] / theirs
    return {name: round(value, 3) for name, value in result.items()}


def medians(rounds: list[dict[str, Any]]) -> dict[str, float]:
    names = rounds[0]["ratios"]
    return {name: round(float(np.median([one["ratios"][name] for one in rounds])), 3) for name in names}


def main() -> None:
    parser = corpus_parser(__doc__)
    parser.add_argument("--documents", type=int, default=6_000, help="of test, in each pass")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-annif", action="store_true", help="without Annif beside it")
    options = parser.parse_args()
    corpus = chosen_corpus(options)
    load = Load(corpus, corpus.model(options.model), corpus.fast_model(), options.documents)
    annif = None if options.no_annif else Annif(corpus)
    known = {} if options.sample else read_result(NAME) or {}
    found: dict[str, Any] = {"data": corpus.name, "clients": CLIENTS, "documents": len(load.documents)}
    found["train_documents"] = len(corpus.train)
    found["annif"] = annif.train() if annif else None
    rounds: list[dict[str, Any]] = known.get("rounds", []) if known.get("documents") == len(load.documents) else []
    found["quality"] = known.get("quality", {})
    for number in range(len(rounds), options.rounds):
        print(f"round {number + 1}", flush=True)
        rounds.append(load.round(number, annif))
        found |= {"rounds": rounds, "ratios": medians(rounds), "quality": load.quality()}
        if not options.sample:
            write_result(NAME, found, COMMAND)
    print(json.dumps({"ratios": medians(rounds), "quality": found["quality"]}, indent=1))


if __name__ == "__main__":
    main()
