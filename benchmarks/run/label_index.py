"""The label index at a million labels: approximate beside exact, and the libraries it could be built on.

python -m benchmarks.run.label_index [--n 1000000] [--dim 384] [--compare 50000] [--vectors DIR]

The vectors are made, not real. A label is the sum of a direction that all share, a topic, up to 0.7 of a second topic
and a part of its own; topics are a tree of six levels, each with 4 times as many as the one above; values shrink with
the dimension; rows are scaled to length 1. Queries have more of their own, and a direction that only queries share, as
texts differ from labels. At 20,000 the nearest cosines, the intrinsic dimension and the recall of a graph are those of
all-MiniLM-L6-v2 on names and definitions of WordNet (docs/label_index.md). Every row is measured in a process of its
own; seconds are wall-clock, cpu_seconds are those of all threads, which other work on the machine disturbs less.
"""

from __future__ import annotations

import json
import os
import shutil
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import WORK, write_result
from benchmarks.run.command import answer, plain_parser
from benchmarks.run.label_index_parts import QUERIES, K, make_vectors
from everylabel.index.ann import AnnSettings
from everylabel.parallel import n_threads

PEERS = ("usearch-f16", "usearch-i8", "faiss-hnsw-f16", "faiss-hnsw-i8", "faiss-ivf-f16")


def measured(part: str, folder: Path, n: int) -> dict[str, Any]:
    """In a process of its own, so that memory is its own."""
    print(f"{part}, {n:,} vectors", flush=True)
    values = answer("run.label_index_parts", "--part", part, "--folder", folder, "--n", n)
    print(f"  {json.dumps(values)}", flush=True)
    return values


def compare_libraries(folder: Path, n: int, dim: int, given: Path | None) -> dict[str, Any]:
    """On vectors made for this number: a part of more would be labels without near neighbours."""
    if given is None:
        make_vectors(folder, n, dim)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("labels.npy", "queries.npy"):
            np.save(folder / name, np.load(given / name)[: n if name == "labels.npy" else QUERIES])
    rows = {"exact": measured("exact", folder, n)}
    for threads in (1, n_threads()):
        rows[f"everylabel-i8, {threads} threads"] = measured(f"build:i8:{threads}", folder, n)
        rows[f"everylabel-i8, {threads} threads"] |= measured("mapped:i8", folder, n)
    for name in PEERS:
        if name.startswith("faiss") and util.find_spec("faiss") is None:
            print(f"{name}: skipped, faiss is not installed (pip install faiss-cpu)", flush=True)
            continue
        rows[name] = measured(f"peer:{name}", folder, n)
    return rows


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("--n", type=int, default=1_000_000, help="label vectors")
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument(
        "--compare", type=int, default=50_000, help="of these, for the comparison of libraries; 0: none"
    )
    parser.add_argument("--vectors", type=Path, help="folder with labels.npy and queries.npy: compare on these instead")
    arguments = parser.parse_args()
    n, folder = arguments.n, WORK / "label_index"
    values: dict[str, Any] = {"n": n, "dim": arguments.dim, "k": K, "queries": QUERIES, "settings": str(AnnSettings())}
    values["load_average"] = os.getloadavg()[0]  # of other work on the machine, before ours
    values["libraries"] = {name: metadata.version(name) for name in ("usearch", "faiss-cpu") if _installed(name)}
    command = f"python -m benchmarks.run.label_index --n {n} --dim {arguments.dim} --compare {arguments.compare}"
    command += " --vectors DIR" if arguments.vectors else ""
    if arguments.compare:
        values["compared_on"] = f"{arguments.compare:,} {'given' if arguments.vectors else 'made'} vectors"
        values["comparison"] = compare_libraries(folder, arguments.compare, arguments.dim, arguments.vectors)
    make_vectors(folder, n, arguments.dim)
    values["exact"] = measured("exact", folder, n)
    for dtype in ("i8", "f16"):
        values[f"ann-{dtype}"] = measured(f"build:{dtype}:{n_threads()}", folder, n)
        values[f"ann-{dtype}"] |= measured(f"mapped:{dtype}", folder, n)
        write_result(f"label-index-{n}", values, command)  # after each: an interrupt leaves what was measured
    shutil.rmtree(folder)


def _installed(name: str) -> bool:
    try:
        return bool(metadata.version(name))
    except metadata.PackageNotFoundError:
        return False


if __name__ == "__main__":
    main()
