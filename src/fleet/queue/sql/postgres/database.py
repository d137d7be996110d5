"""One PostgreSQL connection as a Database, with a second one that only listens."""

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar, cast

import psycopg

from fleet.errors import QueueError, QueueUnavailable, WrongQueue
from fleet.queue.identity import Identity, new_id
from fleet.queue.protocol import Clock
from fleet.queue.sql import migrate, named_sql
from fleet.queue.sql.database import SqlRow
from fleet.queue.sql.postgres.connection import (
    ServerClock,
    connect,
    dropped,
    heard,
    shares_backend,
    steady,
)
from fleet.queue.sql.postgres.error_messages import address_of, broke_off, in_our_words, translated
from fleet.queue.sql.row_mapping import TASK_SQL

T = TypeVar("T")

#: No statement of ours takes long; one that does is stuck behind something.
STATEMENT_TIMEOUT = timedelta(seconds=30)
#: How often at most the server is asked for the time until it answers soon enough.
_MEASURES = 3

_DIALECT = {
    "by_queue_order": "",
    # NO KEY: a comment or a child that is just being added does not hide its task.
    "skip_locked": "FOR NO KEY UPDATE OF tasks SKIP LOCKED",
    # An array is filled once, before the update: a subquery that may run again would lock more.
    "is_picked": "id = ANY (ARRAY({picked}))",
    # A function, so that a claim does not set up a plan of twenty nodes that it seldom runs.
    "waits_for_others": "fleet.has_unmet_dependency(:now, tasks.id)",
    "lock_graph": "SELECT pg_advisory_xact_lock(1718379877, 2)",
    "fits_host": named_sql.load("placement.sql")["fits_host"],
}
_SQL = named_sql.load("postgres.sql", named_sql.load("queue.sql", {**TASK_SQL, **_DIALECT}))

#: A placeholder. A quoted string is passed over whole, and so is the `::` of a cast.
_TOKEN = re.compile(r"'(?:[^']|'')*'|::|:([a-z_]\w*)", re.IGNORECASE)


