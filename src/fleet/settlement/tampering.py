"""Records of a run that are not as fleet wrote them: findings, and never instructions.

While a supervisor lives it decides by what it remembers. What lies in the run's directory and
differs, or lies there though fleet has not written it, blocks the task for a person. The agent's
own stream is no record: whatever writes to the descriptor of its stdout speaks for the agent.
"""

import os
from collections.abc import Iterator

from fleet.errors import InvalidTask
from fleet.evidence.verify_commands import FOLDER as VERIFY
from fleet.files import seals
from fleet.files.put_aside import ASIDE
from fleet.files.safe_read import read_bounded
from fleet.runs import agent_claim, outcome_history, receipt_json, stop_reason
from fleet.runs.run_directory import RUN_JSON, encoded_spec
from fleet.schemas import Finding
from fleet.schemas.receipt import TAMPERED
from fleet.settlement.run_record import RunRecord

#: Records that fleet seals, and that an agent has no reason to write.
_SEALED = (agent_claim.FILE, outcome_history.FILE, receipt_json.FILE, stop_reason.FILE)
_LARGEST = 16 << 20


def tampering(record: RunRecord) -> tuple[Finding, ...]:
    """What was done to the records of a run that is over, before the inspection."""
    return tuple(Finding(rule=TAMPERED, what=what) for what in _found(record))


def seal_inspection(record: RunRecord) -> None:
    """Verify commands are about to be run: from now on their records belong to the run."""
    mark = record.spec.id.encode()
    seals.seal(record.run.task_dir, record.run.number, {VERIFY: mark})


def _found(record: RunRecord) -> Iterator[str]:
    run = record.run
    try:
        names = set(os.listdir(run.path))  # noqa: PTH208
    except OSError:
        return  # the directory is damaged, which costs the task by itself
    if record.doubt:
        yield record.doubt
    elif not record.adopted and not _is_ours(record):
        yield f"{run.path / RUN_JSON} is not as fleet wrote it"
    for name in _SEALED:
        if name in names and (doubt := _doubt(record, name)):
            yield doubt
    place = run.path / VERIFY
    if VERIFY in names and seals.doubt(run.task_dir, run.number, place, record.spec.id.encode()):
        yield f"{place} was not made by fleet"
    for name in sorted(names):
        if ASIDE in name:
            yield f"something else stood in the place of {run.path / name.partition(ASIDE)[0]}"


def _is_ours(record: RunRecord) -> bool:
    """run.json holds what this process started the run with."""
    try:
        return read_bounded(record.run.path / RUN_JSON, _LARGEST) == encoded_spec(record.spec)
    except InvalidTask:
        return False


def _doubt(record: RunRecord, name: str) -> str:
    run, path = record.run, record.run.path / name
    try:
        data = read_bounded(path, _LARGEST)
    except InvalidTask as error:
        return error.message
    doubt = seals.doubt(run.task_dir, run.number, path, data) if data else ""
    return "" if seals.is_excused(path) else doubt
