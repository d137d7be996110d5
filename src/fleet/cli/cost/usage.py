"""`fleet usage`: where tokens and money went, and what budgets leave."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import click
import msgspec

from fleet import control
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import painted, table, terminal_width
from fleet.control import Control
from fleet.control.budget_status import day_budgets
from fleet.control.usage import (
    BYS,
    By,
    EndedRun,
    Spent,
    ended_runs,
    price_list,
    spent,
    spent_together,
    titles,
)
from fleet.errors import BadInput
from fleet.schemas.budget import BudgetStatus, shown_usd
from fleet.schemas.shown_text import bar, count, counted, cut, cut_front, one_line
from fleet.schemas.units import span

#: The length of a bar.
_BAR = 15
#: The columns behind the name; the bar has none. And which of them go first without room.
_HEAD = ("", "tokens", "fresh", "cached", "output", "cost", "lost", "runs")
_DROP = ("", "fresh", "cached", "output", "lost", "runs")
NOTHING = "No run has ended yet."
NO_TITLES: Mapping[str, str] = {}


@click.command("usage")
@click.option(
    "--by", type=click.Choice(BYS), default="coder", show_default=True, help="What to add up by."
)
@click.option("--since", metavar="WHEN", help="A span back from now (7d, 12h) or a date.")
@click.option("--prices", is_flag=True, help="What tokens cost where a CLI does not say it.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object with all that is known.")
def command(by: By, since: str | None, prices: bool, as_json: bool) -> None:
    """Show where tokens and money went, and how the budgets of the day stand.

    "fresh" input was read by the model, "cached" was served from its cache. A cost with ~ is worked
    out from tokens and prices, as the CLI told none. A cost that is not known is shown as unknown,
    never as 0. "lost" went into runs without accepted work: retries, stalls, claims that were not
    believed.
    """
    fleet = control.opened()
    if prices:
        _show_prices(fleet, as_json=as_json)
        return
    found = ended_runs(fleet, moment(since))
    days = day_budgets(fleet, datetime.now().astimezone())
    if as_json:
        print_json(_shape(found, by, days))
        return
    if found:
        show(found, by, terminal_width(), titles(fleet, found) if by == "task" else {})
    else:
        click.echo(NOTHING if since is None else "No run has ended in that time.")
    if days:
        click.echo()
        show_budgets(days)


def moment(word: str | None) -> datetime | None:
    """The time of `--since`: a span back from now, or a date."""
    if word is None:
        return None
    if word.isdecimal() and len(word) < 8:  # a date of the form 20261101 has eight digits
        span(word)
    try:
        day = datetime.fromisoformat(word)
        return day if day.tzinfo else day.astimezone()
    except ValueError:
        pass
    try:
        return datetime.now(UTC) - timedelta(seconds=span(word))
    except BadInput:
        raise BadInput(
            f"--since: {word!r} is neither a span nor a date",
            hint="Write it like 7d, 12h or 2026-11-01.",
        ) from None


def show(
    runs: Sequence[EndedRun], by: By, columns: int, titles: Mapping[str, str] = NO_TITLES
) -> None:
    """Print the table `columns` wide: first the bars give way, then the kinds of tokens."""
    found = spent(runs, by)
    most = max(row.usage.total for row in found) or 1
    # Of a path, the end tells most.
    names = [_named(row.name, titles, columns // 2) for row in found]
    rows = [(name, *_cells(row, most)) for name, row in zip(names, found, strict=True)]
    head = (by, *_HEAD)
    for line in table(head, rows, right=_HEAD, width=columns, drop=_DROP):
        click.echo(line)
    click.echo(painted(_summary(spent_together("all", runs)), "dim"))


def _named(name: str, titles: Mapping[str, str], width: int) -> str:
    """A row's name; a task's with the title, whose beginning tells most."""
    if name not in titles:
        return cut_front(one_line(name), width)
    return cut(f"{one_line(name)} {one_line(titles[name])}", width)


def show_budgets(days: Sequence[BudgetStatus]) -> None:
    names = [_name(each) for each in days]
    width = max(map(len, names))
    click.echo(painted("budgets of today", "bold"))
    for name, each in zip(names, days, strict=True):
        gauge = bar(each.spent.share_of(each.budget), _BAR)
        colour = "red" if each.reached else "yellow" if each.near else "green"
        line = f"{name:<{width}}  {painted(gauge, colour)} {one_line(each.figures)}"
        click.echo(f"{line}: spent, {one_line(each.way_out)}" if each.reached else line)


def _name(status: BudgetStatus) -> str:
    if status.scope == "day":
        return "all tasks"
    kind = "account " if status.scope == "account" else ""
    return one_line(f"{kind}{status.name}")


def _cells(row: Spent, most: int) -> tuple[str, ...]:
    used = row.usage
    fresh, lost = used.input + used.cache_write, _share(row.wasted_tokens, used.total)
    # Every run uses tokens: 0 means that the CLI told none.
    kinds = [count(n) if used.total else "?" for n in (fresh, used.cache_read, used.output)]
    return (
        bar(used.total / most, _BAR),
        _tokens(used.total),
        *kinds,
        _cost(row),
        lost,
        str(row.runs),
    )


def _tokens(total: int) -> str:
    return count(total) if total else "?"


def _summary(total: Spent) -> str:
    used = total.usage
    read = used.input + used.cache_write + used.cache_read
    tokens = f"{count(used.total)} tokens" if used.total else "an unknown number of tokens"
    cost = "at an unknown cost" if _is_unknown(total) else _cost(total)
    parts = [f"{tokens} in {counted(total.runs, 'run')}, {cost}"]
    if read:
        parts.append(f"{_share(used.cache_read, read)} of the input was cached")
    accepted = {"checked": total.checked, "unchecked": total.unchecked}
    if any(accepted.values()):
        words = ", ".join(f"{number} {word}" for word, number in accepted.items() if number)
        parts.append(f"accepted: {words}")
    if total.wasted_runs:
        money = f", {_mark(total)}{shown_usd(total.wasted_usd, exact=True)}"
        words = money if total.wasted_usd else ""
        lost = f"{counted(total.wasted_runs, 'run')} without accepted work"
        tokens = f"{_tokens(total.wasted_tokens)} tokens"
        parts.append(f"{tokens}{words} went into {lost}")
    if total.uncounted and used.total:
        parts.append(f"the tokens of {counted(total.uncounted, 'run')} are not all known")
    if total.unpriced and not _is_unknown(total):
        parts.append(f"+?: the cost of {counted(total.unpriced, 'run')} is not known")
    return "\n".join(parts)


def _cost(row: Spent) -> str:
    if _is_unknown(row):
        return "unknown"
    return f"{_mark(row)}{shown_usd(row.known_usd, exact=True)}" + ("+?" if row.unpriced else "")


def _is_unknown(row: Spent) -> bool:
    """Nothing is known of the cost. Of a run that was cut off what it had used by then is."""
    return row.unpriced == row.runs and not row.known_usd


def _mark(row: Spent) -> str:
    return "~" if row.estimated else ""


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "-"


def _shape(runs: Sequence[EndedRun], by: By, days: Sequence[BudgetStatus]) -> dict[str, object]:
    return {
        "by": by,
        "rows": spent(runs, by),
        "total": spent_together("all", runs),
        "budgets": [
            {**msgspec.to_builtins(each), "percent": each.percent, "reached": each.reached}
            for each in days
        ],
    }


def _show_prices(fleet: Control, *, as_json: bool) -> None:
    listed = price_list(fleet.config)
    if as_json:
        print_json(listed)
        return
    rows: list[tuple[str, ...]] = []
    for name, price in listed.items():
        figures = (price.input, price.output, price.cache_read, price.cache_write)
        tag = "(yours)" if name in fleet.config.prices else ""
        rows.append((one_line(name), *(f"{figure:.4g}" for figure in figures), tag))
    head = ("model", "input", "output", "cached", "to cache", "")
    for line in table(head, rows, right=head[1:-1]):
        click.echo(line)
    text = (
        "Dollars for a million tokens. List prices of genai-prices: a starting point."
        ' Yours go before them: [prices."pattern"] in runtime.toml.'
    )
    click.echo(painted(text, "dim"))
