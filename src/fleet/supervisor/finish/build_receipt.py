"""A run's receipt: what its stream, its processes and its files tell, put together."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path

from fleet.errors import InvalidTask
from fleet.evidence.claim_rules import ClaimFacts, only_reports
from fleet.evidence.inspect_run import Inspection
from fleet.processes.keeper_client import Ended
from fleet.runs import receipt_json
from fleet.runs.agent_claim import Said
from fleet.runs.outcome_history import attempts_before
from fleet.runs.run_directory import began_at
from fleet.schemas import Outcome, Receipt, Task
from fleet.supervisor.active.active_run import Live, Over

_TEXT_CAP = 4000
_MOST_ARTIFACTS = 200
#: So many earlier runs are asked whether they did any of the work.
_RUNS_BEFORE = 5


def receipt_of(
    live: Live, state: Over, outcome: Outcome, words: Said, found: Inspection
) -> Receipt:
    """All that is known of the run, before anybody judges it."""
    reading, trail = live.reading, live.trail
    ended = state.exit if isinstance(state, Ended) else None
    return Receipt(
        task_id=live.task_id,
        run=live.run.number,
        project=_project(live),
        coder=live.coder.name,
        model=reading.model or live.coder.model,
        account=live.account,
        version=reading.version,
        session_id=reading.session_id,
        started_at=ended.started_at if ended else began_at(live.run),
        seconds=ended.seconds if ended else 0.0,
        outcome=type(outcome).__name__,
        claim=words.done,
        text=reading.text[-_TEXT_CAP:],
        tools=dict(trail.tools),
        tool_errors=trail.failed,
        commands=tuple(trail.commands),
        more_commands=trail.more_commands,
        denied=reading.denied,
        subagents=trail.subagents,
        turns=reading.turns,
        usage=reading.usage,
        cost_usd=reading.cost_usd,
        estimated_usd=live.estimated_usd,
        cpu_seconds=ended.cpu_seconds if ended else 0.0,
        memory_bytes=ended.max_rss_bytes if ended else 0,
        stop_seconds=ended.stop_seconds if ended else None,
        swept=tuple(each.name for each in ended.swept) if ended else (),
        changes=found.changes,
        artifacts=tuple(_written(live.run.task_dir / "artifacts", ended and ended.started_at)),
        checks=found.checks,
        policy=live.policy,
    )


def _project(live: Live) -> str:
    """Not a worktree of fleet's: the directory that a person knows."""
    if live.lease.task.cwd:
        return live.lease.task.cwd
    try:
        return live.run.spec().cwd
    except InvalidTask:
        return ""


def seen_of(live: Live, receipt: Receipt, cwd: Path) -> ClaimFacts:
    """What the rules look at."""
    trail, before = live.trail, _before(live)
    behind = trail.commands[trail.commands_at_last_edit :]
    return ClaimFacts(
        receipt=receipt,
        shows_tools=live.coder.shows_tools,
        commands_after_edits=sum(not only_reports(command.text) for command in behind)
        + trail.more_commands,
        edits=trail.edits,
        errors_in_a_row=trail.errors_in_a_row,
        worked_before=any(ClaimFacts(receipt=each).deeds > 0 for each in before),
        changed_before=any(ClaimFacts(receipt=each).changed for each in before),
        artifact=_artifact(receipt, live.lease.task, live.run.task_dir, cwd),
    )


def _before(live: Live) -> list[Receipt]:
    """Earlier runs of the series: this one may only have had to report what they did."""
    runs = islice(attempts_before(live.run), _RUNS_BEFORE)
    return [receipt for run in runs if (receipt := receipt_json.read(run)) is not None]


def _artifact(receipt: Receipt, task: Task, task_dir: Path, cwd: Path) -> bool | None:
    """The file that was asked for is there, and was written since the task was made."""
    name = receipt.policy.artifact
    if name is None:
        return None
    for folder in (cwd, task_dir / "artifacts"):
        with suppress(OSError):
            about = (folder / name).stat()
            if about.st_size > 0 and about.st_mtime >= task.created_at.timestamp() - 1:
                return True
    return False


def _written(folder: Path, since: datetime | None) -> Iterator[str]:
    """The files below a folder that were written since a moment."""
    if since is None:
        return
    found = 0
    for path in sorted(folder.rglob("*")):
        with suppress(OSError):
            if path.is_file() and path.lstat().st_mtime >= since.timestamp():
                yield str(path.relative_to(folder))
                found += 1
        if found >= _MOST_ARTIFACTS:
            return
