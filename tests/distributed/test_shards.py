"""Which files there are, where results go, and what tasks tell; without a cluster."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.listening import Recorder

from everylabel.data.dataset import Dataset
from everylabel.distributed import progress
from everylabel.distributed.cluster import Cluster, Node
from everylabel.distributed.executor import Needs, cores_of_a_job, machines
from everylabel.distributed.fit import NeedsOfJobs
from everylabel.distributed.progress import Far, _Display
from everylabel.distributed.shards import Shard, find_shards, read_text, readable, results, writable
from everylabel.errors import DataError
from everylabel.methods.facts import Facts
from everylabel.registry import method_class
from everylabel.tagger.jobs import WHOLE, Job


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name, encoding="utf-8")


def test_files_patterns_and_folders(tmp_path: Path) -> None:
    touch(
        tmp_path, "in/b.jsonl.gz", "in/a.jsonl", "in/deep/c.parquet", "in/labels.jsonl", "in/.hidden.jsonl", "in/x.py"
    )
    root = tmp_path / "in"
    whole = [
        Shard(str(root / "a.jsonl"), "a.jsonl"),
        Shard(str(root / "b.jsonl.gz"), "b.jsonl"),
        Shard(str(root / "deep/c.parquet"), "deep/c.jsonl"),
    ]
    assert find_shards(str(root)) == whole
    assert find_shards(f"file://{root}") == whole
    assert find_shards(f"{root}/*.jsonl*") == [*whole[:2], Shard(str(root / "labels.jsonl"), "labels.jsonl")]
    assert find_shards(f"{root}/**/*.parquet") == whole[2:]
    assert find_shards(str(root), without=str(root / "deep")) == whole[:2]
    assert find_shards(str(root / "a.jsonl")) == whole[:1]
    with pytest.raises(DataError, match="there is no file of documents"):
        find_shards(f"{root}/*.csv")
    touch(tmp_path, "in/a.csv")
    with pytest.raises(DataError, match=r"both would be written to a\.jsonl"):
        find_shards(str(root))


class Files(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


def test_an_address_is_read_by_a_copy(tmp_path: Path) -> None:
    """A server of files, really asked."""
    touch(tmp_path, "in/a.jsonl", "in/b.jsonl")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(tmp_path))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/in"
        found = find_shards(f"{address}/*.jsonl")
        assert found == [Shard(f"{address}/a.jsonl", "a.jsonl"), Shard(f"{address}/b.jsonl", "b.jsonl")]
        with readable(found[1].source) as copy:
            assert copy.name == "b.jsonl"
            assert copy.read_text(encoding="utf-8") == "in/b.jsonl"
        assert not copy.exists()
        server.shutdown()


def test_a_result_elsewhere_is_there_as_a_whole_or_not_at_all() -> None:
    folder = "memory://results/of-a-test"
    assert results(folder) == set()
    with writable(folder, "deep/a.jsonl") as file:
        file.write_text("whole", encoding="utf-8")
        assert results(folder) == set()
    assert results(folder) == {"deep/a.jsonl"}
    assert read_text(folder, "deep/a.jsonl") == "whole"
    with suppress(ZeroDivisionError), writable(folder, "b.jsonl") as file:
        file.write_text("half", encoding="utf-8")
        raise ZeroDivisionError
    assert results(folder) == {"deep/a.jsonl"}


def test_what_a_cluster_gives_a_job() -> None:
    def of(*cores: int) -> Cluster:
        return Cluster(tuple(Node(str(i), f"n{i}", n, 0, 8_000_000_000) for i, n in enumerate(cores)))

    assert str(of(1, 1)) == "2 nodes, 2 cores, 16 GB"
    assert (cores_of_a_job(of(1, 1)), machines(of(1, 1)).at_once) == (1, 2)
    assert (cores_of_a_job(of(32, 32)), machines(of(32, 32)).at_once) == (8, 8)
    assert (cores_of_a_job(of(0, 4, 6)), machines(of(0, 4, 6)).at_once) == (4, 2)  # a head without cores
    assert [machines(of(*cores)).memory for cores in [(1, 1), (32, 32), (0, 4, 6)]] == [8e9, 2e9, 8e9]


class Sent:
    """A queue's other end."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.actor = self.put_nowait = self

    def remote(self, told: tuple[Any, ...]) -> None:
        self.told.append(told)


def test_progress_of_tasks_is_told_as_if_it_were_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 60.0)
    queue, recorder = Sent(), Recorder()
    far = Far(queue).named("knn-all: ")
    key = far.start("training", 10)
    for _ in range(10):
        far.advance(key, 1)
    far.say("half way")
    far.finish(key)
    assert len(queue.told) == 4  # what comes within a moment is one message
    display = _Display(recorder, "")
    for told in queue.told:
        display.tell(told)
    assert recorder.told == [
        ("start", 0, "knn-all: training", 10),
        ("say", "knn-all: half way"),
        ("advance", 0, 10),
        ("finish", 0),
    ]


def test_the_same_work_of_many_is_one_line_also_of_those_that_are_killed() -> None:
    recorder = Recorder()
    display = _Display(recorder, "tagging")
    for work in [("start", "a", "tagging", None), ("start", "b", "tagging", 5), ("start", "c", "reading", 9)]:
        display.tell(work)
    for told in [("advance", "a", 2), ("advance", "b", 3), ("advance", "c", 9), ("finish", "a")]:
        display.tell(told)
    display.close()
    assert recorder.told == [("start", 0, "tagging", None), ("advance", 0, 2), ("advance", 0, 3), ("finish", 0)]


def test_a_job_asks_for_the_memory_that_a_plan_counts_with(train: Dataset) -> None:
    needs = NeedsOfJobs(4, 0)
    job = Job("svm", {}, 0, WHOLE)
    found = needs(job, {"dataset": train})
    assert found == Needs(4, 0, int(method_class("svm").fit_memory(Facts.of(train))))
    assert needs(job, {}).memory == 0
