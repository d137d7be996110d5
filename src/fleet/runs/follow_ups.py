"""`runs/<n>/followups.json`: the tasks that the agent of a run made."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, structs

from fleet.files.json_record import JsonRecord
from fleet.home import Home
from fleet.runs.run_directory import Run, all_runs

FILE = "followups.json"


class FollowUps(Struct, frozen=True, kw_only=True):
    """The ids of the follow-ups of a run, in the order in which they were made."""

    ids: tuple[str, ...] = ()
    #: The titles of those that were proposed, by id.
    proposed: dict[str, str] = {}


_RECORD = JsonRecord(FollowUps)


def of_run(run: Run) -> tuple[str, ...]:
    return _of(run).ids


def of_task(task_dir: Path) -> tuple[str, ...]:
    """The follow-ups of all runs of a task."""
    return tuple(each for run in all_runs(task_dir) for each in of_run(run))


class TaskTree(Struct, frozen=True):
    """All that came of a task, by the task's runs and by theirs."""

    size: int
    #: The titles of proposed tasks, by id.
    proposed: Mapping[str, str]

    def titled(self, title: str) -> str:
        """The proposed task with this title; empty: there is none."""
        words = _plain(title)
        return next((known for known, each in self.proposed.items() if _plain(each) == words), "")


def below(home: Home, task_id: str) -> TaskTree:
    """What came of a task."""
    found, left, proposed = set[str](), [task_id], dict[str, str]()
    while left:
        for run in all_runs(home.task(left.pop())):
            here = _of(run)
            proposed |= here.proposed
            fresh = [each for each in here.ids if each not in found]
            found.update(fresh)
            left += fresh
    return TaskTree(len(found), proposed)


def note(run: Run, ids: tuple[str, ...]) -> None:
    """Add follow-ups to the list of a run."""
    known = _of(run)
    _RECORD.write(run.path / FILE, structs.replace(known, ids=(*known.ids, *ids)))


def note_title(run: Run, task_id: str, title: str) -> None:
    """Note what a task that was proposed is called."""
    known = _of(run)
    proposed = {**known.proposed, task_id: title}
    _RECORD.write(run.path / FILE, structs.replace(known, proposed=proposed))


def _of(run: Run) -> FollowUps:
    return _RECORD.read_or_none(run.path / FILE) or FollowUps()


def _plain(title: str) -> str:
    return " ".join(title.casefold().split())
