"""What this host knows of the queue's server, to tell the server from a copy of an
earlier state.
"""

import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from fleet.queue.sql.hosts import server_copy
from fleet.queue.sql.hosts.server_copy import ServerNow
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.supervisor.assignments import awake

#: How many tasks are named in one line of the log.
_NAMED = 10


class ServerMemory:
    """What is known of the server. The threads that beat and claim ask, each by its connection, and
    neither waits for the other: a heartbeat is not late because a claim hangs.
    """

    def __init__(
        self,
        host_id: str,
        lease: timedelta,
        say: Callable[[str, str], None],
        missing: Callable[[SqlQueue], Sequence[str]] = lambda _: (),
    ) -> None:
        self._id, self.lease, self._say = host_id, lease, say
        #: Tasks of this host's home that the server does not know.
        self._missing = missing
        #: The last heartbeat of this host that a server acknowledged.
        self._seen: datetime | None = None
        #: Until when no host claims: by the server's clock, and by that of this machine.
        self._until: datetime | None = None
        self._free_at = 0.0
        self._connection = 0
        #: The server went back: the loop takes up again what the server says this host holds.
        self.went_back = threading.Event()

    @property
    def holds_off(self) -> bool:
        """No host claims for now."""
        return awake() < self._free_at

    def beaten(self, queue: SqlQueue) -> None:
        """The server has acknowledged a heartbeat."""
        self._seen = server_copy.server_now(queue, self._id).seen

    def may_claim(self, queue: SqlQueue) -> bool:
        """Tasks can be claimed on this connection, which leads to the server that
        this host knows.
        """
        number = server_copy.connection_number(queue)
        if number != self._connection:
            self.check(queue)
            self._connection = number
        return not self.holds_off

    def check(self, queue: SqlQueue) -> None:
        """Compare the server with what is known; a copy has every host wait."""
        seen = self._seen  # before the question: the other thread may beat meanwhile
        found = server_copy.server_now(queue, self._id)
        why, until = _older(found, seen), found.claims_from
        if why:
            if until is None or until <= queue.db.now():  # else another host found it first
                until = server_copy.hold_off(queue, found.stamp, self.lease)
            self._seen = None
            self.went_back.set()
        elif not found.noted and found.stamp:
            server_copy.note_server(queue, found.stamp)
        self._wait(queue, until, why or "another host found it")

    def _wait(self, queue: SqlQueue, until: datetime | None, why: str) -> None:
        if until is None or until == self._until:
            return
        left, said = (until - queue.db.now()).total_seconds(), self.holds_off
        self._until, self._free_at = until, awake() + left
        if left > 0 and not said:
            self._say(
                "server_went_back",
                f"the queue is a copy of an earlier state ({why}): no host claims before"
                f" {until:%H:%M:%S} UTC, when every run that it does not know has ended",
            )
            if ids := self._missing(queue):
                some = "1 task" if len(ids) == 1 else f"{len(ids)} tasks"
                named = ", ".join(ids[:_NAMED]) + (", …" if len(ids) > _NAMED else "")
                text = f"{some} of this home are not in that copy: {named}"
                self._say("tasks_missing", f"{text}. What is known of them: fleet queue status")


def _older(found: ServerNow, seen: datetime | None) -> str:
    """Why the server is taken for a copy of an earlier state; empty: no copy. Pure.

    `seen` is the last heartbeat that this host knows to have been acknowledged. A server that knows
    of the host's removal since has heard of it too.
    """
    if found.noted and found.stamp != found.noted:
        return "another server, or a restored one, answers"
    heard = found.seen or found.removed
    if seen is not None and (heard is None or heard < seen):
        return f"it does not know this host's heartbeat of {seen:%H:%M:%S} UTC"
    return ""
