"""A lease's way from its claim to its settlement: begin a run, go on with one, end one."""

import selectors
import time
from collections import Counter, deque
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from fleet.accounts.breaker_store import Breaker
from fleet.accounts.candidates import place_of
from fleet.config import Config
from fleet.errors import BadInput, FleetError
from fleet.home import Home
from fleet.home.journal import Log
from fleet.home.status_file import paused
from fleet.runs.outcome_history import Ending, read_ending, was_put_off
from fleet.runs.run_directory import Run, latest_run
from fleet.runs.run_id import RunId
from fleet.schemas import Lease, Stopped, Task
from fleet.schemas.decision import blocked, released
from fleet.settlement.settle_table import stopped
from fleet.supervisor.active.active_run import Live, Over
from fleet.supervisor.active.active_runs import Runs, context_of
from fleet.supervisor.active.assign_account import AccountAssigner
from fleet.supervisor.active.budget_meter import BudgetMeter
from fleet.supervisor.active.message_receipts import Telling
from fleet.supervisor.adopt_runs import Adoption
from fleet.supervisor.cleanup import Tidying
from fleet.supervisor.finish.finish_run import Settling
from fleet.supervisor.host.resource_backoff import Shortage
from fleet.supervisor.host.worker_pool import WorkerPool
from fleet.supervisor.queue_io.queue_requests import Desk
from fleet.supervisor.start.agent_bin import make_shims
from fleet.supervisor.start.launch import SHORT, own_env
from fleet.supervisor.start.pending_workspaces import InPreparation, Preparing
from fleet.supervisor.start.start_run import Beginning
from fleet.supervisor.start.workspace import Prepared
from fleet.supervisor.watchdog import Watchdog
from fleet.watchdog.stall_rules import Patience

#: How long starting may keep the loop from everything else, in seconds.
_SLICE = 0.02
#: How many runs are verified at once.
_CHECKS = 64


