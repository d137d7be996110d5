"""`fleet resume --coder`: work again for the logins of a coder that are held."""

from datetime import UTC, datetime

from fleet.accounts.account_state import AccountReset, held_logins
from fleet.accounts.account_store import open_accounts
from fleet.accounts.candidates import accounts_for, own_login, stages_of
from fleet.control import Control
from fleet.control.hosts.tell_reset import tell_reset
from fleet.errors import FleetError, Refused
from fleet.queue.protocol import Filter
from fleet.runs.outcome_history import was_put_off
from fleet.schemas import Task


def resume_coder(fleet: Control, coder: str) -> str:
    """Reset what is held of a coder's logins, and wake the tasks that waited for them; returns what
    the person is told.
    """
    fleet.check_coder(coder)
    accounts, now = open_accounts(fleet.home.path), datetime.now(UTC)
    logins = (*accounts_for(coder, fleet.config), own_login(coder, fleet.config))
    held = {each.account for each in held_logins(accounts.states, now)}
    resets = {each.name: AccountReset() for each in logins if each.name in held}
    if not resets:
        raise Refused(f"{coder} is not held: it gets work", hint="See who is: fleet status")
    accounts.apply(resets, now)
    tell_reset(fleet, resets)
    tasks = wake(fleet, coder)
    waited = "1 task" if len(tasks) == 1 else f"{len(tasks)} tasks"
    return f"{coder} gets work again; {waited} waited for it."


def wake(fleet: Control, coder: str) -> list[Task]:
    """Clear `not_before` of the open tasks that waited for a coder; returns those tasks."""
    waiting = [task for task in fleet.queue.find(Filter(statuses=("open",))) if task.not_before]
    mine = [task for task in waiting if _waits_for(fleet, task, coder)]
    return [fleet.queue.reopen_task(task, by=fleet.by) for task in mine]


def _waits_for(fleet: Control, task: Task, coder: str) -> bool:
    """The task was put off for an account of this coder, not for a failed attempt."""
    try:
        stages = stages_of(fleet.place(task), fleet.config, fleet.home.path)
    except FleetError:
        return False
    if coder not in {seat.coder for stage in stages for seat in stage}:
        return False
    return was_put_off(fleet.home.task(task.id), task.not_before)
