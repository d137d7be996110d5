"""Follows the runs: reads their streams, acts on what they tell, publishes how they stand, and sees
when their processes end.
"""

import selectors
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial

from msgspec import structs

from fleet.errors import FleetError, InvalidTask
from fleet.extend import Duty, TickingDuty
from fleet.files.file_lock import run_locked
from fleet.files.inotify import DirectoryWatch
from fleet.files.machine_short import is_short, low_disk, words_of
from fleet.home import messages
from fleet.processes import keeper_client
from fleet.processes.keeper_client import Ended, NeverStarted, Orphaned, Running, Vanished, stop_run
from fleet.runs import progress_json, stop_reason
from fleet.runs.progress_json import Progress
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import Run
from fleet.schemas import ContextFull
from fleet.schemas.event import step_line
from fleet.settlement.run_record import ExitedRun, ProcessEnd
from fleet.supervisor.active.message_receipts import note_messages
from fleet.supervisor.active.serve_spools import SpoolServer
from fleet.supervisor.active.watch_runs import Watchdog
from fleet.supervisor.assignments import (
    Active,
    ActiveRun,
    Assignment,
    Finishing,
    Stopping,
    Unknown,
    awake,
)
from fleet.supervisor.finish_run import (
    TRY_AGAIN,
    finish,
    give_up,
    report_trips,
    wait_for_machine,
)
from fleet.supervisor.hosts.share_news import tell_limit
from fleet.supervisor.state import Happening, Recovered, SupervisorState
from fleet.supervisor.stop_runs import stop_assignment
from fleet.watchdog.stall_rules import Patience

#: A run of which it is not known what became is looked at again after this many seconds, doubled
#: each time: a keeper that is just starting tells in milliseconds, one that hangs may never.
FIRST_PAUSE = 0.02
#: Seconds between two lines about a disk that takes nothing.
_SAY_AGAIN = 60.0