class Work:
    """What the supervisor does with what it claimed."""

    def __init__(
        self,
        home: Home,
        config: Config,
        *,
        coder: str | None,
        desk: Desk,
        aside: WorkerPool,
        log: Log,
        clock: Callable[[], datetime],
        selector: selectors.BaseSelector,
        patience: Patience | None = None,
    ) -> None:
        self.home = home
        self.config = config
        self._coder = coder
        self._shims = make_shims(home.path)
        self._aside = aside
        self._log = log
        self._now = clock
        self.breaker = Breaker(home.path)
        self.meter = BudgetMeter(home, config, log, clock)
        self._telling = Telling(log, clock)
        # Hands of their own: what verifies may take its time, and nobody else shall wait for it.
        checking = WorkerPool(_CHECKS)
        selector.register(checking, selectors.EVENT_READ, checking.deliver)
        self.assigner = AccountAssigner(
            home, breaker=self.breaker, aside=checking, log=log, env=own_env(),
            spent=self.meter.spent_by, running=self._by_account, at_work=self._at_work,
        )  # fmt: skip
        self._settling = Settling(
            self.assigner, self._elsewhere, self.breaker, self.meter, desk, checking, log, clock
        )
        self.runs = Runs(
            selector, clock, ended=self._finish, vanished=self._lose_sight, failed=self._report
        )
        self._watchdog = Watchdog(self.runs, aside, log, clock, patience=patience)
        #: Tasks that were claimed and are about to be started.
        self._claimed: deque[Lease] = deque()
        self.tidying = Tidying(home, desk, aside, log, clock)
        self._shortage = Shortage(log)
        #: Tasks whose directory is being made ready.
        self.preparing = Preparing(aside, self._prepared)
        self._beginning = Beginning(
            home, coder=coder, shims=self._shims, runs=self.runs, preparing=self.preparing,
            settling=self._settling, assigner=self.assigner, meter=self.meter,
            shortage=self._shortage, log=log, clock=clock,
        )  # fmt: skip
        self._adoption = Adoption(home, shims=self._shims, runs=self.runs, log=log)
        #: Why all is to end; whatever comes to light from then on is stopped too.
        self.stopping: Stopped | None = None
        #: There may be work: somebody rang, a slot is free, or a moment has come.
        self.hungry = True

    def __len__(self) -> int:
        return len(self.runs) + len(self._adoption) + len(self._claimed) + len(self.preparing)

    @property
    def held(self) -> bool:
        """The machine is short of something, so nothing new is started."""
        return self._shortage.held

    @property
    def shortage(self) -> str:
        """What it is short of; empty if of nothing."""
        return self._shortage.why

    @property
    def next_moment(self) -> float:
        """When there is something to do that nothing rings for, on the monotonic clock."""
        moments = [self._adoption.next_moment]
        if self._claimed:
            moments.append(self._shortage.until)
        if (back := self._settling.next_moment) is not None:
            moments.append(time.monotonic() + (back - self._now()).total_seconds())
        return min(self.runs.next_moment, *moments, float("inf"))

    def look_around(self, others: tuple[tuple[str, str], ...]) -> None:
        """These are tasks that are not closed, with their directories."""
        self._beginning.others = others

    # A lease comes: by a claim, or from a supervisor before us.

    def take(self, leases: list[Lease]) -> None:
        """These were claimed: they are started one by one, between all that has to be done."""
        self._claimed.extend(leases)

    @property
    def has_claims(self) -> bool:
        """Something is about to be started."""
        return bool(self._claimed)

    def start_some(self) -> None:
        """Start what was claimed, for as long as nobody minds waiting."""
        end = time.monotonic() + _SLICE
        while self._claimed and time.monotonic() < end and not self.held:
            self._see_to(self._claimed.popleft())

    def _see_to(self, lease: Lease) -> None:
        """A task's unfinished run, or else a new one."""
        task_id = lease.task.id
        if (live := self.runs.get(task_id)) is not None:
            # Our lease had run out, or was ended from outside, and we are the next to hold it.
            live.lease = lease
        elif (waiting := self.preparing.get(task_id)) is not None:
            waiting.lease = lease
        elif (unclear := self._adoption.get(task_id)) is not None:
            unclear.lease = lease
        else:
            self._guarded(lease, self._start)

    def resume(self, lease: Lease) -> None:
        """See to a task that a supervisor before us held when it ended."""
        self._guarded(lease, self._resume)

    def _guarded(self, lease: Lease, act: Callable[[Lease, Path], None]) -> None:
        """One task's trouble is its own: it is blocked, or waits for the machine."""
        try:
            act(lease, self.home.task(lease.task.id))
        except BadInput as error:  # an id that no file can bear
            self._settling.settle(lease, blocked(f"invalid: {error.message}"))
        except OSError as error:
            why = f"{error.filename or lease.task.id}: {error.strerror or error}"
            if error.errno in SHORT:
                self.hold(why)
                self._settling.settle(lease, released(why))
            else:
                self._settling.settle(lease, blocked(f"invalid: {why}"))

    def _start(self, lease: Lease, task_dir: Path) -> None:
        run = latest_run(task_dir)
        if run is not None and read_ending(run) is None:
            self._adoption.take_up(self.config, lease, run, self.stopping)
        elif self.stopping is not None:
            self._settling.settle(lease, released("claimed as the supervisor ended"), task_dir)
        elif paused(self.home):
            self._settling.settle(lease, released("claimed as fleet was paused"), task_dir)
        else:
            self._begin(lease, task_dir)

    def _resume(self, lease: Lease, task_dir: Path) -> None:
        run = latest_run(task_dir)
        ending = read_ending(run) if run is not None else None
        if run is None or (ending is not None and not _is_of(ending, run, lease)):
            self._settling.settle(lease, released("claimed, and never started"), task_dir)
        elif ending is not None:
            self._settling.settle(lease, ending.decision, task_dir)
        else:
            self._adoption.take_up(self.config, lease, run, self.stopping)

    # Begin a run, or go on with one.

    def _begin(self, lease: Lease, task_dir: Path) -> None:
        self._beginning.begin(self.config, lease, task_dir)

    def _prepared(self, task: InPreparation, got: Prepared) -> None:
        """Its directory is ready, or cannot be."""
        if (why := task.verdict or self.stopping) is not None:
            self._settling.settle(task.lease, stopped(why, task.task_id))
        elif paused(self.home):
            self._settling.settle(task.lease, released("claimed as fleet was paused"))
        else:
            self._guarded(task.lease, partial(self._beginning.go_on, self.config, task, got))

    def _at_work(self, task_id: str) -> bool:
        places = (self.runs, self.preparing, self._adoption)
        return any(place.get(task_id) is not None for place in places)

    def apply(self, config: Config) -> None:
        """Go by these settings from now on."""
        self.config = config
        self.meter.apply(config)

    def _by_account(self) -> Counter[str]:
        """How many agents each account has at work, or may have."""
        running = [live.account for live in self.runs if live.over is None]
        soon = [task.ready.account.name for task in self.preparing]
        return Counter([*running, *soon, *self._adoption.accounts])

    def on_accounts(self) -> dict[str, tuple[str, ...]]:
        """The tasks that run on each account."""
        found: dict[str, tuple[str, ...]] = {}
        for live in self.runs:
            found[live.account] = (*found.get(live.account, ()), live.task_id)
        return found

    def waits_for_person(self, task: Task) -> str:
        """What keeps the task from running, if that is all up to a person; empty otherwise."""
        if self.meter.waits_for_budget(task):
            return "a budget is spent"
        try:
            place = place_of(self.home, self.config, task, coder=self._coder)
        except FleetError:
            return ""
        return self.assigner.waits_for_person(self.config, place, task.id, self._now())

    def has_room(self, task: Task) -> bool:
        """It was put off for an account, and there is one for it now."""
        if not was_put_off(self.home.task(task.id), task.not_before):
            return False
        try:
            place = place_of(self.home, self.config, task, coder=self._coder)
        except FleetError:
            return False
        if self.meter.spent(place.cwd) is not None:
            return False
        return self.assigner.has_room(self.config, place, task.id, self._now())

    def _elsewhere(self, live: Live) -> bool:
        try:
            place = place_of(self.home, self.config, live.lease.task, coder=self._coder)
        except FleetError:
            return False
        return self.assigner.has_other_seat(self.config, place, live.account)

    def look_again(self) -> None:
        """See whether a task's time has come, and whether it is known what became of a run."""
        if self._settling.moment_came() or self._settling.freed:
            self.hungry, self._settling.freed = True, False
        if self.stopping is None:
            self.tidying.tend(self._settling.closed)
        self._adoption.look_again(self.config, self.stopping)

    def stop(self, task_id: str, why: Stopped, *, now: bool) -> bool:
        """End one task's run, or see that it does not begin. False: there is nothing to end."""
        if (live := self.runs.get(task_id)) is not None:
            self.runs.stop(live, why, now=now)
            return True
        if (task := self.preparing.get(task_id)) is not None:
            self.preparing.stop(task, why)
            return True
        for lease in [lease for lease in self._claimed if lease.task.id == task_id]:
            self._claimed.remove(lease)
            self._settling.settle(lease, stopped(why, task_id))
            return True
        return False

    def stop_all(self, why: Stopped, *, now: bool) -> None:
        """End every run, and those that come to light from now on."""
        self.stopping = why
        for live in self.runs:
            self.runs.stop(live, why, now=now)
        for task in self.preparing:
            self.preparing.stop(task, why)

    def tended(self) -> list[Live | InPreparation]:
        """Whatever takes its time under a lease that has to be kept."""
        return [*self.runs, *self.preparing]

    def lose(self, held: Live | InPreparation, why: Stopped) -> bool:
        """End what has lost its lease. False: it is over, or is ending already."""
        if held.verdict is not None:
            return False
        if isinstance(held, InPreparation):
            known = self.preparing.get(held.task_id) is held
            self.preparing.stop(held, why)
            return known
        if self.runs.get(held.task_id) is not held or held.over is not None:
            return False
        self.runs.stop(held, why)
        return True

    def publish(self) -> None:
        """Leave word of every run."""
        for live in self.runs:
            try:
                self._telling.look(live)
                live.publish()
            except OSError as error:
                self._report(live, error)

    def _lose_sight(self, live: Live) -> None:
        self._adoption.lose_sight(live.lease, live.run)

    # Streams and ends: evidence first, then the queue.

    def follow(self) -> None:
        for live in self.runs.follow(self.config.context_pressure_threshold_pct):
            full = context_of(live)
            live.note("fleet_context", self._now(), tokens=full.tokens, window=full.window)
            text = f"{live.task_id}: context at {full.tokens} of {full.window}, ends this session"
            self._log.say("context_pressure", text, task_dir=live.run.task_dir)
            self.runs.stop(live, full)
        for live in self.runs.grown:
            self._tell_of_trips(live)
            self._look_at_login(live)
        self._watchdog.heard(self.runs.grown)

    def _look_at_login(self, live: Live) -> None:
        """What its stream tells of its account; and whether it is the one that was meant."""
        self.assigner.follow(live, self.config, self._now())
        if live.verdict is None and live.over is None:
            wrong = self.assigner.wrong_login(live, self.config)
            if wrong is not None:
                live.note("fleet_wrong_account", self._now(), why=wrong.detail)
                text = f"{live.task_id}: stopped: {wrong.detail}"
                self._log.say("wrong_account", text, task_dir=live.run.task_dir)
                self.runs.stop(live, wrong, now=True)

    def _tell_of_trips(self, live: Live) -> None:
        for trip, refusing in live.tripped:
            word = "refuses" if refusing else "met"
            text = f"{live.task_id}: tripwire {word} `{trip.command}`: it {trip.what}"
            self._log.say("tripwire", text, task_dir=live.run.task_dir, rule=trip.rule)
        live.tripped.clear()

    def watch(self, now: float, awake: float) -> None:
        """See how every run does, and what it used."""
        for live, why in self.meter.over_budget(self.runs):
            self.runs.stop(live, why)
        self._watchdog.tick(now, awake)

    def _finish(self, live: Live, state: Over) -> bool:
        self._telling.look(live)
        self.meter.apply_prices(live)
        done = self._settling.finish(live, state, self.config)
        if done:
            self._telling.end(live)
            self._tell_of_trips(live)
        return done

    # What goes wrong with the machine.

    def hold(self, why: str) -> None:
        """Start nothing for a while, longer each time."""
        self._shortage.hold(why)

    def _report(self, live: Live, error: OSError) -> None:
        why = f"{error.filename or live.run.path}: {error.strerror or error}"
        self._log.say("disk", f"{live.task_id}: {why}", task_dir=live.run.task_dir)


def _is_of(ending: Ending, run: Run, lease: Lease) -> bool:
    """The ending was decided under this very lease."""
    if ending.fence is not None:
        return ending.fence == lease.fence
    return run.spec().id == str(RunId.of(lease))
