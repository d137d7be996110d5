"""The JSON of fleet's own commands."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from fleet.control import Control
from fleet.errors import InvalidTask
from fleet.schemas import Task
from fleet.schemas.shown_text import harmless_json


def task_shape(fleet: Control, task: Task) -> dict[str, Any]:
    """One task with place; an invalid task has `invalid` instead."""
    shape: dict[str, Any] = {
        "id": task.id,
        "title": task.title,
        "status": task.status,
        "priority": task.priority,
        "issue_type": task.issue_type,
        "labels": list(task.labels),
        "created_at": task.created_at,
    }
    from fleet.control.queue.trust import foreign_commands  # most JSON is not of tasks

    try:
        place = fleet.place(task)
    except InvalidTask as error:
        return shape | {"invalid": error.message}
    foreign = foreign_commands(fleet, task)
    return (
        shape
        | ({"untrusted": foreign} if foreign else {})
        | {
            "cwd": place.cwd,
            "coder": place.coder,
            "model": place.model,
            "overrides": place.overrides,
        }
    )


def print_json(payload: Any) -> None:
    """JSON for people and programs; a terminal obeys nothing in this text."""
    raw = msgspec.json.encode(payload, enc_hook=_path)
    text = msgspec.json.format(raw, indent=2).decode()
    print(harmless_json(text) if sys.stdout.isatty() else text)


def _path(value: object) -> str:
    """A path as text; of all that fleet prints, msgspec does not know paths alone."""
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError
