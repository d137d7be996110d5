"""Looks after living runs: asks the ladder how each stands and the limits what it used, and acts.

One cheap pass a tick over all of them: a run of which nothing is heard and nothing is due costs
two comparisons. What is dear (a second look, memory to the page) is done beside the loop.
"""

import time
from collections.abc import Callable
from datetime import datetime
from functools import partial

from msgspec import Struct, field, structs

from fleet.coders.stream import startup_failure
from fleet.errors import InvalidTask
from fleet.files.safe_read import tail
from fleet.home.journal import Log
from fleet.processes import process_identity, process_usage
from fleet.schemas import LimitExceeded, RateLimit, Stalled
from fleet.supervisor.active.active_run import Live
from fleet.supervisor.active.active_runs import Runs
from fleet.supervisor.finish.decide_outcome import by_stream
from fleet.supervisor.host.worker_pool import WorkerPool
from fleet.watchdog import liveness_sample, run_limits, stall_rules
from fleet.watchdog.liveness_sample import Sample, Subject
from fleet.watchdog.run_limits import AT_ONCE, Used
from fleet.watchdog.stall_rules import FINE, Look, Patience, Seen, Stand

#: As much of a CLI's first words as can tell why it does not begin.
_WORDS = 2000
#: A process that began so many seconds before a call was told of may be that call's.
_BEFORE_THE_CALL = 5.0
#: A census may take this share of a core, however many processes there are.
_CENSUS_SHARE = 0.002
#: Rungs that are told of once a run, not each time.
_ONCE = frozenset({"looping", "waiting_limit", "stream_lost"})


class Watched(Struct):
    """What the watchdog knows of a run beside what the run knows itself."""

    live: Live
    #: Its last sign of life, and where its ladder begins: its start, or a new beginning.
    since: float
    begins: float
    #: When the agent began, on the monotonic clock; None until its keeper told.
    began: float | None = None
    place: tuple[int, int] = (-1, -1)
    #: Nothing changes before this moment unless something is heard.
    due: float = 0.0
    told: set[str] = field(default_factory=set[str])
    before: Sample | None = None
    look: Look | None = None
    #: Somebody takes a sample of it, or weighs it, right now.
    looking: bool = False
    weighing: bool = False
    memory: int = 0
    processes: int = 0
    pids: tuple[int, ...] = ()


