"""How a connection to the server is made, how a dead connection is noticed, and how the server's
time is known without asking each time.
"""

import select
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.numeric import Int8Dumper

from fleet.processes.agent_identity import asked_by

#: Used where the address does not say otherwise.
_DEFAULTS: dict[str, str | int] = {
    "application_name": "fleet",
    "client_encoding": "utf8",
    "keepalives_count": 3,
}

#: Clocks drift apart, so the server's is looked at again after this long.
MEASURE_AGAIN = timedelta(minutes=10)
#: An answer that took longer, in seconds, tells too little of the server's time: this machine may
#: have slept over it.
_TOO_LONG = 4.0

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: A clock that goes on while a laptop sleeps: otherwise its leases would look younger to us than
#: to everybody else.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def steady() -> float:
    return time.clock_gettime(_STEADY)


def connect(dsn: str, dead_after: timedelta) -> psycopg.Connection:
    """A connection that breaks once the server takes nothing for `dead_after`."""
    given = conninfo_to_dict(dsn)
    seconds = max(2, int(dead_after.total_seconds()))
    bounds = {
        "connect_timeout": min(10, seconds),
        "keepalives_idle": seconds,
        "keepalives_interval": max(1, seconds // 3),
        "tcp_user_timeout": seconds * 1000,
    }
    known = {**_DEFAULTS, **bounds}
    defaults: dict[str, Any] = {key: v for key, v in known.items() if key not in given}
    connection = psycopg.connect(dsn, autocommit=True, cursor_factory=psycopg.RawCursor, **defaults)
    if asked_by():
        connection.execute("SET default_transaction_read_only = on")
    # One width for every number, so that a statement is prepared once and not once a width.
    connection.adapters.register_dumper(int, Int8Dumper)
    return connection


def shares_backend(dsn: str, connection: psycopg.Connection, dead_after: timedelta) -> bool:
    """A pooler is in between that gives one server process to several clients in turn.

    A pooler makes up the process number that it tells its clients. Where it keeps a process for
    each client, two connections that are open at once never have the same.
    """
    own = _backend(connection)
    if own == connection.info.backend_pid:
        return False
    other = connect(dsn, dead_after)
    try:
        return own in (_backend(other), _backend(other))
    finally:
        other.close()


def _backend(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT pg_backend_pid()").fetchone()
    return int(row[0]) if row else 0


def dropped(connection: psycopg.Connection) -> bool:
    """Did the server hang up while we were idle? Asked of the socket, without a round trip."""
    if connection.closed:
        return True
    try:
        while _readable(connection, 0):
            connection.pgconn.consume_input()
    except psycopg.Error:
        return True
    return False


def heard(connection: psycopg.Connection, timeout: float) -> bool:
    """Whether a notification has come by now, or comes within `timeout` seconds."""
    end = steady() + timeout
    while not drained(connection):
        left = max(0.0, end - steady())
        if not _readable(connection, left):
            return False
        connection.pgconn.consume_input()
    return True


def drained(connection: psycopg.Connection) -> bool:
    """Forget the notifications that have come; True if there was any."""
    found = False
    while connection.pgconn.notifies() is not None:
        found = True
    return found


def _readable(connection: psycopg.Connection, seconds: float) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(seconds * 1000))


class ServerClock:
    """The server's time, measured now and then and carried on by this machine's steady clock."""

    def __init__(self) -> None:
        self._server = _EPOCH
        self._measured = 0.0
        #: When it is measured again.
        self._again_at = 0.0

    def set(self, micros: int, before: float) -> None:
        """The server said `micros`, asked at `before`; the answer was made about
        half way to now.
        """
        after = steady()
        self._measured = (before + after) / 2
        self._server = _EPOCH + timedelta(microseconds=micros)
        lasts = MEASURE_AGAIN.total_seconds() if after - before < _TOO_LONG else 0.0
        self._again_at = self._measured + lasts

    @property
    def stale(self) -> bool:
        return steady() > self._again_at

    def now(self) -> datetime:
        return self._server + timedelta(seconds=steady() - self._measured)
