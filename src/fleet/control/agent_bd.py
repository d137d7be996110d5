"""`bd` from inside a run: what an agent says of its own task is recorded, not carried out.

`close`, and `update` of the status, become the run's claim (`said.json`); the supervisor decides
once the run has ended. Everything else goes to the queue like any other command. Recording needs
no queue, so it works from inside a coder's sandbox, on every queue alike.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from fleet.bd.actor import actor
from fleet.bd.command import GLOBAL
from fleet.bd.command_line import find_verb, split_command
from fleet.bd.fleet_flags import OWN
from fleet.bd.pflag import FlagError, Parsed, parse
from fleet.control import Control
from fleet.errors import BadInput, FleetError, Refused
from fleet.home import Home, closed_by_hand, home_from, owner_file
from fleet.processes import process_identity
from fleet.queue import PREFIX
from fleet.runs.agent_claim import AgentClaim, record
from fleet.runs.run_id import RunId, find_run

#: Commands that say how the task stands.
_SPEAKING = ("close", "done", "update", "reopen")
#: Commands that would take the task away from the run that works on it.
_TAKING = ("assign", "defer", "delete", "unclaim")


class OwnRun(Struct, frozen=True, kw_only=True):
    """The run that this process is a part of."""

    task_id: str
    run_dir: Path
    #: The mark of the run's processes.
    mark: str = ""


class _TaskLine(Struct, frozen=True, kw_only=True):
    """A command line about tasks: its name, its flags, and the ids on it."""

    name: str
    line: Parsed
    ids: Sequence[str]


class _Claim(Struct, frozen=True, kw_only=True):
    """An agent's word about its task: what to record, and what to answer."""

    said: AgentClaim
    status: str
    answer: str


def own_run(env: Mapping[str, str]) -> OwnRun | None:
    """The task and run that this process belongs to, if it is part of a run.

    The marks of the processes above decide, since fleet started them; the environment is only
    asked where no process above can be seen: an agent can put anything there, or nothing.
    """
    try:
        home = home_from(env)
    except FleetError:
        return None
    owner = owner_file.read(home)
    above = [RunId.parse(mark) for mark in process_identity.marks_above(os.getppid())]
    ours = [run_id for run_id in above if run_id is not None and run_id.owner == owner]
    if ours and (run := find_run(home, ours[-1])) is not None:
        return OwnRun(task_id=ours[-1].task, run_dir=run.path, mark=str(ours[-1]))
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
    return OwnRun(task_id=task_id, run_dir=folder, mark=env.get(process_identity.MARK, ""))


def _task_line(args: Sequence[str], names: Sequence[str]) -> _TaskLine | None:
    """The line, if it is one of these commands. Raises FlagError where it cannot be read."""
    name, rest = split_command(args)
    verb = find_verb(name) if name in names else None
    if verb is None:
        return None
    own = OWN if name == "update" else ()
    line = parse((*verb.flags, *own, *GLOBAL), rest)
    return _TaskLine(name=name, line=line, ids=line.words[:1] if name == "done" else line.words)


def refuse_other_runs_tasks(fleet: Control, args: Sequence[str], env: Mapping[str, str]) -> None:
    """Keep an agent from closing or taking a task that another agent works on."""
    try:
        asked = _task_line(args, (*_SPEAKING, *_TAKING))
    except FlagError:
        return  # the tracker says what is wrong with the line
    if asked is None or (own := own_run(env)) is None:
        return
    line = asked.line
    changes_holder = line.has("status") or line.switch("claim") or line.has("assignee")
    if asked.name == "update" and not changes_holder:
        return
    for word in asked.ids:
        try:
            task = fleet.get(word)
        except FleetError:
            continue  # the tracker says what is wrong with the id
        if task.lease_owner is not None and task.id != own.task_id:
            raise Refused(
                f"another agent works on {task.id}; the task of this run is {own.task_id}",
                hint=f'Leave {task.id} to that agent, or write to it: bd comment {task.id} "…"',
            )


