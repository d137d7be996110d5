"""`fleet answer`: answer the question of a task."""

from datetime import datetime

import click

from fleet import control
from fleet.cli.live_view import waiting
from fleet.cli.task_ids import for_each, given_text, task_ids
from fleet.cli.terminal_text import print_line
from fleet.control.tasks.questions import answer, answered_words
from fleet.schemas import Task


@click.command("answer")
@task_ids("blocked", "in_progress")
@click.argument("text")
@click.option("--force", is_flag=True, help="Also if it asked nothing.")
def command(task_ids: tuple[str, ...], text: str, force: bool) -> int:
    """Answer the question of a task, or the same one of several. An agent that waits has the answer
    at once; a blocked task is open again then, and the session that asked goes on.

    The answer goes below the question in the task's artifacts/Q&A.md. The number of an option is
    that option. A task that an agent proposed is answered with accept or refuse. TEXT `-` reads the
    answer from stdin.
    """
    fleet = control.opened()
    with waiting("asking the queue"):
        tasks = [fleet.get(task_id) for task_id in task_ids]
    text = given_text(text)

    def give(task: Task) -> None:
        with waiting("the queue takes the answer"):
            done = answer(fleet, task, text, at=datetime.now().astimezone(), force=force)
        print_line(answered_words(done))

    return for_each(tasks, give)
