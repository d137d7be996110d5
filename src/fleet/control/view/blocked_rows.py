"""Rows of tasks that the queue has as blocked: what each waits for, and what helps."""

from msgspec import structs

from fleet.control.view.now import TaskRow
from fleet.control.view.queue_read import QueueRead
from fleet.control.view.why_not_now import WayOn
from fleet.home.landing_json import LANDERS, Landing
from fleet.schemas.comparison import Comparison


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
