"""The one tree of errors that a person sees: what happened, what to do, and an exit code.

An ending that is expected (a lost lease, an empty queue) is a value, not one of these.
"""


class FleetError(Exception):
    """Something went wrong that a person has to know about."""

    exit_code = 1
    #: The machine's own number of the error, as an OSError has it; None: another error.
    errno: int | None = None

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class BadInput(FleetError):
    """What was typed or passed in cannot be used."""

    exit_code = 2


class ConfigError(FleetError):
    """runtime.toml is broken or holds a value that is out of range."""

    exit_code = 3


class HomeError(FleetError):
    """$FLEET_HOME is missing, unsafe or cannot be written."""

    exit_code = 4


class QueueError(FleetError):
    """The queue did not do what was asked."""

    exit_code = 5
    #: The queue does not answer again before a person acts.
    needs_person = False


class QueueBusy(QueueError):
    """Another process held the queue for longer than we wait."""


class QueueUnavailable(QueueError):
    """The queue cannot be reached: no server, no program, no disk."""


class WriteBrokeOff(QueueUnavailable):
    """The connection was lost between a write and the answer: the write may be stored."""


class QueueReadOnly(QueueUnavailable):
    """The queue answers and cannot be written: a standby, or a role without the right."""


class WrongQueue(QueueUnavailable):
    """The queue is gone, was emptied, or is another one than the home knows."""

    needs_person = True


class DamagedQueue(QueueUnavailable):
    """The queue's files are there and cannot be read as a queue."""

    needs_person = True


class SchemaTooNew(QueueError):
    """The queue was written by a later fleet than this one."""

    needs_person = True


class NotFound(FleetError):
    """There is no such task."""

    exit_code = 6


class Refused(FleetError):
    """The queue's own rules forbid the change: a cycle, open blockers, another's claim."""

    exit_code = 7


class NotHere(FleetError):
    """A task needs something that this machine does not have; another host may."""

    exit_code = 8


class InvalidTask(FleetError):
    """A task's own files cannot be trusted, so nothing may run for the task."""

    exit_code = 8
