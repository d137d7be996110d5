"""`fleet answer`: answer the question of a blocked task."""

import sys
from datetime import datetime

import click

from fleet import control
from fleet.cli.task_ids import task_id
from fleet.control.tasks.questions import answer


@click.command("answer")
@task_id("blocked")
@click.argument("text")
@click.option("--force", is_flag=True, help="Also if it asked nothing.")
def command(task_id: str, text: str, force: bool) -> None:
    """Answer the question of a blocked task and put it back into the queue.

    The answer goes below the question in the task's artifacts/Q&A.md. TEXT `-` reads it from
    stdin.
    """
    fleet = control.opened()
    task = fleet.get(task_id)
    if text == "-":
        text = sys.stdin.buffer.read().decode(errors="replace")
    done = answer(fleet, task, text, at=datetime.now().astimezone(), force=force)
    click.echo(f"Answered {done.id}; it is open again.")
