"""Two nodes against one, on this machine: python -m benchmarks.run.cluster_speed --data DIR [--documents N]

Each node has one core. Measured, of wall time and each in a process of its own: `everylabel tag` of eurlex57k's test
documents in 40 files (without Ray: one file), and `everylabel fit` of a tagger, without Ray on one core, on one node
and on two, with the experts of the first plan: a plan for two nodes may have more. Ratios are of these times: how much
faster two nodes are than one, and how much longer one node takes than the command without Ray. The machine must have
two cores that nobody else uses. Results: cluster-speed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.record import WORK, write_result
from benchmarks.run.command import plain_parser
from everylabel.data import load_dataset
from everylabel.data.dataset import Documents
from everylabel.tagger.tagger import Tagger

COMMAND = "python -m benchmarks.run.cluster_speed"
FILES = 40
OBJECTS = 500_000_000  # bytes of a node's object store
ONE_CORE = os.environ | {"EVERYLABEL_THREADS": "1", "OMP_NUM_THREADS": "1"}
Row = dict[str, Any]


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--documents", type=int, help="only so many of test, and of train (to try it)")
    given = parser.parse_args()
    work = WORK / "cluster-speed"
    shutil.rmtree(work, ignore_errors=True)
    data, limit = given.data / "eurlex57k", [] if given.documents is None else ["--limit", str(given.documents)]
    texts = load_dataset(data, "test", limit=given.documents).documents
    write_files(texts, work / "in")
    rows: list[Row] = []
    os.environ |= ONE_CORE  # whose plan it is
    train, dev = (load_dataset(data, split, limit=given.documents) for split in ("train", "dev"))
    experts = [choice.name for choice in Tagger().plan(train, dev).experts]
    fit = ["fit", str(data), *limit, "--set", f"experts={json.dumps(experts)}", "-o"]
    rows.append(timed("fit", 0, [*fit, str(work / "model-0")]))
    tag = ["tag", str(work / "model-0")]
    (work / "all.jsonl").write_bytes(b"".join(file.read_bytes() for file in sorted((work / "in").iterdir())))
    rows.append(timed("tag", 0, [*tag, str(work / "all.jsonl"), "--quiet"]))
    for nodes in (1, 2):
        with Nodes(nodes) as address:
            on = ["--ray", address, "--quiet"]
            rows.append(timed("tag", nodes, [*tag, str(work / "in"), "-o", str(work / f"out-{nodes}"), *on]))
            rows.append(timed("fit", nodes, [*fit, str(work / f"model-{nodes}"), *on]))
    values = {"documents": len(texts), "files": FILES, "experts": experts}
    write_result("cluster-speed", {**values, "rows": rows, "ratios": ratios(rows)}, COMMAND)


def ratios(rows: Sequence[Row]) -> Row:
    seconds = {(row["what"], row["nodes"]): row["seconds"] for row in rows}
    found = {}
    for what in ("tag", "fit"):
        found[f"{what}_two_nodes"] = round(seconds[what, 1] / seconds[what, 2], 2)
        found[f"{what}_overhead"] = round(seconds[what, 1] / seconds[what, 0] - 1, 3)
    print(found, flush=True)
    return found


def write_files(texts: Documents, folder: Path) -> None:
    folder.mkdir(parents=True)
    for i in range(FILES):
        part = range(i * len(texts) // FILES, (i + 1) * len(texts) // FILES)
        rows = [{"id": texts.ids[j], "title": texts.titles[j], "text": texts.texts[j]} for j in part]
        (folder / f"part-{i:03}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


class Nodes:
    """A cluster of so many nodes of one core each; its address."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> str:
        from ray.cluster_utils import Cluster

        node = {"num_cpus": 1, "object_store_memory": OBJECTS, "include_dashboard": False}
        self._cluster = Cluster(initialize_head=True, head_node_args=node)
        for _ in range(self._number - 1):
            self._cluster.add_node(**node)
        return str(self._cluster.address)

    def __exit__(self, *_: object) -> None:
        self._cluster.shutdown()


def timed(what: str, nodes: int, arguments: list[str]) -> Row:
    started = time.monotonic()
    command = [sys.executable, "-m", "everylabel.cli.main", *arguments]
    subprocess.run(command, env=ONE_CORE, stdout=subprocess.DEVNULL, check=True)
    row = {"what": what, "nodes": nodes, "seconds": round(time.monotonic() - started, 1)}
    print(row, flush=True)
    return row


if __name__ == "__main__":
    main()
