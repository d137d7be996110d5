"""The end of a run, the same for the supervisor and for `fleet stop` without one.

How a run ended follows from fleet's own reason, the keeper's record, or what its stream says.

What is decided is written in a fixed order: the entry in the day's ledger, the receipt, the
outcome. So a process that finds an outcome finds the evidence for it, and one that finds none ends
the run again, which changes nothing that was written before.
"""

from datetime import datetime, timedelta
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from fleet.coders.stream.run_totals import sane_limit
from fleet.config import Config
from fleet.errors import InvalidTask
from fleet.evidence.claim_rules import findings, only_reports
from fleet.evidence.destroyed import why_destroyed_asks
from fleet.evidence.exam_rules import why_exam_asks
from fleet.evidence.inspect_run import Inspection
from fleet.evidence.verify_place import InspectedRun
from fleet.files import seals
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import tail
from fleet.home import landing_json
from fleet.home.context_windows import note_window
from fleet.home.landing_json import Landing
from fleet.processes.keeper_client import Ended, NeverStarted, Vanished
from fleet.runs import event_log, outcome_history, receipt_json
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.artifacts_digest import fingerprint
from fleet.runs.outcome_history import (
    Ending,
    History,
    attempts_before,
    history,
    spent_before,
    write_ending,
)
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import NOWHERE, Run, RunSpec
from fleet.schemas import (
    Base,
    Blocked,
    Failed,
    Finished,
    LimitExceeded,
    Lost,
    NeedsHuman,
    Outcome,
    RateLimited,
    Receipt,
    Stalled,
    Stopped,
    Verdict,
    typed,
)
from fleet.schemas.decision import LEASE_LOST, NO_ROOM, Decision
from fleet.schemas.outcome import leaves_claim
from fleet.schemas.shown_text import counted
from fleet.schemas.units import shown_span
from fleet.settlement.build_receipt import build_receipt, seen_of
from fleet.settlement.run_record import ExitedRun, RunRecord
from fleet.settlement.sent_back import land_tries, refused_landing
from fleet.settlement.settle_table import (
    Facts,
    SpawnFailure,
    close_reason,
    decide,
    refused_by,
    unproved,
)
from fleet.settlement.tampering import seal_inspection, tampering

#: How much of stderr may tell why a CLI ended.
_STDERR = 1 << 16
#: How many refused calls an agent is told of.
_MOST_DENIED = 20


def due_inspection(ended: ExitedRun, outcome: Outcome) -> InspectedRun | Inspection:
    """What has to be inspected before the run can be judged; or all that there is to find. Of a run
    whose records were changed nothing is executed: a person looks at it. Raises OSError.
    """
    record = ended.record
    if forged := tampering(record):
        return Inspection(trespasses=forged)
    due = InspectedRun(
        run=record.run,
        cwd=record.spec.cwd or record.project,
        task_cwd=record.spec.project or record.project,
        policy=record.policy,
        base=record.spec.base if ended.started else None,
        first=_first_base(record.run) if record.policy.pins or record.policy.verify else None,
        edited=record.tools.edits.paths,
        commands=tuple(command.text for command in record.tools.commands),
        claimed=ended.claim.done is not None and _is_judged(ended, outcome),
    )
    if due.is_short:
        return Inspection()
    if due.policy.verify:
        seal_inspection(record)
    return due


def _is_judged(ended: ExitedRun, outcome: Outcome) -> bool:
    """Whether a claim that the run made before this end is held against the evidence.

    Without a verify command not if a tool was cut off in its work: the agent had gone on after its
    claim, and what it left is not what it spoke of.
    """
    if isinstance(outcome, Finished):
        return True
    at_work = any(not only_reports(call.partition(": ")[2]) for call in ended.open_calls)
    provable = bool(ended.record.policy.verify)
    return leaves_claim(outcome, provable=provable) and (provable or not at_work)


def _first_base(run: Run) -> Base | None:
    """The repository that the first run of the series found; later runs find that run's work.

    The answer to a question says nothing about the files that the run had changed by then.
    """
    first = None
    for before in attempts_before(run, with_questions=True):
        spec = _believed_spec(before)
        if spec is None or spec.base is None or not spec.base.snapshot:
            break
        first = spec.base
    return first


