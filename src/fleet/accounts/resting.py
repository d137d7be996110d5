"""Which accounts rest, and until when. Pure."""

from collections.abc import Mapping
from datetime import datetime

from fleet.accounts import candidates
from fleet.accounts.account_state import AccountState
from fleet.accounts.choose_account import Seat, Standing, Unavailable, unavailable
from fleet.config import Config
from fleet.schemas import Account


def resting(account: Account, state: AccountState, now: datetime) -> Unavailable | None:
    """Why an account gets no new work, however few agents run on it; None: it gets work."""
    return unavailable(Seat(account=account, model=""), state, Standing(), now)


def all_resting(
    states: Mapping[str, AccountState], config: Config, now: datetime
) -> dict[str, datetime]:
    """Accounts that wait for a limit, and until when."""
    found: dict[str, datetime] = {}
    for name, state in states.items():
        # A name without a declared account is that of a coder whose own login is used.
        account = config.accounts.get(name) or candidates.own_login(name, config)
        rest = resting(account, state, now)
        if rest is not None and not rest.person:
            found[name] = rest.until
    return found
