"""BeadsQueue: the Queue verbs on the real `bd`, with leases in fleet's own ledger.

Every verb that writes holds the home's write lock from its first look to its last, so that
fleet processes see each other's work only whole.
"""

import time
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from fleet.errors import BadInput, FleetError, NotFound, Refused
from fleet.queue.beads.add_tasks import add_task
from fleet.queue.beads.bd_cli.bd_calls import Tracker
from fleet.queue.beads.bd_cli.bd_client import TIMEOUT, BdClient
from fleet.queue.beads.bd_cli.bd_database import check_database
from fleet.queue.beads.change_watch import Watch
from fleet.queue.beads.claim_tasks import Claims, queue_order, with_entry
from fleet.queue.beads.lease_ledger import Ledger, LedgerEntry
from fleet.queue.beads.settle_tasks import Settlements
from fleet.queue.beads.write_lock import write_lock
from fleet.queue.doorbell import BELL, Doorbell
from fleet.queue.protocol import Clock, Draft, Filter, LeaseLost, new_request
from fleet.queue.schedules import ScheduleTable
from fleet.queue.sql.sqlite import utc_now
from fleet.schemas import (
    BLOCKING,
    STATUSES,
    Blocked,
    Closed,
    Comment,
    Edge,
    Lease,
    Offer,
    Released,
    Request,
    Settlement,
    Task,
    Wish,
)
from fleet.schemas.waits import Waits

#: How soon a change by a bare `bd` is noticed.
_LOOK_AGAIN = timedelta(seconds=2)
#: Without files to look at (a database on a server), say "maybe" this often.
_BLIND = timedelta(seconds=15)


def open_beads(
    home: Path,
    *,
    bd: str = "bd",
    timeout: timedelta = TIMEOUT,
    clock: Clock = utc_now,
    may_make: bool = False,
) -> "BeadsQueue":
    """The beads queue of a home that `init_beads` prepared; `timeout` bounds each call of bd."""
    check_database(home)
    ledger = Ledger(home, clock=clock, may_make=may_make)
    return BeadsQueue(BdClient(home, bd=bd, timeout=timeout), ledger)


