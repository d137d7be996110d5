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

import msgspec
from msgspec import Struct

from fleet.errors import FleetError, InvalidTask
from fleet.supervisor import held
from fleet.supervisor.scope import Loss, Siblings
from fleet.taskdir import Home, task_json
from fleet.taskdir.atomic import write_atomically
from fleet.taskdir.plain import read_plain
from fleet.taskdir.rundir import Run, latest_run

FILE = "siblings.json"
_LARGEST = 1 << 20
#: How many directories are counted, how many files in each, and for how long in all.
MOST_PLACES = 50
_MOST_FILES = 2000
_SECONDS = 1.0
#: Fewer lost files are nothing to speak of, unless they were all.
_FEW = 20


class Counted(Struct, frozen=True, kw_only=True):
    """A directory of another task, as a run found it."""

    task_id: str
    place: str
    files: int


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
    data = msgspec.json.encode(list(found.values()))
    write_atomically(home.task(task_id) / FILE, data, durable=False)


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
        for other in held.tasks_in(home, root)
        if other != task_id and _worked(home, other, root, began)
    ]
    losses = [
        Loss(task_id=each.task_id, place=each.place, before=each.files, after=now)
        for each in _read(run.task_dir)
        if _is_loss(each.files, now := count(each.place))
        and not _worked(home, each.task_id, "", began)
    ]
    return Siblings(losses=tuple(losses), together=tuple(together))


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


def _read(task_dir: Path) -> list[Counted]:
    try:
        data = read_plain(task_dir / FILE, _LARGEST)
        return msgspec.json.decode(data, type=list[Counted]) if data else []
    except (InvalidTask, msgspec.DecodeError, UnicodeDecodeError):
        return []


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
