"""Follows the runs: reads their streams, has observers check them, and notices their ends."""

import selectors
import time
from functools import partial

from msgspec import structs

from fleet.errors import InvalidTask
from fleet.extend import Duty, Tick, TickingDuty
from fleet.files.file_lock import run_locked
from fleet.files.inotify import DirectoryWatch
from fleet.files.machine_short import low_disk
from fleet.home import messages
from fleet.processes import keeper_client
from fleet.processes.keeper_client import Ended, NeverStarted, Orphaned, Running, Vanished, stop_run
from fleet.runs import stop_reason
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import Run
from fleet.schemas.backoff import Backoff
from fleet.settlement.run_record import ExitedRun, ProcessEnd
from fleet.supervisor.active.message_receipts import note_messages
from fleet.supervisor.active.serve_spools import SpoolServer
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
    contained,
    finish,
    wait_for_machine,
)
from fleet.supervisor.shortage import BACKOFF
from fleet.supervisor.state import Happening, Recovered, SupervisorState

#: Seconds between two checks of a run in stage `Unknown`: a keeper that is just starting answers in
#: milliseconds, one that hangs may never.
RECHECKS = Backoff(0.02, 1.0)


class RunFollower(Duty):
    """Watches the directories and keepers of all runs in the table."""

    def __init__(
        self,
        state: SupervisorState,
        selector: selectors.BaseSelector,
    ) -> None:
        self._state, self._selector = state, selector
        self.spools = SpoolServer(state, selector)
        self._watch = DirectoryWatch()
        #: Tasks whose streams hold more than was read.
        self._unread: set[str] = set()
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
            self._state.observers.started(run)
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
            with contained(self._state, assignment):
                events = run.stream.read(self._state.now()) if run.stream.behind else ()
                if run.stream.more:
                    self._unread.add(task_id)
                self._state.observers.events(assignment, run, events)

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

    def tick(self, tick: Tick) -> None:
        """Have the observers check the runs, and give the runs their messages."""
        observers = self._state.observers
        observers.begin_tick(tick)
        for assignment, run in self._state.assignments.runs():
            with contained(self._state, assignment):
                observers.tick(assignment, run, tick)  # first: a short machine lifts no limit
                run.run.check_directories()
                if messages.stamp(run.run.task_dir) != run.memory.messages_stamp:
                    self.spools.post(run.run)
                    note_messages(run, self._state.log, self._state.now())

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
        with contained(self._state, assignment):
            state = state_now(run.run)
            if isinstance(state, Ended) and run.keeper is not None and run.keeper.was_killed:
                state = Vanished(None, why="its keeper was killed, and its exit record is not its")
            if isinstance(state, Ended | Vanished | NeverStarted):
                assignment.stage = finishing(assignment, run, state)
                self._unread.add(assignment.task_id)
            else:
                assignment.stage = Unknown(run.run, run.account, RECHECKS.first)

    def _finish_one(self, assignment: Assignment, stage: Finishing, now: float) -> None:
        if now < stage.retry_at and self._state.shutdown.reason is None:
            return
        if (
            stage.retry_at
            and low_disk(self._state.home.path)
            and self._state.shutdown.reason is None
        ):
            retry_at = now + BACKOFF.first
            assignment.stage = structs.replace(stage, retry_at=retry_at)
            return
        said = self.spools.last_claim(stage.run.run, stage.run.spec.id)
        if said is None:  # what the agent left in its drop box comes first
            return
        stage = structs.replace(stage, ended=structs.replace(stage.ended, said=said))
        with contained(self._state, assignment, partial(self._wait_for_machine, assignment)):
            finish(self._state, assignment, stage)

    def _wait_for_machine(self, assignment: Assignment, why: str) -> None:
        if isinstance(stage := assignment.stage, Finishing):
            wait_for_machine(self._state, assignment, stage, why)


class RunWatch(TickingDuty):
    """Has all runs checked once a second."""

    def __init__(self, follower: RunFollower) -> None:
        self._follower = follower

    def on_event(self, event: Happening) -> None:
        if isinstance(event, Recovered):
            self.tick_soon()

    def tick(self) -> None:
        self._follower.tick(Tick(time.monotonic(), awake()))

    def close(self) -> None:
        self.tick()


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
