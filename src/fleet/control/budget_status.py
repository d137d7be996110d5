"""How the budgets of the day stand: by the supervisor's status file, or by the day's ledger."""

from datetime import datetime

from fleet.control import Control
from fleet.home.status_file import read_status
from fleet.processes.supervisor_lock import supervisor_of
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


def _same(known: BudgetStatus | None, wanted: BudgetStatus) -> bool:
    return known is not None and known.budget == wanted.budget
