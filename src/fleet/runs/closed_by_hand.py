"""`tasks/<id>/closed-by-hand`: a person closed the task through fleet during a run.

A task that was closed without this mark during a run was closed past fleet. The mark is sealed, and
holds its own time: one that an agent wrote, or wrote again, counts for nothing.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from fleet.files import seals

FILE = "closed-by-hand"
#: Beside it: the task was closed past fleet once, and was opened again for that.
UNDONE = "close-undone"
_LARGEST = 1 << 12


def note(task_dir: Path, by: str) -> None:
    """Write the mark; for the command by which a person closes the task."""
    if task_dir.is_dir():  # without a directory the task never ran, and the mark is not needed
        data = f"{datetime.now(UTC).isoformat()} {by}\n".encode(errors="replace")
        seals.write_sealed(task_dir, FILE, data)


def noted(task_dir: Path, since: datetime | None) -> bool:
    """A person left the mark, and not before `since`."""
    data = seals.read_sealed(task_dir, FILE, _LARGEST)
    try:
        when = datetime.fromisoformat(data.decode(errors="replace").split(" ", 1)[0])
        return since is None or when >= since - timedelta(seconds=1)
    except (ValueError, TypeError):
        return False


def note_undone(task_dir: Path) -> None:
    """Remember that a close past fleet was undone. Raises OSError."""
    seals.write_sealed(task_dir, UNDONE, f"{datetime.now(UTC).isoformat()}\n".encode())


def was_undone(task_dir: Path) -> bool:
    """A close past fleet was undone before: one that follows is left to a person."""
    return bool(seals.read_sealed(task_dir, UNDONE, _LARGEST))
