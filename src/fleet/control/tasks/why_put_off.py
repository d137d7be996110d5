"""What a task was put off for: what stands in the way of each seat, for people."""

from datetime import datetime

from fleet.accounts import candidates
from fleet.accounts.account_store import open_accounts
from fleet.accounts.breaker_store import Breaker
from fleet.accounts.choose_account import AccountStanding, Seat, Wait, choose
from fleet.accounts.circuit_breaker import Blamed
from fleet.control import Control, accounts, budget_status
from fleet.errors import FleetError
from fleet.home.status_file import read_status
from fleet.processes.supervisor_lock import supervisor_of
from fleet.runs.outcome_history import was_put_off
from fleet.schemas import Task
from fleet.spending.budgets import spent_words


def why_put_off(fleet: Control, task: Task, now: datetime) -> str:
    """What an open task was put off for, as far as that still holds; empty: for nothing else."""
    if task.status != "open" or task.not_before is None or task.not_before <= now:
        return ""
    if not was_put_off(fleet.home.task(task.id), task.not_before):
        return "its last attempt failed"
    try:
        stages = candidates.stages_of(fleet.place(task), fleet.config, fleet.home.path)
        standings = _standings(fleet, [seat for stage in stages for seat in stage], task, now)
    except FleetError as error:
        return error.message
    found = choose(stages, open_accounts(fleet.home.path).states, standings, now)
    return found.why if isinstance(found, Wait) else ""


def _standings(
    fleet: Control, everyone: list[Seat], task: Task, now: datetime
) -> dict[str, AccountStanding]:
    published = read_status(fleet.home) if supervisor_of(fleet.home) else None
    running = published.on_account if published else {}
    return {
        seat.account.name: AccountStanding(
            running=len(running.get(seat.account.name, ())),
            trouble=_trouble(fleet, seat, task, now),
        )
        for seat in everyone
    }


def _trouble(fleet: Control, seat: Seat, task: Task, now: datetime) -> str:
    name = seat.account.name
    for status in budget_status.day_budgets(fleet, now):
        if status.reached and status.scope == "account" and status.name == name:
            return spent_words(status)
    blamed = Blamed(coder=seat.coder, model=seat.model, account=name)
    held = Breaker(fleet.home.path).admit(blamed, task.id, now, lambda _: True)
    if held is not None:
        return f"{held.name} gets no work: {held.text}"
    found = "" if seat.account.is_own else accounts.trouble(seat.account, fleet.home.path)
    return f"account {name} gets no work: {found}" if found else ""
