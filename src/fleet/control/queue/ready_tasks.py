"""What `fleet ready` tells of each task; frequent, so that little is loaded for it."""

from pathlib import Path

from fleet.control import Control
from fleet.home import owner_file
from fleet.home.trusted_commands import untrusted, waits_text
from fleet.schemas import Task


def why_not_begun(fleet: Control, task: Task, cwd: str) -> str:
    """Why fleet does not begin a task that is ready; empty if nothing is in the way."""
    if task.issue_type == "epic":
        return "not run: it is an epic, and its tasks are run"
    if task.assignee and task.assignee != owner_file.read(fleet.home):
        return f"kept by {task.assignee}; to have it run: fleet bd update {task.id} --assignee ''"
    if fleet.config.shares_queue:
        from fleet.control.hosts.no_host_fits import no_host_fits

        if why := no_host_fits(fleet, task):
            return f"waits: {why}"
        return ""
    if cwd.startswith("/") and not Path(cwd).is_dir():
        return f"cannot run: its directory is gone; fleet bd update {task.id} --cwd DIR"
    return f"waits: {waits_text(task.id)}" if untrusted(fleet.home, task) else ""


def foreign_commands(fleet: Control, task: Task) -> tuple[str, ...]:
    """The commands that came with a task from elsewhere and that the operator has not trusted."""
    return untrusted(fleet.home, task)
