"""A model that is exchanged again and again under load; each answer must be wholly of one of the two that there are.

They know the same documents, but every name of a label says which model it is of. Clients ask for one document, and for
several at once. Three ways to have it exchanged, in turn: by the interface, by SIGHUP, by the folder alone.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.run.serving_client import Answer, Driven, Request
from benchmarks.run.serving_corpus import FEW, Corpus
from benchmarks.run.serving_process import Served
from everylabel.data import LabelSet
from everylabel.tagger.tagger import Tagger

CLIENTS, BATCH = 6, 8
PROJECT = "swapped"
MARKS = ("model-A", "model-B")
LATEST = 20.0  # seconds until an exchange must have happened
MOST_SECONDS = 7_200.0
WAYS = ("interface", "signal", "interface", "folder")


def marked_models(corpus: Corpus) -> list[Tagger]:
    found = []
    for mark in MARKS:
        labels = LabelSet.of(replace(label, name=f"{label.name} {mark}") for label in corpus.train.labels)
        train, dev = (replace(part, labels=labels) for part in (corpus.train, corpus.dev))
        found.append(Tagger(experts=FEW).fit(train, dev))
    return found


def swaps(n: int, corpus: Corpus, work: Path) -> dict[str, Any]:
    folder, path = work / "swaps", work / "swaps" / PROJECT
    shutil.rmtree(folder, ignore_errors=True)
    models = marked_models(corpus)
    models[0].save(path)
    found: Counter[str] = Counter()
    with Served([path], folder / "state", "--quiet", log=folder / "log") as served:
        clients = Driven(served.port, requests(corpus), folder, clients=CLIENTS, seconds=MOST_SECONDS, again=True)
        begun = time.perf_counter()
        for number in range(n):
            mark = (number + 1) % 2
            models[mark].save(path)
            way = WAYS[number % len(WAYS)]
            found[f"by {way}"] += 1
            found += exchanged(served, way, MARKS[mark])
        seconds = time.perf_counter() - begun
        result = clients.result()
    found += judged(clients)
    statuses = {f"lost: status {code}": times for code, times in result["statuses"].items() if code != "200"}
    counts = {key: value for key, value in sorted((found + Counter(statuses)).items()) if value}
    return {"times": n, "seconds": round(seconds, 1), "counts": counts}


def requests(corpus: Corpus) -> list[Request]:
    texts = corpus.test.documents.texts
    found = []
    for at, text in enumerate(texts):
        several = [{"text": one} for one in (texts * 2)[at : at + BATCH]]
        found.append(Request(f"/v1/projects/{PROJECT}/suggest", "application/json", json.dumps({"text": text})))
        body = json.dumps({"documents": several})
        found.append(Request(f"/v1/projects/{PROJECT}/suggest-batch", "application/json", body))
        found.append(Request(f"/api/models/{PROJECT}/tag", "application/json", body))
    return found


def exchanged(served: Served, way: str, mark: str) -> Counter[str]:
    """Nothing, once the new model answers."""
    if way == "interface":
        reply = served.ask("/api/models/reload", method="POST")
        if reply.status != 200 or reply.body["refused"]:
            return Counter({"lost: a model is refused": 1})
    if way == "signal":
        served.reload()
    until = time.monotonic() + LATEST
    while time.monotonic() < until:
        reply = served.ask(f"/v1/projects/{PROJECT}/suggest", {"text": "a boat at the harbour"})
        if marks_in(json.dumps(reply.body)) == {mark}:
            return Counter()
        if way == "interface":
            return Counter({"lost: the old model answers after the exchange": 1})
        time.sleep(0.02)
    return Counter({"lost: the old model answers for ever": 1})


def judged(clients: Driven) -> Counter[str]:
    """Answers by the model that they are of."""
    return Counter(kind_of(one) for one in clients.answers() if one.status == 200)


def kind_of(answer: Answer) -> str:
    found = marks_in(answer.body)
    if len(found) > 1:
        return "lost: a mixed answer"
    return f"answers of {found.pop()}" if found else "lost: an answer without labels"


def marks_in(body: str) -> set[str]:
    return set(re.findall("|".join(MARKS), body))
