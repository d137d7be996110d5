"""`fleet resume --coder`: work again for a coder that the circuit breaker held."""

from datetime import UTC, datetime

from fleet.accounts.account_state import AccountReset
from fleet.accounts.account_store import open_accounts
from fleet.accounts.breaker_store import Breaker
from fleet.accounts.candidates import stages_of
from fleet.control import Control
from fleet.control.hosts.tell_reset import tell_reset
from fleet.errors import FleetError, Refused
from fleet.queue.protocol import Filter
from fleet.runs.outcome_history import was_put_off
from fleet.schemas import Task


def resume_coder(fleet: Control, coder: str) -> str:
    """Reset a coder's circuit breaker, and wake the tasks that waited for the coder; returns what
    the person is told.
    """
    name = coder.partition("/")[0].partition("@")[0]
    fleet.check_coder(name)
    breaker, now = Breaker(fleet.home.path), datetime.now(UTC)
    meant = [held for held in breaker.held() if coder in (held.coder, held.name)]
    refused = [held.account for held in meant]
    held = [held.name for held in meant]
    if not breaker.reset(coder, now):
        raise Refused(f"{coder} is not held: it gets work", hint="See who is: fleet status")
    # An account whose login was refused rests for the same refusal.
    resets = {account: AccountReset() for account in refused if account}
    open_accounts(fleet.home.path).apply(resets, now)
    tell_reset(fleet, accounts=resets, circuits=held)
    tasks = wake(fleet, name)
    return f"{coder} gets work again; {len(tasks)} tasks waited for it."


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
