"""`trusted.json`: the verify commands that this home's operator trusts, beside those in task.json.

The settings of a task that this home's operator made or edited stand in its task.json. A task that
came by an import, or over a queue that other homes share, has its settings in the queue alone, and
with them commands that a stranger may have written. Such commands run here only once the operator
has trusted them: exactly these commands, in exactly this directory.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec import Struct

from fleet.errors import InvalidTask, Refused
from fleet.extend import Gate, HomeMoment, SubjectFacts, TaskStart
from fleet.files.file_lock import exclusive
from fleet.files.json_record import JsonRecord
from fleet.home import Home, task_json
from fleet.home.task_json import recorded_settings
from fleet.schemas import Settings, Task
from fleet.schemas.task_state import Wait, WayOn

FILE = "trusted.json"
#: Why a host declines a task, as every host shows it.
UNTRUSTED_THERE = "its verify command is not trusted there; look at it, then run on that host"
_UNSEEN = "its verify command came with an import or a shared queue"


class TrustedCommands(Struct, frozen=True, kw_only=True):
    """What was trusted, for people who read the file; only the digest decides."""

    at: datetime
    cwd: str | None
    verify: tuple[str, ...]


_RECORD = JsonRecord(
    dict[str, TrustedCommands],
    limit=16 << 20,
    hint="Move it away; then trust again what you want to: fleet trust",
)


def untrusted(home: Home, task: Task) -> tuple[str, ...]:
    """The commands that came with a task from elsewhere and that the operator has not trusted."""
    try:
        settings = recorded_settings(task)
        if not settings.verify or task_json.read(home, task.id) is not None:
            return ()
    except InvalidTask:
        return ()  # nothing runs for an invalid task, which says why itself
    known = _RECORD.read(home.path / FILE) or {}
    return () if _digest(settings) in known else settings.verify


def check_trusted(home: Home, task: Task) -> None:
    """Refuse a task whose commands would become the operator's own unseen."""
    if untrusted(home, task):
        raise Refused(
            waits_text(task.id), hint=f"See them: fleet show {task.id}. Then: fleet trust {task.id}"
        )


def waits_text(task_id: str) -> str:
    """What is told of a task that waits for trust in its commands."""
    return f"{_UNSEEN}: look at it, then run: fleet trust {task_id}"


def trust(home: Home, all_settings: Iterable[Settings], now: datetime) -> None:
    """Trust the commands in these settings from now on, durably."""
    fresh = {
        _digest(each): TrustedCommands(at=now, cwd=each.cwd, verify=each.verify)
        for each in all_settings
        if each.verify
    }
    if not fresh.keys() - (_RECORD.read(home.path / FILE) or {}).keys():
        return
    with exclusive(home.path / "trusted.lock"):
        known = _RECORD.read(home.path / FILE) or {}
        _RECORD.write(home.path / FILE, {**fresh, **known})


def _digest(settings: Settings) -> str:
    from hashlib import sha256  # loads OpenSSL, which most commands do without

    return sha256(msgspec.json.encode([settings.cwd, settings.verify])).hexdigest()


class StrangeCommands(SubjectFacts, frozen=True, kw_only=True):
    """The commands of a task that the operator has not trusted."""

    commands: tuple[str, ...] = ()


class CommandsTrusted(Gate):
    """The operator has to trust commands that came with a task from elsewhere."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        if not start.of(StrangeCommands).commands:
            return None
        line = f"fleet trust {start.task.id}"
        return Wait(
            gate="trust", reason=_UNSEEN, way_on=WayOn(verb="", line=line), person=True,
            declined=f"{UNTRUSTED_THERE}: {line}",
        )  # fmt: skip
