"""`tasks/<id>/closed-by-hand`: a person closed the task through fleet, whatever its agent is at.

A task that is found closed while its run lived, without this mark, was closed past fleet.
"""

from datetime import datetime
from pathlib import Path

from fleet.files.atomic_write import write_atomically

FILE = "closed-by-hand"


def note(task_dir: Path, by: str) -> None:
    """A person is about to close it."""
    if task_dir.is_dir():  # otherwise it never ran, and nobody will ask
        write_atomically(task_dir / FILE, f"{by}\n".encode(errors="replace"))


def noted(task_dir: Path, since: datetime | None) -> bool:
    """A person closed it since then."""
    try:
        when = (task_dir / FILE).lstat().st_mtime
    except OSError:
        return False
    return since is None or when >= since.timestamp() - 1
