"""The end of a run, the same for the supervisor and for `fleet stop` without one.

What is decided is written in a fixed order: the entry in the day's ledger, the receipt, the
outcome. So a process that finds an outcome finds the evidence for it, and one that finds none ends
the run again, which changes nothing that was written before.
"""

from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct, structs

from fleet.config import Config
from fleet.evidence.claim_rules import findings
from fleet.evidence.inspect_run import Inspection
from fleet.processes.keeper_client import Ended
from fleet.runs import event_log, receipt_json
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.artifacts_digest import fingerprint
from fleet.runs.outcome_history import Ending, history, spent_before, write_ending
from fleet.runs.run_directory import Run
from fleet.schemas import Finished, Outcome, Receipt, Verdict
from fleet.settlement.build_receipt import receipt_of, seen_of
from fleet.settlement.decide_outcome import ExitedRun
from fleet.settlement.run_record import RunRecord
from fleet.settlement.settle_table import Facts, decide


class RunEnd(Struct, frozen=True):
    """What is written down of a run that is over."""

    ending: Ending
    receipt: Receipt

    def write(self, run: Run) -> None:
        """The receipt first: where there is an outcome, there is the evidence for it."""
        receipt_json.write(run, self.receipt)
        write_ending(run, self.ending)


def end_of(
    ended: ExitedRun,
    said: AgentClaim,
    outcome: Outcome,
    found: Inspection,
    config: Config,
    now: datetime,
    *,
    fence: int,
    jitter: float,
    elsewhere: bool = False,
) -> RunEnd:
    """Decide what becomes of the task of a run that ended so. Writes nothing.

    `elsewhere`: the task may go on with another account, model or coder. `jitter`, between 0 and 1,
    spreads retries.
    """
    record = ended.record
    run, totals, started = record.run, record.totals, ended.started
    past = history(run.task_dir, before=run.number)
    progress = started and fingerprint(run.task_dir / "artifacts") != record.spec.artifacts
    receipt = receipt_of(ended, outcome, said, found)
    verdict = _judged(ended, receipt, found)
    judged = verdict or Verdict()
    resumed = bool(record.spec.resumes)
    facts = Facts(
        task_id=record.task_id,
        run=run.number,
        started=started,
        spawn_error=_spawn_error(ended),
        program_missing=ended.program_missing,
        said=said,
        verdict=judged,
        unverifiable=found.trouble,
        attempts=past.attempts,
        retry_limit=config.retry_limit,
        full_contexts=past.full_contexts,
        never_started=past.never_started,
        resumed=resumed,
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
        cut_off=ended.cut_off or record.tools.at_work,
    )
    return RunEnd(ending, structs.replace(receipt, verdict=verdict, why=decision.why))


def note_end(record: RunRecord, ending: Ending, now: datetime) -> None:
    """Write the last event of a run, unless an earlier process did."""
    if not (record.adopted and event_log.ends_with(record.run, "fleet_ended")):
        facts = {"outcome": type(ending.outcome).__name__, "broke": ending.broke}
        record.stream.note("fleet_ended", now, **facts, why=ending.why)


def _judged(ended: ExitedRun, receipt: Receipt, found: Inspection) -> Verdict | None:
    """The verdict on a claim. Without a claim only trespasses count; None: nothing was judged."""
    claimed = receipt.outcome == Finished.__name__ and receipt.claim is not None
    if not claimed or found.abandoned or found.trouble:
        return Verdict(trespasses=found.trespasses) if found.trespasses else None
    cwd = Path(ended.record.spec.cwd or ended.record.project)
    seen = seen_of(ended.record, receipt, cwd)
    return Verdict(findings=findings(seen), trespasses=found.trespasses)


def _spawn_error(ended: ExitedRun) -> str:
    """Why the agent's program could not be run; empty if it could."""
    end, spec = ended.process_end, ended.record.spec
    if not isinstance(end, Ended) or end.exit.error is None:
        return ""
    error = end.exit.error
    places = {"exec": spec.argv[0], "cwd": spec.cwd} if spec.argv else {}
    return f"{places.get(error.stage, error.stage)}: {error.message}"
