"""`tasks/<id>/task.json`: the directory, coder and model of one task.

A file that cannot be trusted makes its task invalid and visibly so. It is never read as
"no settings", because then the agent would run in the wrong directory.
"""

from pathlib import Path

from fleet.errors import InvalidTask
from fleet.files.json_record import JsonRecord
from fleet.home import Home
from fleet.schemas import Settings

FILE = "task.json"
_RECORD = JsonRecord(Settings, may_be_empty=False)


def read(home: Home, task_id: str) -> Settings | None:
    """The task's settings; None if it has no task.json at all."""
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


def _invalid(task_id: str, why: str) -> InvalidTask:
    return InvalidTask(
        f"task {task_id} is invalid: {why}",
        hint="Mend the file; until then nothing runs for this task.",
    )
