"""`fleet tell`: leave a message for a task's agent."""

import sys

import click

from fleet import control
from fleet.cli.print_lines import print_line
from fleet.cli.task_ids import task_id
from fleet.control.tasks.retry import way_on
from fleet.control.tasks.tell import tell


@click.command("tell")
@task_id("in_progress", "open", "blocked")
@click.argument("text")
@click.option("--now", is_flag=True, help="Stop the agent for it, and carry its session on.")
def command(task_id: str, text: str, now: bool) -> None:
    """Tell a task's agent something while it works.

    A running claude or codex reads it with its next step, at the latest before it ends; any other
    agent, and one that does not run, with its next run. TEXT `-` reads it from stdin.
    """
    fleet = control.opened()
    task = fleet.get(task_id)
    if text == "-":
        text = sys.stdin.buffer.read().decode(errors="replace")
    told = tell(fleet, task, text, now=now)
    match told.reader:
        case "agent":
            print_line(f"Told {task.id}: its agent (run {told.run}) reads it with its next step.")
        case "interrupted":
            print_line(
                f"Told {task.id}: its agent (run {told.run}) is stopped and goes on with it."
            )
        case "next_run_deaf":
            print_line(
                f"Told {task.id}: its agent cannot be reached; the message waits for its next run."
            )
            print_line(f"To stop the agent for it: fleet tell --now {task.id} …")
        case "other_host":
            print_line(f"Told {task.id}: the host that runs it hands the message to its agent.")
        case "next_run":
            print_line(f"Told {task.id}: the message waits for the task's next run.")
            if task.status in ("blocked", "closed", "deferred"):
                print_line(f"The task is {task.status}. {way_on(task)}")
