"""The ladder: how a living run stands, and what is to be done about it. Pure.

A run is not ended because it is slow. What may be a stall is looked at a second time, and only
what stands still in every respect is one.
"""

from typing import Literal

from msgspec import Struct

from fleet.coders.stream.tool_calls import OpenCall
from fleet.schemas import Failed, Limits, Outcome, RateLimit, RateLimited, Reason, Stalled
from fleet.schemas.units import shown_span

Rung = Literal[
    "fine",
    "never_started",
    "degraded",
    #: It shows nothing for too long: look closer.
    "suspect",
    "silent",
    #: Its stream is silent, and its CLI's own record grows.
    "stream_lost",
    "needs_input",
    "waiting_limit",
    "looping",
    "finished_not_gone",
]
Reaction = Literal[
    "none",
    #: Say so, once, and let it be.
    "tell",
    #: Take a sample of it, and another one later.
    "look",
    "stop",
]

#: The same call with the same error so often is told of, and ended at the second figure. It is
#: told early as nothing is lost by that. It is ended late since agents do poll (a server that is
#: not up yet fails in the same words), and a task that was killed for it would be a false kill.
LOOP_TOLD, LOOP_ENDED = 3, 6
#: A command whose own process lives may stand still for so many times the idle limit: it may
#: wait for a machine elsewhere. With the limits that fleet ships with that is half an hour.
COMMAND_FACTOR = 4.0


class Patience(Struct, frozen=True, kw_only=True):
    """Seconds that things are waited for which are the same for every run."""

    #: A call that has a time limit of its own, beyond that.
    call: float = 120.0
    #: A call of an MCP server, which a CLI gives up on by itself after five minutes.
    mcp: float = 360.0
    #: A question that nobody answers.
    question: float = 60.0
    #: From the word that all is done to the end of the process.
    farewell: float = 15.0
    #: A limit of the vendor's that the agent waits for itself; a longer one it need not live for.
    limit: float = 600.0
    #: Between two samples; never longer than the limit that led to them.
    window: float = 60.0
    #: Two ticks further apart than this: whoever watches was away himself.
    away: float = 10.0
    #: The machine slept, if the clock that counts then is ahead by more.
    sleep: float = 30.0
    #: Between two counts of memory and processes.
    census: float = 5.0


class Look(Struct, frozen=True, kw_only=True):
    """What a second look found: two samples of a run, some time apart."""

    #: What moved, in words for people; empty if nothing did.
    moved: tuple[str, ...] = ()
    #: The CLI's own record grew.
    transcript: bool = False
    #: When the last process below the agent began, in seconds since boot; 0 if there is none.
    youngest: float = 0.0


class Seen(Struct, frozen=True, kw_only=True):
    """What is known of a run."""

    #: Seconds since the last sign of life: an event, or any byte of its streams.
    silent: float
    #: Seconds since its start, or since the ladder was begun anew.
    age: float = 0.0
    #: It said something that its coder could read.
    begun: bool = True
    #: What keeps it from beginning, by its own words.
    cause: Reason | None = None
    words: str = ""
    #: What it needs and does not have.
    lacking: tuple[str, ...] = ()
    open: tuple[OpenCall, ...] = ()
    #: The tool that waits for a person.
    asks: str = ""
    repeats: int = 0
    repeated: str = ""
    #: It said that its work is over.
    ended: bool = False
    #: The limit that it waits for, and for how many seconds more; None: it waits for none.
    limit: RateLimit | None = None
    limit_left: float = 0.0
    #: The second look; None until there is one.
    look: Look | None = None
    #: A process lives that began with what is open.
    command_lives: bool = False


class Stand(Struct, frozen=True, kw_only=True):
    """A run's place on the ladder."""

    rung: Rung = "fine"
    reaction: Reaction = "none"
    why: str = ""
    #: How the run has ended, if it is to be stopped. None and to be stopped: as its stream says.
    outcome: Outcome | None = None


FINE = Stand()


