"""`fleet usage`: where tokens and money went."""

from datetime import UTC, datetime, timedelta

import click
import msgspec

from fleet import control
from fleet.cli.shapes import pretty
from fleet.cli.text import count, one_line
from fleet.control.usage import BYS, By, Spent, receipts, spent
from fleet.errors import BadInput
from fleet.schemas.units import seconds

_BAR = 20
NOTHING = "No run has ended yet."


@click.command("usage")
@click.option(
    "--by", type=click.Choice(BYS), default="coder", show_default=True, help="What to add up by."
)
@click.option("--since", metavar="WHEN", help="A span back from now (7d, 12h) or a date.")
@click.option("--json", "as_json", is_flag=True, help="A JSON array with all that is known.")
def command(by: By, since: str | None, as_json: bool) -> None:
    """Show where tokens and money went.

    What cost is not known is shown as such, never as nought. "lost" went into runs that closed
    nothing: retries, stalls, claims that were not believed.
    """
    fleet = control.opened()
    found = spent(receipts(fleet.home, moment(since)), by)
    if as_json:
        click.echo(pretty([msgspec.to_builtins(row) for row in found]))
        return
    if not found:
        click.echo(NOTHING if since is None else "No run has ended in that time.")
        return
    show(found, by)


def moment(word: str | None) -> datetime | None:
    """When a person means: so long ago, or a day."""
    if word is None:
        return None
    try:
        day = datetime.fromisoformat(word)
        return day if day.tzinfo else day.astimezone()
    except ValueError:
        pass
    try:
        return datetime.now(UTC) - timedelta(seconds=seconds(word))
    except BadInput:
        raise BadInput(
            f"--since: {word!r} is neither a span nor a date",
            hint="Write it like 7d, 12h or 2026-11-01.",
        ) from None


def show(found: list[Spent], by: By) -> None:
    total = sum(row.usage.total for row in found)
    most = max(row.usage.total for row in found) or 1
    width = max(len(by), *(len(one_line(row.name)) for row in found))
    head = f"{'fresh':>7} {'cached':>7} {'output':>7} {'cost':>10} {'lost':>5}"
    click.secho(f"{by:<{width}}  {'tokens':<{_BAR + 7}} {head}  runs", bold=True)
    for row in found:
        click.echo(f"{one_line(row.name):<{width}}  {_line(row, most)}  {row.runs}")
    if len(found) > 1:
        runs = sum(row.runs for row in found)
        click.secho(f"{count(total)} tokens in {runs} runs", dim=True)


def _line(row: Spent, most: int) -> str:
    used = row.usage
    filled = round(_BAR * used.total / most)
    bar = "█" * filled + "░" * (_BAR - filled)
    fresh, lost = used.input + used.cache_write, _share(row.wasted_tokens, used.total)
    return (
        f"{bar} {count(used.total):>6} {count(fresh):>7} {count(used.cache_read):>7}"
        f" {count(used.output):>7} {_cost(row):>10} {lost:>5}"
    )


def _cost(row: Spent) -> str:
    if row.unpriced == row.runs:
        return "unknown"
    return f"${row.cost_usd:.2f}" + ("+?" if row.unpriced else "")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f}%" if whole else "-"
