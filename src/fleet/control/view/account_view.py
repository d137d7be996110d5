"""Accounts as gauges: how full each window is, until when, and why an account gets no work."""

from datetime import datetime

from msgspec import Struct

from fleet.accounts.circuit_breaker import HeldCoder
from fleet.control.accounts import AccountNow
from fleet.schemas.budget import BudgetStatus


class AccountsView(Struct, frozen=True, kw_only=True):
    """Every account with its windows, and the coders that the breaker holds."""

    as_of: datetime
    accounts: tuple[AccountNow, ...] = ()
    held: tuple[HeldCoder, ...] = ()
    #: The budgets of the day of each account.
    budgets: tuple[BudgetStatus, ...] = ()
