"""The copies that a supervisor makes of the queue: one a day beside the loop, and one at once of a
queue whose file vanished while the supervisor had it open.
"""

import time
from functools import partial

from fleet.errors import FleetError
from fleet.extend import Duty
from fleet.queue import backups
from fleet.queue.identity import EMBEDDED, LEDGER
from fleet.queue.protocol import Queue
from fleet.supervisor.state import SupervisorState

#: Seconds between two looks whether a copy is due.
_LOOK = 600.0


class QueueBackups(Duty):
    """Copies of the SQLite file of this name, which is behind the home's queue."""

    begins_work = True

    def __init__(self, state: SupervisorState, name: str) -> None:
        self._home, self._pool, self._log, self._now = (
            state.home.path, state.pool, state.log, state.now,
        )  # fmt: skip
        self._name = name
        self._look_at = 0.0
        state.queue.rescue = self.rescue

    @property
    def next_moment(self) -> float:
        return self._look_at

    def when_due(self) -> None:
        """Copy the queue, once a day."""
        if time.monotonic() >= self._look_at:
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


def queue_backups(state: SupervisorState) -> QueueBackups | None:
    """None for a PostgreSQL server, which has backups elsewhere."""
    name = {"embedded": EMBEDDED, "beads": LEDGER}.get(state.config.queue)
    return QueueBackups(state, name) if name else None
