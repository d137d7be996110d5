"""`fleet trust`: which tasks wait for their commands to be trusted, and trusting them."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from fleet.control import Control
from fleet.errors import BadInput, NotFound
from fleet.home import owner_file
from fleet.home.task_json import recorded_settings
from fleet.home.trusted_commands import trust, untrusted
from fleet.queue.protocol import Filter
from fleet.schemas import Settings, Task, typed


class ForeignTask(Struct, frozen=True, kw_only=True):
    """A task whose commands came from elsewhere."""

    id: str
    title: str
    cwd: str
    verify: tuple[str, ...]


class _ExportLine(Struct, frozen=True):
    """What is of interest in a line of `bd export`; lines of other kinds have no id."""

    id: str = ""
    metadata: dict[str, Any] = {}


def foreign_commands(fleet: Control, task: Task) -> tuple[str, ...]:
    """The commands that came with a task from elsewhere and that the operator has not trusted."""
    return untrusted(fleet.home, task)


def waiting_for_trust(fleet: Control) -> list[ForeignTask]:
    """The tasks that are not closed and wait for their commands to be trusted."""
    return [*filter(None, (_foreign(fleet, task) for task in fleet.queue.find(Filter())))]


def trust_tasks(fleet: Control, words: Sequence[str], now: datetime) -> list[ForeignTask]:
    """Trust the commands of these tasks as they are now, and let the tasks begin.

    Returns those that had waited for it.
    """
    tasks = [task for word in words if foreign_commands(fleet, task := fleet.get(word))]
    found = [*filter(None, (_foreign(fleet, task) for task in tasks))]
    trust(fleet.home, [recorded_settings(task) for task in tasks], now)
    if tasks and fleet.is_shared:
        from fleet.queue.sql.hosts.host_table import ask_again  # only a shared queue needs it

        ask_again(fleet.tracker, owner_file.read_or_make(fleet.home))
    for task in tasks:
        if task.status == "open" and task.not_before is not None:
            fleet.queue.reopen_task(task, by=fleet.by)
    return found


def ids_in(path: str, fleet: Control) -> list[str]:
    """The tasks of the queue that a file of `bd export` holds with the very same commands.

    A task that was changed since it was imported is left out: its commands are not the file's.
    """
    named = {task_id: settings for task_id, settings in _lines(path) if settings.verify}
    found = fleet.queue.find(Filter(ids=tuple(named))) if named else ()
    same = [task.id for task in found if recorded_settings(task).verify == named[task.id].verify]
    if not same:
        raise NotFound(
            f"{path} holds no task of this queue with a verify command",
            hint=f"Import its tasks first: fleet bd import {path}. Changed since: fleet trust ID",
        )
    return same


def _lines(path: str) -> list[tuple[str, Settings]]:
    try:
        lines = Path(path).expanduser().read_bytes().splitlines()
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    found: list[tuple[str, Settings]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = typed.decode(line, _ExportLine)
            found.append((row.id, typed.convert(row.metadata.get("fleet") or {}, Settings)))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadInput(f"line {number} of {path} is no task: {error}") from error
    return found


def _foreign(fleet: Control, task: Task) -> ForeignTask | None:
    verify = foreign_commands(fleet, task)
    if not verify:
        return None
    return ForeignTask(id=task.id, title=task.title, cwd=task.cwd or "", verify=verify)
