"""What became of the messages that people left for running agents: noted among their events.

An agent takes a message through its CLI's hook, without the supervisor. It only sees that done.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from fleet.files.json_record import JsonRecord
from fleet.home import messages
from fleet.home.journal import Log
from fleet.home.messages import Tell
from fleet.supervisor.active.active_run import Live

#: How far each message was noted, by its number, so that a new supervisor does not say it again.
FILE = "noted.json"
_RECORD = JsonRecord(dict[str, int])


class Telling:
    """The messages of all living runs."""

    def __init__(self, log: Log, clock: Callable[[], datetime]) -> None:
        self._log = log
        self._now = clock
        self._seen: dict[str, int] = {}

    def look(self, live: Live) -> None:
        """Note what is new. It costs a look at one directory's time while nothing is."""
        stamp = messages.stamp(live.run.task_dir)
        if stamp and self._seen.get(live.task_id) != stamp:
            self._note(live, messages.read(live.run.task_dir))
            self._seen[live.task_id] = messages.stamp(live.run.task_dir)

    def end(self, live: Live) -> None:
        """The run is over: what it has not read is for the next one."""
        self.look(live)
        self._seen.pop(live.task_id, None)
        if not messages.stamp(live.run.task_dir):
            return
        left = sum(tell.run is None for tell in messages.read(live.run.task_dir))
        if left:
            text = f"{live.task_id}: {left} messages were not read; the next run is told them"
            self._log.say("told_undelivered", text, task_dir=live.run.task_dir)

    def _note(self, live: Live, known: list[Tell]) -> None:
        folder = live.run.task_dir / messages.FOLDER
        noted = _RECORD.read_or_none(folder / FILE) or {}
        fresh = dict(noted)
        for tell in known:
            said = tell.message
            if str(tell.number) not in noted:
                live.note(
                    "fleet_told", self._now(), message=tell.number, by=said.by, text=said.text
                )
            if tell.run is not None and noted.get(str(tell.number)) != tell.run:
                live.note("told_delivered", self._now(), message=tell.number, to_run=tell.run)
                text = f"{live.task_id}: run {tell.run} was told message {tell.number} of {said.by}"
                self._log.say("told_delivered", text, task_dir=live.run.task_dir)
            fresh[str(tell.number)] = tell.run or 0
        if fresh != noted:
            with suppress(OSError):  # a full disk: it is said once more after a restart
                _RECORD.write(folder / FILE, fresh, durable=False)
