"""The tasks in hand: one table, with the lease and the stage of each task.

    Claimed → [Arriving →] [Preparing →] Active → [Stopping →] Finishing ⇄ Inspecting
       ↑                        ↓          ↑↓                      ↓
       └──────────────────── Trying      Unknown               [Sending →] settled

A task that is settled leaves the table. A run whose processes are out of sight is Unknown until
they are found again, or are known to be gone.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fleet.coders.base import Coder
from fleet.coders.login import Login
from fleet.evidence.inspect_run import Inspection
from fleet.runs.progress_json import Progress
from fleet.runs.run_directory import Run, RunSpec, RunTrace
from fleet.schemas import Account, Base, Lease, Outcome, Policy, Stopped, Task, Usage
from fleet.settlement.run_record import NO_SPEC, ExitedRun, RunRecord
from fleet.settlement.session_files import SessionFiles
from fleet.watchdog.stall_rules import FINE, StallState

if TYPE_CHECKING:
    from fleet.processes.keeper_client import Keeper


class RunMemory(Struct):
    """What the supervisor remembers of a run from one look to the next."""

    #: When the agent was told to end its turn, as no person had answered its question; on the
    #: monotonic clock. None: it was not told.
    parked_at: float | None = None
    #: The model has answered, so the account works.
    answered: bool = False
    #: The login that its box has; None: none, or another supervisor put it there.
    login: Login | None = None
    #: Whether its box got that later than the run began.
    has_new_login: bool = False
    #: Whether the run ended because its access token had; None: not judged yet.
    stale: bool | None = None
    #: The stamp of the messages that were noted; 0: none were.
    messages_stamp: int = 0
    #: What the watchdog found last, for people; and when the limit ends that the agent waits for,
    #: if it waits for one.
    stall: StallState = FINE
    waits_until: datetime | None = None
    near_limits: tuple[str, ...] = ()
    published: Progress | None = None
    #: The day's ledger has a line of what the run spent.
    recorded: bool = False


class ActiveRun(RunRecord):
    """A run between start and settlement."""

    def __init__(
        self,
        task: Task,
        run: Run,
        coder: Coder,
        *,
        env: Mapping[str, str],
        spec: RunSpec = NO_SPEC,
        adopted: bool = False,
    ) -> None:
        super().__init__(task, run, coder, env=env, spec=spec, adopted=adopted)
        #: None where no process could be started.
        self.keeper: Keeper | None = None
        self.memory = RunMemory()

    def printed(self) -> int:
        """Bytes on stdout and stderr."""
        return sum(_size(path) for path in (self.run.stdout, self.run.stderr))

    @property
    def context_window(self) -> int:
        """Tokens that the agent's context holds: by this run's stream, by earlier runs of the same
        model, or else by the coder.
        """
        reported = self.totals.tokens.context_window or self.spec.context_window
        return reported or self.coder.context_limit


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


class Ready(Struct, frozen=True, kw_only=True):
    """All that a run needs, before anything was started."""

    task: Task
    coder: Coder
    account: Account
    #: For the prompt: how the last run ended, and what people have said since.
    last_ending: str = ""
    prompt_messages: str = ""
    #: The session that is carried on, and the tools that were at work when it was cut off; None:
    #: it was not cut off.
    resume: str | None = None
    cut_off: tuple[str, ...] | None = ()
    #: The files of the session that is carried on; None: the CLI has them already.
    session: SessionFiles | None = None
    #: The variables that log the agent in, and the same with a mark for the secret.
    given: Mapping[str, str]
    outline: Mapping[str, str]
    #: The variables of the supervisor's own that the operator lets through.
    passes: tuple[str, ...] = ()
    policy: Policy
    #: What stands here for the directory of the task, where that is on another host.
    project: str = ""
    #: The repository as the run finds it, once it was looked at.
    base: Base | None = None
    #: What the session that is carried on had used before.
    before: Usage = Usage()
    #: Numbers of the messages in the prompt that no run has read.
    messages: tuple[int, ...] = ()
    #: When it was put together: the preparation of the run begins.
    at: datetime


class RunStart(Struct, kw_only=True):
    """A run that is about to start."""

    lease: Lease
    ready: Ready
    #: The agent's environment so far.
    env: dict[str, str]
    #: What the spans of the run are made from; None: the run is not traced.
    trace: RunTrace | None = None


class Claimed(Struct, frozen=True):
    """The task waits to be started."""


class Arriving(Struct, frozen=True):
    """A worker thread brings what other hosts know of the task."""


class Preparing(Struct, frozen=True):
    """A worker thread makes the task's directory ready."""

    ready: Ready
    #: Set to make the worker thread give up.
    abandon: threading.Event
    #: Why the run is not to begin after all; None while it is.
    stop_reason: Stopped | None = None


class Trying(Struct, frozen=True):
    """A worker thread tries the task's verify commands on the commit that its work begins at. The
    task holds no account meanwhile, and is started from the beginning after that.
    """

    #: Stands for the commit and the commands.
    base: str
    #: Set to make the worker thread give up.
    abandon: threading.Event
    #: Why the run is not to begin after all; None while it is.
    stop_reason: Stopped | None = None


class Active(Struct, frozen=True):
    """The run's processes live, and fleet has not stopped them."""

    run: ActiveRun


class Stopping(Struct, frozen=True):
    """Fleet has told the run to end."""

    run: ActiveRun
    stop_reason: Outcome
    #: The tools that were at work at that moment.
    cut_off: tuple[str, ...] = ()
    #: When the keeper is told again, on the monotonic clock: the supervisor that wrote the reason
    #: may have died before it could tell the keeper.
    tell_again_at: float = float("inf")


