"""A comparison as surfaces show it: the entries side by side, each with verdict, checks and
figures. Read only: `control/compare/` begins and ends comparisons.
"""

from datetime import datetime
from typing import Any, cast

from msgspec import Struct

from fleet.control import Control
from fleet.control.compare.begin import MARK, comparison_of
from fleet.control.compare.results import results
from fleet.control.tasks.receipt import known_receipt
from fleet.errors import BadInput
from fleet.home import compare_json
from fleet.schemas import Check, Finding, Task
from fleet.schemas.comparison import DONE, ComparisonState, Entry, Result

#: Characters of a claim that are shown.
_LONGEST_CLAIM = 4000


class ComparedEntry(Struct, frozen=True, kw_only=True):
    """One coder's try at the task, with what the last run that is over showed."""

    number: int
    #: The entry's task; empty while that is not in the queue.
    id: str
    #: The coder, with the model where one was named.
    label: str
    turn: int
    result: Result
    #: The entry is over; and it was closed by its evidence, so that it may be picked without
    #: `force`.
    over: bool
    done: bool
    claim: str = ""
    checks: tuple[Check, ...] = ()
    #: The rules that the entry broke, scope first.
    findings: tuple[Finding, ...] = ()


class ComparisonView(Struct, frozen=True, kw_only=True):
    """One task tried by several coders from the same commit."""

    as_of: datetime
    #: The compared task.
    id: str
    title: str
    state: ComparisonState
    repository: str
    commit: str
    at: datetime
    by: str = ""
    #: By coder and model.
    entries: tuple[ComparedEntry, ...] = ()
    #: The entry that was picked, the commit that the branch stood at then, and the branch.
    picked: str = ""
    landed: str = ""
    branch: str = ""


def read_comparison(fleet: Control, word: str, now: datetime) -> ComparisonView:
    """The latest comparison of a task, or the one that the task is an entry of. Raises NotFound."""
    task = fleet.get(word)
    subject = comparison_id(fleet, task)
    if subject and subject != task.id:
        task = fleet.get(subject)
    comparison = comparison_of(fleet, task)
    return ComparisonView(
        as_of=now,
        id=task.id,
        title=task.title,
        state=comparison.state,
        repository=comparison.repository,
        commit=comparison.commit,
        at=comparison.at,
        by=comparison.by,
        entries=tuple(_entry(fleet, entry) for entry in results(fleet, comparison)),
        picked=comparison.picked,
        landed=comparison.landed,
        branch=comparison.branch,
    )


def comparison_id(fleet: Control, task: Task) -> str:
    """The task whose comparison this task is the subject of, or an entry of; empty: none."""
    if compare_json.shown(fleet.home, task.id) is not None:
        return task.id
    mark: Any = task.metadata.get(MARK)
    subject: Any = cast("dict[str, Any]", mark).get("of") if isinstance(mark, dict) else None
    if not isinstance(subject, str):
        return ""
    try:
        found = compare_json.shown(fleet.home, subject)
    except BadInput:  # the mark came with an import, and names no task
        return ""
    return subject if found is not None and found.entry(task.id) is not None else ""


def _entry(fleet: Control, entry: Entry) -> ComparedEntry:
    assert entry.result is not None
    receipt = known_receipt(fleet, entry.task_id) if entry.task_id else None
    verdict = receipt.verdict if receipt is not None else None
    return ComparedEntry(
        number=entry.number,
        id=entry.task_id,
        label=entry.label,
        turn=entry.turn,
        result=entry.result,
        over=entry.result.is_over,
        done=entry.result.standing in DONE,
        claim=(receipt.claim or "")[:_LONGEST_CLAIM] if receipt is not None else "",
        checks=receipt.checks if receipt is not None else (),
        findings=verdict.broken if verdict is not None else (),
    )
