"""`fleet retry`: put a task back into the queue, and the rules for when that is possible."""

from msgspec import structs

from fleet.control import Control
from fleet.control.hosts.other_hosts import bring_files, store_task_file, write_settings
from fleet.errors import InvalidTask, Refused
from fleet.home import base_wait, compare_json, owner_file
from fleet.home.task_json import settings_of
from fleet.home.trusted_commands import check_trusted
from fleet.processes import keeper_client
from fleet.processes.supervisor_lock import supervisor_of
from fleet.runs.outcome_history import FORGIVEN, forgive, spent_before
from fleet.runs.run_directory import latest_run
from fleet.schemas import Budget, Task
from fleet.schemas.waits import PutOff
from fleet.spending import budgets


def retry(
    fleet: Control,
    task: Task,
    *,
    budget: Budget | None = None,
    fresh: bool = False,
) -> Task:
    """Put a task back into the queue with attempts counted anew. Raises Refused.

    `budget` is the task's new budget, for all its runs together. `fresh`: its next run begins with
    a new clone and a new session.
    """
    # The lander is not for every command that only says how a task goes on.
    from fleet.control.landing.withdraw import withdraw

    check_reopenable(fleet, task)
    bring_files(fleet, task)
    _check_budget(fleet, task, budget)
    withdraw(fleet, task.id, afresh=fresh)
    if fresh:
        _begin_afresh(fleet, task)
    if budget is not None:
        check_trusted(fleet.home, task)
        own = structs.replace(settings_of(fleet.home, task), budget=budget)
        write_settings(fleet, task, own)
    if fleet.is_shared:
        from fleet.control.queue.place_code import place_again  # frequent commands load no git

        place_again(fleet, task)
    _accept_base(fleet, task)
    forgive(fleet.home.task(task.id), fresh=fresh)
    if (fleet.home.task(task.id) / FORGIVEN).exists():
        store_task_file(fleet, task, FORGIVEN)
    return fleet.queue.reopen_task(task, by=fleet.by, anew=True)


def try_changed(fleet: Control, task_id: str) -> None:
    """Have a task with other settings tried again at once if it was put off for a person."""
    task = fleet.queue.get(task_id)
    if task.status == "open" and isinstance(task.waits, PutOff) and task.waits.person:
        fleet.queue.reopen_task(task, by=fleet.by)


def _accept_base(fleet: Control, task: Task) -> None:
    """Let a task start on a base where the project's command fails. One that cannot be started is
    tried again.
    """
    wait = base_wait.accept(fleet.home, task.id, fleet.by)
    if wait is not None and wait.kind != "fails":
        from fleet.evidence.tried_commands import forget  # frequent commands load none of it

        forget(fleet.home, wait.project, wait.base)


def retried_words(task: Task, *, fresh: bool) -> str:
    """What a person is told of a task that was put back."""
    anew = " It begins anew, with a clone of where its branch stands." if fresh else ""
    return f"{task.id} is open again; its attempts are forgotten.{anew}"


def _begin_afresh(fleet: Control, task: Task) -> None:
    from fleet.git.clone.task_work import forget_clone  # frequent commands load no git

    away = forget_clone(fleet.home, task.id, title=task.title)
    if away.stays:
        raise Refused(
            f"the clone of {task.id} cannot be put away: {away.stays}",
            hint="See to that, and then the same again.",
        )


def _check_budget(fleet: Control, task: Task, budget: Budget | None) -> None:
    """Refuse a task whose budget is spent: the task would be blocked again at once."""
    try:
        limit = fleet.place(task).ruled.policy.budget if budget is None else budget
    except InvalidTask:
        return  # the supervisor blocks an invalid task and says why
    status = budgets.of_task(task.id, limit, spent_before(fleet.home.task(task.id)))
    if status is not None and status.reached:
        raise Refused(
            f"{status.title} is spent: {status.figures}",
            hint=f"Give it more: {status.way_out.removeprefix('to go on: ')}",
        )


def check_reopenable(fleet: Control, task: Task) -> None:
    """Refuse a task that is compared, is worked on, is closed, or was put off by a person."""
    if compare_json.is_open(fleet.home, task.id):
        raise Refused(
            f"{task.id} is being compared",
            hint=f"See it: fleet compare {task.id}. To put it back: fleet compare {task.id}"
            " --discard",
        )
    if task.status in ("blocked", "open") and not lives(fleet, task):
        return
    if _waits_for_supervisor(fleet, task):
        raise Refused(
            f"{task.id} is still claimed for a run that is over, and no supervisor runs",
            hint="A supervisor settles it: fleet run. Then the same again.",
        )
    if task.status in ("blocked", "open", "in_progress"):
        by = "" if task.lease_owner else f" by {task.assignee}" if task.assignee else ""
        raise Refused(f"{task.id} is being worked on{by}", hint=way_on(task))
    raise Refused(f"{task.id} is {task.status}", hint=way_on(task))


def _waits_for_supervisor(fleet: Control, task: Task) -> bool:
    """The task is claimed for a run that is over, and there is no supervisor to settle the run."""
    if task.status != "in_progress":
        return False
    from fleet.control.tasks.in_progress import look_at  # only a refusal needs it

    supervised = supervisor_of(fleet.home) is not None
    owner = owner_file.read(fleet.home)
    return look_at(fleet, task, supervised=supervised, owner=owner).doing == "waiting"


def lives(fleet: Control, task: Task) -> bool:
    """An agent of this home works on the task now."""
    return keeper_client.is_alive(latest_run(fleet.home.task(task.id)))


def way_on(task: Task) -> str:
    """What a person can do with a task in this state."""
    match task.status:
        case "closed":
            return f"Open it again first: fleet bd reopen {task.id}"
        case "deferred":
            return f"It was put off. To have it now: fleet bd undefer {task.id}"
        case "blocked":
            return f"See why: fleet show {task.id}. To try it again: fleet retry {task.id}"
        case "open":
            return "It waits for its turn. To keep new runs from starting: fleet pause"
        case "in_progress":
            if task.lease_owner is None:
                return f"To give it back to the queue: fleet bd unclaim {task.id}"
            return f"Stop it first: fleet stop {task.id}"
        case _:
            return f"Set it free first: fleet bd update {task.id} --status open"
