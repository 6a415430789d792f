"""Decisions and the review queue in a database. A decision is on disk when `add` returns, and is never lost after.

Decisions are never deleted or changed, but for marks: undone, learned, refused. Their order is that of their ids.
Cost: `add` and `undo` one transaction (an fsync); lists by index, O(decisions returned).
"""

from __future__ import annotations

import json
import time
from builtins import list as list_of  # `list` is a name of ours below
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from everylabel.atomic import replaced
from everylabel.errors import DataError
from everylabel.feedback.database import Database
from everylabel.feedback.decisions import Decision, NewDecision, QueuedDocument, content_of, storable
from everylabel.feedback.schema import decisions, queue, sql

MOST_QUEUED = 10_000  # documents of a project; the least doubtful go first
_AT_ONCE = 500  # ids in a statement: databases have a limit
Decisions: TypeAlias = list_of[Decision]


class Mark(NamedTuple):
    """What became of a decision."""

    id: int
    learned_in: int
    undone: bool


class DecisionStore:
    """Of any number of projects, threads and processes. `url`: sqlite:///FILE or postgresql+psycopg://..."""

    def __init__(self, url: str) -> None:
        self.database = Database(url)

    @property
    def name(self) -> str:
        """The URL, without a password."""
        return self.database.name

    def add(self, project: str, decision: NewDecision) -> Decision:
        """On disk when it returns. Of a key that is there already, the decision that is; the document leaves the
        review queue."""
        values = {
            "project": project,
            "at": now(),
            "content": decision.content,
            "held_out": decision.held_out,
            "key": decision.key or None,
            **{name: getattr(decision, name) for name in ("text", "title", "document_id", "complete", "by")},
            **{name: list(getattr(decision, name)) for name in ("accepted", "rejected", "added")},
        }
        try:
            with self.database.writing() as connection:
                known = self._of_key(connection, project, decision.key)
                if known is not None:
                    return known
                row = connection.execute(sql.insert(decisions).values(values).returning(decisions)).one()
                same = (queue.c.project == project) & (queue.c.content == decision.content)
                connection.execute(sql.delete(queue).where(same))
        except sql.exc.IntegrityError:  # somebody without our lock was quicker
            with self.database.reading() as connection:
                known = self._of_key(connection, project, decision.key)
            if known is None:
                raise
            return known
        return _decision(row)

    def get(self, project: str, decision_id: int) -> Decision | None:
        found = self._select(decisions.c.project == project, decisions.c.id == decision_id)
        return found[0] if found else None

    def list(self, project: str, *, after: int = 0, limit: int = 100, include_undone: bool = False) -> Decisions:
        """In the order they came, from the one after `after` on."""
        kept = () if include_undone else (decisions.c.undone == "",)
        return self._select(decisions.c.project == project, decisions.c.id > after, *kept, limit=limit)

    def every(self, project: str, *, include_undone: bool = False) -> Iterator[Decision]:
        """All of them, some at a time."""
        last = 0
        while part := self.list(project, after=last, limit=_AT_ONCE, include_undone=include_undone):
            yield from part
            last = part[-1].id

    def undo(self, project: str, decision_id: int, by: str = "") -> Decision:
        """It counts no more; a model that has learned it is built again without, by the next learning. Once undone, it
        stays as it is."""
        one = (decisions.c.project == project) & (decisions.c.id == decision_id)
        with self.database.writing() as connection:
            done = sql.update(decisions).where(one, decisions.c.undone == "").values(undone=now(), undone_by=by)
            connection.execute(done)
            row = connection.execute(sql.select(decisions).where(one)).one_or_none()
        if row is None:
            raise DataError(f"there is no decision {decision_id} in project {project!r}; nothing was undone")
        return _decision(row)

    def waiting(self, project: str, *, complete: bool = True) -> Decisions:
        """Not undone, not learned; the complete ones, or the others."""
        return self._select(*_waiting(project), decisions.c.complete == complete)

    def these(self, project: str, ids: Sequence[int]) -> Decisions:
        """By their ids, in their order; those that are not there are left out."""
        parts = (list(ids[first : first + _AT_ONCE]) for first in range(0, len(ids), _AT_ONCE))
        return [one for part in parts for one in self._select(decisions.c.project == project, decisions.c.id.in_(part))]

    def marks(self, project: str) -> list_of[Mark]:
        """Of all decisions, without their texts."""
        columns = decisions.c.id, decisions.c.learned_in, decisions.c.undone != ""
        with self.database.reading() as connection:
            rows = connection.execute(sql.select(*columns).where(decisions.c.project == project).order_by(columns[0]))
            return [Mark(*row) for row in rows]

    def held_out(self, project: str, limit: int) -> Decisions:
        """The most recent complete ones that are kept to check models, the latest first; undone ones left out."""
        kept = (decisions.c.project == project, decisions.c.held_out, decisions.c.complete, decisions.c.undone == "")
        return self._select(*kept, limit=limit, latest_first=True)

    def mark_learned(self, project: str, ids: Sequence[int], version: int) -> None:
        """0: no model has learned them."""
        self._mark(project, ids, {"learned_in": version})

    def mark_refused(self, project: str, ids: Sequence[int]) -> None:
        """A model that had learned them was refused."""
        self._mark(project, ids, {"refused": decisions.c.refused + 1})

    def counts(self, project: str) -> dict[str, int]:
        """stored: all; learned: in a model, and not undone; waiting: complete, neither undone nor learned."""
        undone = decisions.c.undone != ""
        columns = {
            "stored": sql.true(),
            "undone": undone,
            "learned": ~undone & (decisions.c.learned_in != 0),
            "waiting": sql.and_(*_waiting(project), decisions.c.complete),
        }
        sums = [sql.func.coalesce(sql.func.sum(sql.case((what, 1), else_=0)), 0) for what in columns.values()]
        with self.database.reading() as connection:
            row = connection.execute(sql.select(*sums).where(decisions.c.project == project)).one()
        return {name: int(value) for name, value in zip(columns, row, strict=True)}

    def queue_document(self, project: str, text: str, *, title: str = "", document_id: str = "", doubt: float) -> int:
        """The number under which it waits for a person. A document that waits already gets the new doubt."""
        if not 0 <= doubt <= 1:
            raise DataError(f"doubt goes from 0 to 1; got {doubt}")
        text, title = storable(text), storable(title)
        content = content_of(title, text)
        same = (queue.c.project == project) & (queue.c.content == content)
        with self.database.writing() as connection:
            found = connection.execute(sql.update(queue).where(same).values(doubt=doubt).returning(queue.c.id)).scalar()
            if found is None:
                values: dict[str, Any] = {"project": project, "content": content, "text": text, "title": title}
                values |= {"document_id": document_id, "doubt": doubt}
                found = connection.execute(sql.insert(queue).values(values).returning(queue.c.id)).scalar_one()
                self._drop_least_doubtful(connection, project)
        return int(found)

    def review(self, project: str, limit: int = 10) -> list_of[QueuedDocument]:
        """Most doubtful first; of equal ones, the first that came."""
        columns = [queue.c[name] for name in QueuedDocument._fields]
        found = sql.select(*columns).where(queue.c.project == project).order_by(queue.c.doubt.desc(), queue.c.id)
        with self.database.reading() as connection:
            return [QueuedDocument(*row) for row in connection.execute(found.limit(limit))]

    def unqueue(self, project: str, queued_id: int) -> None:
        """Nothing happens if it is not there any more."""
        with self.database.writing() as connection:
            connection.execute(sql.delete(queue).where(queue.c.project == project, queue.c.id == queued_id))

    def export(self, project: str, file: Path, *, include_undone: bool = False) -> int:
        """JSON lines, a document of the native format each (see `Decision.to_json`); how many. Whole or not at all."""
        count = 0
        with replaced(file) as fresh, fresh.open("w", encoding="utf-8") as out:
            for decision in self.every(project, include_undone=include_undone):
                out.write(json.dumps(decision.to_json(), ensure_ascii=False) + "\n")
                count += 1
        return count

    def close(self) -> None:
        self.database.close()

    def _select(self, *kept: Any, limit: int | None = None, latest_first: bool = False) -> Decisions:
        order = decisions.c.id.desc() if latest_first else decisions.c.id
        with self.database.reading() as connection:
            rows = connection.execute(sql.select(decisions).where(*kept).order_by(order).limit(limit))
            return [_decision(row) for row in rows]

    def _of_key(self, connection: sql.Connection, project: str, key: str) -> Decision | None:
        if not key:
            return None
        same = (decisions.c.project == project) & (decisions.c.key == key)
        row = connection.execute(sql.select(decisions).where(same)).one_or_none()
        return None if row is None else _decision(row)

    def _mark(self, project: str, ids: Sequence[int], values: dict[str, Any]) -> None:
        with self.database.writing() as connection:
            for first in range(0, len(ids), _AT_ONCE):
                these = decisions.c.id.in_([int(one) for one in ids[first : first + _AT_ONCE]])
                connection.execute(sql.update(decisions).where(decisions.c.project == project, these).values(values))

    def _drop_least_doubtful(self, connection: sql.Connection, project: str) -> None:
        of_project = queue.c.project == project
        ordered = sql.select(queue.c.id).where(of_project).order_by(queue.c.doubt.desc(), queue.c.id)
        over = connection.execute(ordered.offset(MOST_QUEUED)).scalars().all()
        if over:
            connection.execute(sql.delete(queue).where(queue.c.id.in_(over)))


def now() -> str:
    """For people: order is by id, as clocks jump."""
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1e6):06d}+00:00"


def _waiting(project: str) -> tuple[Any, ...]:
    return decisions.c.project == project, decisions.c.undone == "", decisions.c.learned_in == 0


def _decision(row: Any) -> Decision:
    values = dict(row._mapping)
    del values["content"], values["held_out"]
    values |= {name: tuple(values[name]) for name in ("accepted", "rejected", "added")}
    return Decision(**values | {"key": values["key"] or ""})
