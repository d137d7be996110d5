"""Runs trains beside the loop: one job a branch at a time, on the threads for long work."""

import threading
import time
from collections import defaultdict
from functools import partial

from msgspec import Struct

from fleet.extend import Duty
from fleet.landing.land_target import OTHER_LANDER, LanderSetup, LandReport, land_target
from fleet.landing.remote.take_over_landings import take_over_landings
from fleet.landing.train_store import branches_behind
from fleet.landing.waiting_work import FoundWork, TargetKey, survey, target_key
from fleet.schemas import Blocked
from fleet.schemas.backoff import Backoff
from fleet.supervisor.queue_io.plan_epics import close_epics_of
from fleet.supervisor.state import (
    Happening,
    LandingEnded,
    QueueChanged,
    StopRequested,
    SupervisorState,
    TaskSettled,
)

#: Seconds until a job that could not be done is tried again, and until a branch that a checkout is
#: in the way of is looked at again.
_BACKOFF = Backoff(1.0, 60.0)
#: The same while another lander works on the branch: it may be done any moment.
_FOR_OTHERS = Backoff(1.0, 4.0)
#: After this many failures in a row a branch is taken to wait for a person.
_PATIENCE = 6
#: How often in a row another lander is found at work on a branch before that is told: a person's
#: `fleet land` or the supervisor of another home is mostly done by then.
_UNTOLD = 3
#: Seconds between two looks for work that other hosts verified, and until one that failed is tried
#: again.
_TAKE_OVER_EVERY, _LOOK_AGAIN = 2.0, 15.0


class _Tries(Struct):
    """How often in a row something was tried for a branch."""

    #: How often the branch's landing failed; and whether the last time was since another lander
    #: works on the branch.
    failures: int = 0
    elsewhere: bool = False
    #: The branch was found behind its line.
    looks: int = 0

    @property
    def is_hopeful(self) -> bool:
        """Nothing waits for a person: another lander comes to an end, however long that takes."""
        return self.elsewhere or 0 < self.failures < _PATIENCE

    @property
    def pause(self) -> float:
        """Seconds until the next try; 0: there is to be none."""
        tries = max(self.failures, self.looks)
        backoff = _FOR_OTHERS if self.elsewhere else _BACKOFF
        return backoff.pause(tries - 1) if tries else 0.0


