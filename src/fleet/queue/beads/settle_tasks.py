"""Ends leases: checked against the ledger, written to bd, read again, and only then ended.

Killed before the write, nothing happened. Killed after it, bd has what was wanted and the
ledger's lease runs out: settling again finds it done, and a claim takes bd's word.
"""

from typing import Final

from fleet.errors import FleetError, NotFound, QueueError, QueueUnavailable, Refused
from fleet.queue.beads.bd_cli.bd_calls import Tracker, fitting
from fleet.queue.beads.lease_ledger import Ledger, LedgerEntry
from fleet.queue.protocol import LeaseLost
from fleet.schemas import Blocked, Closed, Lease, Released, Settlement, Task

_TRIES: Final = 2


class Settlements:
    """The caller holds the write lock, so no lease changes hands meanwhile."""

    def __init__(self, tracker: Tracker, ledger: Ledger) -> None:
        self._tracker = tracker
        self._ledger = ledger

    def settle(self, lease: Lease, settlement: Settlement) -> LeaseLost | None:
        task_id = lease.task.id
        entry = self._ledger.entry(task_id)
        if (entry.owner, entry.fence) != (lease.owner, lease.fence):
            return self.lost(lease, entry)
        issue = self._tracker.show([task_id]).get(task_id)
        if issue is None or not (_is_done(issue, settlement) or _is_ours(issue, lease, settlement)):
            self._ledger.end(entry)
            return LeaseLost(task_id=task_id, why=_taken_away(issue))
        if isinstance(settlement, Released):
            # Before the write: a crash after it must not make the task claimable too early.
            self._ledger.put_off(entry, settlement.not_before)
        if not _is_done(issue, settlement):
            try:
                issue = self.write(task_id, lease.owner, settlement)
            except (Refused, NotFound) as refusal:
                issue = self._after(refusal, lease, settlement)
        self._ledger.end(entry)
        return issue if isinstance(issue, LeaseLost) else None

    def _after(self, refusal: FleetError, lease: Lease, settlement: Settlement) -> Task | LeaseLost:
        """What becomes of a task that bd will not settle as asked.

        Taken from us a moment ago, it is lost. Otherwise bd has its reason not to close it, such
        as a child or a blocker that was added during the run: then a person has to decide.
        """
        task_id = lease.task.id
        issue = self._tracker.show([task_id]).get(task_id)
        if issue is None or not _is_ours(issue, lease, settlement):
            return LeaseLost(task_id=task_id, why=_taken_away(issue))
        if not isinstance(settlement, Closed):
            raise QueueError(refusal.message, hint=refusal.hint)
        note = (
            f"bd does not let fleet close it: {refusal.message}\nIt was done: {settlement.reason}"
        )
        return self.write(task_id, lease.owner, Blocked(note=note))

    def lost(self, lease: Lease, entry: LedgerEntry) -> LeaseLost:
        """Why a lease no longer holds, in the words of every queue."""
        task_id = lease.task.id
        if entry.owner is None:
            issue = self._tracker.show([task_id]).get(task_id)
            status = f"the task is {issue.status} and not claimed" if issue else ""
            why = status or "the task was deleted"
        elif entry.owner == lease.owner:
            why = f"a later claim by {entry.owner} holds it (fence {entry.fence})"
        else:
            why = f"{entry.owner} holds it"
        return LeaseLost(task_id=task_id, why=why)

    def write(self, task_id: str, actor: str, settlement: Settlement) -> Task:
        """Write until bd shows it. bd has been seen to lose a write that it had confirmed."""
        for _ in range(_TRIES):
            self._write(task_id, actor, settlement)
            shown = self._tracker.show([task_id]).get(task_id)
            if shown is not None and _has_status(shown, settlement):
                return shown
        raise QueueUnavailable(
            f"bd confirmed twice that {task_id} was settled, and does not show it",
            hint="Nothing else was changed, so it can be tried again.",
        )

    def _write(self, task_id: str, owner: str, settlement: Settlement) -> None:
        match settlement:
            case Closed(reason=reason):
                self._tracker.close(task_id, owner, fitting(reason))
            case Released(note=note):
                self._tracker.put(task_id, owner, "open", fitting(note))
            case Blocked(note=note):
                self._tracker.put(task_id, owner, "blocked", fitting(note))


def _has_status(issue: Task, settlement: Settlement) -> bool:
    match settlement:
        case Closed():
            return issue.status == "closed"
        case Released():
            return (issue.status, issue.assignee) == ("open", "")
        case Blocked():
            return (issue.status, issue.assignee) == ("blocked", "")


def _is_done(issue: Task, settlement: Settlement) -> bool:
    """Did an earlier try, cut short, already do all of it?"""
    match settlement:
        case Closed(reason=reason):
            return issue.status == "closed" and issue.close_reason == fitting(reason)
        case Released(note=note) | Blocked(note=note):
            return _has_status(issue, settlement) and fitting(note) in issue.notes


def _is_ours(issue: Task, lease: Lease, settlement: Settlement) -> bool:
    """Is the task in bd still where our claim put it, or freed by a `bd reclaim`?

    An agent may have set its own task to blocked before it asks; then blocking it is no surprise.
    """
    if issue.assignee not in ("", lease.owner):
        return False
    asked = issue.status == "blocked" and isinstance(settlement, Blocked)
    return asked or issue.status in ("in_progress", "open")


def _taken_away(issue: Task | None) -> str:
    if issue is None:
        return "the task was deleted"
    by = f" and assigned to {issue.assignee}" if issue.assignee else ""
    return f"the task was changed in beads: it is {issue.status}{by}"
