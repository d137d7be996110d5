"""`fleet retry`: once more, from the beginning of the count."""

import click

from fleet import control
from fleet.cli.task_ids import task_id
from fleet.control.steering import retry


@click.command("retry")
@task_id("blocked", "open")
def command(task_id: str) -> None:
    """Put a blocked task back into the queue, with all its attempts before it.

    A task that waits for its next attempt is tried at once.
    """
    fleet = control.opened()
    task = retry(fleet, fleet.get(task_id))
    click.echo(f"{task.id} is open again; its attempts are forgotten.")