class Lander(Duty):
    """Looks for work whenever there may be some, and starts the jobs."""

    begins_work = True

    def __init__(self, state: SupervisorState) -> None:
        self._state = state
        self._abandon = threading.Event()
        self._setup = LanderSetup(
            home=state.home,
            open_queue=state.open_queue,
            by=state.queue.owner,
            now=state.now,
            abandon=self._abandon,
            shared=state.travel is not None,
        )
        #: There may be something to do; and a look at the records is under way.
        self._wanted, self._looking = True, False
        #: The branches that are worked on; True: to be looked at once more.
        self._at_work: dict[TargetKey, bool] = {}
        #: When a branch is tried again, on the monotonic clock.
        self._again: dict[TargetKey, float] = {}
        self._tries: defaultdict[TargetKey, _Tries] = defaultdict(_Tries)
        #: Tasks of which the loop knows that they wait for their pull request.
        self._watched: set[str] = set()
        #: Tasks that were sent back, as of the last look.
        self._known_back: frozenset[str] = frozenset()
        self._started = False
        #: What was said of other hosts' work at the last look: what stays so is told once.
        self._taken_said: frozenset[tuple[str, str]] = frozenset()
        #: When other hosts' work is looked for next, and looked for again after trouble.
        self._take_over_at, self._look_at = 0.0, float("inf")

    @property
    def busy(self) -> bool:
        """The lander has something to do, and no person is waited for."""
        if self._abandon.is_set():
            return bool(self._at_work)
        hopeful = any(self._tries[key].is_hopeful or not due for key, due in self._again.items())
        return self._wanted or self._looking or bool(self._at_work) or hopeful

    @property
    def next_moment(self) -> float:
        again = min(self._again.values(), default=float("inf"))
        return 0.0 if self._wanted else min(again, self._look_at)

    def want(self) -> None:
        """There may be work: look with the next call of `when_due`."""
        self._wanted = True

    def on_event(self, event: Happening) -> None:
        match event:
            # A task that is blocked is to land; or others wait for its files.
            case TaskSettled(settlement=settlement):
                self._try_behind()
                if isinstance(settlement, Blocked):
                    self.want()
            case QueueChanged():
                self.want()
            case StopRequested():  # verify commands end; the rest is for the next supervisor
                self._abandon.set()
            case _:
                pass

    def _try_behind(self) -> None:
        """Try the branches that are behind their line at once: a run that was in the way may have
        ended.
        """
        for key in self._again:
            if self._tries[key].looks and not self._tries[key].failures:
                self._again[key] = 0.0

    def when_due(self) -> None:
        """Look for work if there may be some, and try again what is due."""
        if self._look_at <= time.monotonic():
            self._look_at, self._wanted = float("inf"), True
        for key in [key for key, due in self._again.items() if due <= time.monotonic()]:
            del self._again[key]
            self._begin(key)
        if self._wanted and not self._looking:
            self._wanted, self._looking = False, True
            self._state.inspections.submit(self._look, self._surveyed)
        if not self._started:
            self._started = True
            for learnt in branches_behind(self._state.home):
                key = target_key(learnt.repository, learnt.branch)
                self._again.setdefault(key, time.monotonic())

    def _look(self) -> FoundWork:
        """Which work there is, after that of other hosts was taken over. In a worker thread."""
        if self._state.travel is None:
            return survey(self._state.home)
        if time.monotonic() < self._take_over_at:
            self._look_at = self._take_over_at
            return survey(self._state.home)
        self._take_over_at = time.monotonic() + _TAKE_OVER_EVERY
        taken = take_over_landings(self._setup, self._state.config)
        if taken.again:
            self._look_at = time.monotonic() + _LOOK_AGAIN
        for task_id, text in taken.said:
            if (task_id, text) not in self._taken_said:
                self._state.travel.say(task_id, text)
        self._taken_said = frozenset(taken.said)
        return survey(self._state.home)

    def _surveyed(self, found: FoundWork) -> None:
        self._looking = False
        for task_id, doubt in found.doubts.items():
            text = f"{task_id}: its landing is left to a person: {doubt}"
            self._state.log.say_once("landing_doubted", text)
            self._state.events.append(LandingEnded(task_id, asks=True))
        # What was sent back is looked at once: an earlier lander may not have told the queue.
        with_agents = self._known_back & found.back
        self._known_back = found.back
        for key, task_ids in found.work.items():
            if not with_agents.issuperset(task_ids):
                self._begin(key)

    def _begin(self, key: TargetKey) -> None:
        if key in self._at_work:
            self._at_work[key] = True
            return
        self._at_work[key] = False
        self._state.inspections.submit(partial(land_target, self._setup, key), self._ended)

    def _ended(self, report: LandReport) -> None:
        key, end = report.target, report.end
        again = self._at_work.pop(key)
        for task_id, words in report.said:
            task_dir = self._state.home.task(task_id)
            self._state.log.say("landing", f"{task_id}: {words}", task_dir=task_dir, task=task_id)
        for text in end.sentences:
            self._state.log.say("landing", text)
        for task_id in report.closed:
            self._state.events.append(LandingEnded(task_id, closed=True))
        close_epics_of(self._state, report.closed)
        for task_id in report.back:
            self._state.events.append(LandingEnded(task_id))
        for task_id in (*report.asks, *(set(end.watched) - self._watched)):
            self._state.events.append(LandingEnded(task_id, asks=True))
        self._watched = (self._watched | set(end.watched)) - {*report.closed, *report.back}
        if end.behind:
            self._state.log.say_once("landing", f"{key.repository}: {end.behind}")
        self._failed(key, report.problem)
        tries = self._tries[key]
        tries.looks = tries.looks + 1 if end.behind else 0
        if self._abandon.is_set():
            return
        if again or (end.more and not report.problem):
            self._begin(key)
        elif tries.pause:  # what was tried before its time keeps that time
            self._again.setdefault(key, time.monotonic() + tries.pause)
        elif end.again_in:
            self._again[key] = time.monotonic() + end.again_in

    def _failed(self, key: TargetKey, problem: str) -> None:
        """Count a job that could not be done, and tell why. Empty: it could be done. What was tried
        before its time, since more work had come, says nothing new.
        """
        tries = self._tries[key]
        tries.elsewhere = problem == OTHER_LANDER
        if not problem:
            tries.failures = 0
            self._again.pop(key, None)
            return
        if key not in self._again or not tries.failures:
            tries.failures += 1
        passes = tries.elsewhere and tries.failures <= _UNTOLD
        if not passes and not self._abandon.is_set():
            self._state.log.say_once(
                "landing_left",
                f"{key.branch} of {key.repository}: nothing lands for now: {problem}",
            )
