"""`fleet accounts`: every account, what is left of the limits, and why an account gets no work."""

import os
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from fleet import coders
from fleet.accounts import candidates
from fleet.accounts.account_state import EMPTY, AccountState, HeldLogin, agents_allowed, held_logins
from fleet.accounts.account_store import open_accounts
from fleet.accounts.candidates import resting
from fleet.accounts.rate_windows import is_current
from fleet.control import Control
from fleet.errors import BadInput
from fleet.home.status_file import read_status
from fleet.processes.supervisor_lock import supervisor_of
from fleet.schemas import Account, Window
from fleet.schemas.budget import BudgetStatus


class AccountNow(Struct, frozen=True, kw_only=True):
    """An account at this moment, with windows and tasks."""

    account: Account
    #: The user's own login of a coder without declared accounts.
    own: bool = False
    windows: tuple[Window, ...] = ()
    #: Why the account gets no new work, and until when; empty: it gets work.
    shut: str = ""
    until: datetime | None = None
    #: How many agents the account may have at once for now; None: its `max_concurrent`.
    pace: int | None = None
    #: Whether the account works again after a wait is not known yet.
    unproven: bool = False
    #: Tasks that run on the account now.
    tasks: tuple[str, ...] = ()


class AccountsView(Struct, frozen=True, kw_only=True):
    """Every account with windows, and what is held of them."""

    as_of: datetime
    accounts: tuple[AccountNow, ...] = ()
    held: tuple[HeldLogin, ...] = ()
    #: The budgets of the day.
    budgets: tuple[BudgetStatus, ...] = ()


def accounts_view(fleet: Control, now: datetime) -> AccountsView:
    """The accounts, what is held of them, and the budgets of the day that concern accounts."""
    from fleet.control.budget_status import day_budgets

    return AccountsView(
        as_of=now,
        accounts=tuple(accounts_now(fleet, now)),
        held=held_logins(open_accounts(fleet.home.path).states, now),
        budgets=tuple(each for each in day_budgets(fleet, now) if each.scope != "task"),
    )


def accounts_now(fleet: Control, now: datetime) -> list[AccountNow]:
    """Every account, declared ones first, then the logins that have been used."""
    states = open_accounts(fleet.home.path).states
    tasks = read_status(fleet.home).on_account if supervisor_of(fleet.home) else {}
    declared = fleet.config.accounts
    theirs = {account.coder for account in declared.values()}
    used = [*states, *tasks, fleet.config.coder]
    own = [name for name in dict.fromkeys(used) if name not in declared and name not in theirs]
    everyone = [
        *declared.values(),
        *(
            candidates.own_login(name, fleet.config)
            for name in own
            if coders.exists(name, fleet.home.path)
        ),
    ]
    found: list[AccountNow] = []
    for account in everyone:
        wrong = "" if account.is_own else trouble(account, fleet.home.path)
        state, on_it = states.get(account.name, EMPTY), tasks.get(account.name, ())
        found.append(_account_now(account, state, wrong, on_it, now))
    return found


def _account_now(
    account: Account, state: AccountState, wrong: str, tasks: tuple[str, ...], now: datetime
) -> AccountNow:
    rest = resting(account, state, now)
    if not account.enabled:  # what else is wrong matters once the account is resumed
        wrong = ""
    return AccountNow(
        account=account,
        own=account.is_own,
        windows=tuple(each for each in state.windows.values() if is_current(each, now)),
        shut=wrong or (rest.words if rest else ""),
        until=rest.until if rest and (rest.again or not rest.person) and not wrong else None,
        pace=agents_allowed(state.pace, now),
        unproven=state.pace.unproven,
        tasks=tasks,
    )


def trouble(account: Account, home: Path, *, asking: bool = False) -> str:
    """Why an account cannot be used, as far as files tell; empty if it can.

    `asking`: the account's CLI will be asked about the login, so files are not asked for that.
    """
    from fleet.accounts import credentials

    try:
        kind = coders.find(account.coder, home)
    except BadInput as error:
        return error.message
    found = credentials.trouble(account, kind, os.environ)
    return found or ("" if asking else credentials.no_login(account, kind))


def on_account(fleet: Control, name: str) -> tuple[str, ...]:
    """The tasks that a supervisor runs on an account now."""
    return read_status(fleet.home).on_account.get(name, ()) if supervisor_of(fleet.home) else ()
