"""Usage and accounts as lines: gauges first, then where tokens and money went. Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from fleet.control.accounts import AccountNow, AccountsView
from fleet.control.usage import Spent, UsageView
from fleet.schemas import Window
from fleet.schemas.budget import BudgetStatus, shown_usd
from fleet.schemas.shown_text import ahead, bar, count, counted, fullness, moment
from fleet.tui.spans import EMPTY, Span, SpanLine, clipped, column, fact, said

_GAUGE, _NAME, _DAYS, _ROWS = 20, 18, 14, 12


def usage_page(usage: UsageView, accounts: AccountsView, width: int) -> list[SpanLine]:
    """Accounts and budgets as gauges, then the days, then the groups of the usage."""
    lines: list[SpanLine] = [(("ACCOUNTS", "bold"),)]
    for each in accounts.accounts:
        lines += _account(each, accounts.as_of, width)
    for held in accounts.held:
        until = moment(held.until, accounts.as_of.astimezone())
        words = f"{held.why}, until {until}; now: {held.way_on}"
        lines += fact(f"! {said(held.name)}", words, width, "red", _NAME)
    budgets = [*usage.budgets, *(each for each in accounts.budgets if each not in usage.budgets)]
    if budgets:
        lines += [EMPTY, (("BUDGETS OF TODAY", "bold"),), *(_budget(each) for each in budgets)]
    lines += [EMPTY, *_total(usage, width)]
    if usage.days:
        lines += [EMPTY, (("BY DAY", "bold"),), *_bars(usage.days[-_DAYS:], width)]
    if usage.rows:
        lines += [EMPTY, ((f"BY {usage.by.upper()}", "bold"),), *_bars(usage.rows[:_ROWS], width)]
    return lines


def _account(each: AccountNow, at: datetime, width: int) -> Iterator[SpanLine]:
    mark: Span = ("! ", "yellow") if each.shut else ("✓ ", "green")
    login = "your own login" if each.own else f"weight {each.account.weight}"
    tasks = f", {len(each.tasks)} at work" if each.tasks else ""
    name = said(each.account.name)
    yield (mark, (name, "bold"), (f"  {said(each.account.coder)}, {login}{tasks}", "dim"))
    if each.shut:
        until = f" until {moment(each.until, at.astimezone())}" if each.until else ""
        yield from fact("", f"{each.shut}{until}", width, "yellow", 2)
    for window in each.windows:
        yield clipped(_window(window, at), width)


def _window(window: Window, at: datetime) -> SpanLine:
    used = window.used_percent
    if used is None:
        refused = window.status == "rejected"
        gauge: Span = (
            column("refused" if refused else "open", _GAUGE + 5),
            "red" if refused else "",
        )
    else:
        gauge = (f"{bar(used / 100, _GAUGE)} {used:3.0f}%", fullness(used))
    ends = f"  resets {ahead(window.resets_at, at.astimezone())}" if window.resets_at else ""
    return ((f"  {column(window.kind, _NAME - 2)}", "dim"), gauge, (ends, "dim"))


def _budget(each: BudgetStatus) -> SpanLine:
    name = said(each.name) if each.name else "all"
    gauge = bar(each.percent / 100, _GAUGE)
    style = "red" if each.reached else "yellow" if each.near else "green"
    return ((f"  {column(name, _NAME - 2)}", "dim"), (gauge, style), (f" {each.figures}", ""))


def _total(usage: UsageView, width: int) -> Iterator[SpanLine]:
    since = f" SINCE {usage.since.astimezone():%b %d}" if usage.since else ""
    yield ((f"USED{since}", "bold"),)
    yield from fact(
        "tokens", f"{count(usage.total.usage.total)} in {counted(usage.total.runs, 'run')}", width
    )
    yield from fact("cost", _cost(usage.total) or "nothing", width)
    if usage.total.wasted_runs:
        lost = f"{count(usage.total.wasted_tokens)} tokens, {shown_usd(usage.total.wasted_usd)}"
        words = f"{lost} in {counted(usage.total.wasted_runs, 'run')} without accepted work"
        yield from fact("lost", words, width, "yellow")


def _cost(spent: Spent) -> str:
    """Known, estimated and unknown cost, each apart."""
    parts = [
        f"{shown_usd(spent.cost_usd)} told" if spent.cost_usd else "",
        f"~{shown_usd(spent.estimated_usd)} estimated" if spent.estimated_usd else "",
        f"{counted(spent.unpriced, 'run')} of unknown cost" if spent.unpriced else "",
    ]
    return ", ".join(part for part in parts if part)


def _bars(rows: Sequence[Spent], width: int) -> Iterator[SpanLine]:
    most = max((each.usage.total for each in rows), default=0) or 1
    room = max(8, min(40, width - _NAME - 44))
    for each in rows:
        share = each.usage.total / most
        line: SpanLine = (
            (f"  {column(said(each.name), _NAME - 2)}", "dim"),
            (bar(share, room), "cyan"),
            (f" {count(each.usage.total):>6}  {counted(each.runs, 'run'):>8}  ", ""),
            (_cost(each), "dim"),
        )
        yield clipped(line, width)