def _believed_spec(run: Run) -> RunSpec | None:
    """What an earlier run was started with, if fleet wrote the record."""
    try:
        return None if run.spec_doubt() else run.known_spec()
    except InvalidTask:
        return None


def outcome_of(ended: ExitedRun) -> Outcome:
    """Fleet's own reason, unless the agent had ended before the stop."""
    record, question = ended.record, _question(ended)
    if ended.stop_reason is not None and not ended.ended_by_itself:
        waited = isinstance(ended.stop_reason, Stalled) and _lacked_room(ended)
        return Stopped(by=NO_ROOM) if waited else ended.stop_reason
    if question is not None and ended.started:
        return NeedsHuman(question=question)
    match ended.process_end:
        case Ended() if _lacked_room(ended):
            return Stopped(by=NO_ROOM)
        case Ended(exit=exit_record):
            if exit_record.stop == "timeout":
                lasted = shown_span(exit_record.seconds)
                return LimitExceeded(limit="time", detail=f"it ran for {lasted}")
            if exit_record.stop == "lease":
                return Stopped(by=LEASE_LOST)
            return by_stream(record, exit_record.code, exit_record.signal)
        case Vanished(why=why):
            return Lost(why=why or record.trouble or "its keeper was killed")
        case NeverStarted():
            return Lost(why=record.trouble or "it never started")


def _question(ended: ExitedRun) -> str | None:
    """The question that the run ended with, if any. A claim to be done takes back
    no question that the run has asked a person and had no answer to.
    """
    run, claim = ended.record.run, ended.claim
    if claim.done is not None and (asked := asked_json.unheard(run.task_dir, run.number)):
        return asked.first_line
    return claim.blocked


def _lacked_room(ended: ExitedRun) -> bool:
    """Output of the agent could not be written: the stream does not tell how the run ended."""
    return isinstance(ended.process_end, Ended) and bool(ended.process_end.exit.short)


def by_stream(record: RunRecord, code: int | None, number: int | None) -> Outcome:
    """How a run ended, by what the coder makes of stream and exit."""
    coder = record.coder
    try:
        stderr = record.mask.text(tail(record.run.stderr, _STDERR))
        outcome = _sane(coder.outcome(record.totals, code, number, stderr=stderr))
    except Exception as error:  # noqa: BLE001 - a coder may be foreign code
        outcome = Failed(reason="unknown", detail=f"{coder.name}: {type(error).__name__}: {error}")
    if isinstance(outcome, Finished) and record.tools.denied:
        return structs.replace(outcome, denied=tuple(record.tools.denied.values()))
    if record.trouble and isinstance(outcome, Failed):
        return structs.replace(outcome, detail=f"{outcome.detail} ({record.trouble})".strip())
    return outcome


def _sane(given: object) -> Outcome:
    """The outcome, if it can be judged, and read again once written. Raises if it cannot."""
    outcome = typed.convert(msgspec.to_builtins(given), Outcome)
    if isinstance(outcome, RateLimited):
        return structs.replace(outcome, limit=sane_limit(outcome.limit) or outcome.limit)
    return outcome


class RunEnd(Struct, frozen=True):
    """What is written down of a run that is over."""

    ending: Ending
    receipt: Receipt
    #: The coder's program was not there to be run.
    program_missing: bool = False
    #: Of a run whose claim holds, where work lands before its task is closed.
    landing: Landing | None = None

    def write(self, record: RunRecord) -> None:
        """Write the receipt first: where there is an outcome, there is the evidence."""
        record.hide_kept_secrets()
        run = record.run
        receipt, outcome = JsonRecord.encode(self.receipt), JsonRecord.encode(self.ending)
        sealed = {receipt_json.FILE: receipt, outcome_history.FILE: outcome}
        seals.seal(run.task_dir, run.number, sealed)  # both at once
        receipt_json.write(run, self.receipt, sealed=receipt)
        if self.landing is not None:
            landing_json.write(run.home, record.task_id, self.landing)
        if window := record.totals.tokens.context_window:
            note_window(run.home, record.coder.name, record.spec.model, window, self.ending.at)
        write_ending(run, self.ending, sealed=outcome)


