"""The gates of budgets: of the day, of a project's day, of a task. Pure.

A spent budget of an account closes that account alone: `accounts/account_gate.py`.
"""

from datetime import datetime

from fleet.extend import Gate, HomeMoment, SubjectFacts, TaskStart
from fleet.schemas import Spend
from fleet.schemas.budget import BudgetStatus, Payer
from fleet.schemas.task_state import Wait
from fleet.schemas.waits import BudgetSpent
from fleet.spending.budgets import next_day, of_task, spent_words


class BudgetWait(Wait, frozen=True, kw_only=True):
    """A budget is spent."""

    status: BudgetStatus


class DayBudgets(SubjectFacts, frozen=True, kw_only=True):
    """How the budgets of today stand."""

    statuses: tuple[BudgetStatus, ...] = ()


class TaskSpend(SubjectFacts, frozen=True, kw_only=True):
    """What the runs of a task have spent."""

    spent: Spend = Spend()


class DayBudget(Gate):
    """The budget of the whole day, which holds all tasks."""

    def why_none(self, at: HomeMoment) -> Wait | None:
        reached = (each for each in at.of(DayBudgets).statuses if each.reached)
        spent = next((each for each in reached if each.scope == "day"), None)
        return None if spent is None else _wait("day_budget", spent, at.now)


class ProjectBudget(Gate):
    """The day's budget of the task's project."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        payer = Payer(start.project)
        reached = (each for each in at.of(DayBudgets).statuses if each.reached)
        found = (each for each in reached if each.scope == "project" and each.concerns(payer))
        spent = next(found, None)
        return None if spent is None else _wait("project_budget", spent, at.now)


class TaskBudget(Gate):
    """The task's own budget. A person raises it, and no day does."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        spent = start.of(TaskSpend).spent
        status = of_task(start.task.id, start.policy.budget, spent)
        if status is None or not status.reached:
            return None
        words = spent_words(status)
        return BudgetWait(
            gate="task_budget", reason=words, person=True, status=status,
            blocks=BudgetSpent(what=words),
        )  # fmt: skip


def _wait(gate: str, spent: BudgetStatus, now: datetime) -> BudgetWait:
    return BudgetWait(
        gate=gate, reason=spent_words(spent), until=next_day(now), person=True, again=True,
        status=spent,
    )  # fmt: skip
