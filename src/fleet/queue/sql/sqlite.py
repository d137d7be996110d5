"""The embedded queue: SQLite in $FLEET_HOME, through APSW, which brings a SQLite without the
WAL-reset corruption. A commit that acknowledges work is on the disk (`synchronous=FULL`).
"""

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import apsw

from fleet.errors import (
    DamagedQueue,
    FleetError,
    QueueBusy,
    QueueError,
    QueueUnavailable,
    WrongQueue,
)
from fleet.queue.doorbell import BELL, Doorbell
from fleet.queue.identity import EMBEDDED, KEY, WAY_OUT, Identity, new_id
from fleet.queue.protocol import Clock
from fleet.queue.sql.database import SqlRow
from fleet.queue.sql.migrate import migrate
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sqlite_files import (
    DatabaseFiles,
    copy_to,
    files_of,
    inode_of,
    is_empty,
    make_private,
    reading,
)

T = TypeVar("T")

FILE = "queue.db"
BUSY_TIMEOUT = timedelta(seconds=5)

#: A missed ring costs at most this long: the bell wakes one listener, the file tells the rest.
_LOOK_AGAIN = timedelta(seconds=1)
#: Statements that APSW keeps prepared: preparing a claim takes ten times as long as running it.
_PREPARED = 512
_ID = "SELECT value FROM meta WHERE key = 'identity'"


def utc_now() -> datetime:
    return datetime.now(UTC)


def open_embedded(
    home: Path,
    *,
    prefix: str = "fleet",
    clock: Clock = utc_now,
    busy_timeout: timedelta = BUSY_TIMEOUT,
    steps: list[str] | None = None,
    may_make: bool = False,
) -> SqlQueue:
    """The queue in `home`, made on first use and brought up to date. Raises WrongQueue."""
    identity = Identity(home=home, name=EMBEDDED, may_make=may_make)
    db = Sqlite(identity, clock=clock, busy_timeout=busy_timeout)
    try:
        with translated(db.path):
            db.set_up(prefix, steps)
    except FleetError:
        db.close()
        raise
    return SqlQueue(db)


