"""From a lease to its run: what the run needs is put together, its directory is made ready, its
keeper is started. What keeps a run from beginning settles the lease.
"""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from fleet.accounts.candidates import Place
from fleet.accounts.choose_account import Wait
from fleet.accounts.credentials import AccountTrouble
from fleet.config import Config
from fleet.errors import FleetError
from fleet.home import Home
from fleet.home.journal import Log
from fleet.runs.outcome_history import history
from fleet.schemas import Lease
from fleet.schemas.decision import blocked, released
from fleet.supervisor.active.assign_account import AccountAssigner
from fleet.supervisor.active.budget_meter import BudgetMeter
from fleet.supervisor.active.follow_runs import RunFollower
from fleet.supervisor.assignments import Active, Assignment, Preparing
from fleet.supervisor.finish.finish_run import Settler
from fleet.supervisor.host.resource_backoff import ResourceBackoff
from fleet.supervisor.host.worker_pool import WorkerPool
from fleet.supervisor.start.launch import (
    Ready,
    SessionGone,
    Short,
    Unfit,
    launch,
    make_ready,
    moved,
    placed,
)
from fleet.supervisor.start.workspace import (
    Abandoned,
    Broken,
    Prepared,
    Unprepared,
    Workspace,
    order_of,
    prepare,
)

#: When a task looks again for an account whose secret could not be had.
_TROUBLE = timedelta(minutes=1)


class RunStarter:
    """Starts runs for claimed tasks."""

    def __init__(
        self,
        home: Home,
        *,
        coder: str | None,
        programs: Path,
        follower: RunFollower,
        pool: WorkerPool,
        settler: Settler,
        accounts: AccountAssigner,
        backoff: ResourceBackoff,
        meter: BudgetMeter,
        log: Log,
        clock: Callable[[], datetime],
        prepared: Callable[[Assignment, Preparing, Prepared], None],
    ) -> None:
        self._home, self._coder, self._programs = home, coder, programs
        self._follower, self._pool, self._settler = follower, pool, settler
        self._accounts, self._backoff, self._meter = accounts, backoff, meter
        self._log, self._now = log, clock
        #: Called in the loop's thread once a task's directory is ready, or cannot be.
        self._prepared = prepared
        #: Tasks that are not closed, with their directories, as they were a while ago.
        self._other_tasks: tuple[tuple[str, str], ...] = ()

    def learn_other_tasks(self, others: tuple[tuple[str, str], ...]) -> None:
        """Tasks that are not closed, with their directories: a run has no business there."""
        self._other_tasks = others

    def begin(self, config: Config, assignment: Assignment, task_dir: Path) -> None:
        """Begin a run, or have its directory made ready first."""
        task = assignment.lease.task
        place = placed(self._home, config, task, self._coder)
        if isinstance(place, Place):
            refusal = self._meter.refusal(task, place.ruled.policy, place.cwd)
            if refusal is not None:
                self._settler.settle(assignment, refusal)
                return
            place = self._ready(config, assignment.lease, place, task_dir)
        match place:
            case Wait():
                self._settler.settle(assignment, released(place.why, not_before=place.until))
            case Unfit():
                task_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._settler.settle(assignment, blocked(f"invalid: {place.why}"), task_dir)
            case Ready():
                self._prepare(config, assignment, place, task_dir)

    def _ready(
        self, config: Config, lease: Lease, place: Place, task_dir: Path
    ) -> Ready | Unfit | Wait:
        """Choose the account of a run, and put together what the run needs there."""
        task_id, now, last = lease.task.id, self._now(), history(task_dir).last
        try:
            chosen = self._accounts.choose(config, place, task_id, last, now)
        except FleetError as error:
            return Unfit(error.message)
        if isinstance(chosen, Wait):
            return chosen
        try:
            ready = make_ready(
                self._home, config, lease, place, chosen.seat, last,
                login=self._accounts.variables, outline=self._accounts.outline,
                programs=self._programs,
            )  # fmt: skip
        except AccountTrouble as error:  # a keyring that does not answer, a file that is just gone
            why = f"account {chosen.seat.account.name}: {error.message}"
            return Wait(until=now + _TROUBLE, why=why)
        if isinstance(ready, Ready):
            self._accounts.run_started(chosen, task_id, now)
        return ready

    def _prepare(
        self, config: Config, assignment: Assignment, ready: Ready, task_dir: Path
    ) -> None:
        order = order_of(
            self._home, config,
            task_id=assignment.task_id, cwd=str(ready.task.cwd), policy=ready.policy,
            others=self._other_tasks,
        )  # fmt: skip
        if order is None:
            self._launch(config, assignment, ready, task_dir)
            return
        abandon = threading.Event()
        assignment.stage = Preparing(ready, abandon)
        self._pool.submit(partial(prepare, order, abandon), partial(self._done, assignment))

    def _done(self, assignment: Assignment, prepared: Prepared) -> None:
        if isinstance(assignment.stage, Preparing):
            self._prepared(assignment, assignment.stage, prepared)

    def go_on(
        self,
        config: Config,
        ready: Ready,
        prepared: Prepared,
        assignment: Assignment,
        task_dir: Path,
    ) -> None:
        """Begin a run whose directory is ready, or cannot be. Raises what the machine refused."""
        match prepared:
            case Broken(error):
                raise error
            case Abandoned():
                self._settler.settle(assignment, released("its preparation was left"), task_dir)
                return
            case Unprepared(why):
                self._settler.settle(assignment, blocked(f"invalid: {why}"), task_dir)
                return
            case Workspace():
                pass
        there = moved(self._home, ready, prepared)
        if isinstance(there, Unfit):
            self._settler.settle(assignment, blocked(f"invalid: {there.why}"), task_dir)
        else:
            self._launch(config, assignment, there, task_dir)

    def _launch(self, config: Config, assignment: Assignment, ready: Ready, task_dir: Path) -> None:
        launched = launch(self._home, config, assignment.lease, ready, self._programs)
        match launched:
            case Unfit(why):
                self._settler.settle(assignment, blocked(f"invalid: {why}"), task_dir)
                return
            case SessionGone():
                why = "the session that it was to carry on is gone: it begins a fresh one"
                self._settler.settle(assignment, released(why), task_dir)
                return
            case Short(why, run):
                self._backoff.hold(why)
            case run:
                self._backoff.release()
                facts = {"coder": ready.coder.name, "model": ready.coder.model}
                run.stream.note("fleet_started", self._now(), **facts, account=ready.account.name)
                on = "" if ready.account.is_own else f" on {ready.account.name}"
                text = f"{run.task_id}: run {run.run.number} with {ready.coder.name}{on}"
                self._log.say("run_started", f"{text} in {ready.task.cwd}", task_dir=task_dir)
        assignment.stage = Active(run)
        self._follower.attend(assignment)
