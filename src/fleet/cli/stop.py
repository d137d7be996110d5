"""`fleet stop`: end one task's run."""

import click

from fleet import control
from fleet.cli.task_ids import task_id
from fleet.cli.text import one_line
from fleet.control.stopping import stop
from fleet.control.supervision import is_supervised


@click.command("stop")
@task_id("in_progress")
@click.option("--now", is_flag=True, help="Kill it at once instead of letting it end by itself.")
def command(task_id: str, now: bool) -> int:
    """Stop a task's agent, with all that it started, and block the task.

    It has grace_s seconds (runtime.toml) to end by itself. `fleet retry` puts the task back.
    """
    fleet = control.opened()
    end = stop(fleet, fleet.get(task_id), now=now)
    if not end.ended:
        click.echo(f"{end.task_id} was told to stop and has not ended yet.", err=True)
        click.echo(f"See it: fleet tasks. Kill it: fleet stop {end.task_id} --now", err=True)
        return 1
    click.echo(f"Stopped {end.task_id}: {one_line(end.why) or end.status}")
    if not end.settled and is_supervised(fleet):
        click.echo("The supervisor has not taken note of it yet: fleet status")
    elif not end.settled:
        click.echo("No supervisor is running: the task is settled when one starts (fleet run).")
    return 0
