"""`accounts.json` in the home: the health of each login, over restarts.

The supervisor changes the file, and so does a person who opens an account by hand. What an earlier
version held apart, in `breaker.json`, is taken over when the file is opened.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec

from fleet.accounts.account_state import EMPTY, AccountEvent, AccountState, LoginRefused, after
from fleet.accounts.login_faults import Note, RunShowed, Use
from fleet.files.json_record import JsonRecord
from fleet.files.state_store import StateStore

FILE = "accounts.json"
_BREAKER = "breaker.json"

AccountStore = StateStore[AccountState, AccountEvent]
_States = dict[Annotated[str, msgspec.Meta(max_length=100)], AccountState]


def open_accounts(home: Path, on_error: Callable[[OSError], None] | None = None) -> AccountStore:
    """The states of all accounts by name. See `StateStore` for `on_error`."""
    store = StateStore(home / FILE, _States, after=after, empty=EMPTY, on_error=on_error)
    if (home / _BREAKER).exists():
        with suppress(OSError):  # tried again when the file is opened next
            store.apply(_held_before(home / _BREAKER), datetime.now(UTC))
            (home / _BREAKER).unlink()
    return store


class _Circuit(msgspec.Struct, frozen=True, kw_only=True):
    """What an earlier version knew of a coder, of a model, or of an account."""

    fault: str | None = None
    why: str = ""


_CIRCUITS = JsonRecord(dict[str, _Circuit])


def _held_before(path: Path) -> dict[str, AccountEvent]:
    """What `breaker.json` held against logins. What was held against models shows again."""
    found = dict[str, AccountEvent]()
    for name, circuit in (_CIRCUITS.read_or_none(path) or {}).items():
        account = name.partition("@")[2] or name
        if circuit.fault == "account":
            found[account] = LoginRefused(circuit.why)
        elif circuit.fault == "missing":
            note = Note("", 0, "program")
            found[account] = RunShowed(use=Use(), note=note, why=circuit.why)
    return found
