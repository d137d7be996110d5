"""Tasks in a queue of an earlier fleet, written as that fleet wrote them: by the first schema."""

from fleet.queue.protocol import Filter
from fleet.queue.sql.edit_task import Change, edit
from fleet.schemas.waits import Asks, OutOfAttempts, ToLand

_INSERT = (
    "INSERT INTO tasks (id, title, status, priority, issue_type, created_at, updated_at, closed_at)"
    " VALUES (:id, :id, :status, 2, 'task', :at, :at, :closed_at)"
)


def add_as_before(queue, *, closed=(), waiting=()):
    """Add tasks with these ids, in this order, to a queue whose schema is an earlier one."""
    for at, task_id in enumerate((*closed, *waiting), start=1):
        done = task_id in closed
        values = {"id": task_id, "status": "closed" if done else "open", "at": at}
        queue.db.rows(_INSERT, values | {"closed_at": at if done else None})


_BLOCK = "UPDATE tasks SET status = 'blocked', notes = :notes WHERE id = :id"
#: Notes that an earlier fleet left with blocked tasks, and what the tasks wait for.
BLOCKED = {
    "asks": ("Use tabs.\nQUESTION: old or new?", Asks(text="old or new?")),
    "lands": ("verified; waits to land on main: fleet land", ToLand(into="main")),
    "failed": ("Boom (attempt 3 of 3)", OutOfAttempts(why="Boom", made=3, limit=3)),
}


def block_as_before(queue):
    """Add the blocked tasks to a queue whose schema is an earlier one."""
    add_as_before(queue, waiting=list(BLOCKED))
    for task_id, (notes, _) in BLOCKED.items():
        queue.db.rows(_BLOCK, {"id": task_id, "notes": notes})


def check_blocked_as_before(queue):
    """The blocked tasks wait for what their notes said, and whoever notes more changes nothing."""
    assert {each.id: each.waits for each in queue.find(Filter(statuses=("blocked",)))} == {
        task_id: waits for task_id, (_, waits) in BLOCKED.items()
    }
    edit(queue, "asks", Change(append_notes="see fleet-7"), actor="ada")
    assert queue.get("asks").waits == Asks(text="old or new?")
