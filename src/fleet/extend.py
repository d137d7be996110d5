"""What a subject can add to fleet, and the subjects that fleet comes with.

A subject is registered here by name and is named nowhere else in the supervisor. Installed packages
add their own: see docs/extending.md.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar, cast

from msgspec import Struct

from fleet.errors import BadInput
from fleet.schemas import Event, Outcome, Policy, Receipt, Task
from fleet.schemas.task_state import Wait

if TYPE_CHECKING:
    from fleet.runs.outcome_history import Ending
    from fleet.settlement.end_run import RunEnd
    from fleet.supervisor.assignments import ActiveRun, RunStart
    from fleet.supervisor.state import Happening, SupervisorState

#: The entry points of installed packages. Each names a module, which may have the tuples below.
GROUP = "fleet.plugins"


# Duties: recurring work of the supervisor.


class Duty(Protocol):
    """Recurring work of the supervisor.

    All methods are called in the loop's thread, so none may block: slow work goes to `state.pool`.
    An exception ends the supervisor and stands in its log.
    """

    #: Begins new work, so it is left out once the supervisor was told to end.
    begins_work: ClassVar[bool] = False

    @property
    def next_moment(self) -> float:
        """When `when_due` has something to do without an event, on the monotonic clock."""
        return float("inf")

    @property
    def busy(self) -> bool:
        """Work is under way that a supervisor waits for before it ends."""
        return False

    def start(self) -> None:
        """Start: the supervisor has the home to itself, and the queue can be called."""

    def when_due(self) -> None:
        """Do what is due. Called in every turn of the loop."""

    def on_event(self, event: "Happening") -> None:
        """React to an event. Called before the next `when_due`."""

    def close(self) -> None:
        """End; `state.shutdown` tells how much time there is. Called in reverse order."""


class TickingDuty(Duty, Protocol):
    """A duty that is due once a second, in the same turns as all others of its kind."""

    _due = 0.0

    @property
    def next_moment(self) -> float:
        return self._due

    def when_due(self) -> None:
        now = time.monotonic()
        if now >= self._due:
            self._due = now // TICK * TICK + TICK
            self.tick()

    def tick_soon(self) -> None:
        """Be due with the next turn."""
        self._due = 0.0

    def tick(self) -> None:
        """Do what is done once a second."""


#: Seconds between two ticks.
TICK = 1.0
#: Makes a duty for one supervisor; None: the settings do not want it.
DutyMaker = Callable[["SupervisorState"], Duty | None]
#: The duties of optional subjects, in the order in which they are called.
DUTIES = (
    "fleet.supervisor.hosts.take_part:host_duty",  # first: others ask whether there are hosts
    "fleet.supervisor.active.keep_logins:LoginDuty",
    "fleet.supervisor.active.side_processes:SideProcesses",
    "fleet.supervisor.queue_io.plan_epics:EpicDuty",
    "fleet.supervisor.queue_io.queue_backups:queue_backups",
    "fleet.supervisor.lander:Lander",
    "fleet.supervisor.queue_io.fire_schedules:ScheduleClock",
)


def duties(state: "SupervisorState") -> Iterator[Duty]:
    """Make the duties of all subjects. Raises BadInput for a package that cannot be loaded."""
    for make in cast("Iterator[DutyMaker]", _registered("DUTIES", DUTIES)):
        if (duty := make(state)) is not None:
            yield duty


# Observers of runs.


class AtOnce(Struct, frozen=True):
    """Ends a run without the time that it has otherwise to end well."""

    outcome: Outcome


class Tick(Struct, frozen=True):
    """The moment of one round of ticks."""

    #: On the monotonic clock, and on one that also counts while the machine sleeps.
    now: float
    awake: float


#: What an observer returns to end a run; None: the run goes on.
StopRun: TypeAlias = Outcome | AtOnce | None


class RunObserver(Protocol):
    """Follows the runs of one supervisor, from before their start until they are settled.

    All methods are called in the loop's thread, so none may block. A FleetError, or an OSError of
    damaged files, leaves the run's task to a person; other exceptions end the supervisor. The first
    observer that ends a run gives the reason.
    """

    #: `events` and `tick` are called only while nothing has stopped the run and its processes live.
    active_only: ClassVar[bool] = False

    def starting(self, start: "RunStart") -> None:
        """Prepare the start of a run, whose environment may be added to."""

    def started(self, run: "ActiveRun") -> None:
        """Follow a run that was started, or adopted from an earlier supervisor."""

    def events(self, run: "ActiveRun", events: Sequence[Event]) -> StopRun:
        """React to what a run has just printed; `run.totals` counts it already.

        There are no events where the run wrote to stderr alone, or lines that mean nothing.
        """
        return None

    def begin_tick(self, tick: Tick) -> None:
        """Prepare a round of `tick`; called once a second also while there are no runs."""

    def tick(self, run: "ActiveRun", tick: Tick) -> StopRun:
        """Check a run, once a second."""
        return None

    def exited(self, run: "ActiveRun", outcome: Outcome) -> Outcome:
        """Return the outcome of a run whose processes are gone, or one that replaces it.

        Called again where the end of the run has to be tried again.
        """
        return outcome

    def ended(self, run: "ActiveRun", end: "RunEnd") -> "Ending":
        """Return the ending of a run that was judged, or one that replaces it. Nothing is written
        yet: after an OSError it is called again.
        """
        return end.ending

    def settled(self, run: "ActiveRun", ending: "Ending", receipt: Receipt | None) -> None:
        """React to a run whose task is about to be settled, before its ending is written or sent.
        A supervisor that is killed in between may call this again for the same run. Without a
        receipt an earlier supervisor had judged the run.
        """


#: Makes an observer for one supervisor; None: the settings do not want it.
ObserverMaker = Callable[["SupervisorState"], RunObserver | None]
#: In the order in which they are called.
OBSERVERS = (
    # Records of all runs, also while they stop.
    "fleet.supervisor.active.report_trips:TripReports",
    "fleet.supervisor.active.watch_budgets:BudgetWatch",  # may fail on a full disk: nothing else is
    "fleet.supervisor.active.watch_accounts:AccountWatch",  # recorded of the run's end before
    # Reasons to end a run: the first one counts.
    "fleet.supervisor.active.context_pressure:ContextPressure",
    "fleet.supervisor.active.watch_accounts:LoginWatch",
    "fleet.supervisor.active.watch_runs:watchdog",
    # What others see of a run, after all that may change it.
    "fleet.supervisor.active.message_receipts:MessageReceipts",
    "fleet.supervisor.hosts.take_part:host_words",
    "fleet.supervisor.start.run_tracing:RunTracing",
    "fleet.supervisor.active.progress_file:ProgressFile",
)


def observers(state: "SupervisorState") -> Iterator[RunObserver]:
    """Make all observers. Raises BadInput for a package that cannot be loaded."""
    for make in cast("Iterator[ObserverMaker]", _registered("OBSERVERS", OBSERVERS)):
        if (observer := make(state)) is not None:
            yield observer


# Gates: reasons why a task does not start now. The supervisor asks them as it claims, starts and
# wakes tasks, with what it has in memory; surfaces ask the same with what files tell.


class SubjectFacts(Struct, frozen=True, kw_only=True):
    """What one subject knows, of the home at a moment or of one task. Each subject has a class of
    its own, whose defaults say that nothing is in the way.
    """


_F = TypeVar("_F", bound=SubjectFacts)


def _of(known: tuple[SubjectFacts, ...], kind: type[_F]) -> _F:
    for each in known:
        if isinstance(each, kind):
            return each
    return kind()


class HomeMoment(Struct, frozen=True, kw_only=True):
    """What decides at one moment which tasks of a home may start."""

    now: datetime
    #: A supervisor runs.
    supervised: bool = True
    paused: bool = False
    #: The error of the queue's last call, and what the machine is short of; empty: all is well.
    queue_problem: str = ""
    shortage: str = ""
    #: Tasks in hand, and how many there may be; 0 slots: the reader takes no part in that.
    runs: int = 0
    slots: int = 0
    #: The name that the home's supervisor claims tasks under.
    owner: str = ""
    facts: tuple[SubjectFacts, ...] = ()

    def of(self, kind: type[_F]) -> _F:
        """What a subject knows of the home."""
        return _of(self.facts, kind)


class TaskStart(Struct, frozen=True, kw_only=True):
    """A task that is to start, with the records about the task."""

    task: Task
    #: The directory as the task names it, whether it is missing here, and the configured project.
    cwd: str = ""
    is_missing: bool = False
    project: str = ""
    #: The coders that the task may run with, its own first.
    coders: tuple[str, ...] = ()
    policy: Policy = Policy()
    #: The tasks that it waits for.
    blockers: tuple[str, ...] = ()
    facts: tuple[SubjectFacts, ...] = ()

    def of(self, kind: type[_F]) -> _F:
        """What a subject knows of the task."""
        return _of(self.facts, kind)


class Gate(Protocol):
    """A reason why tasks do not start. Pure: the same values get the same answer everywhere."""

    def why_none(self, at: HomeMoment) -> Wait | None:
        """Why no task at all may start now; None: this gate lets tasks start."""
        return None

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        """Why this task may not start now; None: this gate does not hold the task."""
        return self.why_none(at)


#: The gates of fleet that hold all tasks, in their order. The last one leaves tasks ready.
HOME_GATES = (
    "fleet.home.start_gates:NotPaused",
    "fleet.home.start_gates:QueueAnswers",
    "fleet.home.start_gates:MachineHasRoom",
    "fleet.spending.budget_gates:DayBudget",
    "fleet.home.start_gates:SlotIsFree",
    "fleet.home.start_gates:Supervised",
)
#: The gates of fleet in the order in which people are told: first what concerns the task alone,
#: then what it shares with others, last what holds all tasks.
GATES = (
    "fleet.home.compare_json:NotCompared",
    "fleet.home.start_gates:IsWork",
    "fleet.home.trusted_commands:CommandsTrusted",
    "fleet.home.base_wait:BaseHolds",
    "fleet.coders.trusted_files:CoderTrusted",
    "fleet.home.start_gates:Unassigned",
    "fleet.home.start_gates:DirectoryIsThere",
    "fleet.home.start_gates:HasCheck",
    "fleet.home.start_gates:Dependencies",
    "fleet.home.start_gates:NotDeferred",
    "fleet.spending.budget_gates:TaskBudget",
    "fleet.spending.budget_gates:ProjectBudget",
    "fleet.accounts.account_gate:AccountRoom",
    "fleet.home.start_gates:NotPutOff",
    "fleet.queue.sql.hosts.host_gate:HostFits",
    *HOME_GATES,
)


def home_gates() -> Iterator[Gate]:
    """Fleet's gates that hold all tasks. A gate is loaded only once it is asked."""
    return (_named(name)() for name in HOME_GATES)


