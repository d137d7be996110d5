"""Why a task waits: a value in its row, on every queue the same."""

from datetime import timedelta

import pytest

from fleet.queue.beads.queue import BeadsQueue
from fleet.queue.protocol import Draft, Filter
from fleet.schemas import Blocked, Released
from fleet.schemas.waits import (
    Asks,
    BudgetSpent,
    CannotLand,
    ClosedPastFleet,
    Compared,
    Halted,
    NeedsApproval,
    OnLine,
    OutOfAttempts,
    OutOfScope,
    PlanWritten,
    Proposed,
    PutOff,
    SetAside,
    TakenBack,
    ToLand,
    ToMend,
)
from tests.settled import settle, settled

TTL = timedelta(minutes=5)
ONE_OF_EACH = (
    Asks(text="which colour?\nred; or blue"),
    Proposed(by="the agent of fleet-1"),
    PlanWritten(),
    NeedsApproval(reasons=("no check ran", "it changes what is protected")),
    ToLand(into="main"),
    OnLine(into="main"),
    CannotLand(why="markers_left", tries=3, into="main", against="fleet-2 (Theirs)"),
    Compared(by="ada"),
    OutOfAttempts(why="it said nothing (attempt 2 of 3)", made=3, limit=3),
    OutOfScope(what="out of scope: outside: it changed ../b"),
    BudgetSpent(what="5 of 5 USD"),
    ToMend(what="damaged: task.json", hint="Move it away."),
    Halted(by="ada"),
    TakenBack(into="main", commit="0" * 40, by="ada"),
    ClosedPastFleet(),
    SetAside(note="waits for the vendor"),
)
QUESTION = Asks(text="old or new schema?")


class WaitingForPerson:
    def test_each_kind_of_wait_is_stored_with_its_facts(self, queue):
        """Both by a settlement and by an act, and in every way to read a task."""
        task_id = queue.add(Draft(title="t")).id
        (lease,) = queue.claim("a", ttl=TTL)
        task = settled(queue, lease, Blocked(waits=ONE_OF_EACH[0]))
        assert task.waits == ONE_OF_EACH[0]
        for waits in ONE_OF_EACH[1:]:
            task = queue.reopen_task(task, by="ann", waits=waits)
            assert (task.status, task.waits) == ("blocked", waits)
            assert queue.get(task_id).waits == waits
        (found,) = queue.find(Filter(statuses=("blocked",)))
        assert found.waits == ONE_OF_EACH[-1]

    def test_work_on_the_line_of_its_branch_holds_up_no_other(self, queue):
        """On beads bd decides what is ready: there others begin once it has landed."""
        first = queue.add(Draft(title="first"))
        second = queue.add(Draft(title="second", depends_on=(("blocks", first.id),)))
        (lease,) = queue.claim("a", ttl=TTL)
        task = settled(queue, lease, Blocked(waits=ToLand(into="main")))
        assert queue.claim("a", ttl=TTL) == []
        queue.reopen_task(task, by="us", waits=OnLine(into="main"))
        found = [each.task.id for each in queue.claim("a", ttl=TTL)]
        assert found == ([] if isinstance(queue, BeadsQueue) else [second.id])

    def test_a_task_that_is_not_blocked_waits_for_nobody(self, queue):
        """A wait ends with the status: by a claim, a release and a person's word alike."""
        task = queue.add(Draft(title="t"))
        assert task.waits is None
        (lease,) = queue.claim("a", ttl=TTL)
        task = settled(queue, lease, Blocked(waits=QUESTION))
        assert queue.reopen_task(task, by="ann", note="ANSWERED: new").waits is None
        (lease,) = queue.claim("a", ttl=TTL)
        assert lease.task.waits is None
        assert settled(queue, lease, Released()).waits is None
        (lease,) = queue.claim("a", ttl=TTL)
        task = settled(queue, lease, Blocked(waits=QUESTION))
        assert queue.close_task(task, by="ann", reason="no need").waits is None

    def test_a_task_that_is_put_off_has_its_reason_until_it_is_claimed(self, queue, clock, advance):
        """Other changes of the task leave it; a claim and a person who has it retried remove it."""
        task_id = queue.add(Draft(title="t", notes="first")).id
        (lease,) = queue.claim("a", ttl=TTL)
        until, waits = clock() + TTL, PutOff(why="its mirror\0 is being fetched", gate="code")
        task = settled(queue, lease, Released(not_before=until, waits=waits))
        stored = PutOff(why="its mirror is being fetched", gate="code")
        assert (task.status, task.waits, task.notes) == ("open", stored, "first")
        queue.add_metadata(task_id, {"team": "core"})
        (found,) = queue.find(Filter(statuses=("open",)))
        assert found.waits == stored
        advance(TTL + timedelta(seconds=1))
        (lease,) = queue.claim("a", ttl=TTL)
        assert lease.task.waits is None
        task = settled(queue, lease, Released(not_before=until + TTL, waits=waits))
        assert queue.reopen_task(task, by="ann").waits is None

    @pytest.mark.parametrize("waits", [ToLand(into="main"), Compared(by="ada")])
    def test_a_wait_that_ends_by_itself_leaves_no_note(self, queue, waits):
        """The notes stay with the task for ever."""
        queue.add(Draft(title="t", notes="first"))
        (lease,) = queue.claim("a", ttl=TTL)
        assert settled(queue, lease, Blocked(waits=waits)).notes == "first"

    def test_what_an_agent_wrote_never_keeps_a_task_from_its_end(self, queue):
        """No NUL, no half of a character; and not all of a book."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        assert settle(queue, lease, Blocked(waits=Asks(text="a\0b \ud800 " + "x" * 9000))) is None
        found = queue.get(lease.task.id).waits
        assert found.text.startswith("ab ? x")
        assert len(found.text) < 5000
