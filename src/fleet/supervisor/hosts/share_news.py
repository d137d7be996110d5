"""Limits of keys, open circuits and what runs spend, told to the other hosts and heard from them: a
key, a vendor and the budget of a day are the same for all.
"""

import msgspec

from fleet.accounts.account_state import (
    AccountEvent,
    AccountReset,
    LimitRefused,
    LimitSeen,
    LoginRefused,
)
from fleet.accounts.circuit_breaker import Blamed, CircuitReset, HeldCoder, HeldElsewhere
from fleet.accounts.news_rules import (
    SHARED_FAULTS,
    CircuitNews,
    HostReport,
    KeyNews,
    circuit_news_now,
    circuit_of_key,
    circuit_of_name,
    circuit_subject,
    key_news,
    key_news_holds,
)
from fleet.queue.sql.hosts.shared_news import HostNews, NewsKind, RunSpend, host_news
from fleet.schemas import typed
from fleet.schemas.units import shown_span
from fleet.spending.day_ledger import SpendEntry
from fleet.supervisor.hosts.heartbeat import Heartbeat, NoHosts
from fleet.supervisor.state import SupervisorState


def tell_limit(state: SupervisorState, account: str, event: AccountEvent) -> None:
    """Tell the other hosts that use the same key what was met on it."""
    heartbeat, news = state.heartbeat, key_news(event)
    if isinstance(heartbeat, NoHosts) or news is None:
        return
    if mark := state.accounts.key_mark(state.config, account):
        _tell(heartbeat, "account", mark, *news, at_once=not isinstance(event, LimitSeen))


def tell_circuit(state: SupervisorState, blamed: Blamed, name: str, held: HeldCoder | None) -> None:
    """Tell the other hosts that a coder is held, or works again, unless that is the machine's own
    affair.
    """
    heartbeat = state.heartbeat
    if isinstance(heartbeat, NoHosts) or (held is not None and held.fault not in SHARED_FAULTS):
        return
    subject = circuit_of_name(name)
    if name == blamed.login and (held is None or held.fault == "account"):
        mark = state.accounts.key_mark(state.config, blamed.account or blamed.coder)
        if not mark:
            return
        subject = circuit_of_key(mark)
    if held is None:
        _tell(heartbeat, "circuit", subject, "state", CircuitReset(), at_once=True)
        return
    pause = (held.until - state.now()).total_seconds()
    news = HeldElsewhere(fault=held.fault, why=held.why, pause=max(0.0, pause))
    _tell(heartbeat, "circuit", subject, "state", news, at_once=True)


def hear_limits(state: SupervisorState, heartbeat: Heartbeat) -> None:
    """Take in what other hosts told of keys that this host has too, and of coders."""
    heard = heartbeat.exchange.news_elsewhere
    if not heard:
        return
    marks = state.accounts.key_marks(state.config)
    while heard:
        news = heard.popleft()
        try:
            if news.kind == "account":
                _hear_key(state, news, _with_mark(marks, news.subject))
            else:
                _hear_circuit(state, news, marks)
        except msgspec.MsgspecError:
            continue  # of a later fleet


def _hear_key(state: SupervisorState, news: HostNews, accounts: list[str]) -> None:
    now = state.now()
    report = typed.decode(news.value, HostReport[KeyNews])
    event = report.event
    if not key_news_holds(event, news.age, now):
        return
    for account in accounts:
        running = state.assignments.by_account()[account]
        own: KeyNews = event
        if isinstance(event, LimitSeen | LimitRefused):
            own = msgspec.structs.replace(event, running=running)
        state.accounts.accounts.apply({account: own}, now)
        if not isinstance(event, LimitSeen):
            text = f"account {account}: host {report.by} has the same key: {_words(event)}"
            state.log.say("account", text, account=account)


def _hear_circuit(state: SupervisorState, news: HostNews, marks: dict[str, str]) -> None:
    now = state.now()
    report = typed.decode(news.value, HostReport[CircuitNews])
    event = circuit_news_now(report.event, news.age)
    if event is None:
        return
    mark, named = circuit_subject(news.subject)
    having = _with_mark(marks, mark) if mark else []
    for name in [named] if named else [_login_circuit(state, each) for each in having]:
        held = state.accounts.breaker.hear(name, event, now)
        if held is not None:
            pause = shown_span((held.until - now).total_seconds())
            text = f"{name} gets no work for {pause}, as on host {report.by}: {held.text}"
            state.log.say("breaker_open", text, coder=name)


def _words(event: KeyNews) -> str:
    match event:
        case LoginRefused(why=why):
            return f"its key or bill is refused: {why}"
        case LimitSeen(limit=limit) | LimitRefused(limit=limit):
            until = f", resets {limit.resets_at:%F %H:%M} UTC" if limit.resets_at else ""
            return f"its limit is reached ({limit.kind}{until})"
        case AccountReset():
            return "a person has given it work again"


def _with_mark(marks: dict[str, str], mark: str) -> list[str]:
    return [name for name, each in marks.items() if each == mark]


def _login_circuit(state: SupervisorState, account: str) -> str:
    known = state.config.accounts.get(account)
    return Blamed(coder=known.coder if known else account, account=account).login


def _tell(
    heartbeat: Heartbeat,
    kind: NewsKind,
    subject: str,
    topic: str,
    event: KeyNews | CircuitNews,
    *,
    at_once: bool,
) -> None:
    host = heartbeat.host
    news = host_news(kind, subject, topic, event, host=host.id, by=host.name)
    heartbeat.exchange.news.append(news)
    if at_once:
        heartbeat.look()


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
