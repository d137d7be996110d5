"""Whether the server that answers is the one that wrote the queue, or a copy of an earlier state.

A copy does not know the leases that were taken since. So the first host that meets one has all of
them wait for a whole lease: by then every run that the copy does not know has been ended.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from fleet.queue.sql.row_mapping import moment, to_micros
from fleet.queue.sql.sql_queue import SqlQueue

if TYPE_CHECKING:
    from fleet.queue.sql.postgres.database import Postgres


class ServerNow(Struct, frozen=True, kw_only=True):
    """A server's answer at one moment."""

    #: Another text for another cluster, another timeline of one, or tables that were made anew.
    stamp: str
    #: The stamp of the server that the queue was written on; empty: none was noted yet.
    noted: str
    #: Before this moment no host claims.
    claims_from: datetime | None
    #: When it heard of this host last, and when a person removed the host.
    seen: datetime | None
    removed: datetime | None = None


def connection_number(queue: SqlQueue) -> int:
    """Another number for each connection: a server is not replaced below one that lasts."""
    return cast("Postgres", queue.db).connection_number


def server_now(queue: SqlQueue, host_id: str) -> ServerNow:
    """What the server says about the server and about a host."""
    row = queue.rows("hosts.server_now", {"id": host_id})[0]
    stamp, noted, claims_from, seen, removed = row
    return ServerNow(
        stamp=stamp or noted or "",
        noted=noted or "",
        claims_from=None if claims_from is None else moment(int(claims_from)),
        seen=None if seen is None else moment(seen),
        removed=None if removed is None else moment(int(removed)),
    )


def was_set_back(queue: SqlQueue) -> bool:
    """A host has found the server to be a copy of an earlier state, now or before."""
    return server_now(queue, "").claims_from is not None


def note_server(queue: SqlQueue, stamp: str) -> None:
    """Have the queue know the server that the queue is on."""
    queue.rows("set_meta", {"key": "server", "value": stamp})


def hold_off(queue: SqlQueue, stamp: str, lease: timedelta) -> datetime:
    """Let no host claim for the length of a lease; until when that is."""
    with queue.db.writing():
        until = queue.db.now() + lease
        note_server(queue, stamp)
        claims_from = {"key": "claims_from", "value": str(to_micros(until))}
        queue.rows("set_meta", claims_from)
    return until
