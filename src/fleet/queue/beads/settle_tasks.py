"""Ends leases: checked against the ledger, written to bd, read again, and only then ended.

Killed before the write, nothing happened. Killed after it, bd has what was wanted and the
ledger's lease runs out: settling again finds it done, and a claim takes bd's word.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from fleet.errors import FleetError, NotFound, QueueError, QueueUnavailable, Refused
from fleet.queue.beads.bd_cli.bd_calls import Tracker, fitting
from fleet.queue.beads.lease_ledger import Ledger, LedgerEntry
from fleet.queue.protocol import LeaseLost, lost_lease
from fleet.schemas import Blocked, Closed, Lease, Released, Settlement, Task
from fleet.schemas.decision import plain_waits
from fleet.schemas.waits import ToMend, note_of

_TRIES: Final = 2


class _Due(NamedTuple):
    """A lease to be ended, and the ledger's entry."""

    lease: Lease
    settlement: Settlement
    entry: LedgerEntry

    @property
    def id(self) -> str:
        return self.lease.task.id

    @property
    def is_held(self) -> bool:
        return (self.entry.owner, self.entry.fence) == (self.lease.owner, self.lease.fence)


class Settlements:
    """The caller holds the write lock, so no lease changes hands meanwhile."""

    def __init__(self, tracker: Tracker, ledger: Ledger) -> None:
        self._tracker = tracker
        self._ledger = ledger

    def settle(
        self, settlements: Sequence[tuple[Lease, Settlement]]
    ) -> list[LeaseLost | FleetError | None]:
        """End leases: one look at all of them, one write for each, and one look again.

        A call of bd costs as much for one task as for many, but for a close, which has a reason of
        its own. Raises QueueError where a look fails: then all are to be settled again.
        """
        answers: dict[str, LeaseLost | FleetError | None] = {}
        due = [_Due(lease, settlement, self._ledger.entry(lease.task.id))
               for lease, settlement in settlements]  # fmt: skip
        ours = [each for each in due if each.is_held]
        answers |= {each.id: self.lost(each.lease, each.entry) for each in due if not each.is_held}
        shown = self._tracker.show(each.id for each in ours) if ours else {}
        left = [each for each in ours if self._begin(each, shown.get(each.id), answers)]
        written = [each for each in left if self._put(each, answers)]
        again = self._tracker.show(each.id for each in written) if written else {}
        for each in written:
            issue = again.get(each.id)
            if issue is None or not _has_status(issue, each.settlement):
                # bd has been seen to lose a write that it had confirmed.
                answers[each.id] = self._written_again(each)
            if not isinstance(answers.get(each.id), FleetError):
                self._ledger.end(each.entry)
        return [answers.get(lease.task.id) for lease, _ in settlements]

    def _begin(
        self, due: "_Due", issue: Task | None, answers: dict[str, LeaseLost | FleetError | None]
    ) -> bool:
        """Whether a lease is still to be settled in bd; what is done or lost is ended here."""
        settlement = due.settlement
        done = issue is not None and _is_done(issue, due)
        if issue is None or not (done or _is_ours(issue, due.lease, settlement)):
            self._ledger.end(due.entry)
            answers[due.id] = LeaseLost(task_id=due.id, why=_taken_away(issue))
            return False
        # Before the write: a crash after it must not make the task claimable too early, and a
        # blocked task must not be without its reason.
        if isinstance(settlement, Released):
            self._ledger.put_off(due.entry, settlement.not_before)
            self._ledger.explain(due.entry, settlement.waits)
        elif isinstance(settlement, Blocked):
            self._ledger.explain(due.entry, settlement.waits)
        if done:
            self._ledger.end(due.entry)
        return not done

    def _put(self, due: "_Due", answers: dict[str, LeaseLost | FleetError | None]) -> bool:
        """Write one settlement to bd. False: it was refused, and is answered."""
        try:
            self._write(due.id, due.lease.owner, due.settlement)
        except (Refused, NotFound) as refusal:
            try:
                answer = self._after(refusal, due.lease, due.settlement)
            except FleetError as error:
                answers[due.id] = error
                return False
            self._ledger.end(due.entry)
            answers[due.id] = answer if isinstance(answer, LeaseLost) else None
            return False
        except FleetError as error:
            answers[due.id] = error
            return False
        return True

    def _written_again(self, due: "_Due") -> FleetError | None:
        try:
            self.write(due.id, due.lease.owner, due.settlement, tries=_TRIES - 1)
        except FleetError as error:
            return error
        return None

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
        why = f"bd does not let fleet close it: {refusal.message}"
        waits = ToMend(what=f"{why}\nIt was done: {settlement.reason}")
        self._ledger.explain(self._ledger.entry(task_id), waits)
        return self.write(task_id, lease.owner, Blocked(waits=waits))

    def lost(self, lease: Lease, entry: LedgerEntry) -> LeaseLost:
        """Why a lease no longer holds, by the ledger and, of a task that is free, by bd."""
        if entry.owner is not None:
            return lost_lease(lease, "", entry.owner, entry.fence)
        issue = self._tracker.show([lease.task.id]).get(lease.task.id)
        return lost_lease(lease, issue.status if issue else None, None, entry.fence)

    def write(
        self, task_id: str, actor: str, settlement: Settlement, *, tries: int = _TRIES
    ) -> Task:
        """Write until bd shows the new status."""
        for _ in range(tries):
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
            case Blocked(waits=waits):
                note = note_of(waits, task_id)
                self._tracker.put(task_id, owner, "blocked", fitting(note))


def _has_status(issue: Task, settlement: Settlement) -> bool:
    match settlement:
        case Closed():
            return issue.status == "closed"
        case Released():
            return (issue.status, issue.assignee) == ("open", "")
        case Blocked():
            return (issue.status, issue.assignee) == ("blocked", "")


def _is_done(issue: Task, due: _Due) -> bool:
    """Did an earlier try, cut short, already do everything?"""
    settlement = due.settlement
    match settlement:
        case Closed(reason=reason):
            return issue.status == "closed" and issue.close_reason == fitting(reason)
        case Released():
            return _has_status(issue, settlement)
        case Blocked(waits=waits):
            return _has_status(issue, settlement) and due.entry.waits == plain_waits(waits)


def _is_ours(issue: Task, lease: Lease, settlement: Settlement) -> bool:
    """Whether the task in bd is still where our claim put it, or was freed by a `bd reclaim`.

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
