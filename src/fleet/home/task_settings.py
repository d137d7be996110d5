"""A task's own settings: what task.json says, or what was recorded when the task was made."""

import msgspec

from fleet.errors import InvalidTask
from fleet.home import Home, task_json
from fleet.schemas import Settings, Task


def settings_of(home: Home, task: Task) -> Settings:
    """task.json where there is one; otherwise what was recorded when the task was made."""
    return task_json.read(home, task.id) or recorded_settings(task)


def recorded_settings(task: Task) -> Settings:
    """The settings that the queue holds with the task's own fields. Raises InvalidTask."""
    own = task.metadata.get("fleet")
    place = {"cwd": task.cwd, "coder": task.coder, "model": task.model}
    try:
        return msgspec.convert({**(own if isinstance(own, dict) else {}), **place}, Settings)
    except msgspec.ValidationError as error:
        raise InvalidTask(
            f"task {task.id} is invalid: its metadata for fleet: {error}",
            hint=f"Mend it: fleet bd update {task.id} --metadata '…'",
        ) from None
