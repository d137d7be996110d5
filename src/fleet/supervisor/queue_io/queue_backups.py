"""The copies that a supervisor makes of the queue: one a day beside the loop, and one at once of a
queue whose file vanished while the supervisor had it open.
"""

import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from fleet.errors import FleetError
from fleet.home.journal import Log
from fleet.queue import backups
from fleet.queue.identity import EMBEDDED, LEDGER
from fleet.queue.protocol import Queue
from fleet.supervisor.worker_pool import WorkerPool

#: Seconds between two looks whether a copy is due.
_LOOK = 600.0


class QueueBackups:
    """Copies of the SQLite file behind a home's queue; a PostgreSQL server has
    backups elsewhere.
    """

    def __init__(
        self, home: Path, queue: str, pool: WorkerPool, log: Log, now: Callable[[], datetime]
    ) -> None:
        self._home, self._pool, self._log, self._now = home, pool, log, now
        self._name = {"embedded": EMBEDDED, "beads": LEDGER}.get(queue, "")
        self._look_at = 0.0

    def when_due(self) -> None:
        """Copy the queue, once a day."""
        if self._name and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + _LOOK
            self._pool.submit(self._copy, self._report)

    def _copy(self) -> str:
        """The complaint, if the copy that is due cannot be made."""
        try:
            if backups.is_due(self._home, self._name, self._now()):
                backups.back_up(self._home, self._name, self._now(), "daily")
        except (FleetError, OSError) as error:
            return str(error)
        return ""

    def _report(self, complaint: str) -> None:
        if complaint:
            self._log.say("no_backup", f"the queue was not copied today: {complaint}")

    def rescue(self, queue: Queue) -> None:
        """Copy a queue whose file has no name any more, through the connection that is still open.

        In the queue's thread.
        """
        if self._name != EMBEDDED:
            return  # the ledger's leases are found again in the run directories
        from fleet.queue.sql.sql_queue import SqlQueue
        from fleet.queue.sql.sqlite import Sqlite

        if not isinstance(queue, SqlQueue) or not isinstance(queue.db, Sqlite):
            return
        keep = partial(backups.keep_copy, self._home, self._name, now=self._now(), reason="rescued")
        try:
            copy = queue.db.copied(keep)
        except (FleetError, OSError) as error:
            self._log.say("not_rescued", f"the queue could not be rescued: {error}")
        else:
            text = f"what the queue held is in {copy.path}. To put it back: fleet queue restore"
            self._log.say("rescued", text)
