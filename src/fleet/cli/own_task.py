"""`bd` from inside a run: what an agent says of its own task is recorded, not carried out.

`close`, and `update` of the status, become the run's claim (`said.json`); the supervisor decides
once the run has ended. Everything else goes to the queue like anybody's command. Recording needs
no queue, so it works from inside a coder's sandbox, on every queue alike.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from fleet.errors import BadInput, FleetError
from fleet.flags import FlagError, Parsed, parse
from fleet.queue import PREFIX
from fleet.queue import bd as tracker
from fleet.taskdir import home_from
from fleet.taskdir.said import Said, record

#: Commands that say how the task stands.
_SPEAKING = ("close", "done", "update", "reopen")
#: Commands that would take the task away from the run that works on it.
_TAKING = ("assign", "defer", "delete", "reclaim", "unclaim")


class Heard(Struct, frozen=True, kw_only=True):
    """What an agent said of its task: what to keep, and what to answer."""

    said: Said
    status: str
    answer: str


def own_task(env: Mapping[str, str]) -> tuple[str, Path] | None:
    """The task and run directory that this process belongs to, if it is part of a run."""
    task_id, run_dir = env.get("FLEET_TASK_ID"), env.get("FLEET_RUN_DIR")
    if not task_id or not run_dir:
        return None
    folder = Path(run_dir)
    try:
        expected = home_from(env).task(task_id) / "runs"
    except FleetError:
        return None
    return (task_id, folder) if folder.parent == expected and folder.is_dir() else None


def answer_of(args: Sequence[str], env: Mapping[str, str]) -> str | None:
    """Record what the line says of the agent's own task, and answer it as bd would.

    None: the line says nothing of that, and is for the queue.
    """
    own = own_task(env)
    name, rest = tracker.split_command(args)
    verb = tracker.find_verb(name) if own and name in (*_SPEAKING, *_TAKING) else None
    if own is None or verb is None:
        return None
    task_id, run_dir = own
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
    record(run_dir, heard.said)
    if not line.switch("json"):
        return heard.answer
    shape = [{"id": task_id, "status": heard.status, "note": heard.answer}]
    return msgspec.json.format(msgspec.json.encode(shape), indent=2).decode()


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
