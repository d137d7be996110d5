"""What earlier runs of a task came to: `runs/<n>/outcome.json`, and the counts drawn from them.

A run's outcome is written once, before the queue is told. Whoever finds one after a crash settles
by it and counts nothing twice. `.failures` repeats the count for people.
"""

from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from fleet.errors import InvalidTask
from fleet.schemas import ContextFull, Outcome, Settlement
from fleet.supervisor.settle import Decision
from fleet.taskdir.atomic import write_atomically
from fleet.taskdir.plain import read_plain
from fleet.taskdir.rundir import Run, all_runs

FILE = "outcome.json"
FAILURES = ".failures"
#: Holds the number of the run up to which attempts are forgiven, after `fleet retry`.
FORGIVEN = ".forgiven"
_LARGEST = 1 << 20


class Ending(Struct, frozen=True, kw_only=True):
    """The content of outcome.json."""

    outcome: Outcome
    settlement: Settlement
    counts: bool
    why: str
    progress: bool
    at: datetime
    #: What the run used, as far as its CLI told.
    tokens: int = 0
    cost_usd: float | None = None
    tool_calls: int = 0
    session_id: str = ""

    @property
    def decision(self) -> Decision:
        return Decision(settlement=self.settlement, counts=self.counts, why=self.why)


class History(Struct, frozen=True, kw_only=True):
    """What a new run has to know of those before it."""

    attempts: int = 0
    full_contexts: int = 0
    last: Ending | None = None


def read_ending(run: Run) -> Ending | None:
    """How a run ended, if that was decided. A damaged record counts as none."""
    try:
        data = read_plain(run.path / FILE, _LARGEST)
        return None if data is None else msgspec.json.decode(data, type=Ending)
    except (InvalidTask, msgspec.DecodeError, UnicodeDecodeError):
        return None


def write_ending(run: Run, ending: Ending) -> None:
    write_atomically(run.path / FILE, msgspec.json.encode(ending))
    count = history(run.task_dir).attempts
    write_atomically(run.task_dir / FAILURES, f"{count}\n".encode())


def history(task_dir: Path, before: int | None = None) -> History:
    """The counts over all runs, or over those before a given one."""
    forgiven = _forgiven(task_dir)
    runs = [run for run in all_runs(task_dir) if before is None or run.number < before]
    endings = [(run.number, ending) for run in runs if (ending := read_ending(run)) is not None]
    attempts = sum(ending.counts for number, ending in endings if number > forgiven)
    full = 0
    for _, ending in reversed(endings):
        if not isinstance(ending.outcome, ContextFull) or ending.progress or ending.counts:
            break
        full += 1
    return History(attempts=attempts, full_contexts=full, last=endings[-1][1] if endings else None)


def forgive(task_dir: Path) -> None:
    """Start counting anew: a person wants the task tried again."""
    runs = all_runs(task_dir)
    if runs:
        write_atomically(task_dir / FORGIVEN, f"{runs[-1].number}\n".encode())
        write_atomically(task_dir / FAILURES, b"0\n")


def _forgiven(task_dir: Path) -> int:
    data = read_plain(task_dir / FORGIVEN, _LARGEST)
    return int(data) if data and data.strip().isdigit() else 0
