"""`fleet answer`: answer the question of a blocked task."""

import sys
from datetime import datetime

import click

from fleet import control
from fleet.cli.live_view import waiting
from fleet.cli.print_lines import print_line
from fleet.cli.task_ids import for_each, task_ids
from fleet.control.tasks.questions import answer
from fleet.schemas import Task


@click.command("answer")
@task_ids("blocked")
@click.argument("text")
@click.option("--force", is_flag=True, help="Also if it asked nothing.")
def command(task_ids: tuple[str, ...], text: str, force: bool) -> int:
    """Answer the question of a blocked task, or the same one of several; they are open again then.

    The answer goes below the question in the task's artifacts/Q&A.md. TEXT `-` reads it from
    stdin.
    """
    fleet = control.opened()
    with waiting("asking the queue"):
        tasks = [fleet.get(task_id) for task_id in task_ids]
    if text == "-":
        text = sys.stdin.buffer.read().decode(errors="replace")

    def give(task: Task) -> None:
        with waiting("the queue takes the answer"):
            done = answer(fleet, task, text, at=datetime.now().astimezone(), force=force)
        print_line(f"Answered {done.id}; it is open again.")

    return for_each(tasks, give)