class Watchdog:
    """All living runs of one supervisor."""

    def __init__(
        self,
        runs: Runs,
        aside: WorkerPool,
        log: Log,
        clock: Callable[[], datetime],
        *,
        patience: Patience | None = None,
        sample: Callable[[Subject], Sample] = liveness_sample.sample,
    ) -> None:
        self._runs = runs
        self._aside = aside
        self._log = log
        self._now = clock
        self._patience = patience or Patience()
        self._sample = sample
        self._watched: dict[str, Watched] = {}
        self._last: float | None = None
        #: By how much the clock that counts while the machine sleeps is ahead of the other.
        self._ahead = 0.0
        self._next_census = 0.0

    def tick(self, now: float, awake: float) -> None:
        """Look at all runs. `awake` is `now` on a clock that counts while the machine sleeps."""
        self._notice_absence(now, awake)
        known, self._watched = self._watched, {}
        for live in self._runs:
            if live.over is not None or live.verdict is not None or live.keeper is None:
                continue
            watched = known.get(live.task_id)
            if watched is None or watched.live is not live:
                watched = Watched(live, now, now)
            self._watched[live.task_id] = watched
            self._attend(watched, now, awake)
        if now >= self._next_census:
            self._count(now)

    def heard(self, lives: list[Live]) -> None:
        """These have printed something: one that floods, or lacks what it needs, is not left to
        itself until the next tick.
        """
        for live in lives:
            if live.verdict is not None or live.over is not None:
                continue
            if lacking := _lacking(live):
                seen = Seen(silent=0.0, lacking=lacking)
                self._stop(live, stall_rules.stand(seen, live.policy.limits, self._patience))
            elif (printed := live.printed()) >= live.policy.limits.output:
                self._over(live, run_limits.exceeded(Used(output=printed), live.policy.limits))

    # Whoever watches may have been away himself.

    def _notice_absence(self, now: float, awake: float) -> None:
        """The machine slept, or we were stopped or busy: nobody pays for what we did not see."""
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
            self._hear(watched, now)

    # How each run stands.

    def _attend(self, watched: Watched, now: float, awake: float) -> None:
        live = watched.live
        place = live.places
        if place != watched.place:
            watched.place = place
            self._hear(watched, now)
            self._mind(watched, now)
        elif watched.began is not None and now - watched.began >= live.policy.limits.time:
            self._mind(watched, now)
        if now < watched.due or live.verdict is not None or live.behind:
            return
        seen = self._seen(watched, now, awake)
        if seen.limit is not None:
            watched.since = now  # it is silent since it has to be
        stand = stall_rules.stand(seen, live.policy.limits, self._patience)
        left = stall_rules.quiet_for(seen, live.policy.limits, self._patience)
        watched.due = now + left if stand is FINE and seen.limit is None else now
        self._react(watched, stand, now)

    def _hear(self, watched: Watched, now: float) -> None:
        watched.since, watched.due = now, 0.0
        watched.before = watched.look = None

    def _seen(self, watched: Watched, now: float, awake: float) -> Seen:
        live, look = watched.live, watched.look
        reading, trail = live.reading, live.trail
        begun = live.heard > 0
        still = look is not None and not look.moved
        words = "" if begun or not still else _first_words(live)
        limit = _awaited(live, self._now())
        silent = now - watched.since
        return Seen(
            silent=silent,
            age=now - watched.begins,
            begun=begun,
            cause=startup_failure.cause(words),
            words=words[-500:].strip(),
            lacking=_lacking(live),
            open=tuple(trail.open.values()),
            asks=trail.asks,
            repeats=trail.repeated_errors,
            repeated=trail.repeated,
            ended=reading.terminal is not None,
            limit=limit,
            limit_left=_seconds_to(limit, self._now()),
            look=look,
            command_lives=still and self._command_lives(watched, silent, awake),
        )

    def _command_lives(self, watched: Watched, silent: float, awake: float) -> bool:
        """A process below the agent began no earlier than what is open."""
        live = watched.live
        if watched.look is None or not watched.look.youngest:
            return False
        if live.adopted:
            return True  # when its calls began is not known any more
        opened = [call.since for call in live.trail.open.values() if call.since is not None]
        longest = max([silent, *((self._now() - at).total_seconds() for at in opened)])
        return watched.look.youngest >= awake - longest - _BEFORE_THE_CALL

    def _react(self, watched: Watched, stand: Stand, now: float) -> None:
        live = watched.live
        before, live.stand = live.stand, stand
        waits = stand.rung == "waiting_limit"
        limit = _awaited(live, self._now()) if waits else None
        live.until = limit.resets_at if limit else None
        self._warn_of_missing(watched)
        if stand.reaction == "stop":
            self._stop(live, stand)
            return
        if stand.rung not in (before.rung, "fine") and stand.rung not in watched.told:
            if stand.rung in _ONCE:
                watched.told.add(stand.rung)
            live.note(f"fleet_{stand.rung}", self._now(), why=stand.why)
            self._say(live, stand.rung, stand.why)
        if stand.reaction == "look":
            self._look(watched, now)

    def _warn_of_missing(self, watched: Watched) -> None:
        """A server that could not be reached and that nobody insists on is told of, and no more."""
        live = watched.live
        missing = ", ".join(live.reading.missing)
        if missing and "missing" not in watched.told and not _lacking(live):
            watched.told.add("missing")
            live.note("fleet_degraded", self._now(), missing=live.reading.missing)
            self._say(live, "degraded", f"goes on without {missing}")

    def _stop(self, live: Live, stand: Stand) -> None:
        outcome = stand.outcome
        if outcome is None:  # it had ended: its own word counts, and not that we had to help
            code = 0 if live.reading.terminal == "success" else 1
            outcome = by_stream(live, code, None)
        kind = "fleet_stalled" if isinstance(outcome, Stalled) else f"fleet_{stand.rung}"
        silent = getattr(outcome, "silent_seconds", None)
        live.note(kind, self._now(), rung=stand.rung, why=stand.why, silent_seconds=silent)
        self._say(live, stand.rung, f"stopping: {stand.why}")
        self._runs.stop(live, outcome)

    # The second look.

    def _look(self, watched: Watched, now: float) -> None:
        """Take a sample now, or once the last one is old enough to be compared with."""
        live = watched.live
        limit = live.policy.limits.idle if live.heard else live.policy.limits.start
        window = min(self._patience.window, limit)
        early = watched.before is not None and now - watched.before.at < window
        if watched.looking or early or live.keeper is None:
            return
        watched.looking = True
        try:
            transcript = live.coder.transcript(live.reading.session_id, live.env)
        except Exception:  # noqa: BLE001 - a coder may be anybody's code
            transcript = None
        subject = Subject(
            root=live.keeper.who.pid,
            cwd=live.cwd,
            streams=(live.run.stdout, live.run.stderr),
            transcript=transcript if live.reading.session_id else None,
        )
        self._aside.submit(
            partial(self._sample, subject), partial(self._sampled, watched, watched.since)
        )

    def _sampled(self, watched: Watched, since: float, sample: Sample) -> None:
        watched.looking = False
        if watched.since != since:
            return  # something was heard meanwhile
        if watched.before is not None:
            watched.look = liveness_sample.compare(watched.before, sample)
        watched.before = sample

    # What each run has used.

    def _count(self, now: float) -> None:
        """Memory and processes of all runs, in one pass."""
        roots = {
            watched.live.keeper.who.pid: watched
            for watched in self._watched.values()
            if watched.live.keeper is not None
        }
        began = time.thread_time()
        found = process_usage.process_trees(roots) if roots else {}
        took = time.thread_time() - began
        self._next_census = now + max(self._patience.census, took / _CENSUS_SHARE)
        for root, tree in found.items():
            watched = roots[root]
            watched.memory, watched.processes = tree.memory, tree.count
            watched.pids = tuple(process.pid for process in tree.processes)
            self._mind(watched, now)

    def _mind(self, watched: Watched, now: float) -> None:
        """Warn of limits that are near, and end what has passed one."""
        live = watched.live
        if live.verdict is not None:
            return
        if watched.began is None:
            watched.began = _began(live)
        used = Used(
            time=now - (watched.began if watched.began is not None else watched.begins),
            turns=live.reading.turns,
            tokens=live.reading.usage.total,
            cost=live.spend.usd,
            output=live.printed(),
            memory=watched.memory,
            processes=watched.processes,
        )
        marks = run_limits.near(used, live.policy.limits)
        live.near = tuple(map(str, marks))
        for mark in marks:
            if mark.limit not in watched.told:
                watched.told.add(mark.limit)
                live.note("fleet_limit_near", self._now(), limit=mark.limit, percent=mark.percent)
                self._say(
                    live,
                    "limit_near",
                    str(mark) if mark.percent > 100 else f"near its limit: {mark}",
                )
        if used.memory >= live.policy.limits.memory:
            self._weigh(watched)
        self._over(live, run_limits.exceeded(structs.replace(used, memory=0), live.policy.limits))

    def _weigh(self, watched: Watched) -> None:
        """Processes that share memory seem to hold more than they do: count it to the page."""
        if not watched.weighing:
            watched.weighing = True
            self._aside.submit(
                partial(process_usage.unshared_memory, watched.pids),
                partial(self._weighed, watched),
            )

    def _weighed(self, watched: Watched, held: int | None) -> None:
        watched.weighing = False
        live = watched.live
        memory = watched.memory if held is None else held
        if live.over is None and live.verdict is None:
            self._over(live, run_limits.exceeded(Used(memory=memory), live.policy.limits))

    def _over(self, live: Live, passed: LimitExceeded | None) -> None:
        if passed is None:
            return
        live.note("fleet_limit", self._now(), limit=passed.limit, why=passed.detail)
        self._say(live, "limit", f"stopping at its limit ({passed.limit}): {passed.detail}")
        self._runs.stop(live, passed, now=passed.limit in AT_ONCE)

    def _say(self, live: Live, action: str, text: str) -> None:
        self._log.say(action, f"{live.task_id}: {text}", task_dir=live.run.task_dir)


