"""Takes leases: first in the ledger, then in bd, then believed only after reading bd again.

A crash between any two of these steps leaves the ledger's lease behind, and it runs out. The
next claim then finds the task either still open (step one was all) or in progress under a name
that the ledger knows (step two was done), and takes it over under a higher fence.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import groupby

from msgspec import Struct, structs

from fleet.errors import BadInput, FleetError, NotFound, Refused
from fleet.queue.beads.bd_cli.bd_calls import Tracker
from fleet.queue.beads.lease_ledger import Ledger, LedgerEntry
from fleet.schemas import NOT_WORK, Lease, Task
from fleet.schemas.noted_waits import waits_in_notes
from fleet.schemas.waits import PutOff

#: How often to try the next best tasks after bd gave some to another actor.
_ROUNDS = 3


class Claimable(Struct, frozen=True, kw_only=True):
    """An issue that may be claimed; `abandoned`: in progress under a lease that ran out."""

    issue: Task
    abandoned: bool = False


class Claims:
    """The caller holds the write lock."""

    def __init__(self, tracker: Tracker, ledger: Ledger) -> None:
        self._tracker = tracker
        self._ledger = ledger
        #: Owners that have seen what is in progress. Any other looks once although no lease ran
        #: out: the ledger may have been lost, or bd may have done more than it told us.
        self._looked: set[str] = set()

    def take(self, owner: str, *, count: int, ttl: timedelta) -> list[Lease]:
        leases: list[Lease] = []
        waiting = iter(self._candidates(owner))
        for _ in range(_ROUNDS):
            chosen = self._choose(waiting, owner, count - len(leases), ttl)
            try:
                leases += self._carry_out(owner, chosen)
            except FleetError:
                self._looked.clear()
                for _, entry in chosen:
                    self._ledger.doubt(entry)
                if not leases:
                    raise
                break
            if len(leases) == count or not chosen:
                break
        return leases

    def _choose(
        self, waiting: Iterator[Claimable], owner: str, count: int, ttl: timedelta
    ) -> list[tuple[Claimable, LedgerEntry]]:
        """Lease the best candidates in the ledger, where only one process can have each."""
        chosen: list[tuple[Claimable, LedgerEntry]] = []
        while len(chosen) < count and (candidate := next(waiting, None)) is not None:
            issue = candidate.issue
            entry = self._ledger.take(issue.id, owner, holder=issue.assignee, ttl=ttl)
            if entry is not None:
                chosen.append((candidate, entry))
        return chosen

    def _candidates(self, owner: str) -> list[Claimable]:
        """What could be claimed, best first."""
        found = self._abandoned(owner)
        ready = [
            issue
            for issue in self._tracker.ready()
            if issue.issue_type not in ("epic", *NOT_WORK) and issue.assignee in ("", owner)
        ]
        entries = self._ledger.entries(issue.id for issue in ready)
        now = self._ledger.now()
        for issue in ready:
            entry = entries.get(issue.id) or LedgerEntry(task_id=issue.id)
            if not entry.is_held(now) and not entry.must_wait(now):
                found.append(Claimable(issue=issue))
        order = queue_order(self._ledger, [candidate.issue for candidate in found])
        return sorted(found, key=lambda candidate: order(candidate.issue))

    def _abandoned(self, owner: str) -> list[Claimable]:
        """What is in progress under a lease that ran out; no call unless there may be some."""
        ran_out = self._ledger.ran_out()
        if not ran_out and owner in self._looked:
            return []
        running = {issue.id: issue for issue in self._tracker.listed("in_progress")}
        entries = self._ledger.entries(running)
        now = self._ledger.now()
        left = [
            issue
            for issue in running.values()
            if _is_abandoned(issue, entries.get(issue.id), owner, now)
        ]
        for entry in ran_out.values():
            if entry.task_id not in {issue.id for issue in left}:
                self._ledger.end(entry)  # bd has it open, done, or with another actor
        self._looked.add(owner)
        blocked = self._tracker.blocked() if left else set[str]()
        return [Claimable(issue=issue, abandoned=True) for issue in left if issue.id not in blocked]

    def _carry_out(self, owner: str, chosen: list[tuple[Claimable, LedgerEntry]]) -> list[Lease]:
        """Claim in bd, then read again: only what bd shows is ours."""
        if not chosen:
            return []
        self._write(owner, [candidate for candidate, _ in chosen])
        shown = self._tracker.show(entry.task_id for _, entry in chosen)
        leases: list[Lease] = []
        for _, entry in chosen:
            issue = shown.get(entry.task_id)
            if issue is None or (issue.status, issue.assignee) != ("in_progress", owner):
                self._ledger.end(entry)
                self._looked.clear()
                continue
            self._ledger.verified(entry)
            assert entry.until is not None
            task = with_entry(issue, entry)
            leases.append(Lease(task=task, owner=owner, fence=entry.fence, until=entry.until))
        return leases

    def _write(self, owner: str, named: list[Claimable]) -> None:
        def sort(candidate: Claimable) -> tuple[bool, str]:
            return (candidate.abandoned, candidate.issue.assignee)

        for (abandoned, assignee), group in groupby(sorted(named, key=sort), key=sort):
            ids = [candidate.issue.id for candidate in group]
            # One id of many may be refused; what became of each is read again in any case.
            with suppress(Refused, NotFound, BadInput):
                if not abandoned:
                    self._tracker.claim(ids, owner, assignee=assignee)
                elif assignee != owner:
                    self._tracker.hand_over(ids, holder=assignee, owner=owner)


def _is_abandoned(issue: Task, entry: LedgerEntry | None, owner: str, now: datetime) -> bool:
    if entry is None or entry.owner is None:
        return issue.assignee == owner  # ours by name, and no lease speaks against it
    return not entry.is_held(now) and issue.assignee in (entry.owner, entry.holder)


def with_entry(task: Task, entry: LedgerEntry | None) -> Task:
    """The task with what the ledger knows of it: the lease, and why it waits. bd has only the
    notes for that; what its clients blocked is read from these.
    """
    waits = entry.waits if entry is not None else None
    if task.status == "blocked":
        waits = waits if not isinstance(waits, PutOff) else None
        waits = waits or waits_in_notes(task.notes)
    elif not isinstance(waits, PutOff) or task.status != "open":
        waits = None
    if entry is None:
        return task if waits is None else structs.replace(task, waits=waits)
    return structs.replace(
        task,
        fence=entry.fence,
        lease_owner=entry.owner,
        lease_until=entry.until,
        heartbeat_at=entry.heartbeat_at,
        not_before=entry.not_before,
        waits=waits,
    )


def queue_order(
    ledger: Ledger, issues: Iterable[Task]
) -> Callable[[Task], tuple[int, datetime, int, str]]:
    """Priority, then oldest. Within one second, bd's measure, the ledger's count decides."""
    numbers = {e.task_id: e.number or 0 for e in ledger.entries(i.id for i in issues).values()}
    return lambda issue: (issue.priority, issue.created_at, numbers.get(issue.id, 0), issue.id)
