"""`fleet stats`: how coders and models did, over everything that has run."""

from typing import get_args

import click

from fleet import control
from fleet.cli.cost.usage import NOTHING, moment
from fleet.cli.json_output import print_json
from fleet.cli.terminal_text import painted, table, terminal_width
from fleet.control.usage import ENOUGH, CoderRecord, RunEndKind, ended_runs, records
from fleet.schemas.shown_text import count, one_line


@click.command("stats")
@click.option("--since", metavar="WHEN", help="A span back from now (7d, 12h) or a date.")
@click.option("--json", "as_json", is_flag=True, help="A JSON array with all that is known.")
def command(since: str | None, as_json: bool) -> None:
    """Show how each coder and model did: tasks closed, runs it took, what it cost.

    A task is checked if a verify command passed, and unchecked if nothing contradicts the claim and
    nothing proves it; the two are never added. The rows are no ranking: tasks differ. A rate of
    fewer than five tasks is not shown. A retry is a run that failed and was followed by another of
    the same task. The columns after that say how the runs ended that closed nothing. To see several
    on one task: fleet compare.
    """
    fleet = control.opened()
    found = records(ended_runs(fleet, moment(since)))
    if as_json:
        print_json(found)
        return
    if not found:
        click.echo(NOTHING if since is None else "No run has ended in that time.")
        return
    show(found, terminal_width())
    if any(row.checked_rate is None or row.cost_per_checked is None for row in found):
        click.echo(painted(f"-: of fewer than {ENOUGH} tasks, or not known", "dim"))


_HEAD = ("coder", "tasks", "checked", "unchecked", "runs", "retries", "$/checked")
#: How runs ended that were not accepted. Only kinds that occurred are shown.
_ENDS = tuple(kind for kind in get_args(RunEndKind) if kind != "accepted")
#: Which columns go first where there is no room; --json has all of them.
_DROP = ("tokens", "retries", "$/checked", "runs", "tasks")


def show(found: list[CoderRecord], columns: int) -> None:
    """Print the table, `columns` wide at most."""
    ends = [kind for kind in _ENDS if any(getattr(row, kind) for row in found)]
    head = (*_HEAD, *(kind.replace("_", "-") for kind in ends), "tokens")
    rows = [
        (
            one_line(f"{row.coder} {row.model}".strip()),
            *_cells(row),
            *(str(getattr(row, kind)) for kind in ends),
            count(row.tokens) + ("+?" if row.uncounted else "") if row.tokens else "?",
        )
        for row in found
    ]
    drop = (*_DROP, *reversed(head[len(_HEAD) : -1]))
    for line in table(head, rows, right=head[1:], width=columns, drop=drop):
        click.echo(line)


def _cells(row: CoderRecord) -> tuple[str, ...]:
    mark = "~" if row.estimated_usd else ""
    return (
        str(row.tasks),
        share_words(row.checked, row.checked_rate),
        share_words(row.unchecked, row.unchecked_rate),
        str(row.runs),
        str(row.retries),
        "-" if row.cost_per_checked is None else f"{mark}{row.cost_per_checked:.2f}",
    )


def share_words(number: int, rate: float | None) -> str:
    """`4 (80%)`; the number alone where there are too few tasks for a rate."""
    return str(number) if rate is None else f"{number} ({100 * rate:.0f}%)"
