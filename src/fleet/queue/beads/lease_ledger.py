"""Fleet's own book beside bd: who leases which task, under which fence, and what people wish.

bd's claim is a name in a field that two processes can both write; a lease must be exclusive,
run out, and fence late writers, so it lives here, in one SQLite file that all fleet processes
of a home share.
"""

import threading
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fleet.errors import FleetError
from fleet.queue.identity import LEDGER, Identity
from fleet.queue.protocol import Clock
from fleet.queue.schedules import ScheduleTable
from fleet.queue.sql import named_sql
from fleet.queue.sql.database import SqlRow
from fleet.queue.sql.row_mapping import (
    from_micros,
    request_of,
    request_values,
    to_micros,
    waits_of,
    waits_text,
)
from fleet.queue.sql.sqlite import BUSY_TIMEOUT, Sqlite, translated
from fleet.schemas import Request
from fleet.schemas.decision import plain_waits
from fleet.schemas.waits import Waits

FILE = "ledger.db"
#: This bell has no listener: a renewal is no news, and writers of news ring the queue's bell.
_NO_BELL = "ledger.bell"


class LedgerEntry(Struct, frozen=True, kw_only=True):
    """What the ledger knows of one task."""

    task_id: str
    fence: int = 0
    owner: str | None = None
    #: Whom bd names as assignee while `owner` leases the task, as far as was verified.
    holder: str | None = None
    until: datetime | None = None
    heartbeat_at: datetime | None = None
    not_before: datetime | None = None
    number: int | None = None
    #: Why the task waits, as long as bd has it as blocked.
    waits: Waits | None = None

    def is_held(self, now: datetime) -> bool:
        return self.until is not None and self.until > now

    def must_wait(self, now: datetime) -> bool:
        return self.not_before is not None and self.not_before > now


class Ledger:
    """The ledger in small steps, each durable once the call returns; threads may share a ledger."""

    def __init__(self, home: Path, *, clock: Clock, may_make: bool = False) -> None:
        self.now = clock
        self._one_at_a_time = threading.RLock()
        identity = Identity(home=home, name=LEDGER, may_make=may_make)
        self._db = Sqlite(
            identity, clock=clock, busy_timeout=BUSY_TIMEOUT, file=FILE, bell=_NO_BELL
        )
        try:
            with translated(self._db.path):
                self._db.set_up("", self._steps)
        except FleetError:
            self._db.close()
            raise

    @cached_property
    def _sql(self) -> Mapping[str, str]:
        return named_sql.load(str(Path(__file__).with_name("lease_ledger.sql")))

    @property
    def _steps(self) -> list[str]:
        return [self._sql[name] for name in ("schema", "schema_2", "schema_3")]

    @cached_property
    def schedules(self) -> ScheduleTable:
        return ScheduleTable(self._run)

    def _rows(self, statement: str, **values: Any) -> list[SqlRow]:
        return self._run(self._sql[statement], values)

    def _run(self, sql: str, values: Mapping[str, Any]) -> list[SqlRow]:
        with self._one_at_a_time:
            return self._db.rows(sql, values)

    def entry(self, task_id: str) -> LedgerEntry:
        return self.entries([task_id]).get(task_id) or LedgerEntry(task_id=task_id)

    def entries(self, ids: Iterable[str]) -> dict[str, LedgerEntry]:
        """What is known of these tasks; one that was never leased may be missing."""
        rows = self._rows("entries", ids=msgspec.json.encode(list(ids)).decode())
        return {entry.task_id: entry for entry in map(_entry_of, rows)}

    def ran_out(self) -> dict[str, LedgerEntry]:
        """Leases past their end that were not ended."""
        rows = self._rows("ran_out", now=to_micros(self.now()))
        return {entry.task_id: entry for entry in map(_entry_of, rows)}

    def held_by(self, owner: str) -> list[str]:
        return [task_id for (task_id,) in self._rows("held_by", owner=owner)]

    def added(self, task_id: str) -> None:
        """Remember that this task is younger than all that were added before."""
        self._rows("added", id=task_id)

    def take(self, task_id: str, owner: str, *, holder: str, ttl: timedelta) -> LedgerEntry | None:
        """Lease a task under a new fence; None if another lease or a `not_before` stands."""
        now = self.now()
        values = {"until": to_micros(now + ttl), "now": to_micros(now)}
        if not self._rows("take", id=task_id, owner=owner, holder=holder, **values):
            return None
        return self.entry(task_id)

    def verified(self, entry: LedgerEntry) -> None:
        """Note that bd was seen to name the owner as assignee."""
        self._rows("verified", **_ours(entry))

    def renew(self, task_id: str, owner: str, fence: int, ttl: timedelta) -> datetime | None:
        """The lease's new end; None if the lease is no longer held under this fence."""
        now = self.now()
        until = now + ttl
        values = {"until": to_micros(until), "now": to_micros(now)}
        rows = self._rows("renew", id=task_id, owner=owner, fence=fence, **values)
        return until if rows else None

    def doubt(self, entry: LedgerEntry) -> None:
        """Let a lease run out now: what bd did is not known, so the next claim has to look."""
        self._rows("doubt", now=to_micros(self.now()), **_ours(entry))

    def put_off(self, entry: LedgerEntry, not_before: datetime | None) -> None:
        self._rows("put_off", not_before=to_micros(not_before), **_ours(entry))

    def no_wait(self, entry: LedgerEntry) -> None:
        """Forget the moment that a task without a lease waits for."""
        self._rows("no_wait", id=entry.task_id, fence=entry.fence)

    def explain(self, entry: LedgerEntry, waits: Waits | None) -> None:
        """Store why bd is going to have the task as blocked, under the fence of the entry."""
        text = waits_text(waits and plain_waits(waits))
        self._rows("explain", id=entry.task_id, fence=entry.fence, waits=text)

    def end(self, entry: LedgerEntry) -> None:
        self._rows("end", **_ours(entry))

    def add_request(self, request: Request) -> None:
        self._rows("insert_request", **request_values(request))

    def requests(self) -> list[Request]:
        return [request_of(row) for row in self._rows("requests")]

    def delete_request(self, request_id: str) -> None:
        self._rows("delete_request", id=request_id)

    def close(self) -> None:
        with self._one_at_a_time:
            self._db.close()


def _ours(entry: LedgerEntry) -> dict[str, Any]:
    return {"id": entry.task_id, "owner": entry.owner, "fence": entry.fence}


def _entry_of(row: SqlRow) -> LedgerEntry:
    task_id, fence, owner, holder, until, heartbeat_at, not_before, number, waits = row
    return LedgerEntry(
        task_id=task_id,
        fence=fence,
        owner=owner,
        holder=holder,
        until=from_micros(until),
        heartbeat_at=from_micros(heartbeat_at),
        not_before=from_micros(not_before),
        number=number,
        waits=waits_of(waits),
    )
