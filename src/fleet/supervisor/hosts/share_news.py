"""Limits of keys and what runs spend, told to the other hosts and heard from them: a key, a vendor
and the budget of a day are the same for all.
"""

import msgspec

from fleet.accounts.account_state import (
    AccountEvent,
    AccountReset,
    LimitRefused,
    LimitSeen,
    LoginRefused,
)
from fleet.accounts.news_rules import HostReport, KeyNews, key_news, key_news_holds
from fleet.queue.sql.hosts.shared_news import HostNews, RunSpend, host_news
from fleet.schemas import typed
from fleet.spending.day_ledger import SpendEntry
from fleet.supervisor.hosts.heartbeat import Heartbeat, NoHosts
from fleet.supervisor.state import SupervisorState


def tell_limit(state: SupervisorState, account: str, event: AccountEvent) -> None:
    """Tell the other hosts that use the same key what was met on it."""
    heartbeat, news = state.heartbeat, key_news(event)
    if isinstance(heartbeat, NoHosts) or news is None:
        return
    if mark := state.accounts.key_mark(state.config, account):
        news_now = host_news(mark, *news, host=heartbeat.host.id, by=heartbeat.host.name)
        heartbeat.exchange.news.append(news_now)
        if not isinstance(event, LimitSeen):
            heartbeat.look()


def hear_limits(state: SupervisorState, heartbeat: Heartbeat) -> None:
    """Take in what other hosts told of keys that this host has too."""
    heard = heartbeat.exchange.news_elsewhere
    if not heard:
        return
    marks = state.accounts.key_marks(state.config)
    while heard:
        news = heard.popleft()
        try:
            _hear_key(state, news, [name for name, each in marks.items() if each == news.subject])
        except msgspec.MsgspecError:
            continue  # of a later fleet


def _hear_key(state: SupervisorState, news: HostNews, accounts: list[str]) -> None:
    now = state.now()
    report = typed.decode(news.value, HostReport)
    event = report.event
    if not key_news_holds(event, news.age, now):
        return
    for account in accounts:
        running = state.assignments.by_account()[account]
        own: KeyNews = event
        if isinstance(event, LimitSeen | LimitRefused):
            own = msgspec.structs.replace(event, running=running)
        elif isinstance(event, LoginRefused):
            own = LoginRefused(event.why)  # the run was the other host's
        state.accounts.accounts.apply({account: own}, now)
        if not isinstance(event, LimitSeen):
            text = f"account {account}: host {report.by} has the same key: {_words(event)}"
            state.log.say("account", text, account=account)


def _words(event: KeyNews) -> str:
    match event:
        case LoginRefused(why=why):
            return f"its key or bill is refused: {why}"
        case LimitSeen(limit=limit) | LimitRefused(limit=limit):
            until = f", resets {limit.resets_at:%F %H:%M} UTC" if limit.resets_at else ""
            return f"its limit is reached ({limit.kind}{until})"
        case AccountReset():
            return "a person has given it work again"


def tell_spending(state: SupervisorState, day: str, entry: SpendEntry) -> None:
    """Tell the other hosts what a run spent that ended."""
    heartbeat = state.heartbeat
    if not isinstance(heartbeat, NoHosts):
        heartbeat.exchange.spent.append(
            RunSpend(
                task_id=entry.task, run=entry.run, day=day, host=heartbeat.host.id,
                project=entry.project, account=entry.account, spend=entry.spend,
            )
        )  # fmt: skip


def hear_spending(state: SupervisorState, heartbeat: Heartbeat) -> None:
    """Count what runs on other hosts spent."""
    while heartbeat.exchange.spent_elsewhere:
        spent = heartbeat.exchange.spent_elsewhere.popleft()
        entry = SpendEntry(
            task=spent.task_id, run=spent.run, project=spent.project, account=spent.account,
            spend=spent.spend,
        )  # fmt: skip
        state.meter.ledger.add_elsewhere(spent.day, entry)
