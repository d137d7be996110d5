"""What `fleet ready` tells of each task; frequent, so that little is loaded for it."""

from fleet.control import Control
from fleet.home.trusted_commands import untrusted
from fleet.schemas import Task


def foreign_commands(fleet: Control, task: Task) -> tuple[str, ...]:
    """The commands that came with a task from elsewhere and that the operator has not trusted."""
    return untrusted(fleet.home, task)
