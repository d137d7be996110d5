"""Takes each task in hand from claim to settlement, through the stages of the table."""

import selectors
import time
from datetime import timedelta
from functools import partial
from pathlib import Path

from fleet import coders
from fleet.errors import FleetError, InvalidTask
from fleet.files.safe_read import check_directory
from fleet.home import messages
from fleet.home.status_file import paused
from fleet.runs.outcome_history import believed_ending
from fleet.runs.questions.asked_json import record_answer
from fleet.runs.run_directory import Run, latest_run
from fleet.schemas import Lease, Request, Stopped
from fleet.schemas.decision import MESSAGE, released
from fleet.settlement.settle_table import stopped
from fleet.spool.drop_box import give_answer
from fleet.supervisor.active.follow_runs import RunFollower
from fleet.supervisor.active.message_receipts import note_messages
from fleet.supervisor.active.watch_runs import Watchdog
from fleet.supervisor.adopt_runs import adopt_run, look_again, next_look
from fleet.supervisor.assignments import Arriving, Assignment, Claimed, stop_assignment
from fleet.supervisor.finish_run import finish, give_up, kill_all, send_and_settle, settle
from fleet.supervisor.start.start_run import RunStarter
from fleet.supervisor.state import SupervisorState
from fleet.supervisor.travel.host_travel import Arrived, HostTravel, hand_on, is_message
from fleet.watchdog.stall_rules import Patience

#: How long starting runs may keep the loop from everything else, in seconds.
_SLICE = 0.02
#: When a task is claimed again whose files could not be brought, or that another host has to run.
_TROUBLE, _NOT_HERE = timedelta(seconds=10), timedelta(seconds=1)
#: Seconds between two lines about a disk that takes nothing.
_SAY_AGAIN = 60.0


