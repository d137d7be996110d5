"""`fleet stats`: how coders and models did, over everything that has run."""

import click
import msgspec

from fleet import control
from fleet.cli.shapes import pretty
from fleet.cli.text import count, one_line
from fleet.cli.usage import NOTHING, moment
from fleet.control.usage import ENOUGH, Record, receipts, records


@click.command("stats")
@click.option("--since", metavar="WHEN", help="A span back from now (7d, 12h) or a date.")
@click.option("--json", "as_json", is_flag=True, help="A JSON array with all that is known.")
def command(since: str | None, as_json: bool) -> None:
    """Show how each coder and model did: tasks verified, runs it took, what it cost.

    The rows are no ranking: tasks differ. A rate of fewer than five tasks is not shown. A retry is
    a run that failed and was followed by another of the same task. To see several on one task:
    fleet compare.
    """
    fleet = control.opened()
    found = records(receipts(fleet.home, moment(since)))
    if as_json:
        click.echo(pretty([_shape(row) for row in found]))
        return
    if not found:
        click.echo(NOTHING if since is None else "No run has ended in that time.")
        return
    width = max(5, *(len(_name(row)) for row in found))
    head = (
        f"{'verified':<10}  rate  runs  retries  $/verified  unverified  stalled  limited  failed"
        "  tokens"
    )
    click.secho(f"{'coder':<{width}}  {head}", bold=True)
    for row in found:
        click.echo(f"{_name(row):<{width}}  {_line(row)}")
    if any(row.verified_rate is None or row.cost_per_verified is None for row in found):
        click.secho(f"-: of fewer than {ENOUGH} tasks, or not known", dim=True)


def _name(row: Record) -> str:
    return one_line(f"{row.coder} {row.model}".strip())


def _line(row: Record) -> str:
    rate = "-" if row.verified_rate is None else f"{100 * row.verified_rate:.0f}%"
    mark = "~" if row.estimated_usd else ""
    cost = "-" if row.cost_per_verified is None else f"{mark}{row.cost_per_verified:.2f}"
    verified = f"{row.verified} of {row.tasks}"
    return (
        f"{verified:<10}  {rate:>4}  {row.runs:>4}  {row.retries:>7}  {cost:>10}"
        f"  {row.unverified:>10}  {row.stalled:>7}  {row.limited:>7}  {row.failed:>6}"
        f"  {count(row.tokens):>6}"
    )


def _shape(row: Record) -> dict[str, object]:
    rates = {
        "verified_rate": row.verified_rate,
        "runs_per_task": row.runs_per_task,
        "cost_per_verified": row.cost_per_verified,
    }
    return {**msgspec.to_builtins(row), **rates}
