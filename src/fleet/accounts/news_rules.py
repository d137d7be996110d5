"""Which events of accounts and circuits concern other hosts, and which of theirs still hold. Pure.

A login belongs to one machine; a key may be used on several, and its limits are the vendor's. That
a model claims what it did not do is so on every machine; that a program breaks or is missing may be
the fault of one.
"""

from datetime import datetime, timedelta
from typing import Generic, TypeVar

from msgspec import Struct

from fleet.accounts import rate_windows
from fleet.accounts.account_state import (
    AccountEvent,
    AccountReset,
    LimitRefused,
    LimitSeen,
    LoginRefused,
)
from fleet.accounts.circuit_breaker import CircuitReset, CoderFault, HeldElsewhere

#: What an account's news and a circuit's news may be.
KeyNews = LimitSeen | LimitRefused | LoginRefused | AccountReset
CircuitNews = HeldElsewhere | CircuitReset
NewsT = TypeVar("NewsT")


class HostReport(Struct, Generic[NewsT], frozen=True, kw_only=True):
    """What the host of this name met on a key, or did with a circuit."""

    by: str
    event: NewsT


#: Faults that are not of one machine; `account`: where the account is a key.
SHARED_FAULTS: frozenset[CoderFault] = frozenset({"account", "fabrication"})
#: How a circuit is called among hosts: by the key of its account, or by its name.
_KEY, _NAME = "key:", "name:"
#: How long a refusal without an end, or a person's word, concerns other hosts.
_FRESH = timedelta(minutes=5)


def circuit_of_key(mark: str) -> str:
    """What hosts call the circuit of a key's account, which has another name on each of them."""
    return f"{_KEY}{mark}"


def circuit_of_name(name: str) -> str:
    """What hosts call the circuit of a coder or a model."""
    return f"{_NAME}{name}"


def circuit_subject(subject: str) -> tuple[str, str]:
    """The mark of the key that a circuit is of, and the circuit's name: one of the two is empty."""
    if subject.startswith(_KEY):
        return subject.removeprefix(_KEY), ""
    return "", subject.removeprefix(_NAME)


def key_news(event: AccountEvent) -> tuple[str, KeyNews] | None:
    """The event for the other hosts with the same key, and the event's subject; None: the event is
    of this host alone.
    """
    match event:
        case LimitSeen(limit=limit) if limit.kind not in rate_windows.PASSING:
            return f"seen-{limit.kind}", event
        case LimitRefused(limit=limit):
            return f"refused-{limit.kind}", event
        case LoginRefused():
            return "login", event
        case AccountReset():
            return "reset", event
        case _:
            return None


def key_news_holds(news: KeyNews, age: timedelta, now: datetime) -> bool:
    """Whether what another host told this long ago still says something of the key."""
    match news:
        case LimitSeen(limit=limit) | LimitRefused(limit=limit):
            if limit.resets_at is not None:
                return limit.resets_at > now
            return age < _FRESH
        case LoginRefused() | AccountReset():
            return age < _FRESH


def circuit_news_now(news: CircuitNews, age: timedelta) -> CircuitNews | None:
    """What another host told this long ago of a circuit, as of now; None: over by now."""
    match news:
        case HeldElsewhere(fault=fault, why=why, pause=pause):
            left = pause - age.total_seconds()
            return HeldElsewhere(fault=fault, why=why, pause=left) if left > 0 else None
        case CircuitReset():
            return news if age < _FRESH else None
