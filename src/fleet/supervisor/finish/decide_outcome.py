"""From a run that is over to what becomes of its task: evidence first, then the decision."""

from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from fleet.coders.stream.run_totals import sane_limit
from fleet.config import Config
from fleet.errors import InvalidTask
from fleet.evidence.claim_rules import findings
from fleet.evidence.inspect_run import InspectedRun, Inspection
from fleet.files.safe_read import tail
from fleet.processes.keeper_client import Ended, NeverStarted, Vanished
from fleet.runs import agent_claim
from fleet.runs.artifacts_digest import fingerprint
from fleet.runs.outcome_history import Ending, attempts_before, history, spent_before
from fleet.runs.run_directory import Run
from fleet.schemas import (
    Base,
    Failed,
    Finished,
    LimitExceeded,
    Lost,
    NeedsHuman,
    Outcome,
    RateLimited,
    Receipt,
    Verdict,
)
from fleet.schemas.units import shown_span
from fleet.settlement.settle_table import Facts, decide
from fleet.supervisor.active.active_run import Damaged, Live, Over
from fleet.supervisor.finish.build_receipt import receipt_of, seen_of

#: How much of stderr may tell why a CLI ended.
_STDERR = 1 << 16


class End(Struct, frozen=True):
    """What is written down of a run that is over."""

    ending: Ending
    receipt: Receipt


def case_of(live: Live, state: Over) -> InspectedRun:
    """What has to be looked at before the run can be judged. All that it printed must be read."""
    words = _words(live)
    outcome = outcome_of(live, state, words)
    try:
        spec = live.run.spec()
        cwd, base = spec.cwd, spec.base
    except InvalidTask:
        cwd, base = str(live.lease.task.cwd), None
    if isinstance(state, NeverStarted):
        base = None  # it has done nothing
    claimed = isinstance(outcome, Finished) and words.done is not None
    return InspectedRun(
        run=live.run,
        cwd=cwd,
        policy=live.policy,
        base=base,
        first=_first_base(live.run) if live.policy.pins else None,
        claimed=claimed,
    )


def _first_base(run: Run) -> Base | None:
    """The repository as the first run of the series found it; what later ones find is its work."""
    found = None
    for before in attempts_before(run):
        try:
            base = before.spec().base
        except InvalidTask:
            break
        if base is None or not base.snapshot:
            break
        found = base
    return found


def end_of(
    live: Live,
    state: Over,
    config: Config,
    found: Inspection,
    now: datetime,
    jitter: float,
    *,
    elsewhere: bool = False,
) -> End:
    """Decide how the run ended and what follows. Whoever asks writes it down."""
    words = _words(live)
    outcome = outcome_of(live, state, words, abandoned=found.abandoned)
    started = not isinstance(state, NeverStarted)
    past = history(live.run.task_dir, before=live.run.number)
    progress = started and fingerprint(live.run.task_dir / "artifacts") != live.artifacts
    receipt = receipt_of(live, state, outcome, words, found)
    verdict = _judged(live, state, receipt, found)
    judged = verdict or Verdict()
    facts = Facts(
        task_id=live.task_id,
        run=live.run.number,
        started=started,
        spawn_error=_spawn_error(live.run, state),
        program_missing=program_missing(state),
        said=words,
        verdict=judged,
        unverifiable=found.trouble,
        attempts=past.attempts,
        retry_limit=config.retry_limit,
        full_contexts=past.full_contexts,
        never_started=past.never_started,
        resumed=live.resumed,
        progress=progress,
        elsewhere=elsewhere,
        jitter=jitter,
        wait=timedelta(seconds=config.retry_wait_s),
    )
    decision = decide(outcome, facts, now)
    after = past.after(outcome, decision, started=started, progress=progress)
    ending = Ending(
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
        estimated_usd=live.estimated_usd,
        spent=spent_before(live.run.task_dir, before=live.run.number) + receipt.spend,
        tool_calls=live.reading.tools.count,
        session_id=live.reading.session_id,
        broke=tuple(finding.rule for finding in (*judged.findings, *judged.trespasses)),
        coder=live.coder.name,
        account=live.account,
        resumed=live.resumed,
        session_usage=live.reading.session_usage,
        cut_off=live.cut_off or live.trail.at_work,
    )
    return End(ending, structs.replace(receipt, verdict=verdict, why=decision.why))


def _words(live: Live) -> agent_claim.Said:
    """What the agent said of its task, if it was this run's agent."""
    try:
        return agent_claim.read(live.run.path, by=live.run.spec().id)
    except InvalidTask:
        return agent_claim.Said()


def _judged(live: Live, state: Over, receipt: Receipt, found: Inspection) -> Verdict | None:
    """What fleet makes of it. Without a claim there is nothing to believe, only where it went;
    None: nothing was judged at all.
    """
    claimed = receipt.outcome == Finished.__name__ and receipt.claim is not None
    if not claimed or found.abandoned or found.trouble:
        return Verdict(trespasses=found.trespasses) if found.trespasses else None
    cwd = Path(case_of(live, state).cwd)
    return Verdict(findings=findings(seen_of(live, receipt, cwd)), trespasses=found.trespasses)


def outcome_of(
    live: Live, state: Over, words: agent_claim.Said, *, abandoned: bool = False
) -> Outcome:
    """Fleet's own verdict, unless the agent had ended before it was told to."""
    ended_by_itself = isinstance(state, Ended) and state.exit.stop is None and not abandoned
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
        told = coder.outcome(live.reading, code, number, stderr=tail(live.run.stderr, _STDERR))
        outcome = _sane(told)
    except Exception as error:  # noqa: BLE001 - a coder may be anybody's code
        outcome = Failed(reason="unknown", detail=f"{coder.name}: {type(error).__name__}: {error}")
    if live.trouble and isinstance(outcome, Failed):
        return structs.replace(outcome, detail=f"{outcome.detail} ({live.trouble})".strip())
    return outcome


def _sane(told: object) -> Outcome:
    """An outcome that can be judged, and read again once it is written. Raises if it is none."""
    outcome = msgspec.convert(msgspec.to_builtins(told), Outcome)
    if isinstance(outcome, RateLimited):
        return structs.replace(outcome, limit=sane_limit(outcome.limit) or outcome.limit)
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