class Dispatcher:
    """What the supervisor does with the tasks in hand."""

    def __init__(
        self,
        state: SupervisorState,
        selector: selectors.BaseSelector,
        patience: Patience | None = None,
    ) -> None:
        self.state = state
        #: When a disk that takes nothing was last told of, on the monotonic clock.
        self._disk_said = -_SAY_AGAIN
        self._watchdog = Watchdog(
            state.assignments, state.pool, state.log, state.now, patience=patience
        )
        self.follower = RunFollower(
            state, selector, self._watchdog, partial(finish, state), partial(give_up, state)
        )
        self.starter = RunStarter(state, self.follower)

    @property
    def next_moment(self) -> float:
        """When there is something to do without an event, on the monotonic clock."""
        start = self.state.backoff.until if self.has_claims else float("inf")
        return min(self.follower.next_moment, next_look(self.state.assignments), start)

    # Start runs, or take up those of an earlier supervisor.

    @property
    def has_claims(self) -> bool:
        """A task is about to be started."""
        return any(isinstance(each.stage, Claimed) for each in self.state.assignments)

    def start_claimed(self) -> None:
        """Start claimed tasks, at least one and for as long as the loop may wait."""
        end = time.monotonic() + _SLICE
        with coders.found_once():
            for assignment in self.state.assignments:
                if self.state.backoff.active:
                    return
                if isinstance(assignment.stage, Claimed):
                    self.starter.guard(assignment, self._start)
                    if time.monotonic() >= end:
                        return

    def adopt(self, lease: Lease) -> None:
        """Go on with a task that an earlier supervisor held at the end."""
        self.starter.guard(self.state.assignments.take(lease), self._adopt)

    def _start(self, assignment: Assignment, task_dir: Path) -> None:
        if not self._is_whole(assignment, task_dir):
            return
        if self.state.travel is not None and not assignment.arrived:
            self._arrive(assignment, self.state.travel)
            return
        run = latest_run(task_dir)
        if run is not None and believed_ending(run) is None:
            adopt_run(self.state, self.follower, assignment, run)
        elif self.state.stopping is not None:
            decision = released("claimed as the supervisor ended")
            settle(self.state, assignment, decision, task_dir)
        elif paused(self.state.home):
            settle(self.state, assignment, released("claimed as fleet was paused"), task_dir)
        else:
            self.starter.begin(assignment, task_dir)

    def _arrive(self, assignment: Assignment, travel: HostTravel) -> None:
        """Bring what other hosts know of a task here; then the run begins."""

        def arrived(found: Arrived) -> None:
            stage = assignment.stage
            known = self.state.assignments.get(assignment.task_id) is assignment
            if not known or not isinstance(stage, Arriving):
                return
            assignment.stage = Claimed()
            assignment.arrived = True
            if why := found.bound or found.trouble:
                again = self.state.now() + (_NOT_HERE if found.bound else _TROUBLE)
                settle(self.state, assignment, released(why, not_before=again))

        assignment.stage = Arriving()
        self.state.pool.submit(partial(travel.arrive, assignment.lease), arrived)

    def _is_whole(self, assignment: Assignment, task_dir: Path) -> bool:
        """Whether the task's directories are as fleet made them; else the task is given up."""
        try:
            if check_directory(task_dir):
                check_directory(task_dir / "runs")
        except InvalidTask as error:
            give_up(self.state, assignment, error)
            return False
        return True

    def _adopt(self, assignment: Assignment, task_dir: Path) -> None:
        if not self._is_whole(assignment, task_dir):
            return
        run = latest_run(task_dir)
        ending = believed_ending(run) if run is not None else None
        if run is None:
            kill_all(assignment.lease)  # the directory may have been deleted under a living run
        if run is None or (ending is not None and ending.fence != assignment.lease.fence):
            settle(self.state, assignment, released("claimed, and never started"), task_dir)
        elif ending is not None:
            send_and_settle(self.state, assignment, ending, run)
        else:
            adopt_run(self.state, self.follower, assignment, run)

    # Follow the runs.

    def follow(self) -> None:
        """Read what runs have printed, act on that, and finish the runs that have ended."""
        self.follower.read()
        self.follower.see_to_ends()
        look_again(self.state, self.follower)

    def watch(self, now: float, awake: float) -> None:
        """Hold every run against budgets, limits and stall rules.

        `awake` is `now` on a clock that counts while the machine sleeps.
        """
        for assignment, passed in self.state.meter.over_budget(self.state.assignments):
            stop_assignment(assignment, passed)
        self._watchdog.tick(now, awake)

    def publish(self) -> None:
        """Write `progress.json` of every run."""
        for assignment, run in self.state.assignments.runs():
            try:
                run.run.check_directories()
                if messages.stamp(run.run.task_dir) != run.memory.messages_stamp:
                    self.follower.spools.post(run.run)
                note_messages(run, self.state.log, self.state.now())
                self._keep_words(assignment)
                run.publish(assignment.doing)
            except FleetError as error:
                give_up(self.state, assignment, error)
            except OSError as error:
                why = _error_words(error, run.run)
                self._say_of_disk(f"{run.task_id}: {why}", run.run.task_dir)

    def _keep_words(self, assignment: Assignment) -> None:
        """Have the other hosts know what people said to the task's agent, if there are any."""
        if self.state.travel is not None:
            self.state.travel.keep_words(assignment.lease, self.state.queue.thread)

    def _say_of_disk(self, text: str, task_dir: Path) -> None:
        """Tell of a disk that takes nothing: once a minute, whatever the number of runs."""
        if time.monotonic() >= self._disk_said + _SAY_AGAIN:
            self._disk_said = time.monotonic()
            self.state.log.say("disk", text, task_dir=task_dir)

    # Stop them.

    def stop(self, task_id: str, reason: Stopped, *, now: bool = False) -> bool:
        """End one task's run, or keep the run from beginning. False: there is nothing to end."""
        assignment = self.state.assignments.get(task_id)
        if assignment is None:
            return False
        if isinstance(assignment.stage, Claimed | Arriving):
            settle(self.state, assignment, stopped(reason, task_id))
            return True
        return stop_assignment(assignment, reason, now=now)

    def is_for_us(self, request: Request) -> bool:
        """On a shared queue a person's request is for the supervisor that runs the task."""
        in_hand = self.state.assignments.get(request.task_id)
        if in_hand is not None and is_message(request):
            return in_hand.run is not None  # a run that is to begin gets the message in the prompt
        return in_hand is not None or self.state.travel is None

    def obey(self, request: Request) -> None:
        """Carry out what a person's command left in the queue for a task."""
        by, task_id = request.asked_by or "a person", request.task_id
        say = self.state.log.say
        if is_message(request):
            hand_on(self.state.home, request)
            if (in_hand := self.state.assignments.get(task_id)) is not None:
                self._keep_words(in_hand)
            say("telling", f"{task_id}: a message of {by} came")
        elif request.wish == "answer":
            say("answered", f"{task_id}: {self._answer(request, by)}")
        elif request.wish == "tell" and self.stop(task_id, Stopped(by=MESSAGE)):
            say("telling", f"{task_id}: stopping for a message of {by}")
        elif request.wish == "stop" and self.stop(
            task_id, Stopped(by=by), now=request.text == "now"
        ):
            say("stopping", f"{task_id}: stopping, as {by} asked")
        else:
            say("ignored", f"{task_id}: nothing to {request.wish}", asked_by=request.asked_by)

    def _answer(self, request: Request, by: str) -> str:
        """Give the agent that waits the answer of a person on another host; returns what came of
        that.
        """
        in_hand = self.state.assignments.get(request.task_id)
        question, _, text = request.text.partition(" ")
        if in_hand is None or in_hand.run is None:
            return "it has no run that an answer could be for"
        run = in_hand.run.run
        try:
            given = record_answer(run.task_dir, question, text, by=by, at=request.asked_at)
            give_answer(run, question, given)
        except (FleetError, OSError) as error:
            return f"the answer of {by} was not taken: {error}"
        return f"{by} answered its question"

    def stop_all(self, reason: Stopped, *, now: bool) -> None:
        """End every run, also runs that come to light from now on."""
        self.state.stopping = reason
        for assignment in self.state.assignments:
            self.stop(assignment.task_id, reason, now=now)


def _error_words(error: OSError, run: Run) -> str:
    return f"{error.filename or run.path}: {error.strerror or error}"