class RunFollower(Duty):
    """Watches the directories and keepers of all runs in the table."""

    def __init__(
        self,
        state: SupervisorState,
        selector: selectors.BaseSelector,
        patience: Patience | None = None,
    ) -> None:
        self._state, self._selector = state, selector
        self._watchdog = Watchdog(
            state.assignments, state.pool, state.log, state.now, patience=patience
        )
        self.spools = SpoolServer(state, selector)
        self._watch = DirectoryWatch()
        #: Tasks whose streams hold more than was read.
        self._unread: set[str] = set()
        #: When a disk that takes nothing was last told of, on the monotonic clock.
        self._disk_said = -_SAY_AGAIN
        watching = self._watch.fileno()
        if watching is not None:
            selector.register(watching, selectors.EVENT_READ, _nothing)

    @property
    def next_moment(self) -> float:
        if self._unread:
            return 0.0
        moments = [self.spools.next_moment]
        for each in self._state.assignments:
            match each.stage:
                case Finishing(run=run) if self.spools.draining(run.run):
                    pass
                case Stopping(tell_again_at=moment) | Finishing(retry_at=moment):
                    moments.append(moment)
                case _:
                    pass
        return min(moments)

    def attend(self, assignment: Assignment) -> None:
        """From now on follow the run of this assignment."""
        self._unread.add(assignment.task_id)
        if (run := assignment.run) is not None:
            if run.adopted and asked_json.parked(run.run.task_dir, run.run.number):
                run.memory.parked_at = time.monotonic()
            self.spools.attend(run)
        match assignment.stage:
            case Active(run) | Stopping(run):
                self._watch.add(run.run.path)
                fd = run.keeper.fileno() if run.keeper else None
                if fd is not None:
                    see_end = partial(self._see_end, assignment, run)
                    self._selector.register(fd, selectors.EVENT_READ, see_end)
            case _:
                pass

    def when_due(self) -> None:
        self.read()
        self.see_to_ends()

    def read(self) -> None:
        """Read what is new in the streams and in the drop boxes, and act on that."""
        self.spools.look()
        grown = {directory.parent.parent.name for directory in self._watch.changed(0)}
        for task_id in sorted(grown | self._unread):
            self._unread.discard(task_id)
            assignment = self._state.assignments.get(task_id)
            run = assignment and assignment.run
            if assignment is None or run is None:
                continue
            with self._contained(assignment):
                if run.stream.behind:
                    run.stream.read(self._state.now())
                    if run.stream.more:
                        self._unread.add(task_id)
                _check_output(self._state, assignment, run)
                self._watchdog.check_output(assignment)  # stderr is not read, but it counts

    def see_to_ends(self) -> None:
        """Finish the runs whose processes are gone, and remind keepers that were told to stop."""
        now = time.monotonic()
        runs = self._state.assignments.runs()
        self.spools.keep({run.run for _, run in runs})
        for assignment, run in runs:
            match assignment.stage:
                case Stopping(tell_again_at=moment) as stage if now >= moment:
                    assignment.stage = structs.replace(stage, tell_again_at=float("inf"))
                    stop_run(run.run, stage.stop_reason, keeper=run.keeper and run.keeper.who)
                case _:
                    pass
            no_pidfd = run.keeper is None or run.keeper.fileno() is None
            if no_pidfd and isinstance(assignment.stage, Active | Stopping):
                self._see_end(assignment, run)
            if isinstance(assignment.stage, Finishing) and assignment.task_id not in self._unread:
                self._finish_one(assignment, assignment.stage, now)

    def watch(self, now: float, awake: float) -> None:
        """Hold every run against budgets, limits and stall rules.

        `awake` is `now` on a clock that counts while the machine sleeps.
        """
        for assignment, passed in self._state.meter.over_budget(self._state.assignments):
            stop_assignment(assignment, passed)
        self._watchdog.tick(now, awake)

    def publish(self) -> None:
        """Write `progress.json` of every run, if something changed."""
        for assignment, run in self._state.assignments.runs():
            try:
                run.run.check_directories()
                if messages.stamp(run.run.task_dir) != run.memory.messages_stamp:
                    self.spools.post(run.run)
                    note_messages(run, self._state.log, self._state.now())
                self._state.keep_words(assignment)
                progress = _progress(run, assignment.doing)
                if progress != run.memory.published:
                    progress_json.write(run.run, progress)
                    run.memory.published = progress
            except FleetError as error:
                give_up(self._state, assignment, error)
            except OSError as error:
                self._say_of_disk(f"{run.task_id}: {words_of(error, run.run.path)}", run.run)

    def _say_of_disk(self, text: str, run: Run) -> None:
        """Tell of a disk that takes nothing: once a minute, whatever the number of runs."""
        if time.monotonic() >= self._disk_said + _SAY_AGAIN:
            self._disk_said = time.monotonic()
            self._state.log.say("disk", text, task_dir=run.task_dir)

    def close(self) -> None:
        self._watch.close()
        self.spools.close()

    def _see_end(self, assignment: Assignment, run: ActiveRun) -> None:
        """Move on a run whose keeper has ended."""
        if run.keeper is not None:
            if not run.keeper.ended():
                return
            fd = run.keeper.fileno()
            if fd is not None:
                self._selector.unregister(fd)
            run.keeper.close()
        self._watch.drop(run.run.path)
        with self._contained(assignment):
            state = state_now(run.run)
            if isinstance(state, Ended) and run.keeper is not None and run.keeper.was_killed:
                state = Vanished(None, why="its keeper was killed, and its exit record is not its")
            if isinstance(state, Ended | Vanished | NeverStarted):
                assignment.stage = finishing(assignment, run, state)
                self._unread.add(assignment.task_id)
            else:
                assignment.stage = Unknown(run.run, run.account, FIRST_PAUSE)

    @contextmanager
    def _contained(self, assignment: Assignment) -> Generator[None]:
        """Keep the damage of one task's files from the others: the task is left to a person."""
        try:
            yield
        except (FleetError, OSError) as error:
            if not is_short(error):  # else the run goes on where it was, in the next turn
                give_up(self._state, assignment, error)

    def _finish_one(self, assignment: Assignment, stage: Finishing, now: float) -> None:
        if now < stage.retry_at and self._state.shutdown.reason is None:
            return
        if (
            stage.retry_at
            and low_disk(self._state.home.path)
            and self._state.shutdown.reason is None
        ):
            retry_at = now + TRY_AGAIN
            assignment.stage = structs.replace(stage, retry_at=retry_at)
            return
        said = self.spools.last_claim(stage.run.run, stage.run.spec.id)
        if said is None:  # what the agent left in its drop box comes first
            return
        stage = structs.replace(stage, ended=structs.replace(stage.ended, said=said))
        try:
            finish(self._state, assignment, stage)
        except (FleetError, OSError) as error:
            if not is_short(error):
                give_up(self._state, assignment, error)
            elif isinstance(last := assignment.stage, Finishing):
                why = words_of(error, last.run.run.path)
                wait_for_machine(self._state, assignment, last, why)


class RunWatch(TickingDuty):
    """Checks all runs and publishes their progress, once a second."""

    def __init__(self, follower: RunFollower) -> None:
        self._follower = follower

    def on_event(self, event: Happening) -> None:
        if isinstance(event, Recovered):
            self.tick_soon()

    def tick(self) -> None:
        self._follower.watch(time.monotonic(), awake())
        self._follower.publish()

    def close(self) -> None:
        self._follower.publish()


def _check_output(state: SupervisorState, assignment: Assignment, run: ActiveRun) -> None:
    """Act on what a run has just printed."""
    report_trips(state.log, run)
    for limit in state.accounts.follow(run, state.config, state.now()):
        tell_limit(state, run.account, limit)
    if isinstance(assignment.stage, Active):
        _check_context(state, assignment, run)
    if isinstance(assignment.stage, Active):
        _check_login(state, assignment, run)


def _check_context(state: SupervisorState, assignment: Assignment, run: ActiveRun) -> None:
    """Stop a run whose context is too full to go on."""
    tokens, window = run.totals.tokens.context_tokens or 0, run.context_window
    if tokens * 100 < window * state.config.context_pressure_threshold_pct:
        return
    run.stream.note("fleet_context", state.now(), tokens=tokens, window=window)
    text = f"{run.task_id}: context at {tokens} of {window}, ends this session"
    state.log.say("context_pressure", text, task_dir=run.run.task_dir)
    stop_assignment(assignment, ContextFull(tokens=tokens, window=window))


def _check_login(state: SupervisorState, assignment: Assignment, run: ActiveRun) -> None:
    """Stop a run that works with another login than the one that was chosen."""
    wrong = state.accounts.wrong_login(run, state.config)
    if wrong is not None:
        run.stream.note("fleet_wrong_account", state.now(), why=wrong.detail)
        text = f"{run.task_id}: stopped: {wrong.detail}"
        state.log.say("wrong_account", text, task_dir=run.run.task_dir)
        stop_assignment(assignment, wrong, now=True)


def _progress(run: ActiveRun, doing: str) -> Progress:
    """How a run stands. `doing` is what fleet does about the run."""
    totals, memory = run.totals, run.memory
    return Progress(
        coder=run.coder.name,
        model=totals.model or run.coder.model,
        events=totals.events,
        tool_calls=totals.tools.count,
        context_tokens=totals.tokens.context_tokens or 0,
        context_peak=totals.tokens.context_peak,
        context_window=run.context_window,
        tokens=totals.tokens.usage.total,
        cost_usd=totals.tokens.cost_usd,
        estimated_usd=run.estimated_usd,
        last_event_at=run.stream.last_event_at,
        last_step=step_line(step) if (step := run.stream.last_step) else "",
        doing=doing,
        rung=memory.stall.rung,
        why=memory.stall.why,
        until=memory.waits_until,
        near=memory.near_limits,
    )


def finishing(assignment: Assignment, run: ActiveRun, end: ProcessEnd) -> Finishing:
    """The stage after the end of a run's processes, with fleet's reason for that end."""
    match assignment.stage:
        case Stopping(stop_reason=reason, cut_off=cut_off):
            pass
        case _:  # `fleet stop` may have stopped the run without the supervisor
            reason, cut_off = stop_reason.read(run.run), ()
    return Finishing(
        run, ExitedRun(record=run, process_end=end, stop_reason=reason, cut_off=cut_off)
    )


def state_now(run: Run) -> ProcessEnd | Running | Orphaned:
    """What became of a run, as far as that is known at once. Only for the lease's holder."""
    try:
        return keeper_client.state_of(run, patience=0)
    except InvalidTask as error:
        with run_locked(run.task_dir) as lock:
            if lock is None:  # the keeper lives, so that the run's end will be known
                return Running(None)
            run.fence()
            return Vanished(None, why=error.message)


def _nothing() -> None:
    pass
