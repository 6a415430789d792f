"""The server under load, faults and time: the parts that judge can fail, and a small run of each finds nothing.

All of it is on results/pages/serving.md.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi")

from benchmarks.run import serving_breaks, serving_faults, serving_kills, serving_load, serving_soak, serving_swaps
from benchmarks.run.serving_annif import address_of, write_corpus
from benchmarks.run.serving_client import Answer, Driven, Request, driven, is_complete, text_of
from benchmarks.run.serving_corpus import Corpus, sample_corpus
from benchmarks.run.serving_mix import SHARES
from benchmarks.run.serving_process import Memory, Served
from benchmarks.run.serving_traffic import Ledger, decision_bodies
from benchmarks.tables import serving

from everylabel.feedback.decisions import NewDecision
from everylabel.feedback.store import DecisionStore

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="epoll, and /proc for its memory")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return sample_corpus()


@pytest.fixture(scope="module")
def model(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from everylabel.tagger.tagger import Tagger

    path = tmp_path_factory.mktemp("serving") / "sample"
    Tagger(experts=("tfidf", "knn")).fit(corpus.train, corpus.dev).save(path)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DecisionStore]:
    found = DecisionStore(f"sqlite:///{tmp_path / 'decisions.db'}")
    yield found
    found.close()


def test_an_answer_is_complete_by_its_length_or_its_last_chunk() -> None:
    whole = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd"
    assert [is_complete(whole[:n]) for n in (10, len(whole) - 1, len(whole))] == [False, False, True]
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    assert not is_complete(chunked[:-5])
    assert is_complete(chunked)
    assert text_of(chunked) == "abcde"


def test_clients_ask_each_once_and_note_lost_connections() -> None:
    """Of a server that closes the connection in place of every third answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            n = 0
            while n < 9:
                connection, _ = listening.accept()
                with connection:
                    while n < 9 and connection.recv(65536):
                        n += 1
                        if n % 3 == 0:
                            break
                        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

        thread = threading.Thread(target=answer)
        thread.start()
        requests = [Request("/", "text/plain", str(i)).encoded() for i in range(9)]
        found = list(driven(listening.getsockname()[1], requests, 1, 30))
        thread.join()
    assert [one.request for one in found] == list(range(9))
    assert [one.status for one in found] == [200, 200, 0] * 3


def test_the_ledger_finds_what_is_lost_changed_or_twice(store: DecisionStore) -> None:
    ledger = Ledger()
    for key in ("a", "b", "c"):
        sent = {"text": f"text {key}", "accepted": ["1"], "key": key}
        stored = store.add("p", NewDecision(text=f"text {key}", accepted=("1",), key=key))
        ledger.note(sent, {"id": stored.id})
    assert not ledger.check(store, "p")
    ledger.acknowledged["a"]["accepted"] = ["2"]
    ledger.ids["b"] += 100
    ledger.note({"text": "never stored", "key": "d"}, {"id": 4})
    assert ledger.check(store, "p") == {
        "lost: a decision is another": 1,
        "lost: a decision has another number": 1,
        "lost: an acknowledged decision": 1,
    }


def test_what_went_wrong_in_a_trial_is_counted_as_lost() -> None:
    seen = serving_breaks.Seen()
    assert seen.result()["wrong"] == {"lost: nothing was tagged meanwhile": 1}
    seen.during.update({"tagged": 3, "decisions failed: 500": 2, "decisions refused: 503": 1})
    seen.said["/folder/x: is gone"] += 1
    found = seen.without("/folder").result()
    assert found["wrong"] == {"lost: decisions failed: 500": 2}
    assert (found["tagged"], found["refused"], found["said"]) == (3, 1, [".../x: is gone"])
    assert serving_faults.lost({"x": {"counts": {"lost: y": 1, "tagged": 3}}}) == {"x: lost: y": 1}


def test_mixed_answers_are_told(corpus: Corpus) -> None:
    a, b = ({"results": [{"label": f"boats {mark}"}]} for mark in serving_swaps.MARKS)
    assert serving_swaps.kind_of(Answer(0, 200, 0.1, json.dumps([a, a]))) == "answers of model-A"
    assert serving_swaps.kind_of(Answer(0, 200, 0.1, json.dumps([a, b]))) == "lost: a mixed answer"
    assert serving_swaps.kind_of(Answer(0, 200, 0.1, "[]")) == "lost: an answer without labels"
    assert len(serving_swaps.requests(corpus)) == 3 * len(corpus.test)


def test_annif_gets_documents_that_have_labels_with_addresses(corpus: Corpus, tmp_path: Path) -> None:
    import gzip

    write_corpus(tmp_path / "train.jsonl.gz", corpus.train, corpus.dev)
    lines = gzip.decompress((tmp_path / "train.jsonl.gz").read_bytes()).decode().splitlines()
    assert len(lines) == sum(int((part.required_pairs.getnnz(axis=1) > 0).sum()) for part in (corpus.train, corpus.dev))
    uris = {subject["uri"] for line in lines for subject in json.loads(line)["subjects"]}
    assert uris <= {address_of(label) for label in corpus.train.labels.ids}


