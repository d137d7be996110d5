"""`tasks/<id>/task.json`: the settings of one task; without the file, what the queue recorded.

A file that cannot be trusted makes its task invalid and visibly so. It is never read as
"no settings", because then the agent would run in the wrong directory.
"""

import os
from pathlib import Path

import msgspec
from msgspec import structs

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import read_bounded
from fleet.home import Home, owner_file
from fleet.schemas import Settings, Task, settings_in, typed

FILE = "task.json"
#: Which settings this home last wrote, where the queue is shared: a digest.
_KNOWN = ".settings"
_RECORD = JsonRecord(Settings, may_be_empty=False)


def read(home: Home, task_id: str) -> Settings | None:
    """The task's settings; None if there is no task.json at all."""
    path = home.task(task_id) / FILE
    try:
        settings = _RECORD.read(path)
    except InvalidTask as error:
        raise _invalid(task_id, error.message) from None
    if settings and settings.cwd is not None and not Path(settings.cwd).is_absolute():
        raise _invalid(task_id, f"{path}: cwd must be an absolute path, not {settings.cwd!r}")
    return settings


def write(home: Home, task_id: str, settings: Settings) -> None:
    """Write the settings, durably, before a supervisor may act on them."""
    directory = home.task(task_id)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _RECORD.write(directory / FILE, settings)
    if settings.made_on is not None:
        write_atomically(directory / _KNOWN, _mark(settings), durable=False)


def settings_of(home: Home, task: Task) -> Settings:
    """task.json where there is one; otherwise what was recorded when the task was made.

    On a queue that hosts share, settings that were changed on another host since fleet wrote
    task.json win over it; what a person changed in the file meanwhile stays otherwise.
    """
    own = read(home, task.id)
    if own is None:
        return recorded_settings(task)
    if own.made_on is not None:
        recorded = recorded_settings(task)
        if recorded != own and _changed_elsewhere(home, task.id, recorded):
            return recorded
    return own


def _changed_elsewhere(home: Home, task_id: str, recorded: Settings) -> bool:
    """The queue holds other settings than this home last wrote."""
    known = read_bounded(home.task(task_id) / _KNOWN, 1 << 10)
    return known is not None and known != _mark(recorded)


def _mark(settings: Settings) -> bytes:
    from hashlib import sha256  # loads OpenSSL, which most commands do without

    return sha256(msgspec.json.encode(settings)).hexdigest().encode()


def local_settings(home: Home, task: Task) -> Settings:
    """The task's settings on this host: where the directory is on another host, the repository's
    mirror takes its place, and the task works in a clone. `repository` is set only then.
    """
    own = settings_of(home, task)
    origin = own.repository
    if origin is None:
        return own
    if not is_elsewhere(home, own):
        return structs.replace(own, repository=None)
    place = home.mirror(origin.url)
    cwd = str(place / origin.subdirectory) if origin.subdirectory else str(place)
    return structs.replace(own, cwd=cwd, work_in="clone", isolation=None)


def is_elsewhere(home: Home, settings: Settings) -> bool:
    """The task's directory is on another host, and the code can be had here."""
    if settings.repository is None:
        return False
    if settings.made_on is not None:
        return settings.made_on != owner_file.read(home)
    return settings.cwd is None or not os.path.isdir(settings.cwd)  # noqa: PTH112 - each task asks


def recorded_settings(task: Task) -> Settings:
    """The settings that the queue holds with the task's own fields. Raises InvalidTask."""
    place = {"cwd": task.cwd, "coder": task.coder, "model": task.model}
    try:
        return typed.convert({**settings_in(task.metadata), **place}, Settings)
    except msgspec.ValidationError as error:
        raise InvalidTask(
            f"task {task.id} is invalid: its metadata for fleet: {error}",
            hint=f"Mend it: fleet bd update {task.id} --metadata '…'",
        ) from None


def _invalid(task_id: str, why: str) -> InvalidTask:
    return InvalidTask(
        f"task {task_id} is invalid: {why}",
        hint="Mend the file; until then nothing runs for this task.",
    )
