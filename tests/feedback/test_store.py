"""Decisions and the review queue, the same in SQLite and PostgreSQL."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everylabel.data import load_dataset
from everylabel.errors import ConfigError, DataError, StoreError
from everylabel.feedback import store as store_module
from everylabel.feedback.decisions import Decision, NewDecision
from everylabel.feedback.store import DecisionStore

BOTH = NewDecision(
    text="A train\nstops.", title="Träin", document_id="d1", accepted=("a", "b"), rejected=("c",), added=("d",), by="me"
)
ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)  # halves of surrogate pairs and NUL, too
IDS = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5), max_size=4)


def test_what_is_added_is_there(store: DecisionStore, url: str) -> None:
    found = store.add("p", BOTH)
    assert (found.project, found.learned_in, found.undone) == ("p", 0, "")
    assert {name: getattr(found, name) for name in BOTH.__dataclass_fields__} == vars(BOTH)
    again = DecisionStore(url)
    assert again.get("p", found.id) == found
    assert again.get("other", found.id) is None
    assert again.list("p") == [found]
    again.close()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=ANY_TEXT, title=ANY_TEXT, accepted=IDS, rejected=IDS)
def test_any_text_comes_back(
    sqlite_store: DecisionStore, text: str, title: str, accepted: list[str], rejected: list[str]
) -> None:
    wrong = [label for label in rejected if label not in accepted]
    new = NewDecision(text=text, title=title, accepted=tuple(accepted), rejected=tuple(wrong))
    found = sqlite_store.get("p", sqlite_store.add("p", new).id)
    assert found is not None
    assert (found.text, found.title, found.accepted, found.rejected) == (
        new.text,
        new.title,
        new.accepted,
        new.rejected,
    )
    assert len(found.text) == len(text)
    assert all(mine == theirs or theirs == " " for mine, theirs in zip(text, found.text, strict=True))


def test_what_postgres_refuses_is_stored_all_the_same(store: DecisionStore) -> None:
    assert store.add("p", NewDecision(text="a\0b \ud800 c")).text == "a b   c"


def test_a_key_is_a_decision(store: DecisionStore) -> None:
    first = store.add("p", NewDecision(text="one", key="k"))
    assert store.add("p", NewDecision(text="another", key="k")) == first
    assert store.add("q", NewDecision(text="one", key="k")).id != first.id
    assert len({store.add("p", NewDecision(text="no key")).id for _ in range(3)}) == 3
    assert store.counts("p")["stored"] == 4


def test_many_threads_with_the_same_keys_store_each_once_and_in_order(store: DecisionStore) -> None:
    def write(at: int) -> None:
        for i in range(10):
            store.add("p", NewDecision(text=f"{at} {i}", key=f"key {i}"))

    threads = [threading.Thread(target=write, args=(at,)) for at in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    found = store.list("p")
    assert sorted(one.key for one in found) == sorted(f"key {i}" for i in range(10))
    assert [one.id for one in found] == sorted(one.id for one in found)


def test_undone_once(store: DecisionStore) -> None:
    first, second = (store.add("p", NewDecision(text=text)) for text in ("a", "b"))
    undone = store.undo("p", first.id, "me")
    assert undone.undone
    assert undone.undone_by == "me"
    assert store.undo("p", first.id, "you") == undone
    assert store.list("p") == [second]
    assert store.list("p", include_undone=True) == [undone, second]
    assert store.waiting("p") == [second]
    for project, wrong in (("p", 999), ("q", second.id)):
        with pytest.raises(DataError, match=r"no decision.*nothing was undone"):
            store.undo(project, wrong)


def test_lists_go_on_where_they_ended(store: DecisionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_AT_ONCE", 3)
    ids = [store.add("p", NewDecision(text=str(i))).id for i in range(8)]
    assert [one.id for one in store.list("p", after=ids[2], limit=3)] == ids[3:6]
    assert [one.id for one in store.every("p")] == ids
    assert [one.id for one in store.these("p", [*ids, 999])] == ids


def test_counts_and_marks(store: DecisionStore) -> None:
    ids = [store.add("p", NewDecision(text=str(i), complete=i != 3)).id for i in range(5)]
    store.mark_learned("p", ids[:2], 4)
    store.undo("p", ids[1])
    store.mark_refused("p", ids[4:])
    assert store.counts("p") == {"stored": 5, "undone": 1, "learned": 1, "waiting": 2}
    assert [one.id for one in store.waiting("p")] == [ids[2], ids[4]]
    assert [one.id for one in store.waiting("p", complete=False)] == [ids[3]]
    assert [(one.learned_in, one.refused) for one in store.list("p")] == [(4, 0), (0, 0), (0, 0), (0, 1)]
    assert [tuple(mark) for mark in store.marks("p")][:2] == [(ids[0], 4, False), (ids[1], 4, True)]
    assert store.counts("nobody's") == {"stored": 0, "undone": 0, "learned": 0, "waiting": 0}


def test_lists_and_counts_go_by_indexes(tmp_path: Path) -> None:
    """What was undone is passed over, and no text is read to count; also in a database of before there were indexes."""
    url = f"sqlite:///{tmp_path / 'decisions.db'}"
    first = DecisionStore(url)
    first.add("p", BOTH)
    with first.database.writing() as connection:
        for name in ("everylabel_decisions_valid", "everylabel_decisions_by_state"):
            connection.execute(sql.text(f"DROP INDEX {name}"))
    first.close()
    again, asked = DecisionStore(url), list[tuple[str, Any]]()

    def note(_: object, __: object, statement: str, values: object, *___: object) -> None:
        asked.append((statement, values))

    sql.event.listen(again.database._engine, "before_cursor_execute", note)
    assert again.list("p", limit=1)
    assert again.waiting("p")
    assert again.counts("p")["waiting"] == 1
    sql.event.remove(again.database._engine, "before_cursor_execute", note)
    questions = [one for one in asked if one[0].startswith("SELECT")]
    with again.database.reading() as connection:
        plans = [connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {one}", own).all()[0][3] for one, own in questions]
    assert ["everylabel_decisions_valid" in plans[0], "everylabel_decisions_by_state" in plans[1]] == [True, True]
    assert "COVERING INDEX everylabel_decisions_by_state" in plans[2]
    again.close()


def test_order_does_not_ask_the_clock(store: DecisionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It jumps back an hour a decision."""
    start = time.time()
    hours = iter(range(100))
    monkeypatch.setattr(time, "time", lambda: start - 3600 * next(hours))
    ids = [store.add("p", NewDecision(text=str(i))).id for i in range(4)]
    found = store.list("p")
    assert [one.id for one in found] == ids == sorted(ids)
    assert [one.at for one in found] == sorted((one.at for one in found), reverse=True)


