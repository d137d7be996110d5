"""Tells the other hosts that a person gave a key work again."""

import os
from collections.abc import Iterable
from functools import partial

from fleet import coders
from fleet.accounts import candidates, credentials
from fleet.accounts.account_state import AccountReset
from fleet.accounts.kept_secret import keyring_place, read_keyring
from fleet.control import Control
from fleet.home import owner_file
from fleet.queue.sql.hosts.shared_news import host_news, share_news


def tell_reset(fleet: Control, accounts: Iterable[str]) -> None:
    """Have hosts with the same keys give them work again."""
    host = owner_file.read(fleet.home)
    if not fleet.is_shared or not host:
        return
    tell = partial(host_news, host=host, by=owner_file.host_name(fleet.config))
    marks = filter(None, [_mark(fleet, name) for name in accounts])
    if news := [tell(mark, "reset", AccountReset()) for mark in marks]:
        share_news(fleet.tracker, news)


def _mark(fleet: Control, name: str) -> str:
    account = fleet.config.accounts.get(name) or candidates.own_login(name, fleet.config)
    kind = coders.find(account.coder, fleet.home.path)
    place = keyring_place(account.secret)
    answer = read_keyring(place) if place else None
    return credentials.key_mark(account, kind, os.environ, answer)
