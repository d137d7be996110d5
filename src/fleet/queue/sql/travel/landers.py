"""Which host lands on a branch of a repository that several hosts reach.

The right is bound to the connection: it ends with the process, or with the host. It saves work;
what keeps two landers apart that race all the same is the compare-and-swap on the branch.
"""

from fleet.queue.sql.sql_queue import SqlQueue

_FILE = "run_files.sql"


def try_to_land(queue: SqlQueue, target: str) -> bool:
    """Take the right to land on a target until the queue is closed; False: another has it."""
    rows = queue.db.rows(queue.more(_FILE)["try_to_land"], {"target": target})
    return bool(rows[0][0])
