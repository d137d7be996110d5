"""Other tasks' directories: counted when a run begins, and looked at again when it is over.

Counting is shallow and bounded. It is there to see that a directory was removed or emptied, not to
see every change: whoever works there has a record of his own.
"""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path

from msgspec import Struct

from fleet.errors import FleetError, InvalidTask
from fleet.evidence.scope_rules import Loss, Siblings
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import open_regular
from fleet.git import snapshot_index
from fleet.home import Home, task_json, worktree_json
from fleet.runs.run_directory import Run, latest_run

FILE = "siblings.json"
#: How many directories are counted, how many files in each, and for how long in all.
MOST_PLACES = 50
_MOST_FILES = 2000
_SECONDS = 1.0
#: As much of a stream as is searched for the name of a place.
_MOST_STREAM, _CHUNK = 64 << 20, 1 << 20
#: Fewer lost files are nothing to speak of, unless they were all.
_FEW = 20


class Counted(Struct, frozen=True, kw_only=True):
    """A directory of another task, as a run found it."""

    task_id: str
    place: str
    files: int


_RECORD = JsonRecord(list[Counted])


def record(home: Home, task_id: str, tree: str, others: Iterable[tuple[str, str]]) -> None:
    """Count the directories of other tasks, as (task, directory). What lies in the run's own tree,
    or holds it, is none of them: its changes are seen file by file.
    """
    end = time.monotonic() + _SECONDS
    own, ours = os.path.realpath(tree), os.path.realpath(home.path)
    found: dict[str, Counted] = {}
    seen = {""}
    for other, cwd in _with_worktrees(home, others):
        if other == task_id or cwd in seen:
            continue
        seen.add(cwd)
        place = os.path.realpath(cwd)
        if place in (*found, ours) or _overlap(own, place) or not (files := count(place)):
            continue
        found[place] = Counted(task_id=other, place=place, files=files)
        if len(found) >= MOST_PLACES or time.monotonic() >= end:
            break
    _RECORD.write(home.task(task_id) / FILE, list(found.values()), durable=False)


def _with_worktrees(home: Home, others: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Fleet's own worktrees, and then the directories that tasks name."""
    with suppress(OSError):
        for name in sorted(os.listdir(home.worktrees)):  # noqa: PTH208
            yield name, f"{home.worktrees}/{name}"
    for other, cwd in others:
        with suppress(FleetError):  # a task that cannot be read has no directory
            own = None if cwd else task_json.read(home, other)
            yield other, cwd or (own.cwd if own else None) or ""


def compare(home: Home, run: Run, root: str, began: datetime | None) -> Siblings:
    """What became of them since, and who else worked in the run's own tree."""
    task_id = run.task_dir.name
    together = [
        other
        for other in snapshot_index.tasks_in(home, root)
        if other != task_id and _worked(home, other, root, began)
    ]
    losses = [
        Loss(task_id=each.task_id, place=each.place, before=each.files, after=now)
        for each in _RECORD.read_or_none(run.task_dir / FILE) or ()
        if _is_loss(each.files, now := count(each.place))
        and not _worked(home, each.task_id, "", began)
        and not _put_away(home, each)
        and _may_be_by(home, run, each.place, began)
    ]
    return Siblings(losses=tuple(losses), together=tuple(together))


def _put_away(home: Home, each: Counted) -> bool:
    """It was a worktree, and fleet itself removed it."""
    try:
        tree = worktree_json.read(home, each.task_id)
    except FleetError:
        return False
    if tree is None or os.path.realpath(tree.path) != each.place:
        return False
    return tree.removing or not tree.set_up


def _may_be_by(home: Home, run: Run, place: str, began: datetime | None) -> bool:
    """Whose hand it was nobody saw. A run that speaks of the place is asked; where only others do
    that lived meanwhile, this one is not; and where nobody does, everybody is.
    """
    if speaks_of(run, place):
        return True
    others = {each.task_id for each in snapshot_index.all_held(home)} - {run.task_dir.name}
    meanwhile = [other for other in others if _worked(home, other, "", began)]
    runs = (latest_run(home.task(other)) for other in meanwhile)
    return not any(speaks_of(other, place) for other in runs if other is not None)


def speaks_of(run: Run, place: str) -> bool:
    """The run's stream names the directory: whole, or from a neighbouring one."""
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
    """How many files and directories a directory holds, two levels deep; None: it is gone."""
    found = 0
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                found += 1
                if entry.name != ".git" and entry.is_dir(follow_symlinks=False):
                    found += _inside(entry.path)
                if found >= _MOST_FILES:
                    break
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return 0
    return found


def _inside(folder: str) -> int:
    try:
        with os.scandir(folder) as entries:
            return sum(1 for _ in islice(entries, _MOST_FILES))
    except OSError:
        return 0


def _is_loss(before: int, after: int | None) -> bool:
    if after is None or after == 0:
        return True
    return before - after > max(_FEW, before // 2)


def _worked(home: Home, task_id: str, root: str, began: datetime | None) -> bool:
    """A run of that task lived at some time since; in that tree, if one is given."""
    try:
        run = latest_run(home.task(task_id))
        if run is None or run.started() is None:
            return False
        base = run.spec().base
        if root and (base is None or base.root != root):
            return False
        ended = run.exit()
    except (InvalidTask, FleetError):
        return False
    return ended is None or began is None or ended.ended_at >= began


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
