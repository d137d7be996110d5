"""Tasks as lines for a person."""

from collections.abc import Sequence

from fleet.schemas import Task
from fleet.schemas.shown_text import one_line


def row(task: Task, *notes: str) -> str:
    """A task on one line; what else there is to say stands in brackets behind the title."""
    facts = [
        *([task.issue_type] if task.issue_type != "task" else []),
        *([f"@{task.assignee}"] if task.assignee else []),
        *task.labels,
        *(["verified, waits to land"] if task.waits_to_land else []),
        *notes,
    ]
    behind = f"  ({', '.join(facts)})" if facts else ""
    text = f"{task.id}  P{task.priority}  {task.status:<11}  {task.title}{behind}"
    return one_line(text)


def rows(tasks: Sequence[Task], none: str, more: str = "") -> str:
    """A line for each task and their number; `none` if there are none."""
    if not tasks:
        return none
    count = "1 issue" if len(tasks) == 1 else f"{len(tasks)} issues"
    return "\n".join([*map(row, tasks), "", f"{count}{more}"])
