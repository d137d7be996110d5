"""Closes the epics of a plan once the acceptance task is closed, by a run or by landing.

A mark in `plan-ends` of the home is set before the queue is told of the acceptance task, and goes
when its epics were seen to. So a supervisor that comes after a `kill -9` closes what is left.
"""

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from fleet.errors import NotFound, Refused
from fleet.extend import Duty
from fleet.files.atomic_write import write_atomically
from fleet.home import Home
from fleet.plan.plan_changes import epics_closed_by
from fleet.queue.protocol import Filter, Queue
from fleet.schemas import Task
from fleet.supervisor.state import Happening, Recovered, SupervisorState

#: In the home: one empty file for each acceptance task whose epics were not seen to yet.
FOLDER = "plan-ends"


def mark_end(home: Home, task: Task) -> None:
    """Mark that the task is about to be settled, and that epics may have to be closed. Raises
    OSError.
    """
    if epics_closed_by(task):
        mark = _mark(home, task.id)
        mark.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(mark, b"")


def close_epics(state: SupervisorState, tasks: Iterable[Task]) -> None:
    """Close the epics that end with these tasks, which are closed."""

    def closed(task_id: str, ids: list[str]) -> None:
        for each in ids:
            state.log.say("closed", f"{each}: closed: all of its tasks are closed", task=each)
        _mark(state.home, task_id).unlink(missing_ok=True)

    for task in tasks:
        if ids := epics_closed_by(task):
            state.queue.call(partial(_closed, ids, state.queue.owner), partial(closed, task.id))


def _closed(ids: tuple[str, ...], owner: str, queue: Queue) -> list[str]:
    """In the queue's thread: close epics whose last task is closed; one that has open tasks is
    left. Returns which were closed.
    """
    found = {task.id: task for task in queue.find(Filter(ids=ids))}
    closed: list[str] = []
    for epic in (found[each] for each in ids if each in found):
        if epic.issue_type == "epic" and epic.status != "closed":
            with suppress(NotFound, Refused):  # the epic has open tasks, or is gone
                queue.close_task(epic, by=owner, reason="all of its tasks are closed")
                closed.append(epic.id)
    return closed


def close_epics_of(state: SupervisorState, ids: Iterable[str]) -> None:
    """Close the epics that end with the tasks of these ids, which are closed."""
    if wanted := tuple(ids):
        state.queue.named(wanted, partial(close_epics, state))


class EpicDuty(Duty):
    """Closes the epics that an earlier supervisor did not come to close."""

    def __init__(self, state: SupervisorState) -> None:
        self._state = state

    def on_event(self, event: Happening) -> None:
        if isinstance(event, Recovered):
            close_left_epics(self._state)


def close_left_epics(state: SupervisorState) -> None:
    """Close the epics that an earlier supervisor did not come to close."""

    def found(tasks: list[Task]) -> None:
        close_epics(state, [task for task in tasks if task.status == "closed"])
        for gone in set(marked) - {task.id for task in tasks}:
            _mark(state.home, gone).unlink(missing_ok=True)

    if marked := _marked(state.home):
        state.queue.named(marked, found)


def _marked(home: Home) -> tuple[str, ...]:
    with suppress(FileNotFoundError):
        names = os.listdir(home.path / FOLDER)  # noqa: PTH208
        return tuple(sorted(name for name in names if not name.startswith(".")))
    return ()


def _mark(home: Home, task_id: str) -> Path:
    return home.path / FOLDER / home.task(task_id).name
