"""From a run that is over to what becomes of its task: evidence first, then the decision."""

import os
from datetime import datetime, timedelta

from msgspec import structs

from fleet.coders.base import Coder
from fleet.config import Config
from fleet.errors import InvalidTask
from fleet.schemas import Failed, Lost, NeedsHuman, Outcome
from fleet.supervisor.artifacts import fingerprint
from fleet.supervisor.history import Ending, history
from fleet.supervisor.live import Damaged, Live, Over
from fleet.supervisor.process import Ended, NeverStarted, Vanished
from fleet.supervisor.settle import Facts, decide
from fleet.taskdir import said
from fleet.taskdir.plain import open_plain
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
        program_missing=program_missing(state),
        said=words,
        tool_calls=live.reading.tool_calls,
        shows_tools=live.coder.shows_tools,
        attempts=past.attempts,
        retry_limit=config.retry_limit,
        full_contexts=past.full_contexts,
        never_started=past.never_started,
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
            return _by_coder(live.coder, live, state)
        case Vanished():
            return Lost(why=live.trouble or "its keeper was killed")
        case NeverStarted():
            return Lost(why=live.trouble or "it never started")
        case Damaged(why=why):
            return Lost(why=why)


def _by_coder(coder: Coder, live: Live, state: Ended) -> Outcome:
    code, number = state.exit.code, state.exit.signal
    try:
        outcome = coder.outcome(live.reading, code, number, stderr=_tail(live.run))
    except Exception as error:  # noqa: BLE001 - a coder may be anybody's code
        outcome = Failed(reason="unknown", detail=f"{coder.name}: {type(error).__name__}: {error}")
    if live.trouble and isinstance(outcome, Failed):
        return structs.replace(outcome, detail=f"{outcome.detail} ({live.trouble})".strip())
    return outcome


def program_missing(state: Over) -> bool:
    """The coder's program is not there to be run."""
    return isinstance(state, Ended) and bool(state.exit.error and state.exit.error.is_program)


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


def _tail(run: Run) -> str:
    """The last words on stderr."""
    try:
        fd = open_plain(run.stderr)
    except InvalidTask:
        return ""
    if fd is None:
        return ""
    try:
        size = os.fstat(fd).st_size
        return os.pread(fd, _STDERR, max(0, size - _STDERR)).decode(errors="replace")
    finally:
        os.close(fd)
