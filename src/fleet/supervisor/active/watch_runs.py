"""Holds every active run against the stall rules and the limits of the run.

One cheap pass a tick over all of them: a run that prints nothing and has nothing due costs two
comparisons. What takes time (a second look, memory to the page) is done by worker threads.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct, field, structs

from fleet.coders.stream.run_outcome import startup_cause
from fleet.extend import AtOnce, RunObserver, StopRun, Tick
from fleet.home.journal import Log
from fleet.processes import process_usage
from fleet.schemas import Event, LimitExceeded, Outcome, Stalled
from fleet.settlement.end_run import by_stream
from fleet.supervisor.active.watched_facts import (
    awaited,
    began_on_clock,
    first_words,
    lacking,
    last_said,
    parked_for,
    with_wait,
)
from fleet.supervisor.assignments import Active, ActiveRun, Assignment, Assignments
from fleet.supervisor.state import SupervisorState
from fleet.supervisor.stop_runs import stop_assignment
from fleet.supervisor.worker_pool import WorkerPool
from fleet.watchdog import liveness_sample, run_limits, stall_rules
from fleet.watchdog.liveness_sample import Sample, Subject
from fleet.watchdog.run_limits import AT_ONCE, Used
from fleet.watchdog.stall_rules import (
    FINE,
    REPEATS_ENDED,
    Patience,
    Repeats,
    RunFacts,
    SecondLook,
    StallState,
)

#: A process may belong to a call that was printed up to this many seconds later.
_BEFORE_THE_CALL = 5.0
#: A census may take this share of a core, however many processes there are.
_CENSUS_SHARE = 0.002
#: Rungs that are reported once a run, not each time.
_ONCE = frozenset({"looping", "repeating", "waiting_call", "waiting_limit", "stream_lost"})
#: How long the watchdog of a supervisor waits for what is no setting.
PATIENCE = Patience()


class Watched(Struct, eq=False):
    """What the watchdog knows of a run beside the run's own record."""

    assignment: Assignment
    run: ActiveRun
    #: The run's last sign of life, and the moment from which its silence counts: its start, or the
    #: end of an absence of the supervisor.
    since: float
    begins: float
    #: When the agent began, on the monotonic clock; None until its keeper has written it.
    began: float | None = None
    #: How much of the stream was new, and when the last of that came.
    news: tuple[int, float] = (-1, 0.0)
    places: tuple[int, int] = (-1, -1)
    #: Nothing changes before this moment unless the run prints something.
    due: float = 0.0
    #: Warnings that were given.
    warned: set[str] = field(default_factory=set[str])
    sample: Sample | None = None
    look: SecondLook | None = None
    #: A worker thread takes a sample, or measures the memory, right now.
    sampling: bool = False
    measuring: bool = False
    memory: int = 0
    pids: tuple[int, ...] = ()

    @property
    def active(self) -> bool:
        """The run goes on undisturbed: the processes live, and fleet has not stopped them."""
        stage = self.assignment.stage
        return isinstance(stage, Active) and stage.run is self.run


