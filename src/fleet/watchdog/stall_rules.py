"""The stall rules: on which rung a run stands, and what follows. Pure.

A run is not ended because it is slow. A run that may have stalled is looked at a second time, and
only a run of which nothing at all moves has stalled.
"""

from typing import Literal

from msgspec import Struct

from fleet.coders.stream.tool_calls import ASK_HUMAN, OpenCall
from fleet.schemas import (
    Failed,
    Limits,
    NeedsHuman,
    Outcome,
    RateLimit,
    RateLimited,
    Reason,
    Stalled,
)
from fleet.schemas.units import shown_span

LiveRung = Literal[
    "fine",
    "never_started",
    "degraded",
    #: The run has shown nothing for too long: take samples.
    "suspect",
    "silent",
    #: The stream is silent, and the CLI's own record grows.
    "stream_lost",
    "needs_input",
    #: The agent waits in `ask_human` for a person.
    "asking",
    "waiting_limit",
    #: A server or an agent below this one works on a call, and nothing new comes.
    "waiting_call",
    "looping",
    #: Output and calls go on, and nothing of that is new.
    "repeating",
    "finished_not_gone",
]
RungReaction = Literal[
    "none",
    #: Report it once, and let the run be.
    "report",
    #: Take a sample of the run, and another one later.
    "look",
    "stop",
]

#: The same call with the same error is reported at the first figure, early, as nothing is lost by
#: that. The run is ended at the second figure, late, since agents do poll: a server that is not up
#: yet fails in the same words.
LOOP_REPORTED, LOOP_ENDED = 3, 6
#: Results and sentences in a row that bring nothing new. Later still: a call that succeeds may wait
#: for something that takes its time.
REPEATS_REPORTED, REPEATS_ENDED = 20, 60
#: What moves of a run that only prints: no sign of work.
_PRINTING = frozenset({"output", "session file"})
#: A command whose own process lives may stand still for this many times the idle limit, as it
#: may wait for another machine: half an hour with the limits that fleet ships with.
COMMAND_FACTOR = 4.0


class Patience(Struct, frozen=True, kw_only=True):
    """Waiting times in seconds that are the same for every run."""

    #: A call that has a time limit of its own, beyond that.
    call: float = 120.0
    #: A call of an MCP server, which a CLI gives up on by itself after five minutes.
    mcp: float = 360.0
    #: From the last news to the word that a call of a server or of an agent below is waited for.
    told: float = 60.0
    #: For the answer to a question of the agent's.
    question: float = 60.0
    #: From the word that a question is parked to the end of the agent's turn.
    parked: float = 120.0
    #: From the agent's last message to the end of its process.
    exit: float = 15.0
    #: For a vendor's limit that the agent waits for itself; a run with a longer wait is ended.
    limit: float = 600.0
    #: Between two samples; never longer than the limit that led to them.
    window: float = 60.0
    #: Between two ticks; a longer time means that the supervisor itself was away.
    away: float = 10.0
    #: The machine slept if the clock that counts during sleep is ahead by more.
    sleep: float = 30.0
    #: Between two counts of memory and processes.
    census: float = 5.0


class SecondLook(Struct, frozen=True, kw_only=True):
    """What a second look found: two samples of a run, some time apart."""

    #: What moved, in words for people; empty if nothing did.
    moved: tuple[str, ...] = ()
    #: The CLI's own record grew.
    session_file: bool = False
    #: When the last process below the agent began, in seconds since boot; 0 if there is none.
    youngest: float = 0.0

    @property
    def at_work(self) -> tuple[str, ...]:
        """What moved but for output: a run may print without end and do nothing."""
        return tuple(what for what in self.moved if what not in _PRINTING)


class ParkedFor(Struct, frozen=True):
    """A question that was parked, and for how many seconds the agent goes on since."""

    question: str
    seconds: float


class AwaitedLimit(Struct, frozen=True):
    """A vendor's limit that the agent waits for, and for how many seconds more."""

    limit: RateLimit
    left: float


class Repeats(Struct, frozen=True, kw_only=True):
    """What a run does over and over."""

    #: How often in a row the same call ended with the same error, and the call.
    errors: int = 0
    error: str = ""
    #: How many results and sentences in a row brought nothing new, the last of them, and the
    #: seconds since anything new came.
    same: int = 0
    words: str = ""
    stale: float = 0.0