def record_claim(args: Sequence[str], env: Mapping[str, str]) -> str | None:
    """Record what the line says of the run's own task; returns the answer to print.

    None: the line says nothing of that task, and is for the queue.
    """
    if split_command(args)[0] not in (*_SPEAKING, *_TAKING) or (own := own_run(env)) is None:
        return None
    task_id = own.task_id
    try:
        asked = _task_line(args, (*_SPEAKING, *_TAKING))
    except FlagError as error:
        if _means(args, task_id):  # the queue must not carry out what was not understood here
            raise BadInput(str(error)) from None
        return None
    if asked is None or not _means(asked.ids, task_id):
        return None
    _check_alone(asked, task_id)
    claim = _claim_of(asked, task_id)
    if claim is None:
        return None
    record(own.run_dir, structs.replace(claim.said, by=own.mark))
    if not asked.line.switch("json"):
        return claim.answer
    shape = [{"id": task_id, "status": claim.status, "note": claim.answer}]
    return msgspec.json.format(msgspec.json.encode(shape), indent=2).decode()


def note_closing(home: Home, args: Sequence[str], env: Mapping[str, str]) -> None:
    """Note that a person closes a task, for the supervisor that may find the task closed."""
    try:
        asked = _task_line(args, ("close", "done", "update"))
    except FlagError:
        return
    if asked is None or own_run(env) is not None:
        return
    if asked.name == "update" and asked.line.text("status") != "closed":
        return
    for word in asked.ids:
        for task_id in (word, f"{PREFIX}-{word}"):
            with suppress(FleetError, OSError):  # it may be no id at all, and the disk may be full
                closed_by_hand.note(home.task(task_id), actor(env))


def _means(words: Sequence[str], task_id: str) -> bool:
    """Do the words name this task? Without its prefix it is still this task, and its claim."""
    short = task_id.removeprefix(f"{PREFIX}-")
    for word in words:
        known = word in ("", task_id, short)
        if not known and (task_id.startswith(word) or short.startswith(word)):
            raise BadInput(
                f"{word!r} may mean {task_id}, the task of this run", hint="Write the whole id."
            )
    return task_id in words or short in words


def _check_alone(asked: _TaskLine, task_id: str) -> None:
    name = asked.name
    if name in _TAKING:
        raise BadInput(
            f"`bd {name}` cannot be used on the task of this run ({task_id})",
            hint=f"Close it (bd close {task_id} --reason …), or ask a person:"
            f' bd update {task_id} --status blocked --notes "QUESTION: …"',
        )
    if len(asked.ids) > 1:
        raise BadInput(
            f"`bd {name}` takes only this run's own task ({task_id})",
            hint=f"{name.capitalize()} other tasks in a separate command.",
        )


def _claim_of(asked: _TaskLine, task_id: str) -> _Claim | None:
    line = asked.line
    by_name = {"close": "closed", "done": "closed", "reopen": "open"}
    status = by_name.get(asked.name, line.text("status"))
    notes = line.text("notes") or line.text("append-notes")
    if status == "closed":
        reasons = (*line.list("reason"), *line.words[1:]) or (notes,)
        said = AgentClaim(done=" ".join(filter(None, reasons)) or "Closed")
        answer = f"Closed {task_id}: recorded. fleet checks the work once this run has ended."
    elif status == "blocked":
        said = AgentClaim(blocked=notes)
        answer = f"Updated {task_id}: recorded as blocked. Now end this run."
    elif status in ("open", "in_progress") or line.switch("claim"):
        if notes:
            raise BadInput(
                f"{task_id} is claimed by this run already; its notes were not changed",
                hint="Write the notes by themselves, without --status and --claim.",
            )
        said = AgentClaim()
        answer = f"Updated {task_id}: this run has it; no completion is claimed."
    else:
        return None
    return _Claim(said=said, status=status or "in_progress", answer=answer)
