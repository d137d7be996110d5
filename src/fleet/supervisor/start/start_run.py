"""From a lease to a run: what the run needs is put together, the directory is made ready, the
keeper is started. What keeps a run from beginning settles the lease.
"""

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

from msgspec import structs

from fleet import coders
from fleet.accounts.account_gate import seat_for
from fleet.accounts.choose_account import AccountWait, Go
from fleet.accounts.kept_secret import SecretTrouble
from fleet.errors import FleetError, InvalidTask, NotHere
from fleet.evidence.base_check import BaseCase, try_base
from fleet.extend import Duty
from fleet.files.machine_short import is_short, words_of
from fleet.git.mirror.ensure_mirror import Unreached
from fleet.home import base_wait
from fleet.home.base_wait import BaseWait
from fleet.home.task_json import settings_of
from fleet.home.task_policy import policy_outside
from fleet.queue.protocol import Filter
from fleet.runs.outcome_history import believed_ending, history
from fleet.runs.run_directory import check_task_directory, latest_run
from fleet.schemas import Lease, Task
from fleet.schemas.decision import Decision, blocked, released
from fleet.schemas.shown_text import cut, headline
from fleet.schemas.task_state import Wait
from fleet.schemas.waits import PutOff, ToMend
from fleet.settlement.session_files import keep_sessions
from fleet.settlement.settle_table import stopped
from fleet.supervisor.active.follow_runs import RunFollower
from fleet.supervisor.adopt_runs import adopt_run
from fleet.supervisor.assignments import (
    Active,
    Arriving,
    Assignment,
    Claimed,
    Preparing,
    Ready,
    Trying,
)
from fleet.supervisor.finish_run import give_up, settle
from fleet.supervisor.hosts.host_travel import Arrived, HostTravel
from fleet.supervisor.queue_io.reopen_tasks import wake
from fleet.supervisor.start.agent_bin import AgentPrograms
from fleet.supervisor.start.ask_gates import GateAnswer, ask, holds_all
from fleet.supervisor.start.hold_news import HoldNews
from fleet.supervisor.start.launch import launch, make_ready, moved
from fleet.supervisor.start.run_box import check_box
from fleet.supervisor.start.workspace import (
    NoRoom,
    Prepared,
    Unprepared,
    WorkspaceOrder,
    order_of,
    prepare,
)
from fleet.supervisor.state import Happening, QueueChanged, SupervisorState

#: How long starting runs may keep the loop from everything else, in seconds.
_SLICE = 0.02
#: How often at most the directories of other tasks are read from the queue, and of which tasks.
_OTHERS_EVERY = 60.0
_OTHER_TASKS = Filter(statuses=("open", "in_progress", "blocked", "deferred"), limit=500)
#: When a task is claimed again whose files could not be brought, or that another host has to run.
_NOT_BROUGHT, _NOT_HERE = timedelta(seconds=10), timedelta(seconds=1)
#: When a task looks again for an account whose secret could not be had, and for room on the disk.
_TROUBLE = timedelta(minutes=1)
_NO_ROOM = timedelta(minutes=5)
#: When a task is claimed again whose code is just being fetched by another process (the end of a
#: fetch of this one wakes it), or could not be.
_SOON, _UNREACHED = timedelta(seconds=15), timedelta(minutes=2)
#: How much of a task's title is said when its run begins.
_TITLE = 60
#: When a task is claimed again that waits for a person, whose act wakes it.
_FOR_A_PERSON = timedelta(hours=1)
#: When a task whose verify commands fail on its base looks again whether base or commands changed,
#: and one whose commands are just being tried for another task, the end of which wakes it.
_BROKEN, _TRIED = timedelta(minutes=1), timedelta(minutes=5)


class RunStarter(Duty):
    """Starts runs for claimed tasks."""

    def __init__(self, state: SupervisorState, follower: RunFollower) -> None:
        self._state, self._follower = state, follower
        self._programs = AgentPrograms(state.home.path)
        self._programs.make()
        #: Tasks that are not closed, with their directories, as they were a while ago.
        self._other_tasks: tuple[tuple[str, str], ...] = ()
        #: When they were read, on the monotonic clock.
        self._others_read = -_OTHERS_EVERY
        #: How many fetches of each address have ended, and the tasks that wait for the next: their
        #: mirror is just being fetched for another task of this host.
        self._fetched: Counter[str] = Counter()
        self._waiting: defaultdict[str, set[str]] = defaultdict(set)
        #: The tasks that wait for commands which are just being tried, by base.
        self._untried: defaultdict[str, set[str]] = defaultdict(set)
        self._holds = HoldNews()

    def start(self) -> None:
        self.read_other_tasks()

    def on_event(self, event: Happening) -> None:
        if isinstance(event, QueueChanged):
            self.read_other_tasks()

    def read_other_tasks(self) -> None:
        """Learn where other tasks have their directories: a run has no business there. Does nothing
        where that was learned a short while ago.
        """
        if time.monotonic() < self._others_read + _OTHERS_EVERY:
            return
        self._others_read = time.monotonic()

        def learn(tasks: list[Task]) -> None:
            self._other_tasks = tuple((task.id, task.cwd or "") for task in tasks)

        self._state.queue.find(_OTHER_TASKS, learn)

    @property
    def next_moment(self) -> float:
        stages = (each.stage for each in self._state.assignments)
        claimed = any(isinstance(stage, Claimed) for stage in stages)
        return self._state.backoff.until if claimed else float("inf")

    def when_due(self) -> None:
        """Start claimed tasks, at least one and for as long as the loop may wait."""
        if self._state.shutdown.restart:
            return  # a claimed task is left to the next supervisor
        end = time.monotonic() + _SLICE
        with coders.found_once():
            for assignment in self._state.assignments:
                if self._state.backoff.active:
                    return
                if isinstance(assignment.stage, Claimed):
                    self._guard(assignment, self._start)
                    if time.monotonic() >= end:
                        return

    def _start(self, assignment: Assignment, task_dir: Path) -> None:
        try:
            check_task_directory(task_dir)
        except InvalidTask as error:
            give_up(self._state, assignment, error)
            return
        if self._state.travel is not None and not assignment.arrived:
            self._arrive(assignment, self._state.travel)
            return
        run = latest_run(task_dir)
        if run is not None and believed_ending(run) is None:
            adopt_run(assignment, run)
        elif self._state.shutdown.reason is not None:
            decision = released("claimed as the supervisor ended")
            settle(self._state, assignment, decision, task_dir)
        elif (wait := holds_all(self._state)) is not None:
            settle(self._state, assignment, released(wait.words), task_dir)
        else:
            self._begin(assignment, task_dir)

    def _arrive(self, assignment: Assignment, travel: HostTravel) -> None:
        """Bring what other hosts know of a task here; then the run begins."""

        def arrived(found: Arrived) -> None:
            stage = assignment.stage
            known = self._state.assignments.get(assignment.task_id) is assignment
            if not known or not isinstance(stage, Arriving):
                return
            assignment.stage = Claimed()
            assignment.arrived = True
            if why := found.bound or found.trouble:
                again = self._state.now() + (_NOT_HERE if found.bound else _NOT_BROUGHT)
                settle(self._state, assignment, released(why, not_before=again))

        assignment.stage = Arriving()
        self._state.pool.submit(partial(travel.arrive, assignment.lease), arrived)

    def _guard(self, assignment: Assignment, act: Callable[[Assignment, Path], None]) -> None:
        """Keep one task's fault from the others: the task is blocked, or waits for the machine."""
        task_dir = None
        try:
            task_dir = self._state.home.task(assignment.task_id)
            act(assignment, task_dir)
        except NotHere as error:
            settle(self._state, assignment, self._not_here(assignment, error), task_dir)
        except (FleetError, OSError) as error:
            self._start_failed(assignment, task_dir, error)

    def _start_failed(
        self, assignment: Assignment, task_dir: Path | None, error: FleetError | OSError
    ) -> None:
        """Block a task that cannot be started, or have it wait for the machine."""
        if is_short(error):
            why = words_of(error, task_dir or self._state.home.tasks)
            self._state.backoff.begin(why)
            settle(self._state, assignment, released(why))
        elif isinstance(error, FleetError):  # also an id that cannot name a file
            with suppress(OSError):
                if task_dir is not None:
                    task_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            waits = ToMend(what=f"invalid: {error.message}", hint=error.hint)
            settle(self._state, assignment, blocked(waits, assignment.task_id), task_dir)
        else:
            why = f"{error.filename or assignment.task_id}: {error.strerror or error}"
            if self._state.config.shares_queue:  # a fault of this machine's files
                settle(self._state, assignment, released(f"not on this host: {why}", declined=why))
            else:
                waits = ToMend(what=f"invalid: {why}", hint="Move it away to go on.")
                settle(self._state, assignment, blocked(waits, assignment.task_id))

    def _not_here(self, assignment: Assignment, error: NotHere) -> Decision:
        """What this machine lacks another host may have; without other hosts a person looks."""
        if self._state.config.shares_queue:
            why = f"{error.message}. {error.hint}".rstrip(" .")
            return released(f"not on this host: {why}", declined=error.message)
        waits = ToMend(what=f"invalid: {error.message}", hint=error.hint)
        return blocked(waits, assignment.task_id)

    def _begin(self, assignment: Assignment, task_dir: Path) -> None:
        """Begin a run, or have the directory made ready first. Raises FleetError."""
        last = history(task_dir).last
        asked = ask(self._state, assignment.lease.task, last)
        if isinstance(asked, Wait):
            self._hold(assignment, asked)
            return
        if asked.wait is not None:
            self._hold(assignment, asked.wait)
            return
        check_box(asked.place.ruled.policy)
        ready = self._ready(assignment.lease, asked, task_dir)
        if isinstance(ready, Wait):
            self._hold(assignment, ready)
        else:
            self._prepare(assignment, ready, task_dir)

    def _hold(self, assignment: Assignment, wait: Wait) -> None:
        """Give a task back that a gate holds: to a host that may have what this one lacks, to a
        person, or to the queue until it is asked about again. The log tells a reason once for all
        tasks that it holds.
        """
        state, now, task_id = self._state, self._state.now(), assignment.task_id
        if wait.declined and state.config.shares_queue:
            settle(state, assignment, released(wait.words, declined=wait.declined))
        elif wait.blocks is not None:
            settle(state, assignment, blocked(wait.blocks, task_id), state.home.task(task_id))
        else:
            until = wait.until or now + _FOR_A_PERSON
            if isinstance(wait, AccountWait):
                until = state.accounts.turned_away(wait, now)
            decision = released(wait.words, not_before=until, waits=_put_off(wait))
            settle(
                state, assignment, decision, logged=self._holds.is_news(decision.why, until, now)
            )

    def _ready(self, lease: Lease, asked: GateAnswer, task_dir: Path) -> Ready | Wait:
        """Take the seat of a run, and put together what the run needs there."""
        for report in keep_sessions(self._state.home, lease.task.id, all_over=True):
            self._state.log.say("session_lost", report, task_dir=task_dir)
        state, now = self._state, self._state.now()
        chosen = seat_for(asked.start, asked.at)
        assert isinstance(chosen, Go)  # the gate of accounts let the task start
        try:
            ready = make_ready(state, lease, asked.place, chosen.seat)
        except SecretTrouble as error:  # a keyring that does not answer, a file that is just gone
            why = f"account {chosen.seat.account.name}: {error.message}"
            return Wait(gate="account", until=now + _TROUBLE, reason=why)
        state.accounts.run_started(chosen, lease.task.id, now)
        return ready

    def _prepare(self, assignment: Assignment, ready: Ready, task_dir: Path) -> None:
        order = order_of(
            self._state.home, self._state.config,
            task_id=assignment.task_id, cwd=str(ready.task.cwd), policy=ready.policy,
            origin=settings_of(self._state.home, assignment.lease.task).repository,
            elsewhere=bool(ready.project), title=assignment.lease.task.title,
            others=self._other_tasks, number=assignment.lease.task.runs,
        )  # fmt: skip
        if order is None:
            self._tell_no_clone(ready)
            asked = settings_of(self._state.home, assignment.lease.task).expect is not None
            policy = policy_outside(ready.policy, own_expect=asked)
            self._launch(assignment, structs.replace(ready, policy=policy), task_dir)
            return
        abandon = threading.Event()
        assignment.stage = Preparing(ready, abandon)
        self._submit(assignment, order, abandon)

    def _submit(
        self, assignment: Assignment, order: WorkspaceOrder, abandon: threading.Event
    ) -> None:
        since = self._fetched[order.fetched]
        prepared = partial(self._prepared, assignment, order, since)
        self._state.pool.submit(partial(prepare, order, abandon), prepared)

    def _tell_no_clone(self, ready: Ready) -> None:
        """Say once of a directory that tasks there have no clones."""
        cwd = str(ready.task.cwd)
        if ready.policy.work_in == "clone":
            text = f"{cwd} is in no git repository: its tasks work in the directory itself"
            self._state.log.say_once("no_clone", text)

    def _prepared(
        self, assignment: Assignment, order: WorkspaceOrder, since: int, prepared: Prepared
    ) -> None:
        """A task's directory is ready, or cannot be."""
        stage, state = assignment.stage, self._state
        is_soon = isinstance(prepared, Unreached) and prepared.soon
        if not is_soon:
            self._fetched[order.fetched] += 1
            if waiting := self._waiting.pop(order.fetched, None):
                state.queue.named(tuple(waiting), self._wake)
        if not isinstance(stage, Preparing):
            return
        if (reason := stage.stop_reason or state.shutdown.reason) is not None:
            settle(state, assignment, stopped(reason, assignment.task_id))
        elif (wait := holds_all(state)) is not None:
            settle(state, assignment, released(wait.words))
        elif is_soon and self._fetched[order.fetched] != since:
            self._submit(assignment, order, stage.abandon)  # that fetch has ended meanwhile
        else:
            if is_soon:
                self._waiting[order.fetched].add(assignment.task_id)
            self._guard(assignment, partial(self._go_on, stage.ready, prepared))

    def _wake(self, tasks: list[Task]) -> None:
        """The mirror is there that these tasks were put off for, or cannot be had."""
        wake(self._state, [task for task in tasks if task.status == "open" and task.not_before])

    def _go_on(
        self, ready: Ready, prepared: Prepared, assignment: Assignment, task_dir: Path
    ) -> None:
        if isinstance(prepared, Unprepared):
            raise self._unprepared(prepared.error)
        if isinstance(prepared, NoRoom):
            until = self._state.now() + _NO_ROOM
            settle(self._state, assignment, released(prepared.why, not_before=until))
        elif isinstance(prepared, Unreached):
            self._not_reached(assignment, prepared)
        elif isinstance(prepared, BaseCase):
            self._try(assignment, prepared)
        elif isinstance(prepared, BaseWait):
            self._wait_for_base(assignment, prepared)
        elif prepared is None:
            settle(self._state, assignment, released("its preparation was left"), task_dir)
        else:
            self._launch(assignment, moved(ready, prepared), task_dir)

    def _try(self, assignment: Assignment, case: BaseCase) -> None:
        """Try the verify commands of a task on its base, for one task at a time. The others that
        wait for the same need no slot.
        """
        state = self._state
        stages = (each.stage for each in state.assignments)
        if any(isinstance(stage, Trying) and stage.base == case.key for stage in stages):
            self._untried[case.key].add(assignment.task_id)
            why = f"its verify commands are being tried on {case.name}"
            until = state.now() + _TRIED
            settle(state, assignment, released(why, not_before=until), logged=False)
            return
        commands = ", ".join(f"`{command}`" for command in case.policy.verify)
        text = f"{assignment.task_id}: trying {commands} on {case.name} before its agent starts"
        task_dir = state.home.task(assignment.task_id)
        state.log.say("base_check", text, task_dir=task_dir)
        abandon = threading.Event()
        assignment.stage = Trying(case.key, abandon)
        tried = partial(self._tried, assignment, case)
        state.inspections.submit(partial(_tried_or_error, case, abandon), tried)

    def _tried(
        self, assignment: Assignment, case: BaseCase, error: FleetError | OSError | None
    ) -> None:
        """Start the task from the beginning, which finds the results of the commands."""
        state, stage = self._state, assignment.stage
        if waiting := self._untried.pop(case.key, None):
            state.queue.named(tuple(waiting), self._wake)
        if not isinstance(stage, Trying):
            return
        if (reason := stage.stop_reason or state.shutdown.reason) is not None:
            settle(state, assignment, stopped(reason, assignment.task_id))
        elif error is not None:
            self._guard(assignment, partial(_raise, self._unprepared(error)))
        else:
            assignment.stage = Claimed()

    def _wait_for_base(self, assignment: Assignment, wait: BaseWait) -> None:
        """Put a task off whose verify commands cannot be started on its base, or fail there."""
        state, task_id = self._state, assignment.task_id
        base_wait.write(state.home, task_id, wait)
        project = Path(wait.project).name
        ways = " or ".join(wait.ways("ID" if wait.kind == "fails" else task_id))
        kept = "its tasks wait" if not wait.own else f"{task_id} waits"
        text = f"{project}: {wait.reason}; {kept}. To go on: {ways}"
        state.log.say_once("base_fails", text)
        until = state.now() + _BROKEN
        waits = PutOff(why=wait.reason, gate="base", line=wait.ways(task_id)[0], person=True)
        decision = released(wait.reason, not_before=until, waits=waits)
        settle(state, assignment, decision, logged=False)

    def _unprepared(self, error: FleetError | OSError) -> FleetError | OSError:
        """What went wrong; on a shared queue it went wrong on this host, and may not on another."""
        if not self._state.config.shares_queue or isinstance(error, OSError) or is_short(error):
            return error
        return NotHere(error.message, hint=error.hint)

    def _not_reached(self, assignment: Assignment, found: Unreached) -> None:
        """Give a task back whose code cannot be had here for now; the task is not blocked."""
        if found.full:
            self._state.backoff.begin(found.why)
        again = self._state.now() + (_SOON if found.soon else _UNREACHED)
        declined = found.why if found.gone or found.unconfirmed else ""
        origin = settings_of(self._state.home, assignment.lease.task).repository
        until = None if declined else again
        silent = not (declined or found.soon or found.full)
        if origin and silent and self._state.heartbeat.leave_to_others(origin.url):
            until = None
        settle(self._state, assignment, released(found.why, until, declined=declined))

    def _launch(self, assignment: Assignment, ready: Ready, task_dir: Path) -> None:
        state = self._state
        run = launch(state, assignment, ready, self._programs.make())
        if run is None:
            why = "the session that it was to carry on is gone: it begins a fresh one"
            settle(state, assignment, released(why), task_dir)
            return
        if run.keeper is not None:
            state.backoff.end()
            facts = {"coder": ready.coder.name, "model": ready.coder.model}
            run.stream.note("fleet_started", state.now(), **facts, account=ready.account.name)
            on = "" if ready.account.is_own else f" on {ready.account.name}"
            text = f"{run.task_id}: run {run.run.number} with {ready.coder.name}{on}"
            title = cut(headline(assignment.lease.task.title), _TITLE)
            in_clone = str(ready.task.cwd).startswith(f"{state.home.clone(run.task_id)}")
            text = f"{text} in {'its clone' if in_clone else ready.task.cwd}: {title}"
            state.log.say("run_started", text, task_dir=task_dir)
        assignment.stage = Active(run)
        self._follower.attend(assignment)


def _put_off(wait: Wait) -> PutOff:
    """What a gate says, as it is stored with the task that it holds."""
    line = wait.way_on.line if wait.way_on is not None else ""
    person = wait.person and not wait.again
    return PutOff(why=wait.reason, gate=wait.gate, line=line, person=person)


def _tried_or_error(case: BaseCase, abandon: threading.Event) -> FleetError | OSError | None:
    try:
        try_base(case, abandon)
    except (FleetError, OSError) as error:
        return error
    return None


def _raise(error: FleetError | OSError, _assignment: Assignment, _task_dir: Path) -> None:
    raise error