def end_of(
    ended: ExitedRun,
    outcome: Outcome,
    found: Inspection,
    config: Config,
    now: datetime,
    *,
    fence: int,
    jitter: float,
    elsewhere: bool = False,
    attempts: int | None = None,
    short: str = "",
    own_outages: int = 0,
) -> RunEnd:
    """Decide what becomes of the task of a run that ended so. Writes nothing.

    A run whose inspection was stopped is not judged by its own ending: the stop is how it ended.
    `elsewhere`: the task may go on with another account, model or coder. `jitter`, between 0 and 1,
    spreads retries. `attempts` is how many failed before on all hosts; None: there is one host.
    `short` is what the machine is short of, `own_outages` how often the vendor's service failed for
    this task alone.
    """
    if found.abandoned:
        outcome = ended.stop_reason or outcome
    record, claim = ended.record, ended.claim
    run, totals, started = record.run, record.totals, ended.started
    past = history(run.task_dir, before=run.number)
    if attempts is not None:
        past = structs.replace(past, attempts=attempts)
    progress = started and fingerprint(run.task_dir / "artifacts") != record.spec.artifacts
    receipt = build_receipt(ended, outcome, found)
    asks = why_destroyed_asks(receipt.destroyed)
    verdict = _judged(ended, outcome, receipt, found, config.plan_limit)
    judged = verdict or Verdict()
    resumed = bool(record.spec.resumes)
    before = landing_json.believed(run.home, record.task_id)
    facts = Facts(
        task_id=record.task_id,
        run=run.number,
        started=started,
        spawn_failure=_spawn_failure(ended) or _lost_directory(ended, outcome),
        claim=claim,
        verdict=verdict,
        require="approval" if record.policy.expect == "plan" else record.policy.require,
        unverifiable=found.trouble,
        damage=found.damage,
        asks=asks,
        short=short,
        diffstat=_diffstat(found),
        lands_on=found.landing.into if found.landing is not None else None,
        land_tries=land_tries(before, run.number, record.policy.land.tries),
        past=past,
        retry_limit=config.retry_limit,
        answered=is_answered(run),
        resumed=resumed,
        progress=progress,
        own_outages=own_outages,
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
        fence=fence,
        attempts=after.attempts,
        full_contexts=after.full_contexts,
        never_started=after.never_started,
        tokens=totals.tokens.usage.total,
        cost_usd=totals.tokens.cost_usd,
        estimated_usd=record.estimated_usd,
        spent=spent_before(run.task_dir, before=run.number) + receipt.spend,
        tool_calls=totals.tools.count,
        session_id=totals.session_id,
        broke=tuple(finding.rule for finding in (*judged.findings, *judged.trespasses)),
        coder=record.coder.name,
        account=record.account,
        resumed=resumed,
        session_usage=totals.tokens.session_usage,
        cut_off=ended.open_calls,
        denied=_denied_so_far(past, receipt),
    )
    landing = None
    if _is_to_land(decision):
        if not judged.checked and record.policy.require != "any":
            asks = (unproved(facts.diffstat), *asks)
        landing = _landing(record, claim, found, judged, before, now, asks=asks)
    elif before is not None and (broken := refused_by(outcome, facts)):
        landing = refused_landing(before, decision, broken, run=run.number, now=now)
    return RunEnd(
        ending,
        structs.replace(receipt, verdict=verdict, why=decision.why),
        program_missing=ended.program_missing,
        landing=landing,
    )


def _diffstat(found: Inspection) -> str:
    """What the work of all runs changes, in a few words; empty: nothing that is known."""
    changes = found.changes
    files = found.whole or (changes.files if changes is not None else ())
    count = len(files) + (changes.more if changes is not None and not found.whole else 0)
    if not count:
        return ""
    added, removed = sum(each.added for each in files), sum(each.removed for each in files)
    return f"{counted(count, 'file')} +{added} -{removed}"


def is_answered(run: Run) -> bool:
    """A person has answered the question that this run was parked with."""
    asked = asked_json.last(run.task_dir)
    parked = asked is not None and asked.run == run.number and asked.parked_at is not None
    return parked and asked is not None and asked.answer is not None


