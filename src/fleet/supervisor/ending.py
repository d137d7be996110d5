"""From a run that is over to what becomes of its task: evidence first, then the decision."""

from datetime import datetime, timedelta

from fleet.config import Config
from fleet.schemas import Lost, Outcome
from fleet.supervisor.history import Ending, history, read_ending, write_ending
from fleet.supervisor.live import Live, fingerprint
from fleet.supervisor.process import Ended, NeverStarted, State, Vanished
from fleet.supervisor.settle import Facts, decide
from fleet.taskdir import said
from fleet.taskdir.follow import Follower

#: How much of stderr may tell why a CLI ended.
_STDERR = 1 << 16


def end_of(live: Live, state: State, config: Config, now: datetime, jitter: float) -> Ending:
    """Decide once how the run ended and what follows, and write it down."""
    known = read_ending(live.run)
    if known is not None:
        return known  # an earlier supervisor decided, and died before the queue knew
    live.finish(now)
    outcome = live.verdict or _outcome(live, state)
    past = history(live.run.task_dir, before=live.run.number)
    progress = fingerprint(live.run.task_dir / "artifacts") != live.artifacts
    facts = Facts(
        run=live.run.number,
        started=not isinstance(state, NeverStarted),
        spawn_error=_spawn_error(state),
        said=said.read(live.run.path),
        tool_calls=live.reading.tool_calls,
        attempts=past.attempts,
        retry_limit=config.retry_limit,
        full_contexts=past.full_contexts,
        progress=progress,
        jitter=jitter,
        wait=timedelta(seconds=config.retry_wait_s),
    )
    decision = decide(outcome, facts, now)
    ending = Ending(
        outcome=outcome,
        settlement=decision.settlement,
        counts=decision.counts,
        why=decision.why,
        progress=progress,
        at=now,
        tokens=live.reading.usage.total,
        cost_usd=live.reading.cost_usd,
        tool_calls=live.reading.tool_calls,
        session_id=live.reading.session_id,
    )
    write_ending(live.run, ending)
    return ending


def _outcome(live: Live, state: State) -> Outcome:
    match state:
        case Ended(exit=exit_record):
            stderr = _stderr(live)
            return live.coder.outcome(
                live.reading, exit_record.code, exit_record.signal, stderr=stderr
            )
        case Vanished():
            return Lost(why="its keeper was killed")
        case NeverStarted():
            return Lost(why="it never started")
        case _:
            return Lost(why="nothing is known of it")


def _spawn_error(state: State) -> str:
    if isinstance(state, Ended) and state.exit.error is not None:
        return state.exit.error.message
    return ""


def _stderr(live: Live) -> str:
    text = b"\n".join(line.data for line in Follower(live.run.stderr).finish())
    return text[-_STDERR:].decode(errors="replace")
