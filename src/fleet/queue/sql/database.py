"""What SqlQueue asks of an SQL engine. `fleet.queue.sql.sqlite` and `.postgres` are the two."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Any, Protocol

SqlRow = tuple[Any, ...]


class Database(Protocol):
    """One connection. Statements are given by name; `fleet.queue.sql.named_sql` holds them."""

    #: What this engine writes differently, for `statements.load`.
    dialect: Mapping[str, str]

    #: Where the queue is, to show to people. No password is in it.
    address: str

    def now(self) -> datetime:
        """The time that leases are measured by; one clock for all hosts that share the queue."""
        ...

    def rows(self, sql: str, values: Mapping[str, Any] | None = None) -> list[SqlRow]:
        """Run one statement and fetch the returned rows."""
        ...

    def changed(self, sql: str, values: Mapping[str, Any]) -> bool:
        """Run one statement that writes, and return whether a row changed. Cheaper than to have
        the row returned.
        """
        ...

    def writing(self) -> AbstractContextManager[None]:
        """A write transaction: durable once left, undone by an exception, nestable."""
        ...

    def wait(self, timeout: timedelta) -> bool:
        """Sleep until something may have been written, at most `timeout`."""
        ...

    def close(self) -> None: ...
