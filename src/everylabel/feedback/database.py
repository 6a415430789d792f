"""One database by its URL, SQLite or PostgreSQL: what is committed is on disk, and what goes wrong is a `StoreError`.

SQLite: write-ahead log, synchronous=FULL, so that a commit waits for the disk, and a writer for the one before it. A
file that is taken away while it is open is noticed, where SQLite itself would go on writing to what nobody can find
any more; a new one is never made in its place. PostgreSQL: synchronous_commit is switched on where it is off.
A database that went away and came back works again at the next call. Cost of a write: one fsync.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from everylabel.errors import ConfigError, StoreError
from everylabel.feedback import schema
from everylabel.feedback.schema import sql

BUSY = 30.0  # seconds that a writer waits for another one
CONNECT = 5  # seconds until a PostgreSQL that does not answer is not there
WHAT_IT_IS = "sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME"


class Database:
    """Thread safe. `name` is the URL without its password."""

    def __init__(self, url: str) -> None:
        try:
            address = sql.engine.make_url(url)
        except sql.exc.ArgumentError:
            raise ConfigError(f"{url!r} is not the URL of a database; expected {WHAT_IT_IS}") from None
        self.name = address.render_as_string(hide_password=True)
        if address.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
            raise ConfigError(f"{self.name}: decisions are kept in SQLite or PostgreSQL; expected {WHAT_IT_IS}")
        self._file: Path | None = None
        self._known: tuple[int, int] | None = None  # the file's device and number
        self._writing = threading.Lock()
        self._engine = self._of_file(address) if address.drivername.startswith("sqlite") else self._of_server(address)
        self._reading = self._engine.execution_options(isolation_level="AUTOCOMMIT", reading=True)
        try:
            with self.writing() as connection:
                schema.create(connection, self.name)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[sql.Connection]:
        """Each statement by itself."""
        with self._errors():
            self._check_file()
            with self._reading.connect() as connection:
                yield connection

    @contextmanager
    def writing(self) -> Iterator[sql.Connection]:
        """One transaction, one at a time; on disk when the block is left without an error."""
        with self._errors(), self._one_at_a_time():
            self._check_file()
            with self._engine.begin() as connection:
                schema.lock(connection)
                yield connection
            self._check_file()

    def close(self) -> None:
        self._engine.dispose()

    def _of_file(self, address: sql.URL) -> sql.Engine:
        if not address.database or address.database == ":memory:" or address.query:
            raise ConfigError(f"{self.name}: decisions are kept on disk; expected sqlite:///FILE")
        self._file = Path(address.database).absolute()
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)  # what people wrote: for us only
            os.close(handle)
        except OSError as error:
            raise StoreError(f"{self._file}: cannot be written ({error.strerror}); choose another file") from None
        query = {"uri": "true", "mode": "rw"}  # never a new one in the place of one that was taken away
        found = address.set(database=f"file:{_in_uri(self._file)}", query=query)
        engine = sql.create_engine(found, connect_args={"timeout": BUSY})
        sql.event.listen(engine, "connect", _as_we_need_it)
        sql.event.listen(engine, "begin", _begin)
        return engine

    def _of_server(self, address: sql.URL) -> sql.Engine:
        query = {"connect_timeout": str(CONNECT), **address.query}
        try:
            engine = sql.create_engine(address.set(query=query), pool_pre_ping=True)
        except ImportError as error:
            raise ConfigError(
                f"{self.name}: PostgreSQL needs psycopg ({error}); pip install 'everylabel[postgres]'"
            ) from None
        sql.event.listen(engine, "connect", _waiting_for_the_disk)
        return engine

    def _check_file(self) -> None:
        """Is the file that is open the one that others find?"""
        if self._file is None:
            return
        try:
            about = self._file.stat()
        except OSError as error:
            self._forget()
            raise StoreError(f"{self._file}: is gone ({error.strerror}); nothing was stored: put it back") from None
        found = (about.st_dev, about.st_ino)
        known, self._known = self._known, found
        if known not in (None, found):
            self._forget()
            self._known = found
            raise StoreError(f"{self._file}: was replaced by another file; what was just asked for was not done")

    def _forget(self) -> None:
        self._known = None
        self._engine.dispose()

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        if not self._writing.acquire(timeout=BUSY):
            raise StoreError(f"{self.name}: was busy for {BUSY:.0f} seconds; nothing was stored: try again")
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """What the database says, without the statement: it has the texts of documents."""
        try:
            yield
        except sql.exc.IntegrityError:
            raise
        except (sql.exc.DBAPIError, sql.exc.TimeoutError) as error:
            why = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            raise StoreError(f"{self.name}: cannot be used now ({why}); nothing was stored") from None


def _in_uri(file: Path) -> str:
    from urllib.parse import quote

    return quote(str(file))


def _as_we_need_it(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, see _begin
    cursor = connection.cursor()
    for setting in ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={int(BUSY * 1000)}"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _begin(connection: sql.Connection) -> None:
    """A writer asks for the lock first: one that had read before could no longer have it."""
    if not connection.get_execution_options().get("reading"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _waiting_for_the_disk(connection: Any, _record: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        if cursor.fetchone()[0] == "off":
            cursor.execute("SET synchronous_commit = on")
    connection.commit()
