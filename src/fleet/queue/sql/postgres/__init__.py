"""The PostgreSQL queue: many machines, one queue."""

from datetime import timedelta
from pathlib import Path

from fleet.errors import QueueUnavailable
from fleet.queue.identity import Identity
from fleet.queue.protocol import Clock
from fleet.queue.sql.sql_queue import SqlQueue

LOCK_TIMEOUT = timedelta(seconds=5)
#: A server that vanished without a word is given up after half a minute instead of never.
DEAD_AFTER = timedelta(seconds=30)


def open_postgres(
    dsn: str,
    *,
    prefix: str = "fleet",
    clock: Clock | None = None,
    lock_timeout: timedelta = LOCK_TIMEOUT,
    steps: list[str] | None = None,
    home: Path | None = None,
    may_make: bool = False,
    dead_after: timedelta = DEAD_AFTER,
    later: bool = False,
) -> SqlQueue:
    """The queue in the database that `dsn` names, made on first use and brought up to date.

    A server that takes nothing for `dead_after` is given up, and connected to anew.
    `home` is the home that may know the queue. Raises WrongQueue if it knows another one.
    `later`: the schema of a later fleet is taken as it is, to finish what was begun.
    """
    try:
        from fleet.queue.sql.postgres.database import Postgres
    except ImportError as error:
        from fleet.processes.own_distribution import how_to_add

        raise QueueUnavailable(
            f"the PostgreSQL queue needs psycopg, which cannot be loaded: {error}",
            hint=f"Add it: {how_to_add('postgres')}",
        ) from error
    db = Postgres(dsn, clock=clock, lock_timeout=lock_timeout, dead_after=dead_after)
    if home is not None:
        db.identity = Identity(home=home, name=db.address, may_make=may_make)
    try:
        db.set_up(prefix, steps, later=later)
    except BaseException:
        db.close()
        raise
    return SqlQueue(db)
