"""Values for tests that need one and do not care which: a moment, a task, a lease, a run."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fleet.coders import trusted_files
from fleet.home import looked_at
from fleet.runs.outcome_history import Ending
from fleet.runs.run_directory import Run, RunSpec, new_run
from fleet.schemas import Lease, Outcome, Released, Settlement, Task

#: Settings with which a claim closes its task without a person or a change, for tests of other
#: things. A new home is stricter.
UNASKED = {"expect": "any", "require": "any"}
#: The same, for agents that work in their task's directory itself.
IN_PLACE = {**UNASKED, "work_in": "directory"}

#: When the tests take place.
NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
#: The owner of leases, another one in each process of the tests: what is left of a lost run is
#: found by its mark on the whole machine and killed, and must not be a process of another test.
ME = f"me{os.getpid()}"
#: Directories in `dig`: more than Python calls functions, and fewer than a path can name.
DEPTH = 1500


def a_task(**fields) -> Task:
    whole = {"id": "fleet-abc", "title": "Add a parser", "created_at": NOW, "updated_at": NOW}
    return Task(**whole | fields)


def a_lease(task_id="fleet-1", *, fence=1, until=NOW + timedelta(minutes=10), **fields) -> Lease:
    """A lease of the owner `ME` on a task with these fields."""
    return Lease(task=a_task(id=task_id, **fields), owner=ME, fence=fence, until=until)


def a_run(task_dir: Path, **spec) -> Run:
    """The next run in a task's directory; no process is started."""
    return new_run(task_dir, RunSpec(**{"argv": ("true",), "cwd": "/"} | spec))


def an_ending(outcome: Outcome, settlement: Settlement | None = None, **fields) -> Ending:
    """How a run ended that counted as an attempt and made no progress."""
    whole = {"counts": True, "why": "because", "progress": False, "at": NOW} | fields
    return Ending(outcome=outcome, settlement=settlement or Released(), **whole)


def trust_coders(home: Path) -> None:
    """Trust every coder file in a home as it is now, as a person would."""
    trusted_files.trust(home, [path.name for path in trusted_files.files(home)], NOW)


def a_program(path: Path, script: str) -> str:
    """A shell script that can be started; its path."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def look_on(home: Path) -> None:
    """Let a person have a surface of fleet before them for as long as a test takes."""
    seen = home / looked_at.FILE
    seen.touch()
    later = (datetime.now(UTC) + HOUR).timestamp()
    os.utime(seen, (later, later))


def dig(top: Path) -> Path:
    """A tree of one directory in another, `DEPTH` of them, with a file at the bottom."""
    place = str(top)
    Path(place).mkdir()
    for _ in range(DEPTH):
        place += "/d"
        Path(place).mkdir()
    Path(place, "bottom").touch()
    return top
