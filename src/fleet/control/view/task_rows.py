"""Rows of tasks that do not merely wait for their turn: in progress, with their runs; and blocked,
with what each waits for and what helps.
"""

import os

from msgspec import structs

from fleet.control.tasks.in_progress import InProgress, unusual_words
from fleet.control.view.now import RunNow, TaskRow
from fleet.control.view.queue_read import QueueRead
from fleet.control.view.why_not_now import WayOn
from fleet.home.landing_json import LANDERS, Landing
from fleet.runs import progress_json
from fleet.runs.progress_json import Progress
from fleet.runs.run_directory import Run
from fleet.schemas import Spend
from fleet.schemas.comparison import Comparison


def running_row(row: TaskRow, seen: InProgress, over: int) -> TaskRow:
    """A row of a task in progress, as the run's files tell. `over`: the last run that is."""
    if seen.doing == "invalid":
        return row
    run = None
    if seen.run is not None:
        begun = RunNow(number=seen.run, doing=seen.doing, started_at=seen.started_at)
        run = _advanced(begun, seen.progress)
    stands = seen.doing in ("waiting", "held")
    return structs.replace(
        row,
        group="waiting" if stands else "running",
        directory=seen.cwd,
        coder=seen.progress.coder,
        model=seen.progress.model,
        account=seen.account or row.account,
        since=seen.started_at or row.since,
        reason=seen.reason,
        way_on=_way_on(seen),
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


def _way_on(seen: InProgress) -> WayOn | None:
    match seen.doing:
        case "waiting" | "unsupervised":
            return WayOn(verb="", line="fleet run")
        case "held":
            return WayOn(verb="", line=f"fleet bd unclaim {seen.id}")
        case _:
            return None


def blocked_row(row: TaskRow, why: str) -> TaskRow:
    """The row of a task that a person has to set going again."""
    retry = WayOn(verb="retry", line=f"fleet retry {row.id}")
    return structs.replace(row, group="needs_you", reason=why, way_on=row.way_on or retry)


def landing_row(row: TaskRow, landing: Landing) -> TaskRow:
    """The row of a task whose work is on the way to a branch."""
    if landing.state in LANDERS or landing.state == "landed":  # landed: the queue is told next
        return structs.replace(row, group="running", since=landing.at)
    return structs.replace(
        row,
        group="needs_you",
        since=landing.at,
        reason=landing.why or row.landing_words,
        way_on=_landing_act(row.id, landing),
    )


def compared_row(row: TaskRow, comparison: Comparison, queue: QueueRead) -> TaskRow:
    """The row of a task that several coders try: the row waits for them, and then for a person."""
    entries = {entry.task_id for entry in comparison.entries}
    going = [
        part
        for part, standing in queue.unclosed_parts(row.id)
        if part in entries and standing != "blocked"
    ]
    way_on = WayOn(verb="pick", line=f"fleet compare {row.id}")
    if going:
        over = len(entries) - len(going)
        reason = f"{over} of {len(entries)} entries are over"
        return structs.replace(row, group="waiting", reason=reason, way_on=way_on)
    reason = f"{len(entries)} entries are over: one is to be picked"
    return structs.replace(row, group="needs_you", reason=reason, way_on=way_on)


def _landing_act(task_id: str, landing: Landing) -> WayOn:
    """What a person does with work that cannot land unaided."""
    if landing.state == "held":
        return WayOn(verb="release", line=f"fleet land --release {task_id}")
    if landing.why_back is not None:
        return WayOn(verb="reject", line=f'fleet review {task_id} --reject "…"')
    return WayOn(verb="land", line=f"fleet land {task_id}")
