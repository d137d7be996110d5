"""`tasks/<id>/base.json`: why a task does not start on the commit that its work begins at.

The supervisor writes it when the task's verify commands cannot be started there, or the project's
own fail there, and removes it when the task starts. A person may accept a base that fails; the
record then says so, for that base alone.
"""

import shlex
from datetime import datetime
from typing import Literal

from msgspec import Struct, structs

from fleet.extend import Gate, HomeMoment, SubjectFacts, TaskStart
from fleet.files.file_lock import exclusive
from fleet.files.seals import SealedRecord
from fleet.home import Home
from fleet.schemas.task_state import Wait, WayOn

FILE = "base.json"
_LOCK = "base.lock"

#: `not_started`: a command cannot be started. `set_up`: a set-up command fails before it. `fails`:
#: a command of the project's runs and fails.
WaitKind = Literal["not_started", "set_up", "fails"]


class BaseWait(Struct, frozen=True, kw_only=True):
    """The content of base.json."""

    kind: WaitKind
    #: Stands for the tree and the commands; `name` is what people call the commit.
    base: str
    name: str
    commit: str
    command: str
    #: What it printed, or how it ended.
    words: str
    #: The command came with the task.
    own: bool = False
    project: str = ""
    #: What the project's directory has and a checkout has not.
    lacks: tuple[str, ...] = ()
    #: The person who lets the task start on this base all the same.
    accepted_by: str = ""
    at: datetime

    @property
    def reason(self) -> str:
        """Why the task waits, without the way out."""
        match self.kind:
            case "not_started":
                return f"verify cannot be started on {self.name}: `{self.command}`: {self.words}"
            case "set_up":
                return f"set-up fails on {self.name}: `{self.command}` {self.words}"
            case "fails":
                return (
                    f"the project's verify command fails on {self.name} as it stands:"
                    f" `{self.command}` {self.words}"
                )

    def ways(self, task_id: str) -> tuple[str, ...]:
        """The command lines that would change it, the likeliest first."""
        if self.kind == "fails":
            return (f"fleet retry {task_id}",)
        ours = f"fleet config set --project {shlex.quote(self.project)}"
        share = (f"{ours} share={','.join(self.lacks)}",) if self.lacks else ()
        if self.kind == "set_up":
            return (*share, f"{ours} 'setup=CMD'")
        mend = f"fleet bd update {task_id} --verify 'CMD'" if self.own else f"{ours} 'verify=CMD'"
        return (*share, mend)


_RECORD = SealedRecord(FILE, BaseWait, limit=1 << 16)


def waits(home: Home, task_id: str) -> BaseWait | None:
    """Why the task waits, to be shown; None: it does not wait for this."""
    found = _RECORD.read(home.task(task_id))
    return found if found is not None and not found.accepted_by else None


def is_accepted(home: Home, task_id: str, base: str) -> bool:
    """A person lets the task start on this base."""
    found = _RECORD.believed(home.task(task_id))
    return found is not None and bool(found.accepted_by) and found.base == base


def write(home: Home, task_id: str, wait: BaseWait) -> None:
    """Have the task wait. Raises OSError."""
    with exclusive(home.task(task_id) / _LOCK):
        _RECORD.write(home.task(task_id), wait, durable=False)


def accept(home: Home, task_id: str, by: str) -> BaseWait | None:
    """Let the task start on a base where its command fails; the wait that is over. None: there was
    none. Another wait is forgotten, so that the commands are tried again. Raises OSError.
    """
    found = waits(home, task_id)
    if found is None:
        return None
    if found.kind == "fails":
        write(home, task_id, structs.replace(found, accepted_by=by))
    else:
        forget(home, task_id)
    return found


def forget(home: Home, task_id: str) -> None:
    """The task does not wait for its base. Raises OSError."""
    (home.task(task_id) / FILE).unlink(missing_ok=True)


class BaseFacts(SubjectFacts, frozen=True, kw_only=True):
    """What is on record about the commit that a task's work begins at."""

    wait: BaseWait | None = None


class BaseHolds(Gate):
    """The task's verify commands can be started on its base, and the project's pass there."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        found = start.of(BaseFacts).wait
        if found is None or found.accepted_by:
            return None
        way = WayOn(verb="", line=found.ways(start.task.id)[0])
        return Wait(gate="base", reason=found.reason, way_on=way, person=True)
