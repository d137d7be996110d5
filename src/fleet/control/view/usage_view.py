"""Where tokens and money went, for charts: by day, model, project, coder."""

from datetime import datetime

from msgspec import Struct

from fleet.control import Control
from fleet.control.budget_status import day_budgets
from fleet.control.usage import By, Spent, ended_runs, spent, spent_together
from fleet.schemas.budget import BudgetStatus


class UsageView(Struct, frozen=True, kw_only=True):
    """What the runs since a moment used, in groups.

    Of a `Spent`: `cost_usd` is what CLIs told, `estimated_usd` what fleet worked out, `unpriced`
    the number of runs of unknown cost, `wasted_*` what went into runs without verified work.
    """

    as_of: datetime
    since: datetime | None = None
    by: By
    rows: tuple[Spent, ...] = ()
    total: Spent
    #: One row a day, whatever `by` is: for the chart over time.
    days: tuple[Spent, ...] = ()
    budgets: tuple[BudgetStatus, ...] = ()


def read_usage(fleet: Control, by: By, now: datetime, since: datetime | None = None) -> UsageView:
    """What the runs that began since a moment used; None: all runs."""
    runs = ended_runs(fleet, since)
    return UsageView(
        as_of=now,
        since=since,
        by=by,
        rows=tuple(spent(runs, by)),
        total=spent_together("total", runs),
        days=tuple(spent(runs, "day")),
        budgets=tuple(day_budgets(fleet, now)),
    )