def test_held_out_is_a_fifth_by_content(store: DecisionStore) -> None:
    made = [store.add("p", NewDecision(text=f"document {i}")) for i in range(60)]
    expected = [one.id for one in made if one.held_out]
    assert 4 <= len(expected) <= 20
    assert [one.id for one in store.held_out("p", 100)] == expected[::-1]
    assert [one.id for one in store.held_out("p", 2)] == expected[:-3:-1]
    assert NewDecision(text="a", title="b", key="1").held_out == NewDecision(text="a", title="b", key="2").held_out


def test_the_queue(store: DecisionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [store.queue_document("p", f"text {i}", title="t", document_id=f"d{i}", doubt=i / 4) for i in range(4)]
    assert [one.id for one in store.review("p")] == ids[::-1]
    assert store.review("p", limit=1)[0] == (ids[3], "text 3", "t", "d3", 0.75)
    assert store.queue_document("p", "text 0", title="t", doubt=1) == ids[0]  # the same document, in new doubt
    assert store.review("p")[0].id == ids[0]
    store.unqueue("p", ids[0])
    store.unqueue("p", ids[0])
    store.add("p", NewDecision(text="text 3", title="t"))  # nobody needs to look at it any more
    assert [one.id for one in store.review("p")] == [ids[2], ids[1]]
    assert store.review("q") == []
    monkeypatch.setattr(store_module, "MOST_QUEUED", 2)
    new = store.queue_document("p", "more doubtful", doubt=0.9)
    assert [one.id for one in store.review("p")] == [new, ids[2]]
    with pytest.raises(DataError, match="from 0 to 1"):
        store.queue_document("p", "x", doubt=1.5)


def test_an_export_is_a_data_set(store: DecisionStore, tmp_path: Path) -> None:
    store.add("p", BOTH)
    store.add("p", NewDecision(text="second", accepted=("b",), complete=False))
    store.undo("p", store.add("p", NewDecision(text="third", accepted=("b",))).id)
    assert store.export("p", tmp_path / "train.jsonl") == 2
    lines = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (lines[0]["id"], lines[0]["rejected"], lines[0]["labels"]) == ("d1", ["c"], ["a", "b", "d"])
    assert "labels" not in lines[1]
    assert store.export("p", tmp_path / "all.jsonl", include_undone=True) == 3
    read = load_dataset(tmp_path / "train.jsonl")
    assert read.documents.full_texts[0] == "Träin\nA train\nstops."
    assert sorted(read.labels[int(i)].id for i in read.required_pairs[0].indices) == ["a", "b", "d"]


def test_decisions_that_make_no_sense() -> None:
    with pytest.raises(DataError, match="'a' is rejected, and accepted"):
        NewDecision(text="x", accepted=("a",), rejected=("a",))
    with pytest.raises(DataError, match="accepted: expected a list"):
        NewDecision(text="x", accepted="a")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="the text of a decision is None"):
        NewDecision(text=None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="cannot be stored"):
        NewDecision(text="x", key="\0")
    assert NewDecision(text="x", added=("a", "b", "a"), accepted=("b",)).labels == ("b", "a")


def test_a_database_of_a_later_version_is_refused(store: DecisionStore, url: str) -> None:
    with store.database.writing() as connection:
        connection.execute(sql.text("UPDATE everylabel_schema SET version = 99"))
    with pytest.raises(StoreError, match=r"later everylabel \(schema 99.*nothing was changed"):
        DecisionStore(url)


@pytest.mark.parametrize("wrong", ["nonsense", "mysql://x/y", "sqlite://", "sqlite:///:memory:", "postgresql://x/y"])
def test_other_urls(wrong: str) -> None:
    with pytest.raises(ConfigError, match="expected sqlite:///FILE"):
        DecisionStore(wrong)


def test_sqlite_waits_for_the_disk(sqlite_store: DecisionStore) -> None:
    with sqlite_store.database.writing() as connection:
        found = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
    assert found == ["wal", 2]


def test_two_made_at_once_share_one_schema(url: str) -> None:
    stores: list[DecisionStore] = []
    threads = [threading.Thread(target=lambda: stores.append(DecisionStore(url))) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(stores) == 4
    made: list[Decision] = [store.add("p", NewDecision(text="x")) for store in stores]
    assert [one.id for one in made] == [1, 2, 3, 4]
    for store in stores:
        store.close()
