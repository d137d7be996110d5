"""Accounts at a glance: who rests until when, and what is known of each. Pure."""

from collections.abc import Mapping
from datetime import datetime

from fleet.accounts import candidates
from fleet.accounts.account_state import AccountState
from fleet.accounts.choose_account import Seat, Standing, Unavailable, unavailable
from fleet.config import Config
from fleet.schemas import Account


def account_named(name: str, config: Config) -> Account:
    """The account that a gauge is of: a declared one, or a coder's own login."""
    return config.accounts.get(name) or candidates.own_login(name, config)


def rest(
    account: Account, gauge: AccountState, now: datetime, model: str = ""
) -> Unavailable | None:
    """Why an account gets no new work whatever it has at work; None: it may."""
    return unavailable(Seat(account=account, model=model), gauge, Standing(), now)


def resting(
    gauges: Mapping[str, AccountState], config: Config, now: datetime
) -> dict[str, datetime]:
    """Accounts that wait for a limit, and until when."""
    found: dict[str, datetime] = {}
    for name, gauge in gauges.items():
        account = account_named(name, config)
        shut = rest(account, gauge, now)
        if shut is not None and not shut.person:
            found[name] = shut.until
    return found