def _is_to_land(decision: Decision) -> bool:
    return isinstance(decision.settlement, Blocked) and decision.settlement.to_land


def _landing(
    record: RunRecord,
    claim: AgentClaim,
    found: Inspection,
    verdict: Verdict,
    before: Landing | None,
    now: datetime,
    *,
    asks: tuple[str, ...],
) -> Landing | None:
    """The landing of work whose claim holds; how often the task was sent back is kept."""
    work, run, rules = found.landing, record.run, record.policy.land
    if work is None:
        return None
    went_back = before is not None and before.state not in ("ahead", "landed")
    return Landing(
        state="waiting",
        repository=work.repository,
        into=work.into,
        run=run.number,
        base=work.base,
        merged=before.merged_since(work.base) if before is not None else "",
        tree=work.tree,
        checked=verdict.checked,
        checks=tuple(check.command for check in found.checks if check.passed),
        asks=(*why_exam_asks(found.checks, found.exam), *found.file_asks, *asks),
        title=record.task.title,
        reason=close_reason(claim.done or "", run.number, record.task_id, checked=verdict.checked),
        how=rules.how,
        to=rules.to,
        tries=before.tries + before.refusals if before is not None and went_back else 0,
        at=now,
    )


def _denied_so_far(past: History, receipt: Receipt) -> tuple[str, ...]:
    """The calls that were refused to any run of the task, each once: every later agent is told."""
    before = past.last.denied if past.last is not None else ()
    named = receipt.denied_calls or receipt.denied
    return tuple(dict.fromkeys((*before, *named)))[-_MOST_DENIED:]


def note_end(record: RunRecord, ending: Ending, now: datetime) -> None:
    """Write the last event of a run, unless an earlier process did."""
    if not (record.adopted and event_log.ends_with(record.run, "fleet_ended")):
        facts = {"outcome": type(ending.outcome).__name__, "broke": ending.broke}
        record.stream.note("fleet_ended", now, **facts, why=ending.why)


def _judged(
    ended: ExitedRun, outcome: Outcome, receipt: Receipt, found: Inspection, plan_limit: int
) -> Verdict | None:
    """The verdict on a claim. Without a claim only trespasses count; None: nothing was judged."""
    claimed = receipt.claim is not None and _is_judged(ended, outcome)
    if not claimed or found.abandoned or found.trouble or found.damage:
        return Verdict(trespasses=found.trespasses) if found.trespasses else None
    cwd = Path(ended.record.spec.cwd or ended.record.project)
    seen = seen_of(ended.record, receipt, cwd, plan_limit=plan_limit)
    return Verdict(
        findings=(*found.refusals, *findings(seen)),
        trespasses=found.trespasses,
        checked=receipt.checks_passed,
    )


def _lost_directory(ended: ExitedRun, outcome: Outcome) -> SpawnFailure | None:
    """The task's directory was removed as the run began: the agent failed without a word, and no
    attempt was made. A clone that is gone is made again.
    """
    record, cwd = ended.record, ended.record.spec.cwd
    silent = isinstance(outcome, Failed) and not record.stream.heard and ended.claim.done is None
    if not silent or cwd != record.project or Path(cwd).is_dir():
        return None
    return SpawnFailure(why=f"its directory {cwd} is not there")


def _spawn_failure(ended: ExitedRun) -> SpawnFailure | None:
    """Why the agent's program could not be run; None: no such failure."""
    end, spec = ended.process_end, ended.record.spec
    if not isinstance(end, Ended) or end.exit.error is None:
        return None
    error = end.exit.error
    if error.stage == "exec" and spec.argv and spec.argv[0].startswith(NOWHERE):
        why = f"{spec.argv[0].removeprefix(NOWHERE)} is not on PATH"
        return SpawnFailure(why=why, program_missing=ended.program_missing)
    places = {"exec": spec.argv[0], "cwd": spec.cwd} if spec.argv else {}
    why = f"{places.get(error.stage, error.stage)}: {error.message}"
    return SpawnFailure(why=why, program_missing=ended.program_missing)
