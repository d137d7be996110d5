"""From a run that is over to what becomes of its task: evidence first, then the decision."""

from datetime import datetime, timedelta

from msgspec import structs

from fleet.config import Config
from fleet.errors import InvalidTask
from fleet.schemas import Failed, LimitExceeded, Lost, NeedsHuman, Outcome
from fleet.schemas.units import shown_span
from fleet.supervisor.artifacts import fingerprint
from fleet.supervisor.history import Ending, history
from fleet.supervisor.live import Damaged, Live, Over
from fleet.supervisor.process import Ended, NeverStarted, Vanished
from fleet.supervisor.settle import Facts, decide
from fleet.taskdir import said
from fleet.taskdir.plain import tail
from fleet.taskdir.rundir import Run

#: How much of stderr may tell why a CLI ended.
_STDERR = 1 << 16


def end_of(live: Live, state: Over, config: Config, now: datetime, jitter: float) -> Ending:
    """Decide how the run ended and what follows. Whoever asks writes it down."""
    live.finish(now)
    words = said.read(live.run.path)
    outcome = _outcome(live, state, words)
    started = not isinstance(state, NeverStarted)
    past = history(live.run.task_dir, before=live.run.number)
    progress = started and fingerprint(live.run.task_dir / "artifacts") != live.artifacts
    facts = Facts(
        run=live.run.number,
        started=started,
        spawn_error=_spawn_error(live.run, state),
        said=words,
        tool_calls=live.reading.tool_calls,
        shows_tools=live.coder.shows_tools,
        attempts=past.attempts,
        retry_limit=config.retry_limit,
        full_contexts=past.full_contexts,
        never_started=past.never_started,
        resumed=live.resumed,
        progress=progress,
        jitter=jitter,
        wait=timedelta(seconds=config.retry_wait_s),
    )
    decision = decide(outcome, facts, now)
    after = past.after(outcome, decision, started=started, progress=progress)
    return Ending(
        outcome=outcome,
        settlement=decision.settlement,
        counts=decision.counts,
        why=decision.why,
        progress=progress,
        at=now,
        fence=live.lease.fence,
        attempts=after.attempts,
        full_contexts=after.full_contexts,
        never_started=after.never_started,
        tokens=live.reading.usage.total,
        cost_usd=live.reading.cost_usd,
        tool_calls=live.reading.tool_calls,
        session_id=live.reading.session_id,
        coder=live.coder.name,
        resumed=live.resumed,
        session_usage=live.reading.session_usage,
        cut_off=live.cut_off or live.trail.at_work,
    )


def _outcome(live: Live, state: Over, words: said.Said) -> Outcome:
    """Fleet's own verdict, unless the agent had ended before it was told to."""
    ended_by_itself = isinstance(state, Ended) and state.exit.stop is None
    if live.verdict is not None and not ended_by_itself:
        return live.verdict
    if words.blocked is not None and not isinstance(state, NeverStarted):
        return NeedsHuman(question=words.blocked)
    match state:
        case Ended():
            if state.exit.stop == "timeout":
                lasted = shown_span(state.exit.seconds)
                return LimitExceeded(limit="time", detail=f"it ran for {lasted}")
            return by_stream(live, state.exit.code, state.exit.signal)
        case Vanished():
            return Lost(why=live.trouble or "its keeper was killed")
        case NeverStarted():
            return Lost(why=live.trouble or "it never started")
        case Damaged(why=why):
            return Lost(why=why)


def by_stream(live: Live, code: int | None, number: int | None) -> Outcome:
    """How a run ended, by what its coder makes of its stream and of its process's end."""
    coder = live.coder
    try:
        outcome = coder.outcome(live.reading, code, number, stderr=tail(live.run.stderr, _STDERR))
    except Exception as error:  # noqa: BLE001 - a coder may be anybody's code
        outcome = Failed(reason="unknown", detail=f"{coder.name}: {type(error).__name__}: {error}")
    if live.trouble and isinstance(outcome, Failed):
        return structs.replace(outcome, detail=f"{outcome.detail} ({live.trouble})".strip())
    return outcome


def _spawn_error(run: Run, state: Over) -> str:
    if not isinstance(state, Ended) or state.exit.error is None:
        return ""
    error = state.exit.error
    try:
        spec = run.spec()
        place = {"exec": spec.argv[0], "cwd": spec.cwd}.get(error.stage, error.stage)
    except InvalidTask:
        place = error.stage
    return f"{place}: {error.message}"
