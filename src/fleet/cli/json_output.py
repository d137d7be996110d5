"""The JSON of fleet's own commands."""

from typing import Any

import msgspec

from fleet.control import Control
from fleet.errors import InvalidTask
from fleet.home.trusted_commands import untrusted
from fleet.schemas import Task


def task_shape(fleet: Control, task: Task) -> dict[str, Any]:
    """One task with its place; an invalid task has `invalid` instead."""
    shape: dict[str, Any] = {
        "id": task.id,
        "title": task.title,
        "status": task.status,
        "priority": task.priority,
        "issue_type": task.issue_type,
        "labels": list(task.labels),
        "created_at": task.created_at,
    }
    try:
        place = fleet.place(task)
    except InvalidTask as error:
        return shape | {"invalid": error.message}
    foreign = untrusted(fleet.home, task)
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


def pretty(payload: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(payload), indent=2).decode()
