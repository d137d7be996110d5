"""Which events of accounts concern other hosts, and which of theirs still hold. Pure.

A login belongs to one machine; a key may be used on several, and its limits are the vendor's. That
a program is missing or runs break may be the fault of one machine.
"""

from datetime import datetime, timedelta

from msgspec import Struct

from fleet.accounts import rate_windows
from fleet.accounts.account_state import (
    AccountEvent,
    AccountReset,
    LimitRefused,
    LimitSeen,
    LoginRefused,
)

#: What an account's news may be.
KeyNews = LimitSeen | LimitRefused | LoginRefused | AccountReset


class HostReport(Struct, frozen=True, kw_only=True):
    """What the host of this name met on a key, or did with a key."""

    by: str
    event: KeyNews


#: How long a refusal without an end, or a person's word, concerns other hosts.
_FRESH = timedelta(minutes=5)


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
