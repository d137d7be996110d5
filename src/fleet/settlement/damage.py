"""What damaged records cost: the task of that run, which is left to a person, and nothing else."""

from fleet.errors import FleetError
from fleet.schemas.decision import Decision, blocked


def damaged(error: FleetError | OSError, task_id: str) -> Decision:
    """The decision on a task whose files cannot be worked with, in a sentence with the way out."""
    if isinstance(error, FleetError):
        what, way = error.message, error.hint
    else:
        what, way = f"{error.filename or 'its files'}: {error.strerror or error}", ""
    return blocked(f"damaged: {what}. {way or 'Move it away.'} Then: fleet retry {task_id}")
