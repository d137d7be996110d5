"""Stores why blocked tasks wait, once in a queue's life: earlier fleets left it in the notes."""

from pathlib import Path

from fleet.errors import FleetError
from fleet.home import Home
from fleet.queue.sql.database import Database
from fleet.queue.sql.row_mapping import waits_text
from fleet.runs.outcome_history import read_ending
from fleet.runs.run_directory import latest_run
from fleet.schemas import Blocked
from fleet.schemas.noted_waits import waits_in_notes
from fleet.schemas.waits import SetAside, Waits

_BLOCKED = "SELECT id, notes FROM tasks WHERE status = 'blocked' AND waits = ''"
_STORE = "UPDATE tasks SET waits = :waits WHERE id = :id"


def convert_waits(db: Database, home: Path | None) -> None:
    """Store why each blocked task waits; in the caller's transaction."""
    for task_id, notes in db.rows(_BLOCKED):
        waits = waits_in_notes(str(notes))
        if isinstance(waits, SetAside) and home is not None:
            waits = _by_run(home, str(task_id)) or waits
        db.rows(_STORE, {"id": task_id, "waits": waits_text(waits)})


def _by_run(home: Path, task_id: str) -> Waits | None:
    """What the last run left the task to a person for; None: it did not."""
    try:
        run = latest_run(Home(home).task(task_id))
    except (FleetError, OSError):
        return None
    ending = read_ending(run) if run is not None else None
    return ending.settlement.waits if ending and isinstance(ending.settlement, Blocked) else None
