"""Hostile requests: python -m benchmarks.run.hostile_requests [--trials 200000] [--seed 0]

`everylabel serve` runs twice, without keys and with, on the sample's tagger of word methods, and learns. It gets
generated requests of many kinds (KINDS), from four threads and, at the same time, from a hundred slow senders. Every
answer must be one that is documented (hostile_requests_oracle.py); a canary every hundred requests must be answered as
before the first, byte for byte; after each round memory, threads, file handles and the log are looked at
(hostile_requests_server.py); and nobody may ask at a port that many requests name. All else is a find. Written to
results/hostile-requests.json after each round; a run that is interrupted goes on. Needs Linux (/proc).
"""

from __future__ import annotations

import json
import math
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.record import read_result, write_result
from benchmarks.run import hostile_requests_access as access
from benchmarks.run import hostile_requests_bodies as bodies
from benchmarks.run import hostile_requests_connections as connections
from benchmarks.run import hostile_requests_files as files
from benchmarks.run import hostile_requests_internet as internet
from benchmarks.run.command import plain_parser
from benchmarks.run.hostile_requests_canary import Canary, Sink, get_json, warm_up
from benchmarks.run.hostile_requests_oracle import Oracle
from benchmarks.run.hostile_requests_schemas import Schemas
from benchmarks.run.hostile_requests_server import PROJECT, Servers, started
from benchmarks.run.hostile_requests_slow import slow_ends
from benchmarks.run.hostile_requests_texts import Known, Make
from benchmarks.run.hostile_requests_wire import KEYED, OPEN, Client, Sent, UnreadableError, message

COMMAND = "python -m benchmarks.run.hostile_requests"
ROUND = 10_000  # requests between two looks at the servers
THREADS = 4
CANARY_EVERY = 100
SLOW_ANSWER = 5.0  # seconds; said, and no find
SHOWN = 5  # cases of a find that are kept
SLOW, SCHEMATHESIS = "slow senders", "schemathesis"
KINDS: dict[str, tuple[float, Make | None]] = {  # in a thousand; None: made otherwise
    SCHEMATHESIS: (120, None),
    "wrong types in JSON": (170, bodies.wrong_types),
    "broken JSON": (110, bodies.broken_json),
    "huge bodies": (3, bodies.many_values),
    "forms": (100, bodies.forms),
    "content types": (50, bodies.content_types),
    "forms in parts": (70, bodies.multipart),
    "queries": (90, bodies.queries),
    "paths": (70, connections.paths),
    "headers": (40, connections.headers),
    "no HTTP": (30, connections.not_http),
    "lengths and chunks": (30, connections.lengths),
    "pipelined": (15, connections.pipelined),
    "gone away": (20, connections.gone_away),
    "guessed keys": (20, access.guessed_keys),
    "keys of other scopes": (20, access.other_scopes),
    "names of others": (20, access.other_names),
    "pages of others": (20, access.other_origins),
    "methods": (20, access.methods),
    "files": (12, files.files),
    "bombs": (0.3, files.bombs),
    "addresses to fetch": (12, files.addresses),
    "fetched addresses": (12, files.fetched),
    SLOW: (10, None),
}


@dataclass
class Trial:
    kind: str
    number: int
    sent: Sent


@dataclass
class Tally:
    """What came of the requests of all threads."""

    kinds: dict[str, Any]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, kind: str, status: str, number: int, find: str, seconds: float = 0.0) -> None:
        with self.lock:
            known = self.kinds[kind]
            known["seconds"] = round(known["seconds"] + seconds, 3)
            known["longest"] = max(known["longest"], round(seconds, 3))
            known["statuses"][status] = known["statuses"].get(status, 0) + 1
            if find:
                cases = known["finds"].setdefault(find[:400], [])
                cases[SHOWN:] = []
                cases.append(number)
                print(f"  {kind} {number}: {find}", flush=True)


