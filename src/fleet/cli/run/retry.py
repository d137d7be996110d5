"""`fleet retry`: put a blocked task back into the queue, its attempts counted anew."""

import click

from fleet import control
from fleet.cli.task_ids import task_id
from fleet.cli.tracker.task_flags import budget_from
from fleet.control.tasks.retry import retry


@click.command("retry")
@task_id("blocked", "open")
@click.option(
    "--budget", metavar="AMOUNT", help="What it may spend from now on, all its runs together."
)
def command(task_id: str, budget: str | None) -> None:
    """Put a blocked task back into the queue, with all its attempts before it.

    A task that waits for its next attempt is tried at once. What it spent is not forgotten: one
    whose budget is spent needs a larger one ($10, 50M tokens, none).
    """
    wanted = None if budget is None else budget_from(budget)
    fleet = control.opened()
    task = retry(fleet, fleet.get(task_id), budget=wanted)
    click.echo(f"{task.id} is open again; its attempts are forgotten.")
