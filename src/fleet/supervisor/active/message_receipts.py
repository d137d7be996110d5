"""Notes among the events of a run which messages were left for the agent, and which the agent has
read.

An agent takes a message through its CLI's hook, without the supervisor, which only sees the result.
"""

from contextlib import suppress
from datetime import datetime

from fleet.extend import RunObserver
from fleet.files.json_record import JsonRecord
from fleet.home import messages
from fleet.home.journal import Log
from fleet.runs.outcome_history import Ending
from fleet.schemas import Outcome, Receipt, bears_out
from fleet.supervisor.assignments import ActiveRun
from fleet.supervisor.state import SupervisorState

#: How far each message was noted, by its number, so that a new supervisor does not say it again.
FILE = "noted.json"
_RECORD = JsonRecord(dict[str, int])


class MessageReceipts(RunObserver):
    """Notes at the end of a run which messages were read, and logs those that no run has read."""

    def __init__(self, state: SupervisorState) -> None:
        self._state = state

    def exited(self, run: ActiveRun, outcome: Outcome) -> Outcome:
        note_messages(run, self._state.log, self._state.now())
        return outcome

    def settled(self, run: ActiveRun, ending: Ending, receipt: Receipt | None) -> None:
        done = bears_out(ending.settlement)
        note_undelivered(run, self._state.log, self._state.now(), done=done)


def note_messages(run: ActiveRun, log: Log, now: datetime) -> None:
    """Note what is new. A message in the prompt counts as read once the run has started, which
    changes no stamp: until then the messages are read again each time.
    """
    stamp = messages.stamp(run.run.task_dir)
    if stamp and run.memory.messages_stamp != stamp:
        started = messages.has_started(run.run.task_dir, run.run.number)
        _note(run, log, now)
        if started:
            run.memory.messages_stamp = messages.stamp(run.run.task_dir)


def note_undelivered(run: ActiveRun, log: Log, now: datetime, *, done: bool) -> None:
    """Log the messages that a run has not read: the next run gets them. `done`: the run did the
    task's work, so that there may be no next one.
    """
    note_messages(run, log, now)
    if not messages.stamp(run.run.task_dir):
        return
    left = sum(tell.run is None for tell in messages.read(run.run.task_dir))
    if left:
        unread = "1 message was" if left == 1 else f"{left} messages were"
        then = "the next run is told"
        if done:
            way = f"fleet review {run.task_id} --reject TEXT"
            then = f"the work is done. To have it changed: {way}"
        text = f"{run.task_id}: {unread} not read; {then}"
        log.say("told_undelivered", text, task_dir=run.run.task_dir)


def _note(run: ActiveRun, log: Log, now: datetime) -> None:
    folder = run.run.task_dir / messages.FOLDER
    noted = _RECORD.read_or_none(folder / FILE) or {}
    fresh = dict(noted)
    for tell in messages.read(run.run.task_dir):
        number, by = tell.number, tell.message.by
        if str(number) not in noted:
            run.stream.note("fleet_told", now, message=number, by=by, text=tell.message.text)
        if tell.run is not None and noted.get(str(number)) != tell.run:
            run.stream.note("told_delivered", now, message=number, to_run=tell.run)
            sender = f" of {by}" if by not in ("", "unknown") else ""
            text = f"{run.task_id}: run {tell.run} was told message {number}{sender}"
            log.say("told_delivered", text, task_dir=run.run.task_dir)
        fresh[str(number)] = tell.run or 0
    if fresh != noted:
        with suppress(OSError):  # a full disk: it is said once more after a restart
            _RECORD.write(folder / FILE, fresh, durable=False)
