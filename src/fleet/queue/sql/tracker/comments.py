"""Comments on tasks, and memories."""

import os
from collections.abc import Mapping
from datetime import datetime

from fleet.queue.sql.row_mapping import to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Comment


def comment(
    queue: SqlQueue,
    task_id: str,
    *,
    author: str,
    text: str,
    id: str | None = None,  # noqa: A002 - the word for it
    at: datetime | None = None,
) -> Comment:
    """Add a comment. One with an id that is known already is left as it is."""
    from uuid import UUID  # seldom needed, and slow to load

    added = Comment(
        id=id or str(UUID(bytes=os.urandom(16), version=4)),
        task_id=task_id,
        author=author,
        text=text,
        created_at=at or queue.db.now(),
    )
    queue.rows(
        "tracker.insert_comment",
        {
            "comment_id": added.id,
            "id": task_id,
            "author": author,
            "text": text,
            "now": to_micros(added.created_at),
        },
    )
    return added


def memories(queue: SqlQueue) -> Mapping[str, str]:
    return {row[0]: row[1] for row in queue.rows("tracker.memories")}


def recall(queue: SqlQueue, key: str) -> str | None:
    rows = queue.rows("tracker.memory", {"key": key})
    return rows[0][0] if rows else None


def remember(queue: SqlQueue, key: str, value: str) -> bool:
    """Keep a memory; True if one of that name was there and was replaced."""
    with queue.db.writing():
        known = recall(queue, key) is not None
        now = to_micros(queue.db.now())
        queue.rows("tracker.set_memory", {"key": key, "value": value, "now": now})
        return known


def forget(queue: SqlQueue, key: str) -> str | None:
    """Drop a memory and return the last content; None if there was none."""
    rows = queue.rows("tracker.delete_memory", {"key": key})
    return rows[0][0] if rows else None
