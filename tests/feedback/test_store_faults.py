"""What was acknowledged is there, whatever happens to the process, the file or the server."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.feedback.postgres import PostgresServer

from everylabel.errors import StoreError
from everylabel.feedback.decisions import NewDecision
from everylabel.feedback.store import DecisionStore

KILLS = 15
WRITER = """
import sys
from everylabel.feedback.decisions import NewDecision
from everylabel.feedback.store import DecisionStore

store, first = DecisionStore(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
for i in range(first, first + 100_000):
    store.add("p", NewDecision(text=f"text {i}", accepted=("a",), key=str(i)))
    print(i, flush=True)
"""


@pytest.mark.timeout(300)
def test_killed_writers_lose_nothing_that_was_acknowledged(url: str) -> None:
    rng, acknowledged = random.Random(0), []
    for i in range(KILLS if url.startswith("sqlite") else 4):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, url, str(i * 100_000)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0, 0.1))
        writer.send_signal(signal.SIGKILL)
        rest, _ = writer.communicate()
        lines = rest.split("\n")
        acknowledged += [line for line in lines[:-1] if line]  # the last one may be cut off
    store = DecisionStore(url)
    stored = [one.key for one in store.every("p")]
    assert len(stored) == len(set(stored))
    assert set(acknowledged) <= set(stored)
    assert len(stored) <= len(acknowledged) + KILLS  # one that was stored and not said, at most, each time
    assert acknowledged
    again = store.add("p", NewDecision(text="another", key=acknowledged[-1]))  # who was not answered asks again
    assert again.text == f"text {acknowledged[-1]}"
    store.close()


def test_a_file_that_is_gone_and_back(sqlite_store: DecisionStore, tmp_path: Path) -> None:
    """A decision is never written to a file that nobody can find."""
    file, aside = tmp_path / "decisions.sqlite", tmp_path / "aside"
    sqlite_store.add("p", NewDecision(text="before"))
    aside.mkdir()
    files = [one for one in tmp_path.iterdir() if one.name.startswith(file.name)]
    for one in files:
        one.rename(aside / one.name)
    for _ in range(2):
        with pytest.raises(StoreError, match="is gone"):
            sqlite_store.add("p", NewDecision(text="meanwhile"))
        with pytest.raises(StoreError, match="is gone"):
            sqlite_store.list("p")
    assert not file.exists()  # no new and empty one
    for one in aside.iterdir():
        one.rename(tmp_path / one.name)
    sqlite_store.add("p", NewDecision(text="after"))
    assert [one.text for one in sqlite_store.list("p")] == ["before", "after"]


def test_a_file_that_is_replaced(sqlite_store: DecisionStore, tmp_path: Path) -> None:
    """By a copy from before, for example: said once, and then it is the one."""
    sqlite_store.add("p", NewDecision(text="first"))
    other = DecisionStore(f"sqlite:///{tmp_path / 'other.sqlite'}")
    other.add("p", NewDecision(text="other"))
    other.close()
    (tmp_path / "other.sqlite").replace(tmp_path / "decisions.sqlite")
    for rest in ("-wal", "-shm"):
        (tmp_path / f"decisions.sqlite{rest}").unlink(missing_ok=True)
    with pytest.raises(StoreError, match="was replaced by another file"):
        sqlite_store.add("p", NewDecision(text="lost?"))
    sqlite_store.add("p", NewDecision(text="second"))
    assert [one.text for one in sqlite_store.list("p")] == ["other", "second"]


def test_a_server_that_is_gone_and_back(postgres: PostgresServer) -> None:
    from tests.feedback.conftest import new_database

    store = DecisionStore(new_database(postgres))
    store.add("p", NewDecision(text="before"))
    postgres.stop()
    try:
        for _ in range(2):
            with pytest.raises(StoreError, match="cannot be used now"):
                store.add("p", NewDecision(text="meanwhile"))
            with pytest.raises(StoreError, match="cannot be used now"):
                store.counts("p")
    finally:
        postgres.start()
    store.add("p", NewDecision(text="after"))
    assert [one.text for one in store.list("p")] == ["before", "after"]
    store.close()


def test_no_database_at_all(tmp_path: Path, unwritable: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        DecisionStore(f"sqlite:///{unwritable / 'x' / 'decisions.sqlite'}")
    (tmp_path / "text").write_text("this is no database, only a text that is long enough to be looked at " * 20)
    with pytest.raises(StoreError, match="not a database"):
        DecisionStore(f"sqlite:///{tmp_path / 'text'}")
    pytest.importorskip("psycopg")
    with pytest.raises(StoreError) as error:
        DecisionStore("postgresql+psycopg://me:secret@127.0.0.1:1/nothing")
    assert "secret" not in str(error.value)


def test_a_full_disk_is_said(sqlite_store: DecisionStore) -> None:
    """As SQLite says it when a page more is not to be had; what was there stays."""
    sqlite_store.add("p", NewDecision(text="before"))
    with sqlite_store.database.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StoreError, match=r"full.*nothing was stored") as error:
        sqlite_store.add("p", NewDecision(text="secret words " * 100_000))
    assert "secret words" not in str(error.value)
    assert [one.text for one in sqlite_store.list("p")] == ["before"]
