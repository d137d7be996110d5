"""`tasks/<id>/closed-by-hand`: a person closed the task through fleet while its run lived.

A task that was closed without this mark during a run was closed past fleet.
"""

from datetime import datetime
from pathlib import Path

from fleet.files.atomic_write import write_atomically

FILE = "closed-by-hand"


def note(task_dir: Path, by: str) -> None:
    """Write the mark; for the command by which a person closes the task."""
    if task_dir.is_dir():  # without a directory the task never ran, and the mark is not needed
        write_atomically(task_dir / FILE, f"{by}\n".encode(errors="replace"))


def noted(task_dir: Path, since: datetime | None) -> bool:
    """The mark is there, and not from before `since`."""
    try:
        when = (task_dir / FILE).lstat().st_mtime
    except OSError:
        return False
    return since is None or when >= since.timestamp() - 1
