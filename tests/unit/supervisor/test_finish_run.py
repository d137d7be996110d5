"""What a run left is sent to the other hosts before its task is settled."""

from fleet.schemas import Closed, Finished
from fleet.supervisor.finish_run import send_and_settle
from tests.builders import a_lease, a_run, an_ending

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
    queue.travel = FencedTravel()
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
    assert queue.travel.fences == [1, 2]
    assert queue.settled == {"fleet-1": DONE}
