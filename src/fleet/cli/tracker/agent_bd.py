"""`bd` from inside a run: what an agent says of its own task is recorded, not carried out.

`close`, and `update` of the status, become the run's claim (`said.json`); the supervisor decides
once the run has ended. Everything else goes to the queue like anybody's command. Recording needs
no queue, so it works from inside a coder's sandbox, on every queue alike.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from fleet import bd as tracker
from fleet.bd.actor import actor
from fleet.bd.pflag import FlagError, Parsed, parse
from fleet.control import Control
from fleet.errors import BadInput, FleetError, Refused
from fleet.home import Home, closed_by_hand, home_from, owner_file
from fleet.processes import process_identity
from fleet.queue import PREFIX
from fleet.runs.agent_claim import Said, record
from fleet.runs.run_id import RunId, find_run

#: The name under which this home's supervisors claim.
_LARGEST = 1 << 20
#: Commands that say how the task stands.
_SPEAKING = ("close", "done", "update", "reopen")
#: Commands that would take the task away from the run that works on it.
_TAKING = ("assign", "defer", "delete", "reclaim", "unclaim")


class Heard(Struct, frozen=True, kw_only=True):
    """What an agent said of its task: what to keep, and what to answer."""

    said: Said
    status: str
    answer: str


class Own(Struct, frozen=True, kw_only=True):
    """The run that this process is a part of."""

    task_id: str
    run_dir: Path
    #: The mark that its processes bear.
    mark: str = ""


def own_task(env: Mapping[str, str]) -> Own | None:
    """The task and run that this process belongs to, if it is part of a run.

    Those above it tell, since they were started by fleet; the environment is only asked where
    nobody above can be seen: an agent can put anything there, or nothing.
    """
    try:
        home = home_from(env)
    except FleetError:
        return None
    owner = owner_file.read(home)
    above = [RunId.parse(mark) for mark in process_identity.marks_above(os.getppid())]
    ours = [run_id for run_id in above if run_id is not None and run_id.owner == owner]
    if ours and (run := find_run(home, ours[-1])) is not None:
        return Own(task_id=ours[-1].task, run_dir=run.path, mark=str(ours[-1]))
    task_id, run_dir = env.get("FLEET_TASK_ID"), env.get("FLEET_RUN_DIR")
    if not task_id or not run_dir:
        return None
    folder = Path(run_dir)
    try:
        expected = home.task(task_id) / "runs"
    except FleetError:
        return None
    if folder.parent != expected or not folder.is_dir():
        return None
    return Own(task_id=task_id, run_dir=folder, mark=env.get(process_identity.MARK, ""))


def refuse_others(fleet: Control, args: Sequence[str], env: Mapping[str, str]) -> None:
    """Keep an agent from closing or taking a task that another agent works on."""
    name, rest = tracker.split_command(args)
    own = own_task(env) if name in (*_SPEAKING, *_TAKING) else None
    verb = tracker.find_verb(name) if own is not None else None
    if own is None or verb is None:
        return
    try:
        line = parse((*verb.flags, *tracker.GLOBAL), rest)
    except FlagError:
        return
    if name == "update" and not (
        line.has("status") or line.switch("claim") or line.has("assignee")
    ):
        return
    for word in line.words[:1] if name == "done" else line.words:
        try:
            task = fleet.get(word)
        except FleetError:
            continue  # the tracker says what is wrong with it
        if task.lease_owner is not None and task.id != own.task_id:
            raise Refused(
                f"{task.id} is worked on by another agent; {own.task_id} is the task of this run",
                hint="Leave it to that agent, or leave it a word: bd comment",
            )


def answer_of(args: Sequence[str], env: Mapping[str, str]) -> str | None:
    """Record what the line says of the agent's own task, and answer it as bd would.

    None: the line says nothing of that, and is for the queue.
    """
    name, rest = tracker.split_command(args)
    own = own_task(env) if name in (*_SPEAKING, *_TAKING) else None
    verb = tracker.find_verb(name) if own is not None else None
    if own is None or verb is None:
        return None
    task_id = own.task_id
    try:
        line = parse((*verb.flags, *tracker.GLOBAL), rest)
    except FlagError:
        return None  # the tracker explains what is wrong with the line
    words = line.words[:1] if name == "done" else line.words
    if not _means(words, task_id):
        return None
    _refuse_others(name, words, task_id)
    heard = _understood(name, line, task_id)
    if heard is None:
        return None
    record(own.run_dir, structs.replace(heard.said, by=own.mark))
    if not line.switch("json"):
        return heard.answer
    shape = [{"id": task_id, "status": heard.status, "note": heard.answer}]
    return msgspec.json.format(msgspec.json.encode(shape), indent=2).decode()


def note_closing(home: Home, args: Sequence[str], env: Mapping[str, str]) -> None:
    """Leave word that a person closes a task, for the supervisor that may find it closed."""
    name, rest = tracker.split_command(args)
    verb = tracker.find_verb(name) if name in ("close", "done", "update") else None
    if verb is None or own_task(env) is not None:
        return
    try:
        line = parse((*verb.flags, *tracker.GLOBAL), rest)
    except FlagError:
        return
    if name == "update" and line.text("status") != "closed":
        return
    for word in line.words[:1] if name == "done" else line.words:
        for task_id in (word, f"{PREFIX}-{word}"):
            with suppress(FleetError, OSError):  # it may be no id at all, and the disk may be full
                closed_by_hand.note(home.task(task_id), actor(env))


def _means(words: Sequence[str], task_id: str) -> bool:
    """Do the words name this task? Without its prefix it is still this task, and its claim."""
    short = task_id.removeprefix(f"{PREFIX}-")
    for word in words:
        if word not in (task_id, short) and (task_id.startswith(word) or short.startswith(word)):
            raise BadInput(
                f"{word!r} may mean {task_id}, the task of this run", hint="Write the whole id."
            )
    return task_id in words or short in words


def _refuse_others(name: str, words: Sequence[str], task_id: str) -> None:
    if name in _TAKING:
        raise BadInput(
            f"{name} is not for {task_id}: this run works on it",
            hint=f"Close it (bd close {task_id} --reason …), or ask a person:"
            f' bd update {task_id} --status blocked --notes "QUESTION: …"',
        )
    if len(words) > 1:
        raise BadInput(
            f"{name} {task_id} by itself: it is the task of this run",
            hint="Close or change other tasks with a command of their own.",
        )


def _understood(name: str, line: Parsed, task_id: str) -> Heard | None:
    status = {"close": "closed", "done": "closed", "reopen": "open"}.get(name, line.text("status"))
    notes = line.text("notes") or line.text("append-notes")
    if status == "closed":
        reasons = (*line.list("reason"), *line.words[1:]) or (notes,)
        said = Said(done=" ".join(filter(None, reasons)) or "Closed")
        answer = f"✓ Closed {task_id}: recorded. fleet checks the work once this run has ended."
    elif status == "blocked":
        said = Said(blocked=notes)
        answer = f"✓ Updated issue: {task_id}: recorded as blocked. Now end this run."
    elif status in ("open", "in_progress") or line.switch("claim"):
        if notes:
            raise BadInput(
                f"{task_id} is yours already; its notes were not changed",
                hint="Write them by themselves, without --status and --claim.",
            )
        said = Said()
        answer = f"✓ Updated issue: {task_id}: it is yours, and nothing is claimed of it."
    else:
        return None
    return Heard(said=said, status=status or "in_progress", answer=answer)
