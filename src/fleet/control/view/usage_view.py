"""Where tokens and money went, for charts: by day, model, project, coder."""

from datetime import datetime

from msgspec import Struct

from fleet.control.usage import By, Spent
from fleet.schemas.budget import BudgetStatus


class UsageView(Struct, frozen=True, kw_only=True):
    """What the runs since a moment used, in groups.

    Of a `Spent`: `cost_usd` is what CLIs told, `estimated_usd` what fleet worked out, `unpriced`
    the number of runs of unknown cost, `wasted_*` what went into runs that closed no task.
    """

    as_of: datetime
    since: datetime | None = None
    by: By
    rows: tuple[Spent, ...] = ()
    total: Spent
    #: One row a day, whatever `by` is: for the chart over time.
    days: tuple[Spent, ...] = ()
    budgets: tuple[BudgetStatus, ...] = ()