@cache
def own_gates() -> tuple[Gate, ...]:
    """The gates that fleet comes with."""
    return tuple(_named(name)() for name in GATES)


@cache
def gates() -> tuple[Gate, ...]:
    """All gates, for the supervisor. Raises BadInput for a package that cannot be loaded.

    Surfaces ask `own_gates`: to look for packages takes longer than most commands. The reason of a
    package's gate is stored with the task that it holds.
    """
    return tuple(make() for make in _registered("GATES", GATES))


def why_none(gates: Iterable[Gate], at: HomeMoment) -> Wait | None:
    """The first reason why no task at all may start; None: tasks start."""
    for gate in gates:
        if (wait := gate.why_none(at)) is not None:
            return wait
    return None


def why_not(gates: Iterable[Gate], start: TaskStart, at: HomeMoment) -> Wait | None:
    """The first reason why a task may not start; None: no gate holds the task. The order of the
    gates decides which reason people see.
    """
    for gate in gates:
        if (wait := gate.why_not(start, at)) is not None:
            return wait
    return None


# How a name becomes what it stands for.


def _registered(kind: str, built_in: tuple[str, ...]) -> Iterator[Any]:
    """What is registered under the name of a tuple: fleet's own, then that of packages by name."""
    from importlib.metadata import entry_points  # which takes longer than most commands have

    for name in built_in:
        yield _named(name)
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            yield from getattr(point.load(), kind, ())
        except Exception as error:  # what a package throws is not ours
            why = f"plugin {point.name} cannot be loaded: {type(error).__name__}: {error}"
            raise BadInput(why, hint="Uninstall its package, or mend it.") from error


def _named(name: str) -> Any:
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
