"""How budgets stand: by the supervisor's status file, or by the day's ledger."""

from datetime import datetime

from fleet.accounts.candidates import Place
from fleet.control import Control
from fleet.home.status_file import read_status
from fleet.processes.supervisor_lock import supervisor_of
from fleet.runs.outcome_history import spent_before
from fleet.schemas import Task
from fleet.schemas.budget import BudgetStatus, Payer
from fleet.spending import budgets
from fleet.spending.day_ledger import DayLedger


def day_budgets(fleet: Control, now: datetime) -> list[BudgetStatus]:
    """The budgets of today that are in force; with a supervisor, active runs count too."""
    empty = budgets.of_days(fleet.config)
    if not empty:
        return []
    if supervisor_of(fleet.home) is not None:
        known = {(each.scope, each.name): each for each in read_status(fleet.home).budgets}
        if all(_same(known.get((each.scope, each.name)), each) for each in empty):
            return [known[each.scope, each.name] for each in empty]
    day = DayLedger(fleet.home, keeps=False).day(budgets.day_of(now))
    spends = [
        (Payer(fleet.config.project(project).path, account), spend)
        for (project, account), spend in day.sums().items()
    ]
    return [budgets.status_of(each, spends) for each in empty]


def spent_for(fleet: Control, place: Place, now: datetime) -> BudgetStatus | None:
    """The spent budget of today that keeps a task at this place from running."""
    payer = Payer(fleet.config.project(place.cwd).path)
    found = (each for each in day_budgets(fleet, now) if each.reached and each.concerns(payer))
    return next(found, None)


def of_task(fleet: Control, task: Task, place: Place) -> BudgetStatus | None:
    """How the task's own budget stands; None: the task has none."""
    before = spent_before(fleet.home.task(task.id))
    return budgets.of_task(task.id, place.ruled.policy.budget, before)


def _same(known: BudgetStatus | None, wanted: BudgetStatus) -> bool:
    return known is not None and known.budget == wanted.budget
