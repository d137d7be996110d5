"""Tells the other hosts that a person gave a key or a coder work again."""

import os
from collections.abc import Iterable
from functools import partial

from fleet import coders
from fleet.accounts import candidates, credentials
from fleet.accounts.account_state import AccountReset
from fleet.accounts.circuit_breaker import CircuitReset
from fleet.accounts.kept_secret import keyring_place, read_keyring
from fleet.accounts.news_rules import circuit_of_key, circuit_of_name
from fleet.control import Control
from fleet.home import owner_file
from fleet.queue.sql.hosts.shared_news import HostNews, host_news, share_news


def tell_reset(
    fleet: Control, *, accounts: Iterable[str] = (), circuits: Iterable[str] = ()
) -> None:
    """Have hosts with the same keys, and all hosts with these coders, give them work again."""
    host = owner_file.read(fleet.home)
    if not fleet.is_shared or not host:
        return
    tell = partial(host_news, host=host, by=owner_file.host_name(fleet.config))
    subjects = [circuit_of_name(name) for name in circuits]
    news: list[HostNews] = []
    for name in accounts:
        if mark := _mark(fleet, name):
            news.append(tell("account", mark, "reset", AccountReset()))
            subjects.append(circuit_of_key(mark))
    news += [tell("circuit", subject, "state", CircuitReset()) for subject in subjects]
    if news:
        share_news(fleet.tracker, news)


def _mark(fleet: Control, name: str) -> str:
    account = fleet.config.accounts.get(name) or candidates.own_login(name, fleet.config)
    kind = coders.find(account.coder, fleet.home.path)
    place = keyring_place(account.secret)
    answer = read_keyring(place) if place else None
    return credentials.key_mark(account, kind, os.environ, answer)
