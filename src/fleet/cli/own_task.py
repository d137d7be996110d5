"""`bd` from inside a run: what an agent says of its own task is recorded, not carried out.

`close`, and `update` of the status, become the run's claim (`said.json`); the supervisor decides
once the run has ended. Everything else goes to the queue like anybody's command. Recording needs
no queue, so it works from inside a coder's sandbox, on every queue alike.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from fleet.errors import BadInput, FleetError
from fleet.flags import FlagError, Parsed, parse
from fleet.queue import PREFIX
from fleet.queue import bd as tracker
from fleet.taskdir import home_from
from fleet.taskdir.said import Said, record

_SPEAKING = ("close", "done", "update", "reopen")


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


def heard(args: Sequence[str], env: Mapping[str, str]) -> list[str] | None:
    """Record what the line says of the agent's own task.

    The lines to print for it; None if the line says nothing of that, and is for the queue.
    """
    own = own_task(env)
    name, rest = tracker.split_command(args)
    verb = tracker.find_verb(name) if own is not None and name in _SPEAKING else None
    if own is None or verb is None:
        return None
    task_id, run_dir = own
    try:
        line = parse((*verb.flags, *tracker.GLOBAL), rest)
    except FlagError:
        return None  # the tracker explains what is wrong with the line
    ids = line.words[:1] if name == "done" else line.words
    # Written without its prefix it is still this task, and its claim.
    if task_id not in ids and task_id.removeprefix(f"{PREFIX}-") not in ids:
        return None
    if len(ids) > 1:
        raise BadInput(
            f"{name} {task_id} by itself: it is the task of this run",
            hint="Close or change other tasks with a command of their own.",
        )
    return _record(name, line, task_id, run_dir)


def _record(name: str, line: Parsed, task_id: str, run_dir: Path) -> list[str] | None:
    if name in ("close", "done"):
        reasons = (*line.list("reason"), *line.words[1:])
        record(run_dir, Said(done=" ".join(reasons) or "Closed"))
        return [f"✓ Closed {task_id}: recorded. fleet checks the work once this run has ended."]
    if name == "reopen":
        record(run_dir, Said())
        return [f"✓ Reopened {task_id}: the claim is taken back."]
    status = line.text("status")
    notes = line.text("notes") or line.text("append-notes")
    if status == "blocked":
        record(run_dir, Said(blocked=notes))
        return [f"✓ Updated issue: {task_id}: recorded as blocked. Now end this run."]
    if status == "closed":
        record(run_dir, Said(done=notes or "Closed"))
        return [f"✓ Updated issue: {task_id}: recorded as closed. Now end this run."]
    if status in ("open", "in_progress") or line.switch("claim"):
        if notes:
            raise BadInput(
                f"{task_id} is yours already; its notes were not changed",
                hint="Write them by themselves, without --status and --claim.",
            )
        record(run_dir, Said())
        return [f"✓ Updated issue: {task_id}: it is yours already."]
    return None