class Postgres:
    """Statements outside `writing` commit by themselves. A connection that the server dropped
    while we were idle is made again before it is used; one that breaks during a write is not,
    since the write may or may not have been stored.
    """

    dialect: Mapping[str, str] = _DIALECT

    def __init__(
        self, dsn: str, *, clock: Clock | None, lock_timeout: timedelta, dead_after: timedelta
    ) -> None:
        self.address = address_of(dsn)
        self._dead_after = dead_after
        self._dsn = dsn
        self._clock = clock
        self._lock_timeout = lock_timeout
        #: What a home knows of the queue; without a home nothing is compared.
        self.identity: Identity | None = None
        self._server_clock = ServerClock()
        self._cursor: psycopg.Cursor | None = None
        self._listener: psycopg.Connection | None = None
        self._in_transaction = False
        self._is_set_up = False
        self._connections = 0

    @property
    def connection_number(self) -> int:
        """How many connections were made so far, with the one that is used next."""
        self._connected()
        return self._connections

    def now(self) -> datetime:
        if self._clock is not None:
            return self._clock()
        for _ in range(_MEASURES):
            if not self._server_clock.stale:
                break
            before = steady()
            self._server_clock.set(self.rows(_SQL["measure"])[0][0], before)
        return self._server_clock.now()

    def rows(self, sql: str, values: Mapping[str, Any] | None = None) -> list[SqlRow]:
        return self._answer(_fetch, sql, values)

    def changed(self, sql: str, values: Mapping[str, Any]) -> bool:
        return self._answer(_count, sql, values) > 0

    def _answer(
        self, read: Callable[[psycopg.Cursor], T], sql: str, values: Mapping[str, Any] | None
    ) -> T:
        """Run one statement; `read` takes the result from the cursor."""
        text, names = numbered(sql)
        given = [values[name] for name in names] if values else None
        cursor = self._connected()
        try:
            return read(_run(cursor, text, given))
        except psycopg.Error as error:
            if self._in_transaction or not cursor.connection.closed:
                raise in_our_words(error, self.address) from error
            if not text.startswith("SELECT"):
                raise broke_off(self.address) from error
        with translated(self.address):
            return read(_run(self._connected(), text, given))

    @contextmanager
    def writing(self) -> Generator[None]:
        if self._in_transaction:
            yield
            return
        self._begin()
        try:
            yield
        except BaseException:
            self._roll_back()
            raise
        self._commit()

    def wait(self, timeout: timedelta) -> bool:
        with translated(self.address):
            if self._listener is None or self._listener.closed:
                self._listener = connect(self._dsn, self._dead_after)
                _run(self._listener.cursor(), _SQL["listen"], None)
                return True  # what was written before we listened was not heard
            try:
                return heard(self._listener, timeout.total_seconds())
            except psycopg.OperationalError:
                self._listener.close()
                return True

    def close(self) -> None:
        for connection in (self._cursor and self._cursor.connection, self._listener):
            if connection is not None:
                connection.close()

    def set_up(self, prefix: str, steps: list[str] | None, *, later: bool) -> None:
        self._refuse_pooler()
        todo = migrate.steps() if steps is None else steps
        refusal = self.identity.refusal(self.address) if self.identity is not None else None
        if not self.rows(_SQL["is_made"]):
            if refusal is not None and not self.rows(_SQL["has_meta"]):
                raise refusal
            with self.writing():
                self._lock_schema()
                if not self.rows(_SQL["has_schema"]):
                    self.rows(_SQL["create_schema"])
                self.rows(_SQL["create_meta"])
                self.rows(_SQL["insert_prefix"], {"prefix": prefix})
                self.rows(_SQL["create_waits_for_others"])
        version = migrate.version(self)
        if version < len(todo) or (version > len(todo) and not later):
            with self.writing():
                self._lock_schema()
                home = self.identity.home if self.identity is not None else None
                migrate.migrate(self, self._script, self._backup, todo, home)
        self._check_identity()
        self._is_set_up = True

    def _refuse_pooler(self) -> None:
        """Settings of a session and LISTEN need a server process of their own."""
        connection = self._connected().connection
        with translated(self.address):
            if not shares_backend(self._dsn, connection, self._dead_after):
                return
        raise QueueUnavailable(
            f"{self.address} is a pooler that hands out server processes by transaction",
            hint="fleet listens for changes, which needs a session: connect to PostgreSQL itself,"
            " or set pool_mode = session for this database in pgbouncer.ini.",
        )

    def _check_identity(self) -> None:
        """Raise WrongQueue if another database answers than the one that the home knows."""
        if self.identity is None:
            return
        if not self.rows(_SQL["identity"]) and self.identity.known is None:
            self.rows(_SQL["insert_identity"], {"id": new_id()})
        found = next((str(row[0]) for row in self.rows(_SQL["identity"])), "")
        self.identity.check(found, self.address)

    def _lock_schema(self) -> None:
        self.rows(_SQL["be_patient"])
        self.rows(_SQL["lock_schema"])

    def _script(self, sql: str) -> None:
        """One migration step; new tables get bell and check in the same transaction."""
        with translated(self.address):
            for script in (sql, _SQL["bell"], _SQL["one_check"]):
                self._connected().connection.execute(cast("Any", script))

    def _backup(self, have: int) -> None:
        """Copy every table aside, in the transaction that changes them."""
        aside = f"fleet_backup_v{have}"
        tables = [row[0] for row in self.rows(_SQL["tables"])]
        self.rows(f"DROP SCHEMA IF EXISTS {aside} CASCADE")
        self.rows(f"CREATE SCHEMA {aside}")
        for table in tables:
            self.rows(f'CREATE TABLE {aside}."{table}" AS TABLE fleet."{table}"')

    def _connected(self) -> psycopg.Cursor:
        """The connection's cursor; inside a transaction the one that the transaction began on, or
        nothing at all.
        """
        cursor = self._cursor
        if self._in_transaction and cursor is not None:
            return cursor
        if cursor is None or dropped(cursor.connection):
            cursor = self._connect()
        return cursor

    def _connect(self) -> psycopg.Cursor:
        if self._cursor is not None:
            self._cursor.connection.close()
        with translated(self.address):
            # One for all statements: a new cursor looks up anew how each column is read.
            self._cursor = cursor = connect(self._dsn, self._dead_after).cursor(binary=True)
            text, _ = numbered(_SQL["session"])
            before = steady()
            limits = [_millis(self._lock_timeout), _millis(STATEMENT_TIMEOUT)]
            self._server_clock.set(_fetch(_run(cursor, text, limits))[0][-1], before)
            self._refuse_another(cursor)
        self._connections += 1
        return cursor

    def _refuse_another(self, cursor: psycopg.Cursor) -> None:
        """A new connection may lead to another server, or to a database that was made anew."""
        if self.identity is None or not self._is_set_up:
            return
        has_meta = _fetch(_run(cursor, _SQL["has_meta"], None))
        found = _fetch(_run(cursor, _SQL["identity"], None)) if has_meta else []
        try:
            self.identity.check(str(found[0][0]) if found else "", self.address)
        except WrongQueue:
            self._cursor = None
            cursor.connection.close()
            raise

    def _begin(self) -> None:
        cursor = self._connected()
        try:
            cursor.execute("BEGIN")
        except psycopg.OperationalError:
            # Nothing was done yet, so a second try on a new connection is safe.
            with translated(self.address):
                self._connect().execute("BEGIN")
        self._in_transaction = True

    def _commit(self) -> None:
        cursor = self._connected()
        self._in_transaction = False
        try:
            ended = cursor.execute("COMMIT").statusmessage
        except psycopg.Error as error:
            if cursor.connection.closed:
                raise broke_off(self.address) from error
            raise in_our_words(error, self.address) from error
        if ended != "COMMIT":
            # A statement had failed, the error was swallowed, and the server rolled everything
            # back.
            raise QueueError(f"the queue {self.address} did not store a change that had failed")

    def _roll_back(self) -> None:
        cursor = self._connected()
        self._in_transaction = False
        try:
            cursor.execute("ROLLBACK")
        except psycopg.Error:
            cursor.connection.close()  # the server undoes what a lost connection began


@lru_cache(maxsize=512)
def numbered(sql: str) -> tuple[str, tuple[str, ...]]:
    """A statement of both engines with PostgreSQL's `$1`, `$2` for `:name`, and the names whose
    values go there.
    """
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return found[0]
        return f"${numbers.setdefault(name, len(numbers) + 1)}"

    return _TOKEN.sub(number, sql), tuple(numbers)


def _run(cursor: psycopg.Cursor, text: str, given: list[Any] | None) -> psycopg.Cursor:
    # psycopg wants literal SQL; ours is literal too, but it comes from a file.
    return cursor.execute(cast("Any", text), given)


def _fetch(cursor: psycopg.Cursor) -> list[SqlRow]:
    # Not `cursor.description`, which builds an object for each column: a third of a claim's time.
    result = cursor.pgresult
    return cursor.fetchall() if result is not None and result.nfields else []


def _count(cursor: psycopg.Cursor) -> int:
    return cursor.rowcount


def _millis(span: timedelta) -> str:
    return str(int(span / timedelta(milliseconds=1)))
