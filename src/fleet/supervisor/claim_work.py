"""Asks the queue for as many tasks as there are free slots, when there may be some, and wakes tasks
that were put off and can run now: a budget was raised, an account was added or opened, a chain was
set, the clock was set, or a run ended.
"""

import heapq
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial

from fleet import coders
from fleet.accounts.candidates import Place, place_of
from fleet.accounts.choose_account import Go, Wait
from fleet.coders.trusted_files import Untrusted
from fleet.errors import FleetError, NotFound, Refused
from fleet.home.status_file import paused
from fleet.home.trusted_commands import untrusted
from fleet.queue.protocol import Filter, Queue
from fleet.runs.outcome_history import was_put_off
from fleet.schemas import Lease, Offer, Task
from fleet.supervisor.machine.disk_reserve import room
from fleet.supervisor.queue_io.keep_leases import awake
from fleet.supervisor.state import SupervisorState

#: A task may become ready without an event: the queue is asked again this often anyway. Each
#: question to beads starts a program, and there only a task that a person had put off becomes
#: ready unheard.
_ASK_AGAIN, _ASK_BEADS_AGAIN = 5.0, 60.0
#: How long a host with few free slots lets other hosts ask first.
_GIVE_WAY = 0.05
#: How many waiting tasks are looked at when an account has room: the most urgent come first.
_LOOK_AT = 100


class Claimer:
    """Claims tasks, and knows when there is nothing left to do."""

    def __init__(self, state: SupervisorState, *, until_idle: bool, max_idle: float = 0.0) -> None:
        self._state, self._until_idle, self._max_idle = state, until_idle, max_idle
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
        #: The log says already that fleet is paused.
        self._pause_said = False
        #: The host has let others ask first.
        self._gave_way = False

    @property
    def next_moment(self) -> float:
        """When a task that was put off is due, or others were let first, on the monotonic clock."""
        way = self._ask_at if self._gave_way else float("inf")
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
        """There may be a ready task: claim with the next call of `claim`."""
        self._ask_at = 0.0

    def want_at(self, moment: datetime) -> None:
        """There may be a ready task from a moment on."""
        heapq.heappush(self._due, moment)

    def say_paused(self) -> None:
        """Say once for each pause that no run begins."""
        if not self._pause_said:
            self._pause_said = True
            self._state.log.say("paused", "paused: no run begins. To go on: fleet resume")

    def claim(self) -> None:
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
        if paused(state.home):
            if not self.idle and self._is_quiet():
                self.idle = self.waits_for_person = True
                self.say_paused()
            return
        self._pause_said = False
        if state.meter.day_is_spent():
            self.idle = self.waits_for_person = self._is_quiet()
            return
        if not room(state.home):
            state.backoff.begin(f"the disk of {state.home.path} is almost full")
            return
        heartbeat = state.heartbeat
        if not heartbeat.may_claim:
            self.idle = self._is_quiet() and heartbeat.is_draining
            return
        if heartbeat.is_shared and self._gives_way(free):
            return
        beads = state.config.queue == "beads"
        self._ask_at = time.monotonic() + (_ASK_BEADS_AGAIN if beads else _ASK_AGAIN)
        usual = state.coder or state.config.coder
        self._ask(free, heartbeat.offer_now(usual))

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

    def _gives_way(self, free: int) -> bool:
        """An almost full host asks a little later than the others, once for each claim."""
        slots = self._state.config.max_concurrent
        if self._gave_way or free == slots or free * 4 > slots:
            self._gave_way = False
            return False
        self._gave_way = True
        self._ask_at = time.monotonic() + _GIVE_WAY
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
            self._waiting_tasks(self._note_idle)

    def _is_quiet(self) -> bool:
        """The supervisor is to end when idle, and has nothing in hand."""
        in_hand = len(self._state.assignments) > 0 or self._state.queue.busy
        return self._until_idle and not in_hand

    def _note_idle(self, waiting: list[Task]) -> None:
        """Idle: each task that waits for a moment waits for a person too."""
        reasons = [why for task in waiting if (why := _waits_for_person(self._state, task))]
        self.idle = len(reasons) == len(waiting)
        self.waits_for_person = bool(reasons)
        if reasons and self.idle:
            whys = "; ".join(sorted(set(reasons)))
            count = "1 task waits" if len(reasons) == 1 else f"{len(reasons)} tasks wait"
            text = f"{count}, and nothing will open by itself (fleet status): {whys}"
            if text != self._idle_text:
                self._state.log.say("idle", text)
            self._idle_text = text

    # Tasks that were put off.

    def wake_next(self) -> None:
        """A run ended on an account at `max_concurrent`: wake the first task that could use the
        account.
        """
        state = self._state

        def first(tasks: list[Task]) -> None:
            could = (task for task in tasks[:_LOOK_AT] if _has_account_again(state, task))
            task = next(could, None)
            if task is None:
                state.accounts.full_accounts.clear()
            else:
                wake(state, [task], lambda _: self.want())

        self._waiting_tasks(first)

    def wake_all(self) -> None:
        """Wake all tasks that were put off and have a budget or an account again. A task too many
        does no harm: its start asks for the same room again.
        """
        state = self._state

        def each(tasks: list[Task]) -> None:
            paid = [task for task in tasks if state.meter.has_budget_again(task)]
            left = [task for task in tasks if task not in paid]
            seated = [task for task in left if _has_account_again(state, task)]
            for woken, what in ((paid, "budget"), (seated, "account")):
                if woken:
                    wake(state, woken, partial(self._woken, what))

        self._waiting_tasks(each)

    def _waiting_tasks(self, then: Callable[[list[Task]], None]) -> None:
        """Open tasks that wait for a moment to come, picked out beside the loop: a queue may hold
        many others.
        """
        want = Filter(statuses=("open",))
        self._state.queue.call(lambda queue: [t for t in queue.find(want) if t.not_before], then)

    def _woken(self, what: str, count: int) -> None:
        some, wait = ("1 task", "waits") if count == 1 else (f"{count} tasks", "wait")
        put_off = f"{'was' if count == 1 else 'were'} put off"
        words = f"waited for a budget {wait} no more" if what == "budget" else f"{put_off} can run"
        self._state.log.say(f"{what}_room", f"{some} that {words}")
        self.want()


