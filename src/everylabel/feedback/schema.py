"""The tables, and their version: made on first use; those of a later version are refused.

Times are texts for people to read. What is first and last is said by ids alone.
"""

from __future__ import annotations

from everylabel.errors import ConfigError, StoreError

try:
    import sqlalchemy as sql  # others have it from here: this is where a missing one is told
except ImportError as error:  # pragma: no cover - without the extra
    raise ConfigError(
        f"decisions are kept with SQLAlchemy ({error}); install it: pip install 'everylabel[server]'"
    ) from None

__all__ = ["VERSION", "create", "decisions", "jobs", "lock", "queue", "schema", "sql", "tables"]

VERSION = 1
_LOCK = 0x657665726C  # of all who write: a number of our own among a PostgreSQL's advisory locks

tables = sql.MetaData()

schema = sql.Table("everylabel_schema", tables, sql.Column("version", sql.Integer, nullable=False))

decisions = sql.Table(
    "everylabel_decisions",
    tables,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("project", sql.Text, nullable=False),
    sql.Column("at", sql.Text, nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("title", sql.Text, nullable=False),
    sql.Column("document_id", sql.Text, nullable=False),
    sql.Column("content", sql.Text, nullable=False),  # sha256 of title and text
    sql.Column("held_out", sql.Boolean, nullable=False),
    sql.Column("accepted", sql.JSON, nullable=False),
    sql.Column("rejected", sql.JSON, nullable=False),
    sql.Column("added", sql.JSON, nullable=False),
    sql.Column("complete", sql.Boolean, nullable=False),
    sql.Column("by", sql.Text, nullable=False),
    sql.Column("key", sql.Text),  # NULL: none; these are never equal
    sql.Column("undone", sql.Text, nullable=False, default=""),
    sql.Column("undone_by", sql.Text, nullable=False, default=""),
    sql.Column("learned_in", sql.Integer, nullable=False, default=0),
    sql.Column("refused", sql.Integer, nullable=False, default=0),
    sql.UniqueConstraint("project", "key"),
    sql.Index("everylabel_decisions_by_project", "project", "id"),
    sql.Index("everylabel_decisions_valid", "project", "undone", "id"),  # past those that were undone
    sql.Index("everylabel_decisions_by_state", "project", "undone", "learned_in", "complete", "id"),
    sqlite_autoincrement=True,  # no id is ever given twice
)

queue = sql.Table(
    "everylabel_queue",
    tables,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("project", sql.Text, nullable=False),
    sql.Column("content", sql.Text, nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("title", sql.Text, nullable=False),
    sql.Column("document_id", sql.Text, nullable=False),
    sql.Column("doubt", sql.Float, nullable=False),
    sql.UniqueConstraint("project", "content"),
    sql.Index("everylabel_queue_by_doubt", "project", "doubt"),
    sqlite_autoincrement=True,
)

jobs = sql.Table(
    "everylabel_jobs",
    tables,
    sql.Column("id", sql.Integer, primary_key=True),
    sql.Column("kind", sql.Text, nullable=False),
    sql.Column("arguments", sql.JSON, nullable=False),
    sql.Column("state", sql.Text, nullable=False),
    sql.Column("progress", sql.Text, nullable=False, default=""),
    sql.Column("log", sql.Text, nullable=False, default=""),
    sql.Column("exit_code", sql.Integer),
    sql.Column("process", sql.Text, nullable=False, default=""),  # host, number and birth of the process
    sql.Column("at", sql.Text, nullable=False),
    sql.Column("ended", sql.Text, nullable=False, default=""),
    sqlite_autoincrement=True,
)


def lock(connection: sql.Connection) -> None:
    """One writer at a time until the transaction ends, so that ids are seen in their order: who has read up to an id
    has not missed one before it. SQLite has that by itself."""
    if connection.dialect.name == "postgresql":
        connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_LOCK)))


def create(connection: sql.Connection, name: str) -> None:
    """Make what is missing, inside a transaction; or say that this everylabel is too old for what is there."""
    lock(connection)
    found = None
    if sql.inspect(connection).has_table(schema.name):
        found = connection.execute(sql.select(sql.func.max(schema.c.version))).scalar()
    if found is not None and found > VERSION:
        raise StoreError(
            f"{name}: was made by a later everylabel (schema {found}, this one knows up to {VERSION}); "
            "nothing was changed: install the later version, or give another database"
        )
    tables.create_all(connection)
    for index in decisions.indexes:  # some came later than the table
        index.create(connection, checkfirst=True)
    if found is None:
        connection.execute(sql.insert(schema).values(version=VERSION))
