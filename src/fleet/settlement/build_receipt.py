"""A run's receipt: what stream, processes and files tell, put together."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import islice
from pathlib import Path

from fleet.errors import FleetError
from fleet.evidence.claim_rules import ClaimFacts
from fleet.evidence.destroyed import destroyed
from fleet.evidence.inspect_run import Inspection
from fleet.files.agent_place import AgentPlace
from fleet.plan.find_spec import read_proposed_plan
from fleet.processes.keeper_client import Ended
from fleet.runs import receipt_json
from fleet.runs.outcome_history import attempts_before
from fleet.runs.run_directory import began_at, newest_first
from fleet.schemas import Outcome, Receipt, Task
from fleet.schemas.receipt import RejectedWork
from fleet.settlement.run_record import ExitedRun, RunRecord

_TEXT_CAP = 4000
_MOST_ARTIFACTS = 200
#: How many earlier runs are asked whether they did any of the work.
_RUNS_BEFORE = 5


def build_receipt(ended: ExitedRun, outcome: Outcome, inspection: Inspection) -> Receipt:
    """All that is known of the run, not yet judged."""
    record, end = ended.record, ended.process_end
    totals, tools = record.totals, record.tools
    exit_record = end.exit if isinstance(end, Ended) else None
    return Receipt(
        task_id=record.task_id,
        run=record.run.number,
        project=record.project,
        coder=record.coder.name,
        model=totals.model or record.coder.model,
        account=record.account,
        host=record.spec.host,
        version=totals.version,
        session_id=totals.session_id,
        started_at=exit_record.started_at if exit_record else began_at(record.run),
        seconds=exit_record.seconds if exit_record else None,
        outcome=type(outcome).__name__,
        claim=ended.claim.done,
        text=totals.text[-_TEXT_CAP:],
        tools=dict(tools.tools),
        tool_errors=tools.failed,
        tool_results=tools.results,
        commands=tools.ended_commands,
        more_commands=tools.more_commands,
        denied=totals.denied,
        denied_calls=tuple(tools.denied.values()),
        destroyed=_destroyed(record),
        subagents=tools.subagents,
        turns=totals.tokens.turns,
        usage=totals.tokens.usage,
        partial=totals.tokens.partial,
        cost_usd=totals.tokens.cost_usd,
        estimated_usd=record.estimated_usd,
        cpu_seconds=exit_record.cpu_seconds if exit_record else None,
        memory_bytes=exit_record.max_rss_bytes if exit_record else None,
        stop_seconds=exit_record.stop_seconds if exit_record else None,
        swept=tuple(each.name for each in exit_record.swept) if exit_record else (),
        changes=inspection.changes,
        artifacts=tuple(
            _written(record.run.task_dir / "artifacts", exit_record and exit_record.started_at)
        ),
        checks=inspection.checks,
        exam=inspection.exam,
        whole=inspection.whole,
        rejected_work=rejected_work(inspection, _earlier(record)) if inspection.whole else (),
        policy=record.policy,
    )


def rejected_work(inspection: Inspection, before: Iterable[Receipt]) -> tuple[RejectedWork, ...]:
    """The files of rejected runs that land with this one. `before`: earlier runs, the last first.
    A file counts for the last run that changed it.
    """
    lands = {file.path for file in inspection.whole}
    lands -= {file.path for file in inspection.changes.files} if inspection.changes else set()
    found: list[RejectedWork] = []
    for each in before:
        mine = [file.path for file in each.changes.files] if each.changes is not None else []
        files = tuple(path for path in mine if path in lands)
        lands.difference_update(files)
        rules = tuple(finding.rule for finding in each.verdict.broken) if each.verdict else ()
        if files and rules:
            found.append(RejectedWork(run=each.run, rules=rules, files=files))
    return tuple(found)


def _destroyed(record: RunRecord) -> tuple[str, ...]:
    if record.policy.tripwire == "off":
        return ()
    own = str(record.run.task_dir / "artifacts")
    return destroyed(record.tools.commands, record.spec.cwd or record.project or "/", own)


def seen_of(record: RunRecord, receipt: Receipt, cwd: Path, *, plan_limit: int = 100) -> ClaimFacts:
    """What the rules look at."""
    tools, before = record.tools, _before(record)
    # Work that was sent back was verified before: there may be nothing left to do but the merge.
    sent_back = record.spec.base is not None and record.spec.base.merge is not None
    return ClaimFacts(
        receipt=receipt,
        shows_tools=record.coder.shows_tools,
        commands_before_edit=tools.edits.commands_before,
        edits=tools.edits.count,
        earlier_commands=tuple(each for run in reversed(before) for each in run.commands),
        errors_in_a_row=tools.errors_in_a_row,
        worked_before=sent_back or any(ClaimFacts(receipt=each).deeds > 0 for each in before),
        changed_before=sent_back or any(ClaimFacts(receipt=each).changed for each in before),
        artifact=_artifact(receipt, record.task, record.run.task_dir, cwd),
        plan_problem=_plan_problem(receipt, record.run.task_dir, plan_limit),
    )


def _before(record: RunRecord) -> list[Receipt]:
    """Earlier runs of the series: this one may only have had to report what they did."""
    runs = islice(attempts_before(record.run), _RUNS_BEFORE)
    return [receipt for run in runs if (receipt := receipt_json.read(run)) is not None]


def _earlier(record: RunRecord) -> Iterator[Receipt]:
    """Receipts of all runs before, also from before a person had the task tried again: what they
    left is in the same clone. The last comes first.
    """
    for run in newest_first(record.run.task_dir):
        if run.number < record.run.number and (receipt := receipt_json.read(run)) is not None:
            yield receipt


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


def _plan_problem(receipt: Receipt, task_dir: Path, limit: int) -> str:
    """Why the plan among the artifacts cannot be made into tasks, if one was asked for."""
    if receipt.policy.expect != "plan":
        return ""
    try:
        read_proposed_plan(task_dir, limit=limit)
    except FleetError as error:
        return error.message
    return ""


def _written(folder: Path, since: datetime | None) -> Iterator[str]:
    """The files below a folder that were written since a moment."""
    if since is None:
        return
    since_ns = int(since.timestamp() * 1e9)
    entries = AgentPlace(folder.parent).walk(folder.name)
    written = (each.name for each in entries if each.is_file and each.mtime_ns >= since_ns)
    for name in sorted(written)[:_MOST_ARTIFACTS]:
        yield name.removeprefix(f"{folder.name}/")
