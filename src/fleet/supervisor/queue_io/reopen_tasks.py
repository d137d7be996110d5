"""Opens tasks again that stand as blocked or closed in the queue and must not: their question was
answered meanwhile, or they were closed past fleet.
"""

from pathlib import Path

from fleet.errors import NotFound, Refused
from fleet.queue.protocol import Queue
from fleet.runs import closed_by_hand
from fleet.runs.outcome_history import believed_ending
from fleet.runs.run_directory import began_at, latest_run
from fleet.schemas import Blocked, Lease, Task
from fleet.settlement.end_run import is_answered
from fleet.supervisor.state import QueueChanged, SupervisorState

#: Why a task was opened again.
_PAST_FLEET = (
    "it was closed past fleet while its agent was at work, and nothing shows that it is done;"
    " to close it all the same: fleet bd close"
)


def go_on_if_answered(state: SupervisorState, task: Task, task_dir: Path | None) -> None:
    """Open a blocked task again whose question was answered while the run was being settled.

    The person's process writes the answer and then looks at the task; this one blocks the task and
    then looks for an answer. So at least one of the two processes sees the answer and the blocked
    task.
    """
    run = latest_run(task_dir) if task_dir is not None else None
    ending = believed_ending(run) if run is not None and is_answered(run) else None
    if ending is None or not isinstance(ending.settlement, Blocked):
        return
    why = ending.settlement.note.strip()

    def reopen(queue: Queue) -> Task | None:
        try:
            now = queue.get(task.id)
            if now.status != "blocked" or not now.notes.strip().endswith(why):
                return None
            return queue.reopen_task(now, by=state.queue.owner, note="ANSWERED")
        except (NotFound, Refused):
            return None

    def reopened(done: Task | None) -> None:
        if done is not None:
            state.log.say("reopened", f"{done.id}: goes on with its answer", task_dir=task_dir)
            state.events.append(QueueChanged())

    state.queue.call(reopen, reopened, owed=True)


def undo_close(state: SupervisorState, lease: Lease, task_dir: Path) -> None:
    """Open a task again that was closed past fleet while the task's run lived under this lease: the
    tracker says that it is closed, and the evidence does not.
    """
    run = latest_run(task_dir)
    began = began_at(run) if run is not None else None
    if began is None:
        return

    def reopen(queue: Queue) -> Task | None:
        try:
            task = queue.get(lease.task.id)
            if task.status != "closed" or task.fence != lease.fence:
                return None
            if closed_by_hand.noted(task_dir, began):
                return None
            # Once: an agent that closes the task again would go on for ever.
            again = _PAST_FLEET in task.notes
            by = state.queue.owner
            return queue.reopen_task(task, by=by, note=_PAST_FLEET, blocked=again)
        except (NotFound, Refused):
            return None

    def reopened(task: Task | None) -> None:
        if task is not None:
            text = f"{task.id}: opened again ({task.status}): {_PAST_FLEET}"
            state.log.say("reopened", text, task_dir=task_dir, task=task.id)

    state.queue.call(reopen, reopened, owed=True)