class Attack:
    """On servers that run."""

    def __init__(self, servers: Servers, seed: int, found: dict[str, Any]) -> None:
        self._servers, self._seed, self._found = servers, seed, found
        self._sink, self._site = Sink(), internet.start_site()
        ports = {"site": self._site.server_address[1], "sink": self._sink.port}
        servers.internet.write_text(json.dumps(ports), encoding="utf-8")
        self.known = Known(servers.keys, servers.labels, servers.secret, self._sink.port)
        documents = {prefix: get_json(servers.ports[OPEN], f"{prefix}/openapi.json") for prefix in ("/v1", "/api")}
        private = [servers.secret.read_bytes(), b"root:x:0:", *(key.encode() for key in servers.keys.values())]
        folders = [str(servers.folder / name).encode() for name in ("model", OPEN, KEYED, "data", "keys.json")]
        self._oracle = Oracle(documents, private, folders)
        self._schemas = Schemas(documents, seed)
        self.canary = Canary(servers.ports, servers.keys["read"])
        warm_up(servers.ports, servers.keys["all"], self.known)
        for one in servers.watched.values():
            one.settled()

    def trial(self, kind: str, number: int) -> Trial:
        """The same for a seed, a kind and a number."""
        rng = random.Random(f"{self._seed} {kind} {number}")
        make = KINDS[kind][1]
        return Trial(kind, number, make(rng, self.known) if make else self._schemas.request(number, rng, self.known))

    def round(self, cases: dict[str, range]) -> None:
        """All of them, then a look at the servers."""
        tally = Tally(self._found["kinds"])
        slow = threading.Thread(target=self._slowly, args=(cases.get(SLOW, range(0)), tally))
        slow.start()
        todo = [(kind, number) for kind, numbers in cases.items() if kind != SLOW for number in numbers]
        random.Random(f"{self._seed} {todo[:3]}").shuffle(todo)
        ready = _Shared(_in_turn(todo))
        threads = [threading.Thread(target=self._attack, args=(ready, tally)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in (*threads, slow):
            thread.join()
        self._look()

    def _attack(self, ready: _Shared, tally: Tally) -> None:
        client = Client(self._servers.ports)
        for done, (kind, number) in enumerate(ready, 1):
            with ready.making if kind == SCHEMATHESIS else nullcontext():  # hypothesis is no friend of threads
                trial = self.trial(kind, number)
            self._try(client, trial, tally)
            if done % CANARY_EVERY == 0:
                self.canary.check(client)
        client.close()

    def _try(self, client: Client, trial: Trial, tally: Tally) -> None:
        begun = time.monotonic()
        try:
            answers = client.exchange(trial.sent)
        except (UnreadableError, OSError) as error:
            tally.note(trial.kind, "none", trial.number, f"{type(error).__name__}: {error}", time.monotonic() - begun)
            return
        if time.monotonic() - begun > SLOW_ANSWER:
            print(
                f"  {trial.kind} {trial.number}, {trial.sent.target[:80]}: {time.monotonic() - begun:.1f} s", flush=True
            )
        status, seconds = str(answers[-1].status) if answers else "closed", time.monotonic() - begun
        tally.note(trial.kind, status, trial.number, self._oracle.find(trial.sent, answers), seconds)

    def _slowly(self, numbers: range, tally: Tally) -> None:
        if numbers:
            ends = slow_ends(self._servers.ports, self.known, [f"{self._seed} {SLOW} {number}" for number in numbers])
            for number, end in zip(numbers, ends, strict=True):
                tally.note(SLOW, end.status, number, end.find)

    def _look(self) -> None:
        client = Client(self._servers.ports)
        for server in (OPEN, KEYED):  # what was learned and added is forgotten
            key = [("Authorization", f"Bearer {self.known.keys['all']}")] if server == KEYED else []
            client.exchange(Sent(message("POST", f"/api/models/{PROJECT}/versions/0", key, b""), "POST", server=server))
        self.canary.check(client)
        client.close()
        finds = list(self.canary.finds)
        if self._sink.n_asked:
            finds.append(f"the port of others was asked at {self._sink.n_asked} times")
        for name, one in self._servers.watched.items():
            n_at_once = THREADS
            finds += [f"{name}: {find}" for find in one.finds(self._servers.most_mb(name, n_at_once))]
            numbers = one.numbers()
            self._found["servers"][name] = {
                "warm": vars(one.warm),
                "now": vars(numbers),
                "readers_mb": one.readers_mb,
                "most_mb": self._servers.most_mb(name, n_at_once),
            }
        self._tell(finds)

    def _tell(self, finds: list[str]) -> None:
        for find in finds:
            print(f"  {find}", flush=True)
        self._found["finds"] = [*dict.fromkeys([*self._found["finds"], *finds])][:50]
        self._found["canaries"] = self.canary.counts(self._found["canaries"])

    def close(self) -> None:
        self._sink.close()
        self._site.shutdown()
        self._site.server_close()
        self._tell([f"{name}: {find}" for name, one in self._servers.watched.items() for find in one.stop()])


def _in_turn(todo: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """As they are, but schemathesis' in their order: it makes several at once."""
    numbers = iter(sorted(number for kind, number in todo if kind == SCHEMATHESIS))
    return [(kind, next(numbers) if kind == SCHEMATHESIS else number) for kind, number in todo]


class _Shared:
    """What is to be done, one after the other, by all threads."""

    def __init__(self, todo: list[tuple[str, int]]) -> None:
        self._todo, self._lock, self.making = iter(todo), threading.Lock(), threading.Lock()

    def __iter__(self) -> Iterator[tuple[str, int]]:
        while True:
            with self._lock:
                one = next(self._todo, None)
            if one is None:
                return
            yield one


@contextmanager
def attacked(seed: int, found: dict[str, Any]) -> Iterator[Attack]:
    with tempfile.TemporaryDirectory(prefix="hostile-requests-") as folder, started(Path(folder)) as servers:
        attack = Attack(servers, seed, found)
        try:
            yield attack
        finally:
            attack.close()


def run(
    trials: int, seed: int, kinds: Sequence[str], save: Callable[[dict[str, Any]], None], found: dict[str, Any]
) -> None:
    """Up to as many trials of all these kinds together, into `found`, from where it stopped."""
    total = sum(KINDS[kind][0] for kind in kinds)
    wanted = {kind: math.ceil(trials * KINDS[kind][0] / total) for kind in kinds}
    for kind in kinds:
        found["kinds"].setdefault(kind, {"cases": 0, "statuses": {}, "finds": {}, "seconds": 0.0, "longest": 0.0})
    with attacked(seed, found) as attack:
        while left := {kind: n for kind in kinds if (n := wanted[kind] - found["kinds"][kind]["cases"]) > 0}:
            share = min(1.0, ROUND / sum(left.values()))
            cases = {}
            for kind, n in left.items():
                first = found["kinds"][kind]["cases"]
                cases[kind] = range(first, first + min(n, max(1, round(n * share))))
            begun = time.perf_counter()
            attack.round(cases)
            for kind, numbers in cases.items():
                found["kinds"][kind]["cases"] = numbers.stop
            found["seconds"] = round(found["seconds"] + time.perf_counter() - begun, 1)
            save(found)


def nothing_found() -> dict[str, Any]:
    return {"kinds": {}, "finds": [], "canaries": {}, "servers": {}, "seconds": 0.0}


def n_finds(found: dict[str, Any]) -> int:
    return len(found["finds"]) + sum(len(one["finds"]) for one in found["kinds"].values())


def main() -> None:
    parser = plain_parser(__doc__)
    parser.add_argument("--trials", type=int, default=200_000, help="requests of all kinds together")
    parser.add_argument("--seed", type=int, default=0, help="others than 0 write no result")
    parser.add_argument("--only", nargs="*", choices=list(KINDS), help="these kinds alone; nothing is written")
    options = parser.parse_args()
    is_kept = options.seed == 0 and not options.only
    kept = read_result("hostile-requests") if is_kept else None
    found = {key: kept[key] for key in nothing_found()} if kept else nothing_found()
    command = f"{COMMAND} --trials {options.trials}"

    def save(known: dict[str, Any]) -> None:
        if is_kept:
            write_result("hostile-requests", known, command)

    run(options.trials, options.seed, options.only or list(KINDS), save, found)
    save(found)  # with how the servers have ended
    _print(found)


def _print(found: dict[str, Any]) -> None:
    for kind, known in found["kinds"].items():
        seconds = f"{known['seconds']:.1f} s, longest {known['longest']:.2f}"
        print(f"{kind}: {known['cases']:,}, {dict(sorted(known['statuses'].items()))}, {seconds}")
    n = sum(known["cases"] for known in found["kinds"].values())
    finds = Counter({kind: len(known["finds"]) for kind, known in found["kinds"].items() if known["finds"]})
    print(f"{n:,} requests in {found['seconds']:,.0f} s; {found['canaries']}; {found['servers']}")
    print(f"finds: {dict(finds)} {found['finds']}", flush=True)


if __name__ == "__main__":
    main()