class Watchdog(RunObserver):
    """Watches all active runs of one supervisor."""

    active_only = True

    def __init__(
        self,
        assignments: Assignments,
        pool: WorkerPool,
        log: Log,
        clock: Callable[[], datetime],
        *,
        patience: Patience | None = None,
        sample: Callable[[Subject], Sample] = liveness_sample.sample,
    ) -> None:
        self._assignments = assignments
        self._pool = pool
        self._log = log
        self._now = clock
        self._patience = patience or PATIENCE
        self._sample = sample
        self._watched: dict[str, Watched] = {}
        #: Tasks whose run used more since it was compared with its limits.
        self._to_compare: set[str] = set()
        self._last: float | None = None
        #: By how much the clock that counts while the machine sleeps is ahead of the other.
        self._ahead = 0.0
        self._next_census = 0.0

    def begin_tick(self, tick: Tick) -> None:
        now = tick.now
        self._notice_absence(now, tick.awake)
        known, self._watched = self._watched, {}
        self._to_compare &= known.keys()
        for assignment in self._assignments:
            stage = assignment.stage
            if not isinstance(stage, Active) or stage.run.keeper is None:
                continue
            watched = known.get(assignment.task_id)
            if watched is None or watched.run is not stage.run:
                watched = Watched(assignment, stage.run, now, now, news=(-1, now))
            self._watched[assignment.task_id] = watched
        if now >= self._next_census:
            self._count(now)

    def tick(self, run: ActiveRun, tick: Tick) -> StopRun:
        watched = self._watched.get(run.task_id)
        return self._check(watched, tick.now, tick.awake) if watched is not None else None

    def events(self, run: ActiveRun, events: Sequence[Event]) -> StopRun:
        """Stop a run that floods or lacks what it needs: the next tick would be too late."""
        limits = run.policy.limits
        if missed := lacking(run):
            facts = RunFacts(silent=0.0, lacking=missed)
            return self._stop(run, stall_rules.stall_state(facts, limits, self._patience))
        if (printed := run.printed()) >= limits.output:
            return self._exceed(run, run_limits.exceeded(Used(output=printed), limits))
        return None

    # Absences of the supervisor itself.

    def _notice_absence(self, now: float, awake: float) -> None:
        """Start all silences anew if the machine slept, or the supervisor was halted or busy."""
        last, self._last = self._last, now
        ahead, self._ahead = self._ahead, awake - now
        if last is None:
            return
        slept, away = self._ahead - ahead, now - last
        if slept <= self._patience.sleep and away <= self._patience.away:
            return
        why = f"the machine slept for {slept:.0f} s" if slept > 1 else f"away for {away:.0f} s"
        self._log.say("watch_anew", f"{why}: all agents get their time anew")
        for watched in self._watched.values():
            watched.begins = now
            watched.news = (watched.news[0], now)
            self._restart_silence(watched, now)

    # Stalls.

    def _check(self, watched: Watched, now: float, awake: float) -> StopRun:
        run = watched.run
        places = run.stream.places
        is_over_time = watched.began is not None and now - watched.began >= run.policy.limits.time
        if places != watched.places:
            watched.places = places
            self._heard(watched, now)
            self._to_compare.add(run.task_id)
        if run.task_id in self._to_compare or is_over_time:
            self._to_compare.discard(run.task_id)
            if (stop := self._check_limits(watched, now)) is not None:
                return stop
        if now < watched.due or run.stream.behind:
            return None
        facts = self._facts(watched, now, awake)
        if facts.limit is not None:
            # An agent that waits for a limit has to be silent.
            watched.since, watched.news = now, (watched.news[0], now)
        stall = stall_rules.stall_state(facts, run.policy.limits, self._patience)
        left = stall_rules.quiet_for(facts, run.policy.limits, self._patience)
        watched.due = now + left if stall is FINE and facts.limit is None else now
        return self._react(watched, stall, now)

    def _heard(self, watched: Watched, now: float) -> None:
        """The run printed something: it is not silent. What is not new ends no look at it."""
        count = watched.run.tools.news.count
        is_new = count != watched.news[0]
        if is_new or watched.run.memory.stall.reaction != "look":
            self._restart_silence(watched, now)
        if is_new:
            watched.news = (count, now)
        watched.since, watched.due = now, 0.0

    def _restart_silence(self, watched: Watched, now: float) -> None:
        watched.since, watched.due = now, 0.0
        watched.sample = watched.look = None

    def _facts(self, watched: Watched, now: float, awake: float) -> RunFacts:
        run, look = watched.run, watched.look
        totals, tools = run.totals, run.tools
        begun = run.stream.heard > 0
        still = look is not None and not look.at_work
        words = "" if begun or not still else first_words(run)
        silent = now - watched.since
        stuck = still or tools.news.repeats >= REPEATS_ENDED
        return RunFacts(
            silent=silent,
            age=now - watched.begins,
            begun=begun,
            cause=startup_cause(words),
            words=last_said(run) if begun and stuck else words[-500:].strip(),
            lacking=lacking(run),
            open=tuple(with_wait(call, run) for call in tools.open.values()),
            asks=tools.asks,
            parked=parked_for(run, now, since=watched.begins),
            repeats=Repeats(
                errors=tools.repeated_errors,
                error=tools.repeated,
                same=tools.news.repeats,
                words=tools.news.repeated,
                stale=now - watched.news[1] if begun else 0.0,
            ),
            ended=totals.terminal is not None,
            limit=awaited(run, self._now()),
            look=look,
            command_lives=still and self._command_lives(watched, silent, awake),
        )

    def _command_lives(self, watched: Watched, silent: float, awake: float) -> bool:
        """A process below the agent began no earlier than what is open."""
        run = watched.run
        if watched.look is None or not watched.look.youngest:
            return False
        if run.adopted:
            return True  # when the calls began is not known any more
        opened = [call.since for call in run.tools.open.values() if call.since is not None]
        longest = max([silent, *((self._now() - at).total_seconds() for at in opened)])
        return watched.look.youngest >= awake - longest - _BEFORE_THE_CALL

    def _react(self, watched: Watched, stall: StallState, now: float) -> Outcome | None:
        run = watched.run
        before, run.memory.stall = run.memory.stall, stall
        waits = stall.rung == "waiting_limit"
        limit = awaited(run, self._now()) if waits else None
        run.memory.waits_until = limit.limit.resets_at if limit else None
        self._warn_of_missing(watched)
        if stall.reaction == "stop":
            return self._stop(run, stall)
        if stall.rung not in (before.rung, "fine") and stall.rung not in watched.warned:
            if stall.rung in _ONCE:
                watched.warned.add(stall.rung)
            run.stream.note(f"fleet_{stall.rung}", self._now(), why=stall.why)
            self._say(run, stall.rung, stall.why)
        if stall.reaction == "look":
            self._look(watched, now)
        return None

    def _warn_of_missing(self, watched: Watched) -> None:
        """Warn of a server that could not be reached and that the policy does not demand."""
        run = watched.run
        missing = ", ".join(run.totals.missing)
        if missing and "missing" not in watched.warned and not lacking(run):
            watched.warned.add("missing")
            run.stream.note("fleet_degraded", self._now(), missing=run.totals.missing)
            self._say(run, "degraded", f"goes on without {missing}")

    def _stop(self, run: ActiveRun, stall: StallState) -> Outcome:
        outcome = stall.outcome
        if outcome is None:  # the agent has ended its work: its own result counts
            code = 0 if run.totals.terminal == "success" else 1
            outcome = by_stream(run, code, None)
        kind = "fleet_stalled" if isinstance(outcome, Stalled) else f"fleet_{stall.rung}"
        silent = getattr(outcome, "silent_seconds", None)
        run.stream.note(kind, self._now(), rung=stall.rung, why=stall.why, silent_seconds=silent)
        self._say(run, stall.rung, f"stopping: {stall.why}")
        return outcome

    # The second look.

    def _look(self, watched: Watched, now: float) -> None:
        """Take a sample now, or once the last one is old enough to be compared with."""
        run = watched.run
        limits = run.policy.limits
        limit = limits.idle if run.stream.heard else limits.start
        window = min(self._patience.window, limit)
        early = watched.sample is not None and now - watched.sample.at < window
        if watched.sampling or early or run.keeper is None:
            return
        watched.sampling = True
        try:
            session_file = run.coder.transcript(run.totals.session_id, run.env)
        except Exception:  # noqa: BLE001 - a coder may be foreign code
            session_file = None
        subject = Subject(
            root=run.keeper.who.pid,
            cwd=run.spec.cwd,
            streams=(run.run.stdout, run.run.stderr),
            session_file=session_file if run.totals.session_id else None,
        )
        self._pool.submit(
            partial(self._sample, subject), partial(self._sampled, watched, watched.sample)
        )

    def _sampled(self, watched: Watched, before: Sample | None, sample: Sample) -> None:
        watched.sampling = False
        if watched.sample is not before:
            return  # the run printed something since
        if watched.sample is not None:
            watched.look = liveness_sample.compare(watched.sample, sample)
        watched.sample = sample

    # What each run has used.

    def _count(self, now: float) -> None:
        """Memory and processes of all runs, in one pass."""
        roots = {
            watched.run.keeper.who.pid: watched
            for watched in self._watched.values()
            if watched.run.keeper is not None
        }
        began = time.thread_time()
        found = process_usage.process_trees(roots) if roots else {}
        took = time.thread_time() - began
        self._next_census = now + max(self._patience.census, took / _CENSUS_SHARE)
        for root, tree in found.items():
            watched = roots[root]
            watched.memory = tree.memory
            watched.pids = tuple(process.pid for process in tree.processes)
            self._to_compare.add(watched.run.task_id)

    def _check_limits(self, watched: Watched, now: float) -> StopRun:
        """Warn of limits that are near, and end what has passed one."""
        run = watched.run
        if watched.began is None:
            watched.began = began_on_clock(run)
        used = Used(
            time=now - (watched.began if watched.began is not None else watched.begins),
            turns=run.totals.tokens.turns,
            tokens=run.totals.tokens.usage.total,
            cost=run.spend.usd,
            output=run.printed(),
            memory=watched.memory,
            processes=max(0, len(watched.pids) - 1),  # the keeper is fleet's
        )
        marks = run_limits.near(used, run.policy.limits)
        run.memory.near_limits = tuple(map(str, marks))
        for mark in marks:
            if mark.limit not in watched.warned:
                watched.warned.add(mark.limit)
                facts = {"limit": mark.limit, "percent": mark.percent}
                run.stream.note("fleet_limit_near", self._now(), **facts)
                text = str(mark) if mark.percent > 100 else f"near its limit: {mark}"
                self._say(run, "limit_near", text)
        if used.memory >= run.policy.limits.memory:
            self._measure(watched)
        passed = run_limits.exceeded(structs.replace(used, memory=0), run.policy.limits)
        return self._exceed(run, passed)

    def _measure(self, watched: Watched) -> None:
        """Count the memory of processes to the page: processes that share memory seem to hold more
        than they do.
        """
        if not watched.measuring:
            watched.measuring = True
            self._pool.submit(
                partial(process_usage.unshared_memory, watched.pids),
                partial(self._measured, watched),
            )

    def _measured(self, watched: Watched, measured: int | None) -> None:
        watched.measuring = False
        memory = watched.memory if measured is None else measured
        if watched.active:
            passed = run_limits.exceeded(Used(memory=memory), watched.run.policy.limits)
            if passed is not None:
                self._exceed(watched.run, passed)
                stop_assignment(watched.assignment, passed, now=passed.limit in AT_ONCE)

    def _exceed(self, run: ActiveRun, passed: LimitExceeded | None) -> StopRun:
        """How a run ends that has passed a limit; None: no limit was passed."""
        if passed is None:
            return None
        run.stream.note("fleet_limit", self._now(), limit=passed.limit, why=passed.detail)
        self._say(run, "limit", f"stopping at its limit ({passed.limit}): {passed.detail}")
        return AtOnce(passed) if passed.limit in AT_ONCE else passed

    def _say(self, run: ActiveRun, action: str, text: str) -> None:
        self._log.say(action, f"{run.task_id}: {text}", task_dir=run.run.task_dir)


def watchdog(state: SupervisorState) -> Watchdog:
    """The watchdog of a supervisor."""
    return Watchdog(state.assignments, state.pool, state.log, state.now)
