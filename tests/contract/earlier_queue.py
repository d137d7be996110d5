"""Tasks in a queue of an earlier fleet, written as that fleet wrote them: by the first schema."""

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
