"""Finding tasks by more than their id: parts of ids, and the filters of `bd list`."""

from fleet.queue.sql import SqlQueue


def ids_like(queue: SqlQueue, word: str) -> list[str]:
    """The ids that a word may mean: itself, with the prefix before it, or any id that holds it."""
    prefix = queue.db.rows(queue.sql["meta"], {"key": "prefix"})[0][0]
    for exact in (word, f"{prefix}-{word}"):
        if queue.db.rows(queue.sql["exists"], {"id": exact}):
            return [exact]
    return [row[0] for row in queue.db.rows(queue.sql["ids_holding"], {"part": word, "limit": 20})]
