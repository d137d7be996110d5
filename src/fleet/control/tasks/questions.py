"""Questions that agents left, and a person's answers: `artifacts/Q&A.md` and the task's notes."""

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from fleet.bd.actor import actor
from fleet.control import Control
from fleet.control.landing.open_landings import open_landings
from fleet.control.tasks.retry import check_reopenable
from fleet.errors import BadInput, InvalidTask, Refused
from fleet.files.append_file import append
from fleet.files.safe_read import read_bounded
from fleet.home.task_json import settings_of
from fleet.queue.protocol import Filter
from fleet.runs import agent_claim, questions_file
from fleet.runs.outcome_history import read_ending
from fleet.runs.run_directory import latest_run
from fleet.schemas import Blocked, NeedsHuman, Task

_MARK = "QUESTION:"
#: How much of an answer goes into the notes; all of it is in Q&A.md.
_NOTE_CAP = 500


class Question(Struct, frozen=True, kw_only=True):
    """A blocked task, and what its agent asks."""

    id: str
    title: str
    cwd: str
    #: The note that the agent blocked the task with; empty if only Q&A.md has a question.
    note: str = ""
    #: The last `## Q:` block that has no answer; empty if there is none.
    question: str = ""
    #: What it waits with is a plan, and no question.
    plan: bool = False
    #: The command that answers it.
    way_out: str = ""


def questions(fleet: Control) -> tuple[list[Question], int]:
    """The blocked tasks that ask something, and how many more are blocked for another reason.

    Tasks that are on their way to a branch are neither.
    """
    landing = open_landings(fleet)
    found = fleet.queue.find(Filter(statuses=("blocked",)))
    blocked = [task for task in found if task.id not in landing]
    asked = [question for task in blocked if (question := question_of(fleet, task)) is not None]
    return asked, len(blocked) - len(asked)


def question_of(fleet: Control, task: Task) -> Question | None:
    """The question of a task; None if the task asks nothing."""
    text = questions_file.read(fleet.home.task(task.id))
    note, block = _note(fleet, task), questions_file.open_question(text)
    if not note and not block:
        return None
    try:
        cwd = fleet.place(task).cwd
    except InvalidTask as error:
        cwd = error.message
    plan = not block and bool(note) and _waits_with_plan(fleet, task)
    verbs = f"fleet plan show|approve|revise|cancel {task.id}"
    way_out = verbs if plan else f'fleet answer {task.id} "…"'
    return Question(
        id=task.id, title=task.title, cwd=cwd, note=note, question=block, plan=plan, way_out=way_out
    )


def _note(fleet: Control, task: Task) -> str:
    """The note that the last run blocked the task with, if that is still the last note."""
    run = latest_run(fleet.home.task(task.id))
    ending = read_ending(run) if run else None
    if run is not None and ending is not None and isinstance(ending.settlement, Blocked):
        blocked = agent_claim.read(run.path).blocked is not None
        asked = blocked or isinstance(ending.outcome, NeedsHuman) or _waits_with_plan(fleet, task)
        note = ending.settlement.note.strip()
        return _unmarked(note) if asked and task.notes.strip().endswith(note) else ""
    # The task was blocked without a run: only the mark tells a question from a remark.
    last = task.notes.strip().rpartition("\n")[2]
    return _unmarked(last) if last.startswith(_MARK) else ""


def _waits_with_plan(fleet: Control, task: Task) -> bool:
    """The last run ended with a plan that can be made into tasks, and not with a question."""
    run = latest_run(fleet.home.task(task.id))
    ending = read_ending(run) if run is not None else None
    if run is None or ending is None or isinstance(ending.outcome, NeedsHuman):
        return False
    claim = agent_claim.read(run.path)
    is_over = claim.done is not None and claim.blocked is None
    return is_over and not ending.counts and not ending.broke and writes_plan(fleet, task)


def writes_plan(fleet: Control, task: Task) -> bool:
    """The task is one whose agent writes a plan, which a person approves."""
    try:
        return settings_of(fleet.home, task).expect == "plan"
    except InvalidTask:
        return False


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
    if writes_plan(fleet, task) and text.strip().lower() in ("approve", "cancel", "revise"):
        word = text.strip().lower()
        raise Refused(
            f"{task.id} waits with a plan", hint=f"Say it so: fleet plan {word} {task.id}"
        )
    _append(
        fleet.home.task(task.id) / questions_file.FILE,
        f"## A: {at:%Y-%m-%d %H:%M}\n\n{text.strip()}\n",
    )
    # The question stays in the notes; what stands below it says that it is no longer open.
    first = text.strip().splitlines()[0][:_NOTE_CAP]
    return fleet.queue.reopen_task(task, by=actor(env), note=f"ANSWERED: {first}")


def _append(path: Path, block: str) -> None:
    """Add a block at the end of the file, behind an empty line, and sync the file."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = read_bounded(path, questions_file.LARGEST) or b""
    gap = "" if not before else "\n" if before.endswith(b"\n") else "\n\n"
    append(path, f"{gap}{block}".encode(errors="replace"), durable=True)
