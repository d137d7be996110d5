"""`tasks/<id>/task.json`: the directory, coder and model of one task.

A file that cannot be trusted makes its task invalid and visibly so. It is never read as
"no settings", because then the agent would run in the wrong directory.
"""

from pathlib import Path

import msgspec

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_plain
from fleet.home import Home
from fleet.schemas import Settings

FILE = "task.json"
_LARGEST = 1 << 20
_DECODER = msgspec.json.Decoder(Settings)


def read(home: Home, task_id: str) -> Settings | None:
    """The task's settings; None if it has no task.json at all."""
    path = home.task(task_id) / FILE
    try:
        raw = read_plain(path, _LARGEST)
    except InvalidTask as error:
        raise _invalid(task_id, path, error.message) from None
    if raw is None:
        return None
    try:
        settings = _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _invalid(task_id, path, str(error)) from None
    if settings.cwd is not None and not Path(settings.cwd).is_absolute():
        raise _invalid(task_id, path, f"cwd must be an absolute path, not {settings.cwd!r}")
    return settings


def write(home: Home, task_id: str, settings: Settings) -> None:
    """Record the settings, durably, before anyone may act on them."""
    directory = home.task(task_id)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(directory / FILE, msgspec.json.encode(settings) + b"\n")


def _invalid(task_id: str, path: Path, why: str) -> InvalidTask:
    return InvalidTask(
        f"task {task_id} is invalid: {path}: {why}",
        hint="Mend the file; until then nothing runs for this task.",
    )
