"""What every task of a home waits for."""

from datetime import UTC, datetime

import pytest

from fleet.control.view.why_not_now import Conditions, why_nothing_starts
from fleet.extend import HomeMoment
from fleet.schemas import Budget, Spend
from fleet.schemas.budget import BudgetStatus
from fleet.spending.budget_gates import DayBudgets

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


@pytest.mark.parametrize(("scope", "held"), [("day", True), ("project", False)])
def test_only_what_keeps_all_tasks_from_starting_is_the_reason_of_every_task(scope, held):
    """A spent budget of one project, or a coder that is held, keeps no other task waiting."""
    spent = BudgetStatus(scope=scope, budget=Budget(tokens=1), spent=Spend(tokens=2))
    at = HomeMoment(now=NOW, slots=2, facts=(DayBudgets(statuses=(spent,)),))
    assert (why_nothing_starts(Conditions(at=at)) is not None) == held