class Sqlite:
    """One APSW connection as a Database."""

    dialect: Mapping[str, str] = {
        # Without statistics SQLite would rather sort than walk the index that has the order.
        "by_queue_order": "INDEXED BY tasks_waiting",
        "skip_locked": "",
        "is_picked": "id IN ({picked})",
        "waits_for_others": "{unmet_dependency}",
        "lock_graph": "SELECT 1",
        # A file has one home: there is no other host to leave a task to.
        "fits_host": "1 = 1",
    }

    def __init__(
        self,
        identity: Identity,
        *,
        clock: Clock,
        busy_timeout: timedelta,
        file: str = FILE,
        bell: str = BELL,
    ) -> None:
        self._identity = identity
        self.path = identity.home / file
        self.address = str(self.path)
        self._log = f"{self.path}-wal"
        self.now = clock
        self._bell = Doorbell(identity.home / bell)
        #: The files behind the connection, once it is set up.
        self._files: DatabaseFiles | None = None
        #: The error if the queue turns out to be missing; None: a new one is made.
        self._refusal = identity.refusal(self.path)
        with translated(self.path):
            if is_empty(self.path):
                self._refuse_new()
                make_private(self.path)
            # APSW's stubs leave its value type unknown; `rows` gives it a type again.
            self._connection: Any = apsw.Connection(str(self.path), statementcachesize=_PREPARED)
            self._connection.set_busy_timeout(int(busy_timeout / timedelta(milliseconds=1)))
            self._use_wal(busy_timeout)
            for pragma in ("synchronous=FULL", "foreign_keys=ON"):
                self._connection.execute(f"PRAGMA {pragma}")
        self._seen = self._data_version()

    def _use_wal(self, patience: timedelta) -> None:
        """A new file is switched once. SQLite does not let that wait for another who does the same,
        whatever its timeout: so we do.
        """
        end = time.monotonic() + patience.total_seconds()
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
            except apsw.BusyError:
                if time.monotonic() >= end:
                    raise
                time.sleep(0.005)
            else:
                return

    def set_up(self, prefix: str, steps: list[str] | None) -> None:
        files = files_of(self.path)
        tables = self._connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'meta'")
        if not tables.get:
            self._refuse_new()
            with self.writing():
                self._connection.execute(
                    "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
                )
                self._connection.execute(
                    "INSERT INTO meta (key, value) VALUES ('prefix', ?) ON CONFLICT DO NOTHING",
                    (prefix,),
                )
        migrate(self, self._script, self._backup, steps, self._identity.home)
        self._identity.check(self._own_id(), self.path)
        self._files = DatabaseFiles(files.main, files_of(self.path).log)

    def _refuse_new(self) -> None:
        if self._refusal is not None:
            raise self._refusal

    def _own_id(self) -> str:
        """The id that the queue bears; a queue from before there were ids gets one, unless its home
        knows one that it should bear.
        """
        if not self.rows(_ID) and self._identity.known is None:
            values = {"key": KEY, "id": new_id()}
            self.rows("INSERT INTO meta VALUES (:key, :id) ON CONFLICT DO NOTHING", values)
        return next((str(row[0]) for row in self.rows(_ID)), "")

    def check_files(self) -> None:
        """Raise WrongQueue if other files than those of the connection are at the path now: what is
        written would be lost, and other processes would not see it.
        """
        files = self._files
        if files is None:
            return
        main = inode_of(self.address)
        if main != files.main:
            gone = "is gone" if main is None else "was replaced by another file"
        elif files.log is not None and inode_of(self._log) != files.log:
            gone = "has lost its log, queue.db-wal"
        else:
            return
        raise WrongQueue(f"the queue {self.path} {gone} while it was in use", hint=WAY_OUT)

    def rows(self, sql: str, values: Mapping[str, Any] | None = None) -> list[SqlRow]:
        connection = self._connection
        if not connection.in_transaction and not sql.startswith("SELECT"):
            self.check_files()
        wrote = connection.total_changes()
        try:
            rows = connection.execute(sql, values).fetchall()
        except apsw.Error as error:
            raise in_our_words(error, self.path) from error
        if connection.total_changes() != wrote and not connection.in_transaction:
            self._bell.ring()
        return rows

    def changed(self, sql: str, values: Mapping[str, Any]) -> bool:
        wrote = self._connection.total_changes()
        self.rows(sql, values)
        return self._connection.total_changes() != wrote

    @contextmanager
    def writing(self) -> Generator[None]:
        if self._connection.in_transaction:
            yield
            return
        self.check_files()
        with translated(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with translated(self.path):
                self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # a full disk has made SQLite undo it already
                self._connection.execute("ROLLBACK")
            raise
        self._bell.ring()

    def wait(self, timeout: timedelta) -> bool:
        end = time.monotonic() + timeout.total_seconds()
        while True:
            left = timedelta(seconds=end - time.monotonic())
            rang = self._bell.wait(min(_LOOK_AGAIN, left))
            self.check_files()
            seen = self._data_version()
            if rang or seen != self._seen:
                self._seen = seen
                return True
            if time.monotonic() >= end:
                return False

    def close(self) -> None:
        self._bell.close()
        self._connection.close()

    def _data_version(self) -> int:
        with translated(self.path):
            return int(self._connection.execute("PRAGMA data_version").get)

    def _script(self, sql: str) -> None:
        self._connection.execute(sql)

    def _backup(self, have: int) -> None:
        """Copy the committed state aside. Runs while we hold the write lock, so it is exact."""
        with reading(self.path) as source:
            copy_to(self.path.with_name(f"{self.path.name}.v{have}.backup"), source)

    def copied(self, copy: Callable[[Any], T]) -> T:
        """Have the connection copied, which sees the file even without a name."""
        with translated(self.path):
            return copy(self._connection)


@contextmanager
def translated(path: Path) -> Generator[None]:
    try:
        yield
    except apsw.Error as error:
        raise in_our_words(error, path) from error


def in_our_words(error: apsw.Error, path: Path) -> QueueError:
    """The one table from what APSW raises to what a person reads."""
    match error:
        case apsw.BusyError() | apsw.LockedError():
            return QueueBusy(
                f"the queue {path} is locked by another process",
                hint="Try again. If it stays locked, find the process: fuser -v queue.db",
            )
        case apsw.CorruptError() | apsw.NotADBError():
            return DamagedQueue(
                f"the queue {path} is damaged: {error}",
                hint="Put a copy back, which keeps what is there: fleet queue restore."
                " Or recover it with sqlite3's .recover.",
            )
        case apsw.CantOpenError() | apsw.ReadOnlyError() | apsw.PermissionsError():
            return QueueUnavailable(
                f"the queue {path} cannot be written: {error}",
                hint="Check the owner and mode of the file and of its directory.",
            )
        case apsw.FullError() | apsw.IOError():
            return QueueUnavailable(
                f"the disk refused to store the queue {path}: {error}",
                hint="Free some space; what was acknowledged before is safe.",
            )
        case apsw.ConstraintError():
            return QueueError(f"the queue refused an impossible row: {error}")
        case _:
            return QueueError(f"the queue failed: {type(error).__name__}: {error}")
