"""A person's hand on one task: try it again, put it back into the queue."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import structs

from fleet.accounts.account_state import AccountReset
from fleet.accounts.account_store import open_accounts
from fleet.accounts.breaker_store import Breaker
from fleet.accounts.candidates import stages_of
from fleet.bd.actor import actor
from fleet.control import Control
from fleet.errors import FleetError, InvalidTask, Refused
from fleet.home import compare_json, task_json
from fleet.home.task_settings import settings_of
from fleet.processes import keeper_client
from fleet.processes.keeper_client import Running
from fleet.queue.protocol import Filter
from fleet.runs.outcome_history import forgive, spent_before, was_put_off
from fleet.runs.run_directory import latest_run
from fleet.schemas import Budget, Task
from fleet.spending import budgets


def retry(
    fleet: Control,
    task: Task,
    *,
    budget: Budget | None = None,
    env: Mapping[str, str] = os.environ,
) -> Task:
    """Try a task again, with all its attempts before it. Refused where it cannot be tried.

    `budget`: what it may spend from now on, with what it spent before.
    """
    check_reopenable(fleet, task)
    _check_budget(fleet, task, budget)
    if budget is not None:
        own = structs.replace(settings_of(fleet.home, task), budget=budget)
        task_json.write(fleet.home, task.id, own)
    forgive(fleet.home.task(task.id))
    return reopen_task(fleet, task, by=actor(env))


def _check_budget(fleet: Control, task: Task, budget: Budget | None) -> None:
    """Refuse what would be blocked again at once."""
    try:
        limit = fleet.place(task).ruled.policy.budget if budget is None else budget
    except InvalidTask:
        return  # whoever starts it says what is wrong with it
    status = budgets.of_task(task.id, limit, spent_before(fleet.home.task(task.id)))
    if status is not None and status.reached:
        raise Refused(
            f"{status.title} is spent: {status.figures}",
            hint=f"Give it more: {status.way_out.removeprefix('to go on: ')}",
        )


def give_work(fleet: Control, coder: str, *, env: Mapping[str, str] = os.environ) -> list[Task]:
    """Close a coder's breaker by hand; the tasks that had to wait for it and do no more."""
    fleet.check_coder(coder.partition("/")[0].partition("@")[0])
    breaker, now = Breaker(fleet.home.path), datetime.now(UTC)
    refused = [held.account for held in breaker.held() if coder in (held.coder, held.name)]
    if not breaker.reset(coder, now):
        raise Refused(f"{coder} is not held: it gets work", hint="See who is: fleet status")
    # An account whose login was refused rests for the same refusal.
    resets = {account: AccountReset() for account in refused if account}
    open_accounts(fleet.home.path).apply(resets, now)
    return wake(fleet, coder.partition("/")[0].partition("@")[0], env=env)


def wake(fleet: Control, coder: str, *, env: Mapping[str, str] = os.environ) -> list[Task]:
    """Let the tasks be claimed at once that had to wait for a coder."""
    waiting = [task for task in fleet.queue.find(Filter(statuses=("open",))) if task.not_before]
    mine = [task for task in waiting if _waits_for(fleet, task, coder)]
    return [reopen_task(fleet, task, by=actor(env)) for task in mine]


def _waits_for(fleet: Control, task: Task, coder: str) -> bool:
    """It was put off for a coder that it may run with, not for a failure of its own."""
    try:
        stages = stages_of(fleet.place(task), fleet.config, fleet.home.path)
    except FleetError:
        return False
    if coder not in {seat.coder for stage in stages for seat in stage}:
        return False
    return was_put_off(fleet.home.task(task.id), task.not_before)


def check_reopenable(fleet: Control, task: Task) -> None:
    """Refuse to put back what is at work, is done, or was put aside by a person."""
    if compare_json.is_open(fleet.home, task.id):
        raise Refused(
            f"{task.id} is being compared",
            hint=f"See it: fleet compare {task.id}. To put it back: fleet compare {task.id}"
            " --discard",
        )
    if task.status in ("blocked", "open") and not lives(fleet, task):
        return
    if task.status in ("blocked", "open", "in_progress"):
        by = "" if task.lease_owner else f" by {task.assignee}" if task.assignee else ""
        raise Refused(f"{task.id} is being worked on{by}", hint=way_on(task))
    raise Refused(f"{task.id} is {task.status}", hint=way_on(task))


def lives(fleet: Control, task: Task) -> bool:
    """An agent of this home works on it now."""
    run = latest_run(fleet.home.task(task.id))
    return run is not None and isinstance(keeper_client.glance(run), Running)


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


def reopen_task(fleet: Control, task: Task, *, by: str) -> Task:
    """Back to the queue on any queue: open, unassigned, and without a wait.

    Refused if the task was changed since it was read, so that nobody's claim is undone.
    """
    return fleet.queue.reopen_task(task, by=by)
