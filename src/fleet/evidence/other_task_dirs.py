"""Other tasks' directories: their files are counted when a run begins, and again when the run is
over.

Counting is shallow and bounded: it finds a directory that was removed or emptied, and no smaller
change. Directories of tasks that are at work are left to the runs of those tasks.
"""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from fleet.errors import FleetError, InvalidTask
from fleet.evidence.scope_rules import LostDirectory
from fleet.files.agent_place import AgentPlace
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import open_regular
from fleet.git import snapshot_index
from fleet.git.clone.clone_place import clones_in
from fleet.home import Home, clone_record, task_json
from fleet.processes import process_identity
from fleet.runs.run_directory import Run, began_at, latest_run

FILE = "siblings.json"
#: How many directories are counted, how many files in each, and for how many seconds in all.
MOST_PLACES = 50
_MOST_FILES = 2000
_SECONDS = 1.0
#: How much of a stream is searched for the name of a directory, and how much at a time.
_MOST_STREAM, _CHUNK = 64 << 20, 1 << 20
#: Fewer lost files are no loss, unless the directory is empty.
_FEW = 20
#: Seconds that the keepers of other runs have to write what their agents printed before.
_CATCH_UP = 10.0


class CountedDirectory(Struct, frozen=True, kw_only=True):
    """A directory of another task, in the state that a run found."""

    task_id: str
    place: str
    files: int


_RECORD = JsonRecord(list[CountedDirectory])


def record(home: Home, task_id: str, tree: str, others: Iterable[tuple[str, str]]) -> None:
    """Count the files of other tasks' directories, given as (task, directory), and keep the counts.

    A directory that overlaps with the run's own tree is left out: git sees the changes there.
    """
    end = time.monotonic() + _SECONDS
    own, ours = os.path.realpath(tree), os.path.realpath(home.path)
    found: dict[str, CountedDirectory] = {}
    seen = {""}
    for other, cwd in _with_clones(home, others):
        if other == task_id or cwd in seen:
            continue
        seen.add(cwd)
        place = os.path.realpath(cwd)
        if place in (*found, ours) or _overlap(own, place) or not (files := count(place)):
            continue
        found[place] = CountedDirectory(task_id=other, place=place, files=files)
        if len(found) >= MOST_PLACES or time.monotonic() >= end:
            break
    _RECORD.write(home.task(task_id) / FILE, list(found.values()), durable=False)


def _with_clones(home: Home, others: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The clones of the home, then the given directories."""
    for name in clones_in(home):
        yield name, f"{home.worktrees}/{name}"
    for other, cwd in others:
        with suppress(FleetError):  # a task whose settings cannot be read has no directory
            own = None if cwd else task_json.read(home, other)
            yield other, cwd or (own.cwd if own else None) or ""


def lost_directories(run: Run) -> tuple[LostDirectory, ...]:
    """The directories that lost files since the run began, as far as this run answers for them."""
    counted = _RECORD.read_or_none(run.task_dir / FILE) or ()
    since = _counted_at(run)
    lost = (_lost(run.home, run, each, since) for each in counted)
    return tuple(directory for directory in lost if directory is not None)


def _counted_at(run: Run) -> datetime | None:
    """When the directories were counted, which is before the run began: what happened in between
    shows as a loss too.
    """
    with suppress(OSError):
        written = (run.task_dir / FILE).stat().st_mtime
        return datetime.fromtimestamp(written - _SECONDS, UTC)
    return began_at(run)


def in_same_tree(run: Run, root: str) -> tuple[str, ...]:
    """The other tasks whose runs worked in a tree since the run began."""
    home, began = run.home, began_at(run)
    return tuple(
        other
        for other in snapshot_index.tasks_in(home, root)
        if other != run.task_id and _worked(home, other, root, began)
    )


def _lost(
    home: Home, run: Run, each: CountedDirectory, began: datetime | None
) -> LostDirectory | None:
    """The loss of a directory that this run answers for; None if there is none.

    This run answers for the loss if its stream names the directory, or if no stream of a run that
    was at work meanwhile does: then the loss names those runs too.
    """
    now = count(each.place)
    if not _is_loss(each.files, now) or _worked(home, each.task_id, "", began):
        return None
    if _removed_by_fleet(home, each):
        return None
    others: list[str] = []
    if not _names(run, each.place):
        meanwhile = _at_work(home, run.task_id, began)
        _catch_up(meanwhile)
        if any(_names(other, each.place) for other in meanwhile):
            return None
        others = sorted(other.task_id for other in meanwhile)
    return LostDirectory(
        task_id=each.task_id, place=each.place, before=each.files, after=now, or_by=tuple(others)
    )


def _at_work(home: Home, task_id: str, began: datetime | None) -> list[Run]:
    """The runs of other tasks that lived at some time since `began`."""
    tasks = {each.task_id for each in snapshot_index.all_entries(home)} - {task_id}
    worked = [latest_run(home.task(task)) for task in tasks if _worked(home, task, "", began)]
    return [run for run in worked if run is not None]


def _catch_up(runs: Iterable[Run]) -> None:
    """Wait until each keeper has slept: it has then written all that its agent printed before.

    On a busy machine a directory is gone before the line that names it is in the file.
    """
    end = time.monotonic() + _CATCH_UP
    for run in runs:
        started = run.started()
        while started and process_identity.at_work(started.keeper) and time.monotonic() < end:
            time.sleep(0.01)


def _removed_by_fleet(home: Home, each: CountedDirectory) -> bool:
    """The directory was a clone, and fleet removed that clone."""
    try:
        record = clone_record.read(home, each.task_id)
        own = os.path.realpath(home.clone(each.task_id)) == each.place
    except FleetError:
        return False
    return own and record is not None and not record.set_up


def _names(run: Run, place: str) -> bool:
    """The run's stream names the directory, by its full path or as `../<name>`."""
    names = (os.fsencode(place), os.fsencode(f"../{Path(place).name}"))
    longest = max(map(len, names))
    fd = None
    try:
        fd = open_regular(run.stdout)
        at, carried = 0, b""
        while fd is not None and at < _MOST_STREAM and (data := os.pread(fd, _CHUNK, at)):
            at += len(data)
            window = carried + data
            if any(name in window for name in names):
                return True
            carried = window[-longest:]
    except (InvalidTask, OSError):
        return False
    finally:
        if fd is not None:
            os.close(fd)
    return False


def count(place: str) -> int | None:
    """The number of entries in a directory, two levels deep; None: the directory is gone."""
    found, agents = 0, AgentPlace(place)
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                found += 1
                if entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                    found += _inside(agents, entry.name)
                if found >= _MOST_FILES:
                    break
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return 0
    return found


def _inside(place: AgentPlace, name: str) -> int:
    try:
        return place.count(name, _MOST_FILES)
    except OSError:
        return 0


def _is_loss(before: int, after: int | None) -> bool:
    if after is None or after == 0:
        return True
    return before - after > max(_FEW, before // 2)


def _worked(home: Home, task_id: str, root: str, began: datetime | None) -> bool:
    """The task's latest run lived at some time since `began`, in the tree `root` if given."""
    try:
        run = latest_run(home.task(task_id))
        if run is None or run.started() is None or run.spec_doubt():
            return False  # what fleet did not write excuses nothing
        base = run.spec().base
        if root and (base is None or base.root != root):
            return False
        ended = run.exit()
    except (InvalidTask, FleetError):
        return False
    return ended is None or began is None or ended.ended_at >= began


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
