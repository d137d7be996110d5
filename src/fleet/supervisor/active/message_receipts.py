"""Notes among the events of a run which messages were left for its agent, and which it has read.

An agent takes a message through its CLI's hook, without the supervisor, which only sees the result.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from fleet.files.json_record import JsonRecord
from fleet.home import messages
from fleet.home.journal import Log
from fleet.home.messages import Delivery
from fleet.supervisor.active.active_run import ActiveRun

#: How far each message was noted, by its number, so that a new supervisor does not say it again.
FILE = "noted.json"
_RECORD = JsonRecord(dict[str, int])


class MessageReceipts:
    """The messages of all living runs."""

    def __init__(self, log: Log, clock: Callable[[], datetime]) -> None:
        self._log = log
        self._now = clock
        self._seen: dict[str, int] = {}

    def look(self, run: ActiveRun) -> None:
        """Note what is new. Costs one stat of a directory while nothing is."""
        stamp = messages.stamp(run.run.task_dir)
        if stamp and self._seen.get(run.task_id) != stamp:
            self._note(run, messages.read(run.run.task_dir))
            self._seen[run.task_id] = messages.stamp(run.run.task_dir)

    def end(self, run: ActiveRun) -> None:
        """The run is over: the next run gets the messages that this one has not read."""
        self.look(run)
        self._seen.pop(run.task_id, None)
        if not messages.stamp(run.run.task_dir):
            return
        left = sum(tell.run is None for tell in messages.read(run.run.task_dir))
        if left:
            unread = "1 message was" if left == 1 else f"{left} messages were"
            text = f"{run.task_id}: {unread} not read; the next run is told"
            self._log.say("told_undelivered", text, task_dir=run.run.task_dir)

    def _note(self, run: ActiveRun, known: list[Delivery]) -> None:
        folder = run.run.task_dir / messages.FOLDER
        noted = _RECORD.read_or_none(folder / FILE) or {}
        fresh = dict(noted)
        for tell in known:
            said = tell.message
            if str(tell.number) not in noted:
                run.stream.note(
                    "fleet_told", self._now(), message=tell.number, by=said.by, text=said.text
                )
            if tell.run is not None and noted.get(str(tell.number)) != tell.run:
                run.stream.note("told_delivered", self._now(), message=tell.number, to_run=tell.run)
                text = f"{run.task_id}: run {tell.run} was told message {tell.number} of {said.by}"
                self._log.say("told_delivered", text, task_dir=run.run.task_dir)
            fresh[str(tell.number)] = tell.run or 0
        if fresh != noted:
            with suppress(OSError):  # a full disk: it is said once more after a restart
                _RECORD.write(folder / FILE, fresh, durable=False)
