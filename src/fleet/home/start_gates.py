"""The gates of the kernel: what the queue, the supervisor and the machine say of a start.
Pure.
"""

from fleet.extend import Gate, HomeMoment, TaskStart
from fleet.schemas import NOT_WORK
from fleet.schemas.shown_text import cut, first_line
from fleet.schemas.task_state import Wait, WayOn
from fleet.schemas.waits import PutOff, ToMend

_NO_CHECK = "it has no verify command, and require = checked"
#: How much is shown of why a task was put off.
_SHOWN = 300
#: Why an earlier fleet put a task off, which stored no reason.
_UNKNOWN = "it was put off for a moment"


class IsWork(Gate):
    """Epics and the tracker's own types are never run."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        kind = start.task.issue_type
        if kind != "epic" and kind not in NOT_WORK:
            return None
        article = "an" if kind[:1] in "aeiou" else "a"
        return Wait(gate="type", reason=f"{article} {kind} is not run: its tasks are")


class Unassigned(Gate):
    """A task that is assigned to a person is that person's."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        task = start.task
        if not task.assignee or task.lease_owner is not None or task.assignee == at.owner:
            return None
        way = WayOn(verb="", line=f"fleet bd unclaim {task.id}")
        return Wait(gate="assignee", reason=f"it is assigned to {task.assignee}", way_on=way)


class DirectoryIsThere(Gate):
    """The task's directory exists."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        if not start.is_missing:
            return None
        reason = f"its directory {start.cwd} is not there"
        way = f"fleet bd update {start.task.id} --cwd DIR"
        return Wait(
            gate="directory", reason=reason, way_on=WayOn(verb="", line=way), person=True,
            blocks=ToMend(what=f"invalid: {reason}", hint=f"Give it another: {way}"),
            declined=reason,
        )  # fmt: skip


class HasCheck(Gate):
    """Where claims must be checked, a task has a verify command before an agent is paid."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        if not start.policy.lacks_check:
            return None
        way = WayOn(verb="", line=f"fleet bd update {start.task.id} --verify 'CMD'")
        return Wait(
            gate="verify", reason=_NO_CHECK, way_on=way, person=True, declined=_NO_CHECK
        )  # fmt: skip


class Dependencies(Gate):
    """The tasks that a task depends on come first."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        if not start.blockers:
            return None
        first = start.blockers[0]
        way = WayOn(verb="", line=f"fleet show {first}", task=first)
        return Wait(gate="dependency", reason=f"waits for {first}", way_on=way)


class NotDeferred(Gate):
    """A person may put a task off."""

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        task = start.task
        deferred = task.defer_until is not None and task.defer_until > at.now
        if task.status != "deferred" and not deferred:
            return None
        way = WayOn(verb="", line=f"fleet bd undefer {task.id}")
        return Wait(
            gate="deferral", reason="a person put it off", until=task.defer_until, way_on=way
        )


class NotPutOff(Gate):
    """The supervisor put the task off. It stored why with the task: an attempt that failed, code
    that could not be fetched, the gate of an installed package.
    """

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        task = start.task
        if task.not_before is None or task.not_before <= at.now:
            return None
        known = task.waits if isinstance(task.waits, PutOff) else PutOff(why=_UNKNOWN)
        way = WayOn(verb="retry", line=f"fleet retry {task.id}")
        if known.line:
            way = WayOn(verb="", line=known.line)
        return Wait(
            gate=known.gate or "put_off", reason=cut(first_line(known.why), _SHOWN),
            until=task.not_before, way_on=way, person=known.person,
        )  # fmt: skip


class Supervised(Gate):
    """Only a supervisor starts tasks. Without one they are ready all the same."""

    def why_none(self, at: HomeMoment) -> Wait | None:
        if at.supervised:
            return None
        way = WayOn(verb="", line="fleet run")
        return Wait(gate="supervisor", reason="no supervisor runs", way_on=way, ready=True)


class NotPaused(Gate):
    """`fleet pause` holds all tasks."""

    def why_none(self, at: HomeMoment) -> Wait | None:
        if not at.paused:
            return None
        way = WayOn(verb="resume", line="fleet resume")
        return Wait(gate="pause", reason="fleet is paused", way_on=way, person=True)


class QueueAnswers(Gate):
    """Nothing is claimed from a queue that fails."""

    def why_none(self, at: HomeMoment) -> Wait | None:
        if not at.queue_problem:
            return None
        return Wait(gate="queue", reason=f"the queue fails: {at.queue_problem}")


class MachineHasRoom(Gate):
    """The machine has disk, memory and processes for one more run."""

    def why_none(self, at: HomeMoment) -> Wait | None:
        if not at.shortage:
            return None
        return Wait(gate="machine", reason=f"the machine is short: {at.shortage}")


class SlotIsFree(Gate):
    """At most `max_concurrent` tasks run at once."""

    def why_none(self, at: HomeMoment) -> Wait | None:
        if not at.slots or at.runs < at.slots:
            return None
        used = "the only slot is" if at.slots == 1 else f"all {at.slots} slots are"
        way = WayOn(verb="", line=f"fleet config set max_concurrent={at.slots + 1}")
        return Wait(gate="slots", reason=f"{used} in use", way_on=way)