class RunFacts(Struct, frozen=True, kw_only=True):
    """What the stall rules look at."""

    #: Seconds since the last sign of life: an event, or any byte of its streams.
    silent: float
    #: Seconds since its start, or since the end of the supervisor's last absence.
    age: float = 0.0
    #: The agent printed something that the coder could read.
    begun: bool = True
    #: What keeps the agent from beginning.
    cause: Reason | None = None
    #: The CLI's first words if it has not begun; else the last line of its stderr.
    words: str = ""
    #: What the run needs and does not have.
    lacking: tuple[str, ...] = ()
    open: tuple[OpenCall, ...] = ()
    #: The tool that waits for a person.
    asks: str = ""
    #: The agent was told to end the turn; None: not told.
    parked: ParkedFor | None = None
    repeats: Repeats = Repeats()
    #: The agent has reported the end of its work.
    ended: bool = False
    #: The limit that the agent waits for; None: it waits for none.
    limit: AwaitedLimit | None = None
    #: The second look; None until there is one.
    look: SecondLook | None = None
    #: A process lives that began with what is open.
    command_lives: bool = False


class StallState(Struct, frozen=True, kw_only=True):
    """The rung on which a run stands, and what is to be done."""

    rung: LiveRung = "fine"
    reaction: RungReaction = "none"
    why: str = ""
    #: How a run has ended that is to be stopped; None: as its stream says.
    outcome: Outcome | None = None


FINE = StallState()


def stall_state(facts: RunFacts, limits: Limits, patience: Patience) -> StallState:
    """The rung of a run, by the first rule that applies."""
    repeats = facts.repeats
    if facts.lacking:
        return _stalled("degraded", facts, f"it has no {', '.join(facts.lacking)}")
    if facts.ended:
        return _ended(facts, patience)
    if facts.parked is not None and facts.parked.seconds >= patience.parked:
        return _overstayed(facts.parked)
    if not facts.begun:
        return _unbegun(facts, limits)
    if facts.asks and facts.silent >= patience.question:
        return _stalled("needs_input", facts, f"{facts.asks} waits for an answer")
    if facts.silent < _asking(facts.open, patience):
        return StallState(rung="asking", reaction="report", why="asks a person")
    if facts.repeats.errors >= LOOP_ENDED:
        return _stalled("looping", facts, facts.repeats.error)
    if facts.limit is not None and facts.limit.left > 0:
        return _waiting(facts.limit, patience)
    parks = facts.parked is not None  # it has its own time to end its turn
    if facts.repeats.same >= REPEATS_ENDED and not parks:
        return _stalled("repeating", facts, _same(facts))
    patient = silence_limit(facts.open, limits, patience)
    if facts.silent >= patient:
        return _silent(facts, limits)
    if facts.repeats.stale >= patient and not parks:
        return _repeating(facts, limits)
    if facts.repeats.errors >= LOOP_REPORTED:
        why = f"{repeats.errors} times the same call with the same error: {repeats.error}"
        return StallState(rung="looping", reaction="report", why=why)
    if facts.repeats.same >= REPEATS_REPORTED:
        return StallState(rung="repeating", reaction="report", why=_same(facts))
    if facts.repeats.stale >= patience.told and (call := _elsewhere(facts.open)) is not None:
        since = f" since {call.since.astimezone():%H:%M:%S}" if call.since else ""
        return StallState(
            rung="waiting_call", reaction="report", why=f"waits for {call.name}{since}"
        )
    return FINE


def _elsewhere(calls: tuple[OpenCall, ...]) -> OpenCall | None:
    """The first open call that another process or agent works on."""
    return next((call for call in calls if call.is_elsewhere), None)


def _same(facts: RunFacts) -> str:
    """What is repeated, for people."""
    words = f": {facts.repeats.words}" if facts.repeats.words else ""
    return f"{facts.repeats.same} times nothing new{words}"


def silence_limit(calls: tuple[OpenCall, ...], limits: Limits, patience: Patience) -> float:
    """Seconds without a sign of life before the run is suspected; open calls may need more."""
    longest = limits.idle
    for call in calls:
        if call.timeout is not None:
            longest = max(longest, call.timeout + patience.call)
        elif call.name.startswith("mcp__"):
            longest = max(longest, patience.mcp)
    return longest


def _asking(calls: tuple[OpenCall, ...], patience: Patience) -> float:
    """Seconds that an agent may wait in `ask_human`, which then returns; 0: no such wait."""
    waits = [call.timeout for call in calls if call.name == ASK_HUMAN and call.timeout is not None]
    return max(waits) + patience.call if waits else 0.0


