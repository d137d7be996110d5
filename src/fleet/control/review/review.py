"""`fleet review`: a task's work to look at, and what a person says about the work.

What the person says goes to the session that did the work: at once if its agent runs, otherwise
with the task's next run, for which the task is opened again.
"""

from collections.abc import Sequence

from msgspec import Struct

from fleet.control import Control, refuse_agents
from fleet.control.landing.withdraw import withdraw
from fleet.control.review.remarks import LineComment, Remark, remark_on, review_text
from fleet.control.tasks.in_progress import is_of_lease
from fleet.control.tasks.receipt import diff_of, receipt_of
from fleet.control.tasks.retry import lives, way_on
from fleet.control.tasks.task_files import Missing, read_whole, task_id_of
from fleet.control.tasks.tell import LeftMessage, tell
from fleet.errors import BadInput, FleetError, Refused
from fleet.git.clone.task_work import task_work
from fleet.home import clone_record, compare_json, landing_json
from fleet.processes.supervisor_lock import supervisor_of
from fleet.runs.run_directory import latest_run
from fleet.schemas import Receipt, Task
from fleet.schemas.shown_text import counted


class WorkToReview(Struct, frozen=True, kw_only=True):
    """The present work of a task: the receipt of the last run that is over, and the diff."""

    task_id: str
    #: None: no run is over yet.
    receipt: Receipt | None
    #: What all runs of the task changed together, or the last run where only that is known.
    patch: bytes
    #: Why there is no diff; empty if there is one.
    no_diff: str = ""


class GivenReview(Struct, frozen=True, kw_only=True):
    """What a review led to: which agent reads the review, and whether the task was opened again."""

    message: LeftMessage
    reopened: bool = False

    def told(self, task_id: str) -> str:
        """What the person is told."""
        match self.message.reader:
            case "agent" | "agent_done":
                return self.message.told(task_id)
            case "next_run_deaf":
                return (
                    f"Told {task_id}: its agent cannot be reached, so its next run reads it."
                    f" To stop the agent for it: fleet stop {task_id}, then fleet retry {task_id}"
                )
            case _ if self.reopened:
                return f"{task_id} is open again: its next run goes on with what you said."
            case _:
                return f"Told {task_id}: its next run goes on with what you said."


def work_of(fleet: Control, word: str) -> WorkToReview:
    """The work of a task. Raises Missing if no run has left anything yet."""
    task_id = task_id_of(fleet, word)
    try:
        receipt = receipt_of(fleet, task_id)
    except Missing:
        if latest_run(fleet.home.task(task_id)) is None:
            raise
        receipt = None
    try:
        return WorkToReview(task_id=task_id, receipt=receipt, patch=_patch(fleet, task_id))
    except FleetError as error:
        return WorkToReview(task_id=task_id, receipt=receipt, patch=b"", no_diff=error.message)


def _patch(fleet: Control, task_id: str) -> bytes:
    record = clone_record.read(fleet.home, task_id)
    if record is not None:
        work = task_work(fleet.home, task_id, accepted=_to_land(fleet, task_id))
        if work is not None:
            return work.patch(record.commit)
    return b"".join(read_whole(diff_of(fleet, task_id)))


def _to_land(fleet: Control, task_id: str) -> str:
    """The tree that lands if the person approves; empty: nothing waits to land."""
    landing = landing_json.believed(fleet.home, task_id)
    waits = landing is not None and landing.state not in ("landed", "back") and not landing.host
    return landing.tree if landing is not None and waits else ""


def remarks_on(work: WorkToReview, comments: Sequence[LineComment]) -> list[Remark]:
    """Comments on lines, held against the diff. Raises BadInput."""
    if not comments:
        return []
    if not work.patch:
        raise BadInput(
            f"{work.task_id} has no diff to comment on: {work.no_diff or 'nothing was changed'}",
            hint=f'Say it of the whole: fleet review {work.task_id} --reject "…"',
        )
    return [remark_on(work.patch, each) for each in comments]


def send_back(
    fleet: Control,
    task: Task,
    *,
    whole: str = "",
    remarks: Sequence[Remark] = (),
) -> GivenReview:
    """Give a review to the session that did the work. Raises Refused."""
    refuse_agents(fleet.env, "review work")
    if not whole.strip() and not remarks:
        raise BadInput("the review is empty", hint='Say what is to be changed: --reject "…"')
    _check(fleet, task)
    withdraw(fleet, task.id)
    message = tell(fleet, task, review_text(whole, remarks), now=False, review=True)
    if message.run is not None or task.status not in ("blocked", "closed"):
        return GivenReview(message=message)
    fleet.queue.reopen_task(task, by=fleet.by, note=_note(whole, remarks))
    return GivenReview(message=message, reopened=True)


def _check(fleet: Control, task: Task) -> None:
    if compare_json.is_open(fleet.home, task.id):
        raise Refused(
            f"{task.id} is being compared", hint=f"See the entries: fleet compare {task.id} --diff"
        )
    if lives(fleet, task) or task.status in ("open", "blocked", "closed"):
        return
    run = latest_run(fleet.home.task(task.id))
    if task.status == "in_progress" and run is not None and is_of_lease(run, task):
        later = "A supervisor settles it" if supervisor_of(fleet.home) else "fleet run settles it"
        raise Refused(
            f"the run of {task.id} has just ended and is not settled",
            hint=f"{later}: give the same command again after that.",
        )
    if task.status != "in_progress":
        raise Refused(f"{task.id} is {task.status}", hint=way_on(task))


def _note(whole: str, remarks: Sequence[Remark]) -> str:
    first = whole.strip().partition("\n")[0] or counted(len(remarks), "comment")
    return f"REVIEWED, and sent back: {first[:500]}"
