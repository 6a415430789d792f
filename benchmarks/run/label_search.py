"""Labels found while one types, on a server whose vocabulary has 895,000 labels in many scripts.

python -m benchmarks.run.label_search --data DIR --alone

The vocabulary of wiktionary-translations, with notations (its label's number, 1 to 895,000), is served by a model that
only counts (popularity), in a process of its own. One client asks `GET /api/models/ID/labels?prefix=` as the page's
combobox does: for labels drawn at random from each script, by the first 1, 2, 3, 5, 8 letters and the whole of a name,
by an alternative and by a notation. Of each request the CPU that the server took, and of all what the index takes to
build and to keep (the server builds it beside its first requests). With --alone the milliseconds that the client
waited, too: of a machine that does other things they say nothing, and are not written down.
"""

from __future__ import annotations

import http.client
import os
import time
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from benchmarks.record import WORK, write_result
from benchmarks.run.command import data_folder, data_parser, use_own_cache
from benchmarks.run.serving_process import HOST, Memory, Served, ask_by, cpu_ms
from everylabel.data import load_dataset
from everylabel.data.dataset import LabelSet
from everylabel.methods.base import Method
from everylabel.methods.words.popularity import Popularity
from everylabel.store import load
from everylabel.workflow.vocabulary import LabelSearch

DATA = "wiktionary-translations"
LENGTHS = (1, 2, 3, 5, 8)
A_SCRIPT = 40  # labels that are asked for
LEAST = 1_000  # labels of a script that is measured
RIGHT_TO_LEFT = ("ARABIC", "HEBREW", "SYRIAC", "THAANA", "NKO")
LIMIT = 12  # as the page asks for


class Query(NamedTuple):
    kind: str  # letters, or what it is asked by
    script: str
    text: str


def main() -> None:
    parser = data_parser(__doc__)
    parser.add_argument("--alone", action="store_true", help="nothing else runs here: what the client waits counts")
    arguments = parser.parse_args()
    use_own_cache()
    path = model(data_folder(arguments.data) / DATA)
    with Served([path], WORK / "label-search-state", log=WORK / "label-search.log") as served:
        values = measured(served, path, alone=arguments.alone)
    command = f"python -m benchmarks.run.label_search --data DIR{' --alone' if arguments.alone else ''}"
    write_result("label-search", values, command)


def model(data: Path) -> Path:
    """Fitted once."""
    path = WORK / "models" / "label-search"
    if not path.exists():
        dataset = load_dataset(data, "train")
        numbered = (replace(label, notation=str(at)) for at, label in enumerate(dataset.labels, 1))
        Popularity().fit(replace(dataset, labels=LabelSet.of(numbered))).save(path)
    return path


def measured(served: Served, path: Path, *, alone: bool) -> dict[str, Any]:
    method = load(path)
    labels, built = method.labels_, building(method, alone=alone)
    queries = list(queries_for(labels))
    connection = http.client.HTTPConnection(HOST, served.port)
    asked(served, connection, path.name, Query("first", "", "waits for the server's own index"))
    memory = Memory.of(served.pid)
    for query in queries[:: len(queries) // 50]:
        asked(served, connection, path.name, query)  # so that all pages are there
    times = np.array([asked(served, connection, path.name, query) for query in queries])
    groups = {"all": [True] * len(queries), "right to left": [one.script in RIGHT_TO_LEFT for one in queries]}
    for name in dict.fromkeys(one.kind for one in queries):
        groups[name] = [one.kind == name for one in queries]
    for name in dict.fromkeys(one.script for one in queries):
        groups[name.capitalize()] = [one.script == name for one in queries]
    return {
        "labels": len(labels),
        "limit": LIMIT,
        "alone": alone,
        "build": built,
        "server_mb": {"rss": memory.rss, "anonymous": memory.anonymous},
        "queries": {name: of(times[np.array(mask)], alone=alone) for name, mask in groups.items()},
    }


def building(method: Method, *, alone: bool) -> dict[str, float]:
    """The index here, as the server builds it beside its first requests."""
    search, before = LabelSearch.of(method), Memory.of(os.getpid())
    begun, cpu = time.perf_counter(), time.process_time()
    search.warm_up()
    built = {"cpu_seconds": round(time.process_time() - cpu, 2)}
    built |= {"seconds": round(time.perf_counter() - begun, 2)} if alone else {}
    return built | {"mb": round(Memory.of(os.getpid()).anonymous - before.anonymous)}


def queries_for(labels: LabelSet) -> Iterator[Query]:
    rng = np.random.default_rng(0)
    by_script = defaultdict(list)
    for at, name in enumerate(labels.names):
        by_script[script_of(name)].append(at)
    for script, places in sorted(by_script.items()):
        if script and len(places) >= LEAST:
            for at in rng.choice(places, A_SCRIPT, replace=False):
                name = labels.names[int(at)]
                yield from (Query(f"{n} letters", script, name[:n]) for n in LENGTHS if n < len(name))
                yield Query("a whole name", script, name)
                yield from (Query("an alternative", script, text) for text in list(labels.alternatives[int(at)])[:1])
                yield Query("a notation", script, labels.notations[int(at)])


def script_of(name: str) -> str:
    """As the name of its first letter begins."""
    first = next((one for one in name if one.isalpha()), "")
    return unicodedata.name(first, "").partition(" ")[0] if first else ""


def asked(served: Served, connection: http.client.HTTPConnection, project: str, query: Query) -> tuple[float, float]:
    """Milliseconds that the server ran, and until the answer was read."""
    parameters = urlencode({"prefix": query.text[:200], "limit": LIMIT, "language": ""})
    cpu, begun = cpu_ms(served.pid), time.perf_counter()
    reply = ask_by(connection, f"/api/models/{project}/labels?{parameters}")
    took = 1e3 * (time.perf_counter() - begun)
    if reply.status != 200 or (query.script and not reply.body["labels"] and any(map(str.isalnum, query.text))):
        raise SystemExit(f"{query} was answered with {reply}")
    return cpu_ms(served.pid) - cpu, took


def of(times: np.ndarray[Any, Any], *, alone: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"queries": len(times)}
    for name, column in (("cpu_ms", times[:, 0]), *((("ms", times[:, 1]),) if alone else ())):
        p50, p95, most = np.percentile(column, [50, 95, 100])
        found[name] = {"p50": round(float(p50), 2), "p95": round(float(p95), 2), "most": round(float(most), 2)}
    return found


if __name__ == "__main__":
    main()
