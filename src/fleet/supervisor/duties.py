"""The small duties of every supervisor: signals, settings, tasks to wake, the shown status."""

import selectors

from msgspec import structs

from fleet import config as configuration
from fleet.errors import ConfigError
from fleet.extend import Duty, TickingDuty
from fleet.files.safe_read import stamp_of
from fleet.home.status_file import SupervisorStatus, write_status
from fleet.queue.protocol import Filter
from fleet.schemas import Blocked, Stopped, Task
from fleet.schemas.decision import SHUTDOWN
from fleet.supervisor.assignments import Claimed
from fleet.supervisor.queue_io.queue_thread import QueueThread
from fleet.supervisor.queue_io.reopen_tasks import go_on_if_answered, wake_all, wake_for_base
from fleet.supervisor.shortage import release_reserve
from fleet.supervisor.state import (
    Happening,
    LandingEnded,
    Recovered,
    SettingsApplied,
    StopRequested,
    SupervisorState,
    TaskSettled,
)
from fleet.supervisor.stop_runs import stop_all

#: Blocked tasks whose question may have been answered while no supervisor was there.
_ANSWERED = Filter(statuses=("blocked",), limit=500)


class SignalDuty(Duty):
    """Stops the runs when the supervisor is told to end."""

    def __init__(self, state: SupervisorState, selector: selectors.BaseSelector) -> None:
        self._state, self._selector = state, selector

    def start(self) -> None:
        self._state.shutdown.listen(self._selector)

    def when_due(self) -> None:
        state = self._state
        for number in state.shutdown.drain():
            now = state.shutdown.stops > 1
            release_reserve(state.home)  # for the records of how the runs ended
            word = "killing the agents" if now else "stopping the agents"
            state.log.say("stopping", f"{word} ({number.name})")
            state.events.append(StopRequested())
            stop_all(state, Stopped(by=SHUTDOWN), now=now)


class SettingsDuty(TickingDuty):
    """Applies runtime.toml when it has changed, also before each task that is started."""

    def __init__(self, state: SupervisorState, coder: str | None = None) -> None:
        self._state = state
        #: The coder of tasks that name none, whatever the settings say; None: the configured one.
        self._coder = coder
        self._stamp = stamp_of(state.home.config)

    def when_due(self) -> None:
        if any(isinstance(each.stage, Claimed) for each in self._state.assignments):
            self.tick_soon()
        super().when_due()

    def tick(self) -> None:
        """Apply the present settings; broken ones change nothing and are reported once."""
        state = self._state
        stamp = stamp_of(state.home.config)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            fresh = configuration.load(state.home.config)
        except ConfigError as error:
            state.log.say("config_broken", f"settings unchanged: {error.message}")
            return
        queue = state.config.queue
        if fresh.queue != queue:
            state.log.say("config", "another queue takes effect after: fleet restart")
        state.apply(structs.replace(fresh, queue=queue, coder=self._coder or fresh.coder))
        state.events.append(SettingsApplied())
        state.log.say("config", "settings applied")
        tell_converted(state)


def tell_converted(state: SupervisorState) -> None:
    """Say once what an earlier fleet's words in runtime.toml mean."""
    if converted := state.config.converted:
        text = f"runtime.toml is of an earlier fleet: {'; '.join(converted)}"
        state.log.say_once("config_converted", text)


class WakeDuty(Duty):
    """Wakes tasks that were put off, when what they wait for may be there."""

    def __init__(self, state: SupervisorState) -> None:
        self._state = state

    def on_event(self, event: Happening) -> None:
        match event:
            case Recovered():
                self._state.queue.find(_ANSWERED, self._go_on_with_answered)
                self._wake()
            case SettingsApplied():
                self._wake()
            case LandingEnded():
                wake_for_base(self._state)
            case _:
                pass

    def _wake(self) -> None:
        wake_all(self._state)
        wake_for_base(self._state)

    def _go_on_with_answered(self, tasks: list[Task]) -> None:
        """Continue tasks whose answer came as an earlier supervisor was killed."""
        for task in tasks:
            go_on_if_answered(self._state, task, self._state.home.task(task.id))


class BlockedTasks(Duty):
    """Remembers the tasks that this supervisor blocked and that are blocked still."""

    def __init__(self) -> None:
        self.ids: set[str] = set()

    def on_event(self, event: Happening) -> None:
        match event:
            case TaskSettled(task_id, Blocked(to_land=False)) | LandingEnded(task_id, asks=True):
                self.ids.add(task_id)
            case TaskSettled(task_id) | LandingEnded(task_id):
                self.ids.discard(task_id)
            case _:
                pass


class StatusDuty(TickingDuty):
    """Writes what `fleet status` shows of the supervisor, if something changed."""

    def __init__(self, state: SupervisorState) -> None:
        self._state = state
        self._published: SupervisorStatus | None = None

    def on_event(self, event: Happening) -> None:
        if isinstance(event, Recovered):
            self.tick_soon()

    def tick(self) -> None:
        state = self._state
        status = SupervisorStatus(
            runs=len(state.assignments),
            slots=state.config.max_concurrent,
            queue_problem=state.queue.problem,
            shortage=state.backoff.why,
            budgets=state.meter.statuses(),
            on_account=state.assignments.tasks_by_account(),
            accounts=state.accounts.published(),
            probes=state.accounts.probes(),
            lost_log_lines=state.log.lost,
        )
        if status != self._published and write_status(state.home, status):
            self._published = status

    def close(self) -> None:
        self.tick()


class QueueRetries(Duty):
    """Makes calls of the queue again that failed."""

    def __init__(self, queue: QueueThread) -> None:
        self._queue = queue

    @property
    def next_moment(self) -> float:
        return self._queue.next_moment

    def when_due(self) -> None:
        self._queue.retry()