def _lacking(live: Live) -> tuple[str, ...]:
    offers = live.reading.offers
    if offers is None:
        return ()
    return tuple(need for need in live.policy.needs if need not in offers)


def _awaited(live: Live, now: datetime) -> RateLimit | None:
    """The vendor's limit that the agent waits for by itself."""
    refused = live.reading.reason in ("rate_limit", "overloaded")
    waits = [
        limit
        for limit in live.reading.limits.values()
        if limit.resets_at is not None
        and limit.resets_at > now
        and (limit.retry_after is not None or (refused and limit.status == "rejected"))
    ]
    return max(waits, key=lambda limit: _seconds_to(limit, now), default=None)


def _seconds_to(limit: RateLimit | None, now: datetime) -> float:
    if limit is None or limit.resets_at is None:
        return 0.0
    return (limit.resets_at - now).total_seconds()


def _first_words(live: Live) -> str:
    """All that a CLI has said that did not begin."""
    return f"{tail(live.run.stdout, _WORDS)}\n{tail(live.run.stderr, _WORDS)}"


def _began(live: Live) -> float | None:
    """When the agent began, on this boot's monotonic clock."""
    try:
        started = live.run.started()
    except InvalidTask:  # its agent destroyed the record; the keeper itself knows
        return None
    if started is None or started.keeper.boot_id != process_identity.boot_id():
        return None
    return started.monotonic
