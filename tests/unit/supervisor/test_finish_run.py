"""A run is inspected once its end is known; and what the run left is sent to the other hosts before
its task is settled.
"""

import errno
from datetime import timedelta

import pytest

from fleet.accounts.account_store import open_accounts
from fleet.coders.claude import ClaudeCoder
from fleet.home import landing_json
from fleet.home.landing_json import Landing
from fleet.processes.keeper_client import Ended
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.run_directory import Exit, RunSpec, new_run
from fleet.schemas import Blocked, Closed, Finished, Policy, RateLimit, RateLimited
from fleet.schemas.decision import Decision
from fleet.schemas.waits import ToLand
from fleet.settlement import end_run
from fleet.settlement.run_record import ExitedRun
from fleet.supervisor import finish_run
from fleet.supervisor.assignments import ActiveRun, Finishing
from fleet.supervisor.finish_run import finish, send_and_settle, settle
from tests.builders import NOW, a_lease, a_run, an_ending

DONE = Closed(reason="done")


class FencedTravel:
    """Remembers under which leases it was asked to send."""

    def __init__(self):
        self.fences = []

    def send(self, lease, run, decision, evidence, abandon):
        self.fences.append(lease.fence)
        return decision


def test_a_run_whose_task_was_claimed_again_is_sent_again(state, queue, monkeypatch):
    """Under the first lease nothing was stored: the task would be closed without its evidence."""
    jobs = []
    state.travel = FencedTravel()
    monkeypatch.setattr(state.inspections, "submit", lambda *job: jobs.append(job))
    run = a_run(state.home.task("fleet-1"))
    assignment = state.assignments.take(a_lease(fence=1))
    send_and_settle(state, assignment, an_ending(Finished(), DONE), run)
    ((job, then),) = jobs
    answer = job()
    state.assignments.take(a_lease(fence=2))
    then(answer)
    assert queue.settled == {}
    job, then = jobs[1]
    then(job())
    assert state.travel.fences == [1, 2]
    assert queue.settled == {"fleet-1": DONE}


def test_a_disk_that_is_full_before_the_inspection_leaves_the_run_to_be_finished(
    state, monkeypatch
):
    """As inspected by a thread that was never asked, the run would never be settled."""

    def full(_):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(end_run, "seal_inspection", full)
    monkeypatch.setattr(finish_run, "outcome_of", lambda _: Finished())
    spec = RunSpec(argv=("claude",), cwd="/", policy=Policy(verify=("true",)))
    assignment = state.assignments.take(a_lease())
    task = assignment.lease.task
    run = ActiveRun(task, new_run(state.home.task(task.id), spec), ClaudeCoder(), env={}, spec=spec)
    exited = Ended(Exit(code=0, started_at=NOW, ended_at=NOW, seconds=1))
    ended = ExitedRun(record=run, process_end=exited, said=AgentClaim(done="done"))
    assignment.stage = Finishing(run, ended)
    with pytest.raises(OSError, match="no space"):
        finish(state, assignment, assignment.stage)
    assert isinstance(assignment.stage, Finishing)


@pytest.mark.parametrize(("asks", "lines"), [((), 1), (("unchecked",), 0)])
def test_work_that_a_person_decides_about_is_not_logged_as_to_land(state, said, asks, lines):
    """The lander logs that it needs approval: one line, and not two that contradict each other."""
    assignment = state.assignments.take(a_lease())
    state.home.task("fleet-1").mkdir(parents=True)
    landing_json.write(
        state.home, "fleet-1",
        Landing(state="waiting", repository="/r", into="main", run=1, base="b", tree="t", at=NOW,
                asks=asks),
    )  # fmt: skip
    to_land = Blocked(waits=ToLand(into="main"))
    settle(state, assignment, Decision(settlement=to_land, counts=True, why="waits to land"))
    assert len([line for line in said if "to land" in line]) == lines


class Killed(Exception):
    """Nothing after this is done any more."""


def test_a_limit_is_on_disk_before_the_run_is_settled(state, queue, monkeypatch):
    """A kill in between must not cost one more run, which would meet the same limit."""

    def killed(*_, **__):
        raise Killed

    limit = RateLimit(kind="throttle", status="rejected")
    monkeypatch.setattr(finish_run, "outcome_of", lambda _: RateLimited(limit=limit))
    spec = RunSpec(argv=("claude",), cwd="/", account="claude")
    run_of = new_run(state.home.task("fleet-1"), spec)
    run_of.stdout.touch()
    exited = Ended(Exit(code=1, started_at=NOW, ended_at=NOW, seconds=1))

    def end_again():
        assignment = state.assignments.take(a_lease())
        run = ActiveRun(assignment.lease.task, run_of, ClaudeCoder(), env={}, spec=spec)
        stage = assignment.stage = Finishing(run, ExitedRun(record=run, process_end=exited))
        finish(state, assignment, stage)
        return open_accounts(state.home.path).state("claude")

    with monkeypatch.context() as patched:
        patched.setattr(queue, "call", killed)
        with pytest.raises(Killed):
            end_again()
    known = open_accounts(state.home.path).state("claude")
    assert known.pace.until is not None
    assert known.pace.until > NOW
    assert end_again() == known
    state.now = lambda: NOW + timedelta(minutes=1)  # the ending is on disk: it says when
    assert end_again() == known