def stand(seen: Seen, limits: Limits, patience: Patience) -> Stand:
    """Where a run stands."""
    if seen.lacking:
        return _stalled("degraded", seen, f"it has no {', '.join(seen.lacking)}")
    if seen.ended:
        return _ended(seen, patience)
    if not seen.begun:
        return _unbegun(seen, limits)
    if seen.asks and seen.silent >= patience.question:
        return _stalled("needs_input", seen, f"{seen.asks} waits for somebody to answer")
    if seen.repeats >= LOOP_ENDED:
        return _stalled("looping", seen, seen.repeated)
    if seen.limit is not None and seen.limit_left > 0:
        return _waiting(seen, seen.limit, patience)
    if seen.silent >= silence_limit(seen.open, limits, patience):
        return _silent(seen, limits)
    if seen.repeats >= LOOP_TOLD:
        why = f"{seen.repeats} times the same call with the same error: {seen.repeated}"
        return Stand(rung="looping", reaction="tell", why=why)
    return FINE


def silence_limit(calls: tuple[OpenCall, ...], limits: Limits, patience: Patience) -> float:
    """Seconds without a sign of life before somebody looks closer. What is open may need more."""
    longest = limits.idle
    for call in calls:
        if call.timeout is not None:
            longest = max(longest, call.timeout + patience.call)
        elif call.name.startswith("mcp__"):
            longest = max(longest, patience.mcp)
    return longest


def quiet_for(seen: Seen, limits: Limits, patience: Patience) -> float:
    """Seconds until time alone may change a run's stand, if nothing is heard of it."""
    if seen.ended:
        return patience.farewell - seen.silent
    if not seen.begun:
        return limits.start - seen.age
    if seen.asks:
        return patience.question - seen.silent
    return silence_limit(seen.open, limits, patience) - seen.silent


def _ended(seen: Seen, patience: Patience) -> Stand:
    if seen.silent < patience.farewell:
        return FINE
    why = f"it said that it is done {shown_span(seen.silent)} ago, and has not left"
    return Stand(rung="finished_not_gone", reaction="stop", why=why)


def _unbegun(seen: Seen, limits: Limits) -> Stand:
    if seen.age < limits.start:
        return FINE
    if seen.look is None or seen.look.moved:
        return _suspect(f"no sign of a beginning for {shown_span(seen.age)}")
    if seen.cause is None:
        return _stalled("never_started", seen, seen.words)
    outcome = Failed(reason=seen.cause, detail=seen.words)
    why = f"it did not begin ({seen.cause}): {seen.words}"
    return Stand(rung="never_started", reaction="stop", why=why, outcome=outcome)


def _waiting(seen: Seen, limit: RateLimit, patience: Patience) -> Stand:
    why = f"waits for a limit ({limit.kind})"
    if seen.limit_left > patience.limit:
        return Stand(
            rung="waiting_limit", reaction="stop", why=why, outcome=RateLimited(limit=limit)
        )
    return Stand(rung="waiting_limit", reaction="tell", why=why)


def _silent(seen: Seen, limits: Limits) -> Stand:
    if seen.look is None:
        return _suspect(f"silent for {shown_span(seen.silent)}")
    if seen.look.transcript:
        why = "its stream is silent, and its own record of the session grows"
        return Stand(rung="stream_lost", reaction="look", why=why)
    if seen.look.moved:
        return _suspect(f"silent, and at work: {', '.join(seen.look.moved)}")
    commands = any(not call.name.startswith("mcp__") for call in seen.open)
    if commands and seen.command_lives and seen.silent < limits.idle * COMMAND_FACTOR:
        return _suspect("silent: its command lives and waits")
    return _stalled("silent", seen, _at_work(seen.open))


def _suspect(why: str) -> Stand:
    return Stand(rung="suspect", reaction="look", why=why)


def _at_work(calls: tuple[OpenCall, ...]) -> str:
    names = ", ".join(sorted({call.name for call in calls}))
    return f"{names} was open" if names else "it waited for its model"


def _stalled(
    rung: Literal["never_started", "degraded", "silent", "needs_input", "looping"],
    seen: Seen,
    detail: str,
) -> Stand:
    outcome = Stalled(rung=rung, silent_seconds=round(seen.silent, 1), detail=detail)
    return Stand(rung=rung, reaction="stop", why=detail or rung, outcome=outcome)