class Finishing(Struct, frozen=True):
    """Nothing of the run lives. Its streams are read out, then it is inspected or settled."""

    run: ActiveRun
    ended: ExitedRun
    #: What the inspection found; None before it.
    findings: Inspection | None = None
    #: When the supervisor tries again on a machine that was short of something, on the monotonic
    #: clock, and how long it waits for that; 0: it was short of nothing.
    retry_at: float = 0.0
    pause: float = 0.0


class Inspecting(Struct, frozen=True):
    """A worker thread looks at what the run left, and runs the verify commands."""

    run: ActiveRun
    ended: ExitedRun
    #: Set to make the worker thread give up.
    abandon: threading.Event
    #: As in `Finishing`.
    pause: float = 0.0


class Sending(Struct, frozen=True):
    """A worker thread writes down how the run ended, pushes the work and stores the run's files
    where other hosts find them. Then the task is settled.
    """

    run: Run
    #: Set to leave the rest to the next supervisor, if sending fails.
    abandon: threading.Event


class Unknown(Struct, frozen=True):
    """The run was begun and has no ending, and whether any process of the run lives
    is not known.
    """

    run: Run
    #: The account that the run counts against, as it may live; empty where the run names none.
    account: str
    #: Seconds until the next look, doubled each time.
    pause: float
    #: When the next look is due, on the monotonic clock.
    due: float = 0.0


Stage = (
    Claimed
    | Arriving
    | Preparing
    | Trying
    | Active
    | Stopping
    | Finishing
    | Inspecting
    | Sending
    | Unknown
)


class Assignment(Struct, eq=False):
    """One task that this supervisor holds."""

    lease: Lease
    stage: Stage
    #: Until when the lease is this supervisor's for certain, on a clock that counts while the
    #: machine sleeps; None: not known yet.
    held_until: float | None = None
    #: The queue was asked to renew the lease, and has not answered yet.
    renewing: bool = False
    #: What other hosts know of the task is here; on a queue of one machine there is none.
    arrived: bool = False

    @property
    def task_id(self) -> str:
        return self.lease.task.id

    @property
    def run(self) -> ActiveRun | None:
        """The run, in stages in which the supervisor follows one."""
        match self.stage:
            case Active(run) | Stopping(run) | Finishing(run) | Inspecting(run):
                return run
            case _:
                return None

    @property
    def doing(self) -> str:
        """What fleet does about the run, for `progress.json`; empty while the run
        is left to go on.
        """
        match self.stage:
            case Inspecting() | Finishing(findings=Inspection()):
                return "Verifying"
            case Stopping(stop_reason=reason):
                return type(reason).__name__
            case Finishing(ended=ExitedRun(stop_reason=reason)) if reason is not None:
                return type(reason).__name__
            case _:
                return ""


def awake() -> float:
    """Seconds that count while the machine sleeps, as leases do."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def lease_of(task: Task) -> Lease:
    """The lease that a task is under."""
    assert task.lease_owner is not None
    assert task.lease_until is not None
    return Lease(task=task, owner=task.lease_owner, fence=task.fence, until=task.lease_until)


class Assignments:
    """All tasks in hand, by task id, in the order in which they came."""

    def __init__(self) -> None:
        self._table: dict[str, Assignment] = {}

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Assignment]:
        return iter(list(self._table.values()))

    def get(self, task_id: str) -> Assignment | None:
        return self._table.get(task_id)

    def take(self, lease: Lease, held_until: float | None = None) -> Assignment:
        """The assignment of a task that was claimed.

        A task that is in the table was claimed again after its lease had run out or was ended from
        outside: it goes on under the new lease.
        """
        known = self._table.get(lease.task.id)
        if known is not None:
            known.lease, known.held_until = lease, held_until
            return known
        added = self._table[lease.task.id] = Assignment(lease, Claimed(), held_until)
        return added

    def remove(self, assignment: Assignment) -> None:
        """The task is settled, or left to the next supervisor."""
        self._table.pop(assignment.task_id, None)

    def runs(self) -> list[tuple[Assignment, ActiveRun]]:
        """The assignments whose run is followed."""
        return [(each, run) for each in self._table.values() if (run := each.run) is not None]

    def living(self) -> list[Run]:
        """The runs that are followed, for a thread beside the loop."""
        return [run.run for each in list(self._table.values()) if (run := each.run) is not None]

    def at_work(self) -> frozenset[str]:
        """The tasks that have a run, or are about to have one."""
        table = self._table.items()
        return frozenset(name for name, each in table if not isinstance(each.stage, Claimed))

    def by_account(self) -> Counter[str]:
        """How many agents each account has at work, or may have."""
        return Counter(account for _, account in self._on_accounts())

    def tasks_by_account(self) -> dict[str, tuple[str, ...]]:
        """The tasks with an agent at work on each account, for surfaces."""
        found: dict[str, tuple[str, ...]] = {}
        for task_id, account in self._on_accounts():
            found[account] = (*found.get(account, ()), task_id)
        return found

    def _on_accounts(self) -> Iterator[tuple[str, str]]:
        for task_id, each in self._table.items():
            match each.stage:
                case Active(run) | Stopping(run):
                    yield task_id, run.account
                case Preparing(ready):
                    yield task_id, ready.account.name
                case Unknown(account=account) if account:
                    yield task_id, account
                case _:
                    pass
