"""task-master's `tasks.json`, tagged or not. Pure."""

from typing import Any, cast

import msgspec
from msgspec import Struct

from fleet.errors import BadInput
from fleet.plan.neutral_plan import Plan, PlannedTask, SpecText
from fleet.plan.readers.box_tasks import checks_in, files_in, title_of
from fleet.plan.readers.neutral import array_lines, load_json, place_of
from fleet.schemas import typed

#: Statuses that leave nothing to do.
_DONE = frozenset(("done", "completed", "cancelled"))
_PRIORITIES = {"critical": 0, "high": 1, "medium": 2, "low": 3}
_MAIN_TAG = "master"


class _MasterTask(Struct):
    """A task or a subtask."""

    id: int | str
    title: str = ""
    description: str | None = None
    details: str | None = None
    testStrategy: str | None = None  # noqa: N815 - task-master's own word
    status: str = "pending"
    priority: str | None = None
    dependencies: tuple[int | float | str, ...] | None = None
    subtasks: tuple["_MasterTask", ...] | None = None


def read_task_master(spec: SpecText) -> Plan:
    """A task for each task and subtask; a task with subtasks is a group of them."""
    file = spec.main
    data = load_json(file)
    rows, path = _rows(data, spec)
    lines = array_lines(file.text, *path)
    try:
        entries = typed.convert(rows, tuple[_MasterTask, ...])
    except msgspec.ValidationError as error:
        raise BadInput(f"{file.name}: this is no list of task-master's: {error}") from None
    tasks: list[PlannedTask] = []
    for number, entry in enumerate(entries):
        place = place_of(file.name, lines, number)
        tasks.append(_task(entry, place))
        tasks += [_task(each, place, parent=str(entry.id)) for each in entry.subtasks or ()]
    tag = path[0] if len(path) > 1 and path[0] != _MAIN_TAG else ""
    return Plan(title=f"{spec.title}: {tag}" if tag else spec.title, tasks=tuple(tasks))


def _rows(data: dict[str, Any], spec: SpecText) -> tuple[object, tuple[str, ...]]:
    """The list of tasks, and the names that lead there."""
    if isinstance(data.get("tasks"), list):
        return data["tasks"], ("tasks",)
    tags: dict[str, Any] = {
        name: cast("dict[str, Any]", value)["tasks"]
        for name, value in data.items()
        if isinstance(value, dict) and "tasks" in value
    }
    if not tags:
        raise BadInput(
            f"{spec.main.name} has no list of tasks",
            hint='Written is {"master": {"tasks": [...]}}, or {"tasks": [...]}.',
        )
    wanted = spec.tag or (_MAIN_TAG if _MAIN_TAG in tags else next(iter(tags), ""))
    if not spec.tag and len(tags) > 1 and _MAIN_TAG not in tags:
        raise BadInput(
            f"{spec.main.name} has several lists: {', '.join(tags)}", hint="Name one: --tag NAME"
        )
    if wanted not in tags:
        raise BadInput(
            f"{spec.main.name} has no tag {wanted!r}", hint=f"Tags there: {', '.join(tags)}."
        )
    return tags[wanted], (wanted, "tasks")


def _task(entry: _MasterTask, place: str, parent: str = "") -> PlannedTask:
    key = f"{parent}.{entry.id}" if parent else str(entry.id)
    parts = [entry.description or "", entry.details or ""]
    if entry.testStrategy:
        parts.append(f"How to test it: {entry.testStrategy}")
    body = "\n\n".join(part.strip() for part in parts if part.strip())
    put_off = entry.status == "deferred"
    return PlannedTask(
        key=key,
        title=title_of(entry.title),
        body=body or entry.title,
        after=tuple(_dependency(each, parent) for each in entry.dependencies or ()),
        parent=parent,
        files=files_in(entry.details or ""),
        verify=checks_in(entry.testStrategy or ""),
        priority=4 if put_off else _PRIORITIES.get(entry.priority or "medium", 2),
        labels=("deferred",) if put_off else (),
        optional=put_off,
        done=entry.status in _DONE,
        place=place,
    )


def _dependency(named: float | str, parent: str) -> str:
    """A number in a subtask names a subtask of the same task; a text like `1.2` any other."""
    text = str(named)
    return f"{parent}.{text}" if parent and "." not in text else text
