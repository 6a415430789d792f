"""One measurement of `benchmarks.run.label_index` each: exact, a built graph, a mapped one, another library.

python -m benchmarks.run.label_index_parts --part exact --folder FOLDER --n 200000 prints JSON. Seconds are wall-clock,
cpu_seconds are those of all threads, which other work on the machine disturbs less.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.run.command import plain_parser
from benchmarks.run.watch import peak_gb
from everylabel.index.ann import AnnIndex, AnnSettings
from everylabel.index.exact import ExactIndex
from everylabel.parallel import n_threads
from everylabel.vectors import unit_rows

K, QUERIES, RECALL = 100, 1000, 0.95
EXPANSIONS = (100, 128, 160, 192, 256, 320, 384, 512, 768, 1024, 1280, 1536, 2048)
Search = Callable[[Any, int], Any]


def make_vectors(folder: Path, n: int, dim: int) -> None:
    """labels.npy and queries.npy; O(n dim) time, a quarter of it in memory."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    scale = np.arange(1, dim + 1, dtype=np.float32) ** -0.2
    scale /= np.linalg.norm(scale)

    def noise(rows: int) -> Any:
        return random.standard_normal((rows, dim), np.float32) * scale

    def topic(rows: int) -> Any:
        return topics[random.integers(0, len(topics), rows)]

    def rows_of(size: int, own: float, shared: Any) -> Any:
        second = 0.7 * random.random((size, 1), np.float32)
        return unit_rows(topic(size) + second * topic(size) + own * noise(size) + shared)

    topics = 0.4 * random.standard_normal((1, dim), np.float32) / dim**0.5
    for level in range(6, 0, -1):
        size = max(1, n // 4**level)
        topics = topic(size) + noise(size) / 6**0.5
    labels = np.lib.format.open_memmap(folder / "labels.npy", "w+", np.float32, (n, dim))
    for first in range(0, n, 50_000):
        labels[first : first + 50_000] = rows_of(min(50_000, n - first), 0.8, 0)
    labels.flush()
    np.save(folder / "queries.npy", rows_of(QUERIES, 1.2, 0.5 * noise(1)))


def memory_mb() -> dict[str, float]:
    """Of this process: what it allocated, and what it has of files."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    kinds = {"anonymous": "RssAnon:", "files": "RssFile:"}
    return {name: int(status.split(field)[1].split()[0]) * 1024 / 1e6 for name, field in kinds.items()}


def timed(work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    seconds = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
    return {name: round(value, 5) for name, value in seconds.items()}, result


def speed(search: Search, queries: Any, singles: int) -> dict[str, float]:
    """Best of three batches, and the median of single queries: what other work on the machine disturbs least."""
    batches = [timed(lambda: search(queries, K))[0] for _ in range(3)]
    single = [timed(partial(search, queries[at : at + 1], K))[0]["seconds"] for at in range(singles)]
    return {
        "batch_per_second": round(len(queries) / min(b["seconds"] for b in batches), 1),
        "batch_per_cpu_second": round(len(queries) / min(b["cpu_seconds"] for b in batches), 1),
        "single_ms": round(1000 * float(np.median(single)), 2),
    }


def recall(found: Any, true: Any) -> float:
    return round(float(np.mean([len(np.intersect1d(a, b)) / K for a, b in zip(found, true, strict=True)])), 4)


def exact_part(folder: Path, n: int) -> dict[str, Any]:
    labels, queries = np.load(folder / "labels.npy", mmap_mode="r")[:n], np.load(folder / "queries.npy")
    before = memory_mb()
    index = ExactIndex(labels.shape[1])
    build, _ = timed(lambda: index.add(np.arange(n), labels))
    memory = memory_mb()["anonymous"] - before["anonymous"]
    np.save(folder / f"true-{n}.npy", index.search(queries, K).ids)
    index.save(folder / "exact")
    return {
        "build": build,
        "memory_mb": round(memory),
        "file_mb": round((folder / "exact").stat().st_size / 1e6),
        **speed(index.search, queries, 20),
    }


def build_part(folder: Path, n: int, dtype: Any, threads: int) -> dict[str, Any]:
    labels = np.load(folder / "labels.npy", mmap_mode="r")[:n]
    before = memory_mb()
    index = AnnIndex(labels.shape[1], AnnSettings(dtype=dtype, threads=threads))

    def build() -> None:
        for first in range(0, n, 50_000):  # in parts, for the eyes
            index.add(np.arange(first, min(first + 50_000, n)), labels[first : first + 50_000])
            print(f"  {len(index):,} vectors", file=sys.stderr, flush=True)

    seconds, _ = timed(build)
    memory = memory_mb()["anonymous"] - before["anonymous"]
    save, _ = timed(lambda: index.save(folder / f"ann-{dtype}"))
    size = (folder / f"ann-{dtype}").stat().st_size / 1e6
    return {"build": seconds, "save": save, "memory_mb": round(memory), "file_mb": round(size), "threads": threads}


def mapped_part(folder: Path, n: int, dtype: str) -> dict[str, Any]:
    queries, true = np.load(folder / "queries.npy"), np.load(folder / f"true-{n}.npy")
    AnnIndex(2).search(np.eye(2, dtype=np.float32), 1)  # imports what there is to import
    before = memory_mb()
    load, index = timed(lambda: AnnIndex.load(folder / f"ann-{dtype}"))
    first, _ = timed(lambda: index.search(queries[:1], K))
    after = memory_mb()
    for expansion in EXPANSIONS:
        index = AnnIndex.load(folder / f"ann-{dtype}", expansion_search=expansion, per_k=1)
        reached = recall(index.search(queries, K).ids, true)
        print(f"  expansion {expansion}: recall {reached}", file=sys.stderr, flush=True)
        if reached >= RECALL:
            break
    default = AnnIndex.load(folder / f"ann-{dtype}", expansion_search=None)
    found = default.search(queries, K)
    return {
        "load_ms": round(1000 * load["seconds"], 1),
        "first_query_ms": round(1000 * first["seconds"], 1),
        "mb_after_first_query": round(sum(after.values()) - sum(before.values()), 1),
        "mb_after_all_queries": round(sum(memory_mb().values()) - sum(before.values())),
        "recall": reached,
        "expansion_search": expansion,
        **speed(index.search, queries, 200),
        "default": {"recall": recall(found.ids, true), **speed(default.search, queries, 200)},
    }


def usearch_search(labels: Any, dtype: str) -> Iterator[Search]:
    """As it comes, bytes scaled by usearch; 16 neighbours and 128 candidates when adding, in all of these."""
    from usearch.index import Index

    index = Index(ndim=labels.shape[1], metric="cos" if dtype == "i8" else "ip", dtype=dtype, connectivity=16)
    index.expansion_add = 128
    index.add(np.arange(len(labels)), labels, threads=n_threads())
    for expansion in EXPANSIONS:
        index.expansion_search = expansion
        yield lambda queries, k: np.atleast_2d(index.search(queries, k, threads=n_threads()).keys)


def faiss_search(labels: Any, kind: str) -> Iterator[Search]:
    import faiss

    faiss.omp_set_num_threads(n_threads())
    lists = max(1, 2 ** round(np.log2(len(labels) ** 0.5)))
    names = {"hnsw-f16": "HNSW16_SQfp16", "hnsw-i8": "HNSW16_SQ8", "ivf-f16": f"IVF{lists},SQfp16"}
    index: Any = faiss.index_factory(labels.shape[1], names[kind], faiss.METRIC_INNER_PRODUCT)
    if kind != "ivf-f16":
        index.hnsw.efConstruction = 128
    index.train(labels)
    index.add(labels)
    for expansion in EXPANSIONS if kind != "ivf-f16" else range(4, lists, 4):
        if kind == "ivf-f16":
            index.nprobe = expansion
        else:
            index.hnsw.efSearch = expansion
        yield lambda queries, k: index.search(queries, k)[1]


def peer_part(folder: Path, n: int, name: str) -> dict[str, Any]:
    labels = np.ascontiguousarray(np.load(folder / "labels.npy", mmap_mode="r")[:n])
    queries, true = np.load(folder / "queries.npy"), np.load(folder / f"true-{n}.npy")
    library, _, kind = name.partition("-")
    __import__({"usearch": "usearch.index"}.get(library, library))
    empty = memory_mb()["anonymous"]
    searches = usearch_search(labels, kind) if library == "usearch" else faiss_search(labels, kind)
    build, search = timed(lambda: next(searches))
    memory = memory_mb()["anonymous"] - empty
    reached, before = recall(search(queries, K), true), 0.0
    while before < reached < RECALL and (wider := next(searches, None)):  # until more candidates find no more
        search, before = wider, reached
        reached = recall(search(queries, K), true)
    return {"build": build, "memory_mb": round(memory), "recall": reached, **speed(search, queries, 200)}


def run_part(part: str, folder: Path, n: int) -> dict[str, Any]:
    name, _, rest = part.partition(":")
    if name == "exact":
        return exact_part(folder, n)
    if name == "build":
        dtype, _, threads = rest.partition(":")
        return build_part(folder, n, dtype, int(threads))
    return mapped_part(folder, n, rest) if name == "mapped" else peer_part(folder, n, rest)


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("--part", required=True, help="exact, build:DTYPE:THREADS, mapped:DTYPE or peer:NAME")
    parser.add_argument("--folder", type=Path, required=True, help="with labels.npy and queries.npy")
    parser.add_argument("--n", type=int, required=True, help="label vectors")
    arguments = parser.parse_args()
    peak = "mapped_peak_gb" if arguments.part.startswith("mapped") else "peak_gb"
    print(json.dumps(run_part(arguments.part, arguments.folder, arguments.n) | {peak: round(peak_gb(), 2)}))


if __name__ == "__main__":
    main()
