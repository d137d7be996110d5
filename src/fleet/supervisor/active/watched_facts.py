"""What the watchdog wants to know of a run, out of the run's own record and files."""

from datetime import datetime

from msgspec import structs

from fleet.coders.stream.tool_calls import ASK_HUMAN, OpenCall
from fleet.errors import InvalidTask
from fleet.files.safe_read import tail
from fleet.processes import process_identity
from fleet.runs.questions import asked_json
from fleet.schemas.shown_text import one_line
from fleet.supervisor.assignments import ActiveRun
from fleet.watchdog.stall_rules import AwaitedLimit, ParkedFor

#: Bytes of a CLI's first words that can tell why it does not begin.
_WORDS = 2000
#: Characters of a line of stderr that are shown.
_LINE = 300


def lacking(run: ActiveRun) -> tuple[str, ...]:
    """What the run needs and does not have."""
    offers = run.totals.offers
    if offers is None:
        return ()
    return tuple(need for need in run.policy.needs if need not in offers)


def with_wait(call: OpenCall, run: ActiveRun) -> OpenCall:
    """The open call with a time limit: a question to a person has the time that the run's policy
    gives.
    """
    wait = run.policy.ask_wait
    if call.name != ASK_HUMAN or wait is None:
        return call
    return structs.replace(call, timeout=wait)


def parked_for(run: ActiveRun, now: float, *, since: float) -> ParkedFor | None:
    """The question that the agent was told to end the turn for, and for how long the agent goes on,
    at most `since` that moment. None: the agent was not told, or has asked something else since.
    """
    if run.memory.parked_at is None:
        return None
    asked = asked_json.parked(run.run.task_dir, run.run.number)
    if asked is None:
        run.memory.parked_at = None
        return None
    return ParkedFor(asked.first_line, now - max(run.memory.parked_at, since))


def awaited(run: ActiveRun, now: datetime) -> AwaitedLimit | None:
    """The vendor's limit that the agent waits for unaided; of several the longest."""
    refused = run.totals.reason in ("rate_limit", "overloaded")
    waits = [
        AwaitedLimit(limit, (limit.resets_at - now).total_seconds())
        for limit in run.totals.limits.values()
        if limit.resets_at is not None
        and limit.resets_at > now
        and (limit.retry_after is not None or (refused and limit.status == "rejected"))
    ]
    return max(waits, key=lambda wait: wait.left, default=None)


def first_words(run: ActiveRun) -> str:
    """All that a CLI has printed that did not begin."""
    return f"{tail(run.run.stdout, _WORDS)}\n{tail(run.run.stderr, _WORDS)}"


def last_said(run: ActiveRun) -> str:
    """The last line of its stderr, for people: often the address of a login."""
    lines = run.mask.text(tail(run.run.stderr, _WORDS)).strip().splitlines()
    return one_line(lines[-1].strip())[-_LINE:] if lines else ""


def began_on_clock(run: ActiveRun) -> float | None:
    """When the agent began, on this boot's monotonic clock."""
    try:
        started = run.run.started()
    except InvalidTask:  # the agent destroyed the record
        return None
    if started is None or started.keeper.boot_id != process_identity.boot_id():
        return None
    return started.monotonic
