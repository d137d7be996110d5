"""Creates the tasks of schedules that are due: each moment once, and moments missed meanwhile once.

A task is created under an id that follows from its schedule and moment, and only then does the
schedule move on. A supervisor that is killed in between creates it again, which the queue refuses.
"""

import time
from datetime import timedelta

from msgspec import structs

from fleet.errors import NotFound
from fleet.extend import Duty
from fleet.processes.bd_create import CreateEnd, bd_create
from fleet.queue import PREFIX
from fleet.queue.protocol import Queue
from fleet.queue.schedules import Schedule
from fleet.supervisor.state import Happening, QueueChanged, SupervisorState

#: Seconds between two readings of the schedules after the queue changed, and without a change.
_READ_AGAIN, _READ_ANYWAY = 3.0, 60.0
#: A task whose queue did not answer is created again after this long.
_AGAIN = timedelta(seconds=30)
#: How much of a problem is kept, in characters.
_MOST = 500


class ScheduleClock(Duty):
    """The schedules of this home, and when the next is due."""

    begins_work = True

    def __init__(self, state: SupervisorState) -> None:
        self._state = state
        self._schedules: list[Schedule] = []
        #: Schedules whose task is being created, or whose queue is asked again later.
        self._busy: set[str] = set()
        #: When the schedules are read, on the monotonic clock.
        self._read_at = 0.0
        self._read_last = -_READ_AGAIN

    @property
    def next_moment(self) -> float:
        return self._read_at  # a schedule that is due is found with the next tick

    def on_event(self, event: Happening) -> None:
        if isinstance(event, QueueChanged):
            self._read_at = min(self._read_at, self._read_last + _READ_AGAIN)

    def when_due(self) -> None:
        """Create the tasks whose moment has come."""
        if time.monotonic() >= self._read_at:
            self._read_last = time.monotonic()
            self._read_at = self._read_last + _READ_ANYWAY
            self._state.queue.call(lambda queue: queue.schedules.all(), self._learn)
        now = self._state.now() if self._schedules else None
        for schedule in self._schedules:
            if now is not None and schedule.due <= now and schedule.name not in self._busy:
                self._busy.add(schedule.name)
                self._create(schedule)

    def _learn(self, schedules: list[Schedule]) -> None:
        ours = self._state.queue.owner
        self._schedules = [each for each in schedules if each.owner == ours]

    def _create(self, schedule: Schedule) -> None:
        home, task_id = self._state.home.path, schedule.task_id(PREFIX)
        args = ("--id", task_id, *schedule.args)

        def job() -> CreateEnd:
            return bd_create(home, schedule.cwd, args, by=f"schedule {schedule.name}")

        self._state.pool.submit(job, lambda end: self._settle(schedule, task_id, end))

    def _settle(self, schedule: Schedule, task_id: str, end: CreateEnd) -> None:
        """Have the schedule go on to the next moment, unless the queue did not answer."""
        if end.passing:
            later = structs.replace(schedule, due=self._state.now() + _AGAIN)
            self._hold_back(schedule.name, later, end.problem)
            return
        from fleet.queue.cron_line import next_due

        now = self._state.now()
        due = next_due(schedule.cron, schedule.zone, now)

        def moved(queue: Queue) -> str:
            problem = "" if _is_there(queue, task_id) else end.problem[:_MOST]
            last = schedule.last_task if problem else task_id
            fresh = structs.replace(schedule, due=due, last_task=last, problem=problem)
            queue.schedules.move(fresh, schedule.due)
            return problem

        self._state.queue.call(
            moved, lambda problem: self._say(schedule, task_id, problem), owed=True
        )

    def _hold_back(self, name: str, later: Schedule, problem: str) -> None:
        self._state.log.say("schedule", f"{name}: not created yet: {problem}")
        self._schedules = [later if each.name == name else each for each in self._schedules]
        self._busy.discard(name)

    def _say(self, schedule: Schedule, task_id: str, problem: str) -> None:
        self._busy.discard(schedule.name)
        self._schedules = [each for each in self._schedules if each.name != schedule.name]
        self._read_at = 0.0
        late = (self._state.now() - schedule.due).total_seconds()
        missed = f", {late:.0f} s late" if late >= 60 else ""
        what = f"created no task: {problem}" if problem else f"created {task_id}{missed}"
        self._state.log.say("schedule", f"schedule {schedule.name}: {what}", task=task_id)


def _is_there(queue: Queue, task_id: str) -> bool:
    try:
        queue.get(task_id)
    except NotFound:
        return False
    return True
