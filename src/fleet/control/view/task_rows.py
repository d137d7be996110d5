"""Rows of tasks that do not merely wait for their turn: in progress, with their runs; and blocked,
with what each waits for and what helps.
"""

import os
from collections.abc import Mapping, Sequence

from msgspec import structs

from fleet.control.tasks.in_progress import InProgress, unusual_words
from fleet.control.view.now import RunNow, TaskRow
from fleet.control.view.queue_read import QueueRead
from fleet.runs import progress_json
from fleet.runs.progress_json import Progress
from fleet.runs.run_directory import Run
from fleet.schemas import Spend
from fleet.schemas.comparison import Comparison
from fleet.schemas.task_state import Link, Standing, with_root


def running_row(row: TaskRow, seen: InProgress, over: int) -> TaskRow:
    """A row of a task in progress, as the run's files tell. `over`: the last run that is."""
    if seen.doing == "invalid":
        return row
    run = None
    if seen.run is not None:
        begun = RunNow(number=seen.run, doing=seen.doing, started_at=seen.started_at)
        run = _advanced(begun, seen.progress)
    return structs.replace(
        row,
        directory=seen.cwd,
        coder=seen.progress.coder,
        model=seen.progress.model,
        account=seen.account or row.account,
        since=seen.started_at or row.since,
        spent=row.spent + (run.spent if run and run.number > over else Spend()),
        run=run,
    )


def advanced_row(row: TaskRow, run: Run) -> TaskRow | None:
    """The row of a run that goes on, with what the supervisor last published; None: something else
    happened to the run, so that everything is to be read.

    Fifty runs change each half second while a person looks at five hundred.
    """
    now = row.run
    if now is None or now.doing != "running" or os.path.exists(f"{run.path}/exit.json"):  # noqa: PTH110
        return None
    progress = progress_json.read(run)
    if progress is None or progress.doing or run.number != now.number:
        return None
    fresh = _advanced(now, progress)
    before, spent = now.spent, fresh.spent
    whole = Spend(
        runs=row.spent.runs,
        tokens=row.spent.tokens - before.tokens + spent.tokens,
        usd=row.spent.usd - before.usd + spent.usd,
        estimated_usd=row.spent.estimated_usd - before.estimated_usd + spent.estimated_usd,
        unpriced=row.spent.unpriced - before.unpriced + spent.unpriced,
    )
    return structs.replace(row, run=fresh, spent=whole, reason=unusual_words(progress))


def _advanced(run: RunNow, progress: Progress) -> RunNow:
    return structs.replace(
        run,
        last_event_at=progress.last_event_at or run.last_event_at,
        last_step=progress.last_step,
        context_tokens=progress.context_tokens,
        context_peak=progress.context_peak,
        context_window=progress.context_window,
        events=progress.events,
        tool_calls=progress.tool_calls,
        spent=progress.spend,
        rung=progress.rung,
        near=progress.near,
    )


def standing_row(row: TaskRow, found: Standing) -> TaskRow:
    """The row of a task that stands so."""
    return structs.replace(
        row,
        state=found.state,
        group=found.group,
        reason=found.reason,
        until=found.until,
        way_on=found.way_on,
    )


def entries_over(comparison: Comparison, queue: QueueRead) -> tuple[int, int]:
    """How many entries of a comparison are over, and how many there are."""
    entries = {entry.task_id for entry in comparison.entries}
    going = [
        part
        for part, status in queue.unclosed_parts(comparison.task_id)
        if part in entries and status != "blocked"
    ]
    return len(entries) - len(going), len(entries)


def with_roots(rows: Sequence[TaskRow], blockers: Mapping[str, tuple[str, ...]]) -> list[TaskRow]:
    """The rows; one of a task that waits for others says for what the last of these waits."""
    known = {
        row.id: Link(
            id=row.id, title=row.title, standing=row.standing, blockers=_blockers(row, blockers)
        )
        for row in rows
    }
    return [
        standing_row(row, with_root(found, known)) if (found := _blockers(row, blockers)) else row
        for row in rows
    ]


def _blockers(row: TaskRow, blockers: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The tasks that a row's task waits for, if only tasks are in the way."""
    found = blockers.get(row.id, ())
    waits = row.state == "waiting" and row.way_on is not None and row.way_on.task
    return found if waits else ()
