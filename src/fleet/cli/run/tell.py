"""`fleet tell`: leave a message for a task's agent."""

import click

from fleet import control
from fleet.cli.task_ids import given_text, task_id
from fleet.cli.terminal_text import print_line
from fleet.control.tasks.retry import way_on
from fleet.control.tasks.tell import tell


@click.command("tell")
@task_id("in_progress", "open", "blocked")
@click.argument("text")
@click.option("--now", is_flag=True, help="Stop the agent for it, and carry its session on.")
def command(task_id: str, text: str, now: bool) -> None:
    """Tell a task's agent something while it works.

    A running claude or codex reads it with its next step, at the latest before it ends; any other
    agent, and one that does not run, with its next run. A closed task has none: fleet review sends
    its work back. TEXT `-` reads it from stdin.
    """
    fleet = control.opened()
    task = fleet.get(task_id)
    left = tell(fleet, task, given_text(text), now=now)
    print_line(left.told(task.id))
    if left.reader == "next_run_deaf":
        print_line(f"To stop the agent for it: fleet tell --now {task.id} …")
    elif left.reader == "claimed":
        print_line(f"To have the work changed: fleet review {task.id} --reject …")
    elif left.reader == "next_run" and task.status in ("blocked", "deferred"):
        print_line(f"The task is {task.status}. {way_on(task)}")
