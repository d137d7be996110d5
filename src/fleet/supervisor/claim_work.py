"""Asks the queue for as many tasks as there are free slots, when there may be some."""

import heapq
import time
from collections.abc import Sequence
from datetime import datetime

from fleet.extend import Duty
from fleet.files.machine_short import low_disk
from fleet.queue.protocol import Queue
from fleet.schemas import Lease, Offer, Released, Task
from fleet.schemas.shown_text import moment
from fleet.schemas.task_state import Wait
from fleet.supervisor.assignments import awake
from fleet.supervisor.queue_io.reopen_tasks import waiting_tasks
from fleet.supervisor.start.ask_gates import holds_all, why_waits
from fleet.supervisor.state import (
    Happening,
    LandingEnded,
    QueueChanged,
    Recovered,
    SettingsApplied,
    SupervisorState,
    TaskSettled,
)

#: A task may become ready without an event: the queue is asked again this often anyway. Each
#: question to beads starts a program, and there only a task that a person had put off becomes
#: ready unheard.
_ASK_AGAIN, _ASK_BEADS_AGAIN = 5.0, 60.0
#: How long a host with few free slots lets other hosts ask first.
_LET_OTHERS_FIRST = 0.05
#: What the log calls the gates that hold all tasks; the timeline shows these as stretches.
_ACTIONS = {"pause": "paused", "day_budget": "budget_spent"}