def quiet_for(facts: RunFacts, limits: Limits, patience: Patience) -> float:
    """Seconds until time alone may change a run's rung, if the run prints nothing."""
    if facts.ended:
        return patience.exit - facts.silent
    left = patience.parked - facts.parked.seconds if facts.parked is not None else float("inf")
    if not facts.begun:
        return min(left, limits.start - facts.age)
    if facts.asks:
        return min(left, patience.question - facts.silent)
    patient = silence_limit(facts.open, limits, patience)
    if facts.repeats.stale < patience.told and _elsewhere(facts.open) is not None:
        left = min(left, patience.told - facts.repeats.stale)
    return min(left, patient - facts.silent, max(0.0, patient - facts.repeats.stale))


def _ended(facts: RunFacts, patience: Patience) -> StallState:
    if facts.silent < patience.exit:
        return FINE
    why = f"it said that it is done {shown_span(facts.silent)} ago, and has not left"
    return StallState(rung="finished_not_gone", reaction="stop", why=why)


def _overstayed(parked: ParkedFor) -> StallState:
    """The state of a run that goes on after parking: the slot was promised to others, and the
    answer resumes the session all the same.
    """
    why = f"its question was parked {shown_span(parked.seconds)} ago, and it goes on"
    outcome = NeedsHuman(question=parked.question)
    return StallState(rung="asking", reaction="stop", why=why, outcome=outcome)


def _unbegun(facts: RunFacts, limits: Limits) -> StallState:
    if facts.age < limits.start:
        return FINE
    if facts.look is None or facts.look.at_work:
        return _suspect(f"no sign of a beginning for {shown_span(facts.age)}")
    if facts.cause is None:
        return _stalled("never_started", facts, facts.words)
    outcome = Failed(reason=facts.cause, detail=facts.words)
    why = f"it did not begin ({facts.cause}): {facts.words}"
    return StallState(rung="never_started", reaction="stop", why=why, outcome=outcome)


def _waiting(waits: AwaitedLimit, patience: Patience) -> StallState:
    why = f"waits for a limit ({waits.limit.kind})"
    if waits.left > patience.limit:
        outcome = RateLimited(limit=waits.limit)
        return StallState(rung="waiting_limit", reaction="stop", why=why, outcome=outcome)
    return StallState(rung="waiting_limit", reaction="report", why=why)


def _silent(facts: RunFacts, limits: Limits) -> StallState:
    if facts.look is None:
        return _suspect(f"silent for {shown_span(facts.silent)}")
    if facts.look.session_file:
        why = "its stream is silent, and its own record of the session grows"
        return StallState(rung="stream_lost", reaction="look", why=why)
    if facts.look.moved:
        return _suspect(f"silent, and at work: {', '.join(facts.look.moved)}")
    commands = any(not call.name.startswith("mcp__") for call in facts.open)
    if commands and facts.command_lives and facts.silent < limits.idle * COMMAND_FACTOR:
        return _suspect("silent: its command lives and waits")
    return _stalled("silent", facts, _at_work(facts.open))


def _repeating(facts: RunFacts, limits: Limits) -> StallState:
    """The state of a run that goes on printing and tells nothing new."""
    for_long = f"nothing new for {shown_span(facts.repeats.stale)}"
    if facts.look is None:
        return StallState(rung="repeating", reaction="look", why=for_long)
    commands = any(not call.is_elsewhere for call in facts.open)
    patient = facts.repeats.stale < limits.idle * COMMAND_FACTOR
    at_work = ", ".join(facts.look.at_work)
    if not at_work and commands and facts.command_lives and patient:
        at_work = "its command lives and waits"
    if at_work and (commands or patient):
        return StallState(rung="repeating", reaction="look", why=f"{for_long}; at work: {at_work}")
    what = _same(facts) if facts.repeats.same else f"it only prints; {_at_work(facts.open)}"
    return _stalled("repeating", facts, what)


def _suspect(why: str) -> StallState:
    return StallState(rung="suspect", reaction="look", why=why)


def _at_work(calls: tuple[OpenCall, ...]) -> str:
    names = ", ".join(sorted({call.name for call in calls}))
    return f"{names} was open" if names else "it waited for its model"


def _stalled(
    rung: Literal["never_started", "degraded", "silent", "needs_input", "looping", "repeating"],
    facts: RunFacts,
    detail: str,
) -> StallState:
    seconds = facts.repeats.stale if rung == "repeating" else facts.silent
    if facts.begun and facts.words and facts.words not in detail:
        detail = f"{detail}; its stderr ends with: {facts.words}".removeprefix("; ")
    outcome = Stalled(rung=rung, silent_seconds=round(seconds, 1), detail=detail)
    return StallState(rung=rung, reaction="stop", why=detail or rung, outcome=outcome)