class BeadsQueue:
    """The queue in beads; threads may share one."""

    def __init__(self, client: BdClient, ledger: Ledger) -> None:
        self.tracker = Tracker(client)
        self.ledger = ledger
        self.locked = partial(write_lock, client.home, client.timeout * 2)
        self._claims = Claims(self.tracker, ledger)
        self.settlements = Settlements(self.tracker, ledger)
        self.bell = Doorbell(client.home / BELL)
        self._watch = Watch(client.home)
        self._listened = time.monotonic()

    @property
    def schedules(self) -> ScheduleTable:
        return self.ledger.schedules

    def add(self, draft: Draft) -> Task:
        with self.locked():
            task = add_task(self.tracker, self.ledger, draft)
        self.bell.ring()
        return task

    def claim(
        self, owner: str, *, count: int = 1, ttl: timedelta, offer: Offer | None = None
    ) -> list[Lease]:
        del offer  # one home has the queue, so that there is no other host to choose
        if not owner:
            raise BadInput("a claim needs the name of its owner")
        if count < 1:
            return []
        with self.locked():
            return self._claims.take(owner, count=count, ttl=ttl)

    def renew(self, lease: Lease, *, ttl: timedelta) -> Lease | LeaseLost:
        task_id = lease.task.id
        until = self.ledger.renew(task_id, lease.owner, lease.fence, ttl)
        if until is not None:
            return Lease(task=lease.task, owner=lease.owner, fence=lease.fence, until=until)
        return self.settlements.lost(lease, self.ledger.entry(task_id))

    def settle(
        self, settlements: Sequence[tuple[Lease, Settlement]]
    ) -> list[LeaseLost | FleetError | None]:
        with self.locked():
            answers = self.settlements.settle(settlements)
        self.bell.ring()
        return answers

    def request(self, task_id: str, wish: Wish, *, text: str = "", asked_by: str = "") -> Request:
        known = self.get(task_id).id
        request = new_request(known, wish, text=text, asked_by=asked_by, at=self.ledger.now())
        self.ledger.add_request(request)
        self.bell.ring()
        return request

    def requests(self) -> list[Request]:
        return self.ledger.requests()

    def answered(self, request: Request) -> None:
        self.ledger.delete_request(request.id)

    def reopen_task(
        self,
        task: Task,
        *,
        by: str,
        note: str = "",
        waits: Waits | None = None,
        anew: bool = False,
    ) -> Task:
        del anew  # attempts are counted in the home
        with self.locked():
            entry, issue = self._unchanged(task)
            if entry.is_held(self.ledger.now()):
                raise Refused(f"{task.id} is being worked on by {entry.owner}")
            self.ledger.explain(entry, waits)
            if waits is not None or (issue.status, issue.assignee) != ("open", ""):
                end = Released(note=note) if waits is None else Blocked(waits=waits)
                issue = self.settlements.write(task.id, by, end)
            self.ledger.end(entry)  # a lease that ran out and was never ended
            self.ledger.no_wait(entry)
            entry = self.ledger.entry(task.id)
        self.bell.ring()
        return with_entry(issue, entry)

    def close_task(self, task: Task, *, by: str, reason: str) -> Task:
        with self.locked():
            entry, issue = self._unchanged(task)
            # bd lets only the assignee close a task.
            issue = self.settlements.write(task.id, issue.assignee or by, Closed(reason=reason))
            self.ledger.end(entry)
            entry = self.ledger.entry(task.id)
        self.bell.ring()
        return with_entry(issue, entry)

    def _unchanged(self, task: Task) -> tuple[LedgerEntry, Task]:
        """What ledger and bd hold of a task that is unchanged since the last read.

        The caller has the lock.
        """
        entry = self.ledger.entry(task.id)
        issue = self.tracker.show([task.id]).get(task.id)
        if issue is None:
            raise NotFound(f'no issue found matching "{task.id}"')
        if (issue.status, entry.fence) != (task.status, task.fence):
            raise Refused(
                f"{task.id} was changed meanwhile: it is {issue.status}",
                hint=f"Look at it again: fleet show {task.id}",
            )
        return entry, issue

    def add_metadata(self, task_id: str, metadata: dict[str, Any]) -> None:
        with self.locked():
            self.tracker.record([task_id], metadata)

    def counts(self) -> dict[str, int]:
        answer = self.tracker.client.ask(["count", "--by-status"])
        return {str(each["group"]): int(each["count"]) for each in answer["groups"]}

    def get(self, task_id: str) -> Task:
        issue = self.tracker.show([task_id]).get(task_id)
        if issue is None:
            raise NotFound(
                f'no issue found matching "{task_id}"', hint="List what there is: fleet bd list"
            )
        return with_entry(issue, self.ledger.entry(task_id))

    def blockers(self, task_id: str) -> Sequence[Task]:
        _, edges = self.tracker.show_with_edges([task_id])
        targets = [edge.depends_on_id for edge in edges if edge.type in BLOCKING]
        if not targets:
            return []
        return [each for each in self.find(Filter(ids=tuple(targets))) if each.status != "closed"]

    def edges(self, ids: Sequence[str]) -> Sequence[Edge]:
        wanted = set(ids)
        if not wanted:
            return []
        found = self.tracker.edges()
        return sorted(edge for edge in found if wanted & {edge.task_id, edge.depends_on_id})

    def comments(self, task_id: str) -> Sequence[Comment]:
        return self.tracker.comments(task_id)

    def find(self, want: Filter) -> Sequence[Task]:
        issues = self._select(want)
        if want.closed_since is not None:
            since = want.closed_since
            issues = [i for i in issues if i.closed_at is not None and i.closed_at >= since]
        if want.statuses:
            issues = [issue for issue in issues if issue.status in want.statuses]
        if want.spec is not None:
            issues = [i for i in issues if i.spec_id.partition("#")[0] == want.spec]
        entries = self.ledger.entries(issue.id for issue in issues)
        now = self.ledger.now()
        if want.ready:  # in bd's eyes a task that is just being claimed may still be open
            issues = [i for i in issues if i.id not in entries or not entries[i.id].is_held(now)]
        issues.sort(key=queue_order(self.ledger, issues))
        return [with_entry(i, entries.get(i.id)) for i in issues[: want.limit]]

    def _select(self, want: Filter) -> list[Task]:
        """The issues that a filter could mean, by the cheapest call; `find` does the rest."""
        ids = set(want.ids)
        if want.leased_by is not None:
            leased = set(self.ledger.held_by(want.leased_by))
            ids = ids & leased if ids else leased
            if not ids:
                return []
        if want.ready:
            return [issue for issue in self.tracker.ready() if not ids or issue.id in ids]
        if ids:
            return list(self.tracker.show(sorted(ids)).values())
        if want.closed_since is not None:
            return self.tracker.listed("closed")
        if (want.include_closed or want.spec is not None) and not want.statuses:
            return self.tracker.listed()
        unclosed = [status for status in STATUSES if status != "closed"]
        return self.tracker.listed(*(want.statuses or unclosed))

    def wait(self, timeout: timedelta) -> bool:
        end = time.monotonic() + timeout.total_seconds()
        while True:
            left = max(0.0, end - time.monotonic())
            rang = self.bell.wait(min(_LOOK_AGAIN, timedelta(seconds=left)))
            if self._news() or rang:
                self._listened = time.monotonic()
                return True
            if time.monotonic() >= end:
                return False

    def _news(self) -> bool:
        if self._watch.changed():
            return True
        quiet_for = time.monotonic() - self._listened
        return self._watch.is_blind and quiet_for >= _BLIND.total_seconds()

    def close(self) -> None:
        self.bell.close()
        self.ledger.close()
