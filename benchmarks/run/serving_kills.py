"""A server that is killed (SIGKILL) at random moments while it tags, takes decisions, learns and writes models."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sql

import everylabel
from benchmarks.run.serving_corpus import Corpus
from benchmarks.run.serving_process import Served
from benchmarks.run.serving_traffic import Traffic
from everylabel.errors import EverylabelError
from everylabel.feedback.store import DecisionStore
from everylabel.feedback.versions import Versions

LONGEST = 3.0  # seconds until the server is killed
AT_START = 5  # one in so many is killed before it is ready
CHAPTER = 25  # kills of one state folder; then a new one, as all of it is checked after each
DATABASE = "decisions.db"


def kills(n: int, corpus: Corpus, model: Path, work: Path, known: dict[str, Any], save: Callable[[], None]) -> None:
    """Up to n, into `known`, from where it stopped."""
    counts: Counter[str] = Counter(known.get("counts", {}))
    rng = random.Random(known.get("times", 0))
    while (done := known.get("times", 0)) < n:
        todo = min(CHAPTER, n - done)
        counts += chapter(todo, corpus, model, work / "kills", rng)
        known |= {"times": done + todo, "counts": dict(counts)}
        print(f"killed {known['times']} times: {known['counts']}", flush=True)
        save()


def chapter(n: int, corpus: Corpus, model: Path, work: Path, rng: random.Random) -> Counter[str]:
    """Kills of one state folder, then a server that is stopped as it should be."""
    shutil.rmtree(work, ignore_errors=True)
    state, found = work / "state", Counter[str]()
    traffic = Traffic(model.name, corpus.train)
    traffic.start(1)  # nobody is there yet
    try:
        for number in range(n):
            at_start = not rng.randrange(AT_START)
            served = Served([model], state, "--allow-learn", "--quiet", log=work / "log", wait=not at_start)
            traffic.port = served.port or 1
            time.sleep(rng.uniform(0, LONGEST))
            served.kill()
            found["killed at the start" if at_start else "killed under load"] += 1
            wrong = checked(state, model, traffic)
            if wrong:
                print(f"  kill {number}: {dict(wrong)}", flush=True)
            found += wrong
        with Served([model], state, "--allow-learn", "--quiet", log=work / "log") as served:
            traffic.port = served.port
            time.sleep(LONGEST)
            traffic.stop()
    finally:
        traffic.stop()
    found += checked(state, model, traffic) + left_behind(state, model.name)
    counted, _ = traffic.taken()
    found["decisions acknowledged"] += len(traffic.ledger.acknowledged)
    found["models written"] += sum(event["what"] == "taken" for event in Versions(state / model.name, model).history())
    refused = {
        key: value for key, value in counted.items() if "refused" in key or "failed" in key or "not tagged" in key
    }
    return found + Counter({"tagged": counted["tagged"], **{f"lost: {key}": value for key, value in refused.items()}})


def checked(state: Path, model: Path, traffic: Traffic) -> Counter[str]:
    """What is wrong once the server is gone; traffic may go on asking in vain."""
    return database_check(state, traffic) + models_check(state, model)


def database_check(state: Path, traffic: Traffic) -> Counter[str]:
    file = state / DATABASE
    if not file.exists():
        return Counter({"lost: the database": int(bool(traffic.ledger.acknowledged))})
    store = DecisionStore(f"sqlite:///{file}")
    try:
        with store.database.reading() as connection:
            said = connection.execute(sql.text("PRAGMA integrity_check")).scalar()
        wrong = traffic.ledger.check(store, traffic.project)
    finally:
        store.close()
    return wrong + Counter({"lost: the database is damaged": int(said != "ok")})


def models_check(state: Path, model: Path) -> Counter[str]:
    """Every version that is kept opens with all its bytes, and the current one is one of them."""
    versions, wrong = Versions(state / model.name, model), Counter[str]()
    for version in versions.kept():
        try:
            everylabel.load(versions.path_of(version), verify=True)
        except (EverylabelError, OSError) as error:
            print(f"  version {version}: {error}", flush=True)
            wrong["lost: a model does not open"] += 1
    try:
        current, _ = versions.current
        wrong["lost: the current model is not there"] += current not in versions.kept()
        versions.history()
    except (EverylabelError, OSError, json.JSONDecodeError) as error:
        print(f"  versions: {error}", flush=True)
        wrong["lost: half written"] += 1
    return +wrong


def left_behind(state: Path, project: str) -> Counter[str]:
    """After a server that was stopped: nothing but the database, models, and what is said of these."""
    found = [path.name for path in state.iterdir() if path.name not in (project, DATABASE)]
    folder = state / project
    found += (
        [path.name for path in folder.iterdir() if path.name not in ("current", "history.jsonl")]
        if folder.exists()
        else []
    )
    left = [name for name in found if not (name.isdecimal() and len(name) == 6)]
    if left:
        print(f"  left behind: {left}", flush=True)
    return Counter({"left behind: a file": len(left)}) if left else Counter()