def wake(state: SupervisorState, tasks: list[Task], then: Callable[[int], None]) -> None:
    """Clear `not_before` of tasks; the answer is of how many."""

    def woken(queue: Queue) -> int:
        return sum(_reopened(queue, task, state.queue.owner) for task in tasks)

    state.queue.call(woken, then)


def _reopened(queue: Queue, task: Task, owner: str) -> bool:
    try:
        queue.reopen_task(task, by=owner)
    except (NotFound, Refused):
        return False  # the task was claimed meanwhile, or is gone
    return True


def _waits_for_person(state: SupervisorState, task: Task) -> str:
    """What keeps the task from running, if only a person can change that; empty otherwise."""
    if untrusted(state.home, task):
        return "a verify command from elsewhere is not trusted: fleet trust"
    if state.meter.waits_for_budget(task):
        return "a budget is spent"
    place = _place(state, task)
    if place is None:
        return ""
    try:
        coders.find(place.coder, state.home.path)
    except Untrusted as error:
        return error.message
    except FleetError:
        return ""
    found = state.accounts.would_choose(state.config, place, task.id, state.now())
    return found.why if isinstance(found, Wait) and found.person else ""


def _has_account_again(state: SupervisorState, task: Task) -> bool:
    """The task was put off for want of an account, and an account has room now."""
    if not was_put_off(state.home.task(task.id), task.not_before) or untrusted(state.home, task):
        return False
    place = _place(state, task)
    if place is None or state.meter.spent(place.cwd) is not None:
        return False
    return isinstance(state.accounts.would_choose(state.config, place, task.id, state.now()), Go)


def _place(state: SupervisorState, task: Task) -> Place | None:
    try:
        return place_of(state.home, state.config, task, coder=state.coder)
    except FleetError:
        return None
