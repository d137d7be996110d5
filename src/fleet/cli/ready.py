"""`fleet ready`: what could be worked on now."""

import click

from fleet import control
from fleet.cli.text import one_line
from fleet.errors import InvalidTask


@click.command("ready")
@click.option("--limit", "-n", default=50, type=click.IntRange(min=1), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON array, in bd's shape.")
def command(limit: int, as_json: bool) -> None:
    """List tasks that could be worked on now: id, title and directory, best first."""
    fleet = control.opened()
    tasks = fleet.ready(limit)
    if as_json:
        from fleet.cli.shapes import tasks_json

        click.echo(tasks_json(fleet, tasks))
        return
    if not tasks:
        click.echo("No ready tasks.")
    for task in tasks:
        try:
            where = fleet.place(task).cwd
        except InvalidTask as error:
            where = f"invalid: {error.message}"
        click.echo(f"{task.id}  {one_line(task.title)}  [{where}]")
