"""Questions that agents left, and a person's answers: `artifacts/Q&A.md` and the task's notes."""

import os
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from fleet.bd.actor import actor
from fleet.control import Control
from fleet.control.tasks.retry import check_reopenable
from fleet.errors import BadInput, InvalidTask, Refused
from fleet.files.append_file import append
from fleet.files.safe_read import read_bounded
from fleet.queue.protocol import Filter
from fleet.runs import agent_claim
from fleet.runs.outcome_history import read_ending
from fleet.runs.run_directory import latest_run
from fleet.schemas import Blocked, NeedsHuman, Task

FILE = Path("artifacts") / "Q&A.md"
_LARGEST = 4 << 20
_MARK = "QUESTION:"
_HEADING = re.compile(r"^##\s*(Q|A)\b:?[ \t]*(.*)$", re.MULTILINE)


class Question(Struct, frozen=True, kw_only=True):
    """A blocked task, and what its agent asks."""

    id: str
    title: str
    cwd: str
    #: The note that the agent blocked the task with; empty if only Q&A.md has a question.
    note: str = ""
    #: The last `## Q:` block that has no answer; empty if there is none.
    question: str = ""


def questions(fleet: Control) -> tuple[list[Question], int]:
    """The blocked tasks that ask something, and how many more are blocked for another reason."""
    blocked = fleet.queue.find(Filter(statuses=("blocked",)))
    asked = [question for task in blocked if (question := question_of(fleet, task)) is not None]
    return asked, len(blocked) - len(asked)


def question_of(fleet: Control, task: Task) -> Question | None:
    """The question of a task; None if the task asks nothing."""
    note, block = _note(fleet, task), open_question(_file(fleet, task))
    if not note and not block:
        return None
    try:
        cwd = fleet.place(task).cwd
    except InvalidTask as error:
        cwd = error.message
    return Question(id=task.id, title=task.title, cwd=cwd, note=note, question=block)


def open_question(text: str) -> str:
    """The last `## Q:` block of a file, if no `## A:` block follows it. Pure."""
    _, *parts = _HEADING.split(text)
    if not parts:
        return ""
    kind, head, body = parts[-3:]
    return f"{head.strip()}\n\n{body.strip()}".strip() if kind == "Q" else ""


def _file(fleet: Control, task: Task) -> str:
    try:
        data = read_bounded(fleet.home.task(task.id) / FILE, _LARGEST)
    except InvalidTask:
        return ""  # a link or a pipe in the place of the file asks nothing; the notes still do
    return (data or b"").decode(errors="replace")


def _note(fleet: Control, task: Task) -> str:
    """The note that the last run blocked the task with, if that is still the last note."""
    run = latest_run(fleet.home.task(task.id))
    ending = read_ending(run) if run else None
    if run is not None and ending is not None and isinstance(ending.settlement, Blocked):
        asked = agent_claim.read(run.path).blocked is not None or isinstance(
            ending.outcome, NeedsHuman
        )
        note = ending.settlement.note.strip()
        return _unmarked(note) if asked and task.notes.strip().endswith(note) else ""
    # The task was blocked without a run: only the mark tells a question from a remark.
    last = task.notes.strip().rpartition("\n")[2]
    return _unmarked(last) if last.startswith(_MARK) else ""


def _unmarked(note: str) -> str:
    return note.removeprefix(_MARK).strip()


def answer(
    fleet: Control,
    task: Task,
    text: str,
    *,
    at: datetime,
    force: bool = False,
    env: Mapping[str, str] = os.environ,
) -> Task:
    """Write the answer below the question, then put the task back into the queue."""
    if not text.strip():
        raise BadInput("the answer is empty", hint='Say something: fleet answer ID "Use SQLite"')
    check_reopenable(fleet, task)
    if not force and (task.status != "blocked" or question_of(fleet, task) is None):
        raise Refused(
            f"{task.id} asks nothing: it is {task.status}",
            hint="See what does: fleet questions. To tell it something anyway: --force",
        )
    _append(fleet.home.task(task.id) / FILE, f"## A: {at:%Y-%m-%d %H:%M}\n\n{text.strip()}\n")
    return fleet.queue.reopen_task(task, by=actor(env))


def _append(path: Path, block: str) -> None:
    """Add a block at the end of the file, behind an empty line, and sync the file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = read_bounded(path, _LARGEST) or b""
    gap = "" if not before else "\n" if before.endswith(b"\n") else "\n\n"
    append(path, f"{gap}{block}".encode(errors="replace"), durable=True)
