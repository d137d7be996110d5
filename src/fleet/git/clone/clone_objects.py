"""The directories of objects that a clone reads: the project's, and what they borrow from."""

import os

from fleet.errors import FleetError
from fleet.files.lenient_read import read
from fleet.git import repository
from fleet.home import Home, clone_record

#: How far git itself follows alternates.
_DEEPEST = 5
_LARGEST = 1 << 16


def objects_of_clone(home: Home, task_id: str) -> list[str]:
    """What has to be readable for git to work in a task's clone; nothing for a task without one.

    The project is asked, and not the clone, whose agent may write what it borrows from.
    """
    try:
        record = clone_record.read(home, task_id)
    except FleetError:
        return []
    repo = repository.find(record.repository) if record is not None else None
    if repo is None or not home.clone(task_id).is_dir():
        return []
    return _borrowed([os.path.realpath(f"{repo.common_dir}/objects")])


def _borrowed(found: list[str]) -> list[str]:
    level = list(found)
    for _ in range(_DEEPEST):
        level = [path for each in level for path in _alternates(each) if path not in found]
        found += level
    return found


def _alternates(objects: str) -> list[str]:
    content = read(f"{objects}/info/alternates", _LARGEST)
    lines = os.fsdecode(content.data).splitlines() if content and content.whole else []
    return [
        os.path.realpath(os.path.join(objects, line))  # noqa: PTH118
        for line in lines
        if line and not line.startswith("#")
    ]
