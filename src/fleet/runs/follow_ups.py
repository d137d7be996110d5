"""`runs/<n>/followups.json`: the tasks that the agent of a run made."""

from pathlib import Path

from msgspec import Struct

from fleet.files.json_record import JsonRecord
from fleet.home import Home
from fleet.runs.run_directory import Run, all_runs

FILE = "followups.json"


class FollowUps(Struct, frozen=True, kw_only=True):
    """Their ids, in the order in which they were made."""

    ids: tuple[str, ...] = ()


_RECORD = JsonRecord(FollowUps)


def of_run(run: Run) -> tuple[str, ...]:
    found = _RECORD.read_or_none(run.path / FILE)
    return found.ids if found else ()


def of_task(task_dir: Path) -> tuple[str, ...]:
    """Those of all runs of a task."""
    return tuple(each for run in all_runs(task_dir) for each in of_run(run))


def below(home: Home, task_id: str) -> int:
    """How many tasks came of a task, by its runs and by theirs."""
    found, left = set[str](), [task_id]
    while left:
        fresh = [each for each in of_task(home.task(left.pop())) if each not in found]
        found.update(fresh)
        left += fresh
    return len(found)


def note(run: Run, ids: tuple[str, ...]) -> None:
    """Add to those of a run."""
    _RECORD.write(run.path / FILE, FollowUps(ids=(*of_run(run), *ids)))
