"""Tells the other hosts that a person gave a key or a coder work again."""

import os
from collections.abc import Iterable

import msgspec

from fleet import coders
from fleet.accounts import candidates, credentials
from fleet.accounts.account_state import AccountReset
from fleet.accounts.circuit_breaker import CircuitReset
from fleet.accounts.keyring import read_keyring
from fleet.accounts.news_rules import CircuitNews, KeyNews, circuit_of_key, circuit_of_name
from fleet.control import Control
from fleet.home import owner_file
from fleet.queue.sql.hosts.shared_news import HostNews, NewsKind, share_news


def tell_reset(
    fleet: Control, *, accounts: Iterable[str] = (), circuits: Iterable[str] = ()
) -> None:
    """Have hosts with the same keys, and all hosts with these coders, give them work again."""
    host = owner_file.read(fleet.home)
    if not fleet.config.shares_queue or not host:
        return
    news: list[HostNews] = []

    def add(kind: NewsKind, subject: str, topic: str, event: KeyNews | CircuitNews) -> None:
        value = msgspec.json.encode({"by": fleet.config.host_name, "event": event}).decode()
        news.append(HostNews(kind=kind, host=host, subject=subject, topic=topic, value=value))

    for name in accounts:
        if mark := _mark(fleet, name):
            add("account", mark, "reset", AccountReset())
            add("circuit", circuit_of_key(mark), "state", CircuitReset())
    for name in circuits:
        add("circuit", circuit_of_name(name), "state", CircuitReset())
    if news:
        share_news(fleet.tracker, news)


def _mark(fleet: Control, name: str) -> str:
    account = fleet.config.accounts.get(name) or candidates.own_login(name, fleet.config)
    kind = coders.find(account.coder, fleet.home.path)
    place = credentials.in_keyring(account)
    answer = read_keyring(place) if place else None
    return credentials.key_mark(account, kind, os.environ, answer)
