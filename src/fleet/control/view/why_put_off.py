"""What a task was put off for: what stands in the way of each seat, for people."""

from fleet.accounts import candidates
from fleet.accounts.account_store import open_accounts
from fleet.accounts.choose_account import AccountStanding, Seat, Wait, choose
from fleet.control import Control, accounts
from fleet.control.view.why_not_now import Conditions
from fleet.errors import FleetError
from fleet.runs.outcome_history import was_put_off
from fleet.schemas import Task
from fleet.spending.budgets import spent_words


def why_put_off(fleet: Control, task: Task, at: Conditions) -> str:
    """What an open task was put off for, as far as that still holds; empty: for nothing else."""
    if not was_put_off(fleet.home.task(task.id), task.not_before):
        return "its last attempt failed"
    try:
        stages = candidates.stages_of(fleet.place(task), fleet.config, fleet.home.path)
        standings = {
            seat.account.name: AccountStanding(
                running=len(at.on_account.get(seat.account.name, ())),
                task_id=task.id,
                at_work=frozenset(at.on_account.get(seat.account.name, ())) - {task.id},
                trouble=_trouble(fleet, seat, at),
            )
            for stage in stages
            for seat in stage
        }
    except FleetError as error:
        return error.message
    found = choose(stages, open_accounts(fleet.home.path).states, standings, at.now)
    return found.why if isinstance(found, Wait) else ""


def _trouble(fleet: Control, seat: Seat, at: Conditions) -> str:
    name = seat.account.name
    for status in at.supervisor.budgets:
        if status.reached and status.scope == "account" and status.name == name:
            return spent_words(status)
    found = "" if seat.account.is_own else accounts.trouble(seat.account, fleet.home.path)
    return f"account {name} gets no work: {found}" if found else ""
