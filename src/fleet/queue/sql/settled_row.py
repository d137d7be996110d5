"""What a settlement leaves in the row of its task. Pure."""

from collections.abc import Mapping
from datetime import datetime

from fleet.queue.sql.row_mapping import to_columns, to_micros
from fleet.schemas import Blocked, Closed, Lease, Released, Settlement, Task

#: What is left of a settlement, but for the moments and the note.
_LEFT = (
    "fence", "status", "assignee", "close_reason", "not_before", "runs", "attempts", "last_host",
)  # fmt: skip


def settled_row(lease: Lease, settlement: Settlement, at: datetime) -> dict[str, object]:
    """The values of the statement that ends a lease."""
    now = to_micros(at)
    values: dict[str, object] = {
        "id": lease.task.id,
        "owner": lease.owner,
        "fence": lease.fence,
        "now": now,
        "closed_at": None,
        "close_reason": "",
        "not_before": None,
        "assignee": "",
        "note": "",
        "new_line": "\n",
        # The lease's holder has counted: no other process may while it holds the lease.
        "runs": lease.task.runs,
        "attempts": lease.task.attempts,
        "last_host": lease.task.last_host,
    }
    match settlement:
        case Closed(reason=reason):
            values |= {
                "status": "closed",
                "closed_at": now,
                "close_reason": reason,
                "assignee": lease.owner,
            }
        case Released(note=note, not_before=not_before):
            values |= {"status": "open", "note": note, "not_before": to_micros(not_before)}
        case Blocked(note=note):
            values |= {"status": "blocked", "note": note}
    return values


def is_settled_so(task: Task, values: Mapping[str, object]) -> bool:
    """The task is as this settlement left it: no later claim, and no word of a person since."""
    now = to_columns(task)
    return task.lease_owner is None and all(now[name] == values[name] for name in _LEFT)