def test_a_pass_of_clients_is_measured_and_its_answers_are_judged(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    load = serving_load.Load(Corpus("sample", corpus.train, corpus.dev, corpus.test), model, model, 20)
    with Served([model], tmp_path / "state", "--quiet", log=tmp_path / "log") as served:
        requests = serving_load.by_suggest("sample", load.documents)
        clients = Driven(served.port, requests, tmp_path / "clients", clients=4, seconds=60)
        found = serving_load.summary(clients.result(), 4)
        memory = Memory.of(served.pid)
    assert served.process.returncode in (0, -signal.SIGTERM)  # as uvicorn ends
    assert found["statuses"] == {"200": 20}
    assert found["p50_ms"] <= found["p95_ms"] <= found["p99_ms"]
    assert 0 < found["client_cpu"] < 1
    assert memory.rss > memory.anonymous > 10
    assert memory.threads > 1
    load.answers["everylabel-suggest"] = list(clients.answers())
    quality = load.quality()["everylabel"]
    assert 0.4 < quality <= 1
    load.answers["everylabel-suggest"] = [one._replace(request=19 - one.request) for one in clients.answers()]
    assert load.quality()["everylabel"] < quality / 2  # the answers are those of other documents


def test_ratios_are_against_the_mean_of_before_and_after() -> None:
    one = {"documents_per_second": 90.0, "p95_ms": 30.0, "p95_bound_ms": 40.0, "mean_ms": 11.0}
    ours = {"suggest": one, "tag": one, "suggest_alone": one, "tag_alone": one}
    ranks = {
        "rank_before": {
            "documents_per_second": 80.0,
            "documents_per_second_by_clients": 70.0,
            "alone_mean_ms": 9.0,
        },
        "rank_after": {
            "documents_per_second": 120.0,
            "documents_per_second_by_clients": 80.0,
            "alone_mean_ms": 11.0,
        },
    }
    fast, annif = ({"suggest": one | {"documents_per_second": rate}} for rate in (63.0, 9.0))
    found = serving_load.ratios({"everylabel": ours, "fast": fast, "annif": annif, **ranks})
    assert found["suggest_of_rank"] == 0.9
    assert found["suggest_of_rank_by_clients"] == 1.2
    assert found["tag_p95_of_fair"] == 1.5
    assert found["suggest_alone_of_rank"] == 1.1
    assert found["suggest_of_annif"] == 10
    assert found["fast_of_annif"] == 7


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_servers_lose_nothing(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    known: dict[str, Any] = {}
    serving_kills.kills(2, corpus, model, tmp_path, known, lambda: None)
    assert known["times"] == 2
    assert known["counts"]["decisions acknowledged"] > 0
    assert serving_faults.lost({"kills": known}) == {}


@pytest.mark.timeout(300)
def test_models_are_exchanged_without_a_mixed_answer(corpus: Corpus, tmp_path: Path) -> None:
    found = serving_swaps.swaps(4, corpus, tmp_path)
    assert found["times"] == 4
    assert {f"answers of {mark}" for mark in serving_swaps.MARKS} <= set(found["counts"])
    assert serving_faults.lost({"swaps": found}) == {}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["files may not grow", "the database's file is taken away and put back"])
def test_what_breaks_is_survived(corpus: Corpus, model: Path, tmp_path: Path, name: str) -> None:
    known: dict[str, Any] = {}
    serving_faults.broken(name, corpus, model, tmp_path, known)
    assert serving_faults.lost({name: known}) == {}
    assert known["counts"]["refused"] > 0
    assert known["said"]
    assert str(tmp_path) not in str(known["said"])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_short_soak_is_summed_up(corpus: Corpus, model: Path, tmp_path: Path) -> None:
    found = serving_soak.soak(corpus, model, 9.0, tmp_path, minute=2.0)
    assert found["failed"] == {}
    assert found["lost"] == {}
    assert len(found["minutes"]) >= 3
    assert set(found["requests"]) <= {*SHARES, "back"}
    verdicts = serving_soak.verdicts(found)
    assert 0.5 < verdicts["rss_last_of_before"] < 2
    assert verdicts["threads_extremes"][1] < 60


def test_a_leak_shows_in_the_verdict() -> None:
    samples = [
        {"second": i, "rss": 100 + i, "pss": 100, "anonymous": 100, "threads": 5, "handles": 5 + i} for i in range(60)
    ]
    minutes = [{"minute": i, "tag_p95_ms": 10.0} for i in range(12)]
    found = serving_soak.verdicts({"samples": samples, "minutes": minutes})
    assert found["rss_last_of_before"] > 1.1
    assert found["pss_last_of_before"] == 1
    assert found["handles_extremes"] == [15, 64]


def test_decisions_are_about_documents_with_labels(corpus: Corpus) -> None:
    for body in decision_bodies(corpus.train):
        assert body["accepted"]
        assert not set(body["rejected"]) & {*body["accepted"], *body["added"]}


def test_the_page_says_what_was_not_done_and_what_was_lost() -> None:
    assert "not done here: needs root" in serving.fault_row("x", {"not_done": "needs root"})
    assert "nothing lost" in serving.fault_row("x", {"times": 2, "counts": {"tagged": 3}})[2]
    assert "nothing lost" not in serving.fault_row("x", {"times": 2, "counts": {"lost: y": 3}})[2]
