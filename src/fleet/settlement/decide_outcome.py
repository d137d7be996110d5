"""How a run ended: by fleet's own reason, by the keeper's record, or by what its stream says.

Below the supervisor and `fleet stop` alike, since both end runs.
"""

import msgspec
from msgspec import Struct, structs

from fleet.coders.stream.run_totals import sane_limit
from fleet.errors import InvalidTask
from fleet.evidence.inspect_run import InspectedRun
from fleet.files.safe_read import tail
from fleet.processes.keeper_client import Ended, NeverStarted, Vanished
from fleet.runs import agent_claim
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.outcome_history import attempts_before
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
)
from fleet.schemas.units import shown_span
from fleet.settlement.run_record import RunRecord

#: How much of stderr may tell why a CLI ended.
_STDERR = 1 << 16

#: How the processes of a run ended.
ProcessEnd = Ended | Vanished | NeverStarted


class ExitedRun(Struct, frozen=True, kw_only=True):
    """A run of which nothing lives any more. All that it printed has been read."""

    record: RunRecord
    process_end: ProcessEnd
    #: Why fleet stopped the run; None: fleet did not.
    stop_reason: Outcome | None = None
    #: The tools that were at work when fleet stopped the run.
    cut_off: tuple[str, ...] = ()

    @property
    def started(self) -> bool:
        """The agent's process existed."""
        return not isinstance(self.process_end, NeverStarted)

    @property
    def ended_by_itself(self) -> bool:
        """The agent had ended before it was asked to."""
        return isinstance(self.process_end, Ended) and self.process_end.exit.stop is None

    @property
    def program_missing(self) -> bool:
        """The coder's program is not there to be run."""
        end = self.process_end
        return isinstance(end, Ended) and bool(end.exit.error and end.exit.error.is_program)

    def said(self) -> AgentClaim:
        """What the agent claimed of its task, if it was this run's agent."""
        return agent_claim.read(self.record.run.path, by=self.record.spec.id)


def case_of(ended: ExitedRun, said: AgentClaim, outcome: Outcome) -> InspectedRun:
    """What has to be inspected before the run can be judged."""
    record = ended.record
    claimed = said.done is not None and isinstance(outcome, Finished)
    return InspectedRun(
        run=record.run,
        cwd=record.spec.cwd or record.project,
        policy=record.policy,
        base=record.spec.base if ended.started else None,
        first=_first_base(record.run) if record.policy.pins else None,
        claimed=claimed,
    )


def _first_base(run: Run) -> Base | None:
    """The repository as the first run of the series found it; later runs find that run's work."""
    first = None
    for before in attempts_before(run):
        try:
            base = before.spec().base
        except InvalidTask:
            break
        if base is None or not base.snapshot:
            break
        first = base
    return first


def outcome_of(ended: ExitedRun, said: AgentClaim, *, abandoned: bool = False) -> Outcome:
    """Fleet's own reason, unless the agent had ended before it was stopped.

    `abandoned`: the inspection of the run was stopped, so its own ending cannot be judged.
    """
    record = ended.record
    if ended.stop_reason is not None and (abandoned or not ended.ended_by_itself):
        return ended.stop_reason
    if said.blocked is not None and ended.started:
        return NeedsHuman(question=said.blocked)
    match ended.process_end:
        case Ended(exit=exit_record):
            if exit_record.stop == "timeout":
                lasted = shown_span(exit_record.seconds)
                return LimitExceeded(limit="time", detail=f"it ran for {lasted}")
            return by_stream(record, exit_record.code, exit_record.signal)
        case Vanished(why=why):
            return Lost(why=why or record.trouble or "its keeper was killed")
        case NeverStarted():
            return Lost(why=record.trouble or "it never started")


def by_stream(record: RunRecord, code: int | None, number: int | None) -> Outcome:
    """How a run ended, by what its coder makes of its stream and of its process's end."""
    coder = record.coder
    try:
        stderr = tail(record.run.stderr, _STDERR)
        outcome = _sane(coder.outcome(record.totals, code, number, stderr=stderr))
    except Exception as error:  # noqa: BLE001 - a coder may be foreign code
        outcome = Failed(reason="unknown", detail=f"{coder.name}: {type(error).__name__}: {error}")
    if record.trouble and isinstance(outcome, Failed):
        return structs.replace(outcome, detail=f"{outcome.detail} ({record.trouble})".strip())
    return outcome


def _sane(given: object) -> Outcome:
    """An outcome that can be judged, and read again once it is written. Raises if it is none."""
    outcome = msgspec.convert(msgspec.to_builtins(given), Outcome)
    if isinstance(outcome, RateLimited):
        return structs.replace(outcome, limit=sane_limit(outcome.limit) or outcome.limit)
    return outcome