class Claimer(Duty):
    """Claims tasks, and knows when there is nothing left to do."""

    begins_work = True

    def __init__(self, state: SupervisorState, *, until_idle: bool, max_idle: float = 0.0) -> None:
        self._state, self.until_idle, self._max_idle = state, until_idle, max_idle
        #: When there was work last, on the monotonic clock.
        self._worked_at = time.monotonic()
        #: When the queue is asked next, on the monotonic clock, if there is a free slot.
        self._ask_at = 0.0
        #: When tasks that were put off may be claimed again.
        self._due: list[datetime] = []
        #: A claim is under way, or must wait until the leases of an earlier supervisor are known.
        self.claiming = False
        #: Nothing is left that would become ready by itself. Only known with `until_idle`.
        self.idle = False
        #: What is left waits for a person. Only meant while idle.
        self.waits_for_person = False
        self._idle_text = ""
        #: The gate that holds all tasks, as the log says already.
        self._said = ""
        #: The host has let others ask first.
        self._let_others_first = False

    @property
    def next_moment(self) -> float:
        """When a task that was put off is due, or others were let first, on the monotonic clock."""
        way = self._ask_at if self._let_others_first else float("inf")
        if not self._due:
            return way
        due = time.monotonic() + (self._due[0] - self._state.now()).total_seconds()
        return min(way, due)

    @property
    def is_over(self) -> bool:
        """Nothing is left to do, and there was nothing for as long as the supervisor may wait."""
        if len(self._state.assignments) > 0:
            self._worked_at = time.monotonic()
        return self.idle and time.monotonic() - self._worked_at >= self._max_idle

    def want(self) -> None:
        """There may be a ready task: claim with the next call of `when_due`."""
        self._ask_at = 0.0

    def want_at(self, moment: datetime) -> None:
        """There may be a ready task from a moment on."""
        heapq.heappush(self._due, moment)

    def start(self) -> None:
        self.claiming = True  # nothing is claimed before it is known what this home holds
        if (wait := holds_all(self._state)) is not None:
            self.say_held(wait)

    def on_event(self, event: Happening) -> None:
        match event:
            case QueueChanged() | LandingEnded():
                self.idle = False
            case Recovered():
                self.claiming = False
                return
            case TaskSettled(settlement=Released(not_before=moment)) if moment is not None:
                self.want_at(moment)
            case SettingsApplied() | TaskSettled():
                pass
            case _:
                return
        self.want()

    def say_held(self, wait: Wait) -> None:
        """Log once which gate lets no run begin: the figures in its reason may change."""
        if self._said != wait.gate:
            self._said = wait.gate
            state = self._state
            state.log.say(_ACTIONS.get(wait.gate, "held"), f"no run begins: {wait.words}")

    def when_due(self) -> None:
        """Claim tasks if some may be ready, there are free slots, and nothing forbids a claim."""
        state = self._state
        while self._due and self._due[0] <= state.now():
            heapq.heappop(self._due)
            self.want()
        free = state.config.max_concurrent - len(state.assignments)
        if free <= 0 or time.monotonic() < self._ask_at or self.claiming:
            return
        if state.backoff.active:
            return
        if low := low_disk(state.home.path):
            state.backoff.begin(low)
            return
        if (wait := holds_all(state)) is not None:
            self.idle = self.waits_for_person = self._is_quiet()
            self.say_held(wait)
            return
        self._said = ""
        heartbeat = state.heartbeat
        if not heartbeat.may_claim:
            self.idle = self._is_quiet() and heartbeat.is_draining
            return
        if state.config.shares_queue and self._lets_others_first(free):
            return
        beads = state.config.queue == "beads"
        self._ask_at = time.monotonic() + (_ASK_BEADS_AGAIN if beads else _ASK_AGAIN)
        self._ask(free, heartbeat.offer_now(state.config.coder))

    def _ask(self, count: int, offer: Offer | None) -> None:
        """Have the queue asked; the answer is the leases, and until when they are held for
        certain.
        """
        self.claiming = True
        owner, ttl = self._state.queue.owner, self._state.queue.terms.length
        heartbeat = self._state.heartbeat

        def ask(queue: Queue) -> tuple[float, list[Lease]]:
            # Counted from the call, and not from when the call was due: a call that fails is made
            # again later.
            until = awake() + ttl.total_seconds()
            if not heartbeat.knows(queue):
                return until, []
            return until, queue.claim(owner, count=count, ttl=ttl, offer=offer)

        self._state.queue.call(ask, self._claimed)

    def _lets_others_first(self, free: int) -> bool:
        """An almost full host asks a little later than the others, once for each claim."""
        slots = self._state.config.max_concurrent
        if self._let_others_first or free == slots or free * 4 > slots:
            self._let_others_first = False
            return False
        self._let_others_first = True
        self._ask_at = time.monotonic() + _LET_OTHERS_FIRST
        return True

    def _claimed(self, answer: tuple[float, list[Lease]]) -> None:
        self.claiming = False
        held_until, leases = answer
        heartbeat = self._state.heartbeat
        for lease in leases:
            self._state.assignments.take(lease, held_until)
        if leases:
            self._worked_at = time.monotonic()
            self.want()
        elif self._is_quiet() and heartbeat.may_claim and not heartbeat.misses_code:
            waiting_tasks(self._state, self._note_idle)

    def _is_quiet(self) -> bool:
        """The supervisor is to end when idle, and has nothing in hand."""
        in_hand = len(self._state.assignments) > 0 or self._state.queue.busy
        return self.until_idle and not in_hand

    def _note_idle(self, waiting: list[Task]) -> None:
        """Idle: each task that waits for a moment waits for a person too."""
        found = [why_waits(self._state, task) for task in waiting]
        held = [each for each in found if each is not None and each.person]
        self.idle = len(held) == len(waiting)
        self.waits_for_person = bool(held)
        if held and self.idle:
            text = _idle_words(held, self._state.now())
            if text != self._idle_text:
                self._state.log.say("idle", text)
            self._idle_text = text


def _idle_words(held: Sequence[Wait], now: datetime) -> str:
    """How many tasks a person can set going, when those are tried again that need none, and why
    they wait.
    """
    moments = [each.until for each in held if each.again and each.until is not None]
    count = "1 task waits" if len(held) == 1 else f"{len(held)} tasks wait"
    if len(moments) < len(held):
        count += " for you"
    if moments:
        at = moment(min(moments), now.astimezone())
        later = "" if len(moments) == len(held) else f"{len(moments)} of them "
        count += f", {later}until {at} at the earliest"
    whys = "; ".join(sorted({each.words for each in held}))
    return f"{count} (fleet status): {whys}"
