"""`accounts.json` in the home: what is known of each account, over restarts.

The supervisor changes the file, and so does a person who opens an account by hand.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec

from fleet.accounts.account_state import EMPTY, AccountEvent, AccountState, after
from fleet.files.state_store import StateStore

FILE = "accounts.json"

AccountStore = StateStore[AccountState, AccountEvent]
_States = dict[Annotated[str, msgspec.Meta(max_length=100)], AccountState]


def open_accounts(home: Path, on_error: Callable[[OSError], None] | None = None) -> AccountStore:
    """The states of all accounts by name. See `StateStore` for `on_error`."""
    return StateStore(home / FILE, _States, after=after, empty=EMPTY, on_error=on_error)
