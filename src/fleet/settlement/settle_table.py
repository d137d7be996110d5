"""The settle table: one pure function from how a run ended to what becomes of the task.

`docs/invariants.md` prints the table; a test holds the two together.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct, structs

from fleet.accounts.rate_windows import LONGEST, PASSING, UNDATED
from fleet.errors import FleetError
from fleet.evidence.claim_rules import UNCHANGED
from fleet.evidence.landing_rules import LANDING_RULES
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.outcome_history import History
from fleet.schemas import (
    Blocked,
    Closed,
    ContextFull,
    Failed,
    Finding,
    Finished,
    LimitExceeded,
    Lost,
    NeedsHuman,
    Outcome,
    RateLimited,
    Stalled,
    Stopped,
    Verdict,
)
from fleet.schemas.backoff import Backoff
from fleet.schemas.decision import (
    LEASE_LOST,
    MESSAGE,
    NO_ROOM,
    SHUTDOWN,
    Decision,
    blocked,
    plain_text,
    plain_waits,
    released,
)
from fleet.schemas.event import Reason
from fleet.schemas.outcome import leaves_claim, named
from fleet.schemas.policy import DAY_BUDGETS, Requirement
from fleet.schemas.receipt import TAMPERED
from fleet.schemas.shown_text import duration
from fleet.schemas.waits import (
    MARK,
    Asks,
    BudgetSpent,
    Halted,
    NeedsApproval,
    OutOfAttempts,
    OutOfScope,
    PlanWritten,
    PutOff,
    ToLand,
    ToMend,
    words,
)
from fleet.settlement.sent_back import LandTries, refuse_merge

#: Context runs out this often in a row without progress before it counts as a failure.
FULL_CONTEXTS = 3
#: An outage of one task alone is for a person after this many runs.
OWN_OUTAGES = 3
#: A run that never gets so far as to start its agent is tried this often in a row.
NEVER_STARTED = 8
_LONGEST_WAIT = timedelta(minutes=5)
#: After a run that never started: nothing was spent, so the first wait is short.
_SHORTEST_WAIT = timedelta(seconds=1)
#: A rate limit is not tried again sooner, unless `retry_wait_s` is shorter than usual.
_LIMIT_WAIT = timedelta(seconds=30)
#: Tasks that wait for the same limit are spread over at most this time.
_WIDEST_SPREAD = timedelta(minutes=1)
#: What a person can do about a denied tool.
_SETTING = "(see the permissions setting)"


#: What a reason means, where the CLI itself had no words for it.
_MEANING: Mapping[Reason, str] = {
    "no_ending": "its CLI ended without a word about the result",
    "exit_code": "its CLI ended with an error code after a success",
    "killed": "its process was killed from outside",
    "never_started": "its CLI ended before it said anything",
    "empty": "the model gave an empty answer",
    "aborted": "its CLI broke off",
    "timeout": "a request took too long",
    "api_error": "a request to the vendor failed",
    "unknown": "its CLI told no reason",
}


class SpawnFailure(Struct, frozen=True, kw_only=True):
    """Why the agent's program could not be run at all."""

    why: str
    #: The program is not there, so that no task of this coder can start.
    program_missing: bool = False


class Facts(Struct, frozen=True, kw_only=True):
    """What a settlement depends on beside the outcome."""

    #: The task and the run's number, for the texts.
    task_id: str = "<id>"
    run: int
    #: The agent's process existed: only then an attempt was made.
    started: bool
    #: None: the program could be run.
    spawn_failure: SpawnFailure | None = None
    claim: AgentClaim
    #: Why the claim cannot be checked, through no fault of the agent's; empty: it can.
    unverifiable: str = ""
    #: What is damaged, so that nothing can be said of the run; empty: nothing is.
    damage: str = ""
    #: What the machine is short of as the run ends; empty: of nothing.
    short: str = ""
    #: Fleet's verdict on the claim, by the evidence; None: nothing was judged.
    verdict: Verdict | None = None
    #: The branch that work is to land on before the task is closed, empty if a person has to name
    #: one; None: nothing is to land.
    lands_on: str | None = None
    #: How often the work was sent back; None: never.
    land_tries: LandTries | None = None
    #: The least that closes the task; `approval`: it is to write a plan, which a person approves.
    require: Requirement | Literal["approval"] = "approved"
    #: What the work of all runs changes, in a few words; empty: nothing, or nothing is known.
    diffstat: str = ""
    #: Why a person approves work whose claim holds; work that lands says so in its landing.
    asks: tuple[str, ...] = ()
    #: What the runs before this one came to.
    past: History = History()
    retry_limit: int
    #: A person has answered the question that the run ended with.
    answered: bool = False
    #: The run resumed the session of the run before.
    resumed: bool = False
    #: The agent's plan, its notes or its directory changed during this run.
    progress: bool
    #: How often the vendor's service failed for this task while other tasks were answered, if it
    #: failed for this run.
    own_outages: int = 0
    #: The task may go on with another account, model or coder.
    elsewhere: bool = False
    #: Random, between 0 and 1: spreads tasks that wait for the same moment.
    jitter: float
    #: The pause after a first failure.
    wait: timedelta = timedelta(seconds=10)


def decide(outcome: Outcome, facts: Facts, now: datetime) -> Decision:
    """The one place where a run's end turns into a task's state."""
    if facts.spawn_failure is not None:
        why = f"cannot start: {facts.spawn_failure.why}"
        if facts.spawn_failure.program_missing:
            return released(why)
        return blocked(ToMend(what=why), facts.task_id)
    if facts.verdict is not None and facts.verdict.trespasses:
        return _out_of_scope(facts, facts.verdict)
    if facts.damage:
        return blocked(ToMend(what=f"damaged: {facts.damage}"), facts.task_id)
    claim, verdict = facts.claim.done, facts.verdict
    if claim is None or verdict is None or isinstance(outcome, Finished):
        return _by_outcome(outcome, facts, now)
    if not leaves_claim(outcome, provable=True):
        return _by_outcome(outcome, facts, now)
    return _cut_off_after_claim(outcome, claim, verdict, facts, now)


def _by_outcome(outcome: Outcome, facts: Facts, now: datetime) -> Decision:
    match outcome:
        case Finished(denied=denied):
            return _finished(denied, facts, now)
        case RateLimited() if _is_own_outage(outcome, facts):
            what = f"{_refusal(outcome)} ({facts.own_outages} times, while other tasks went on)"
            return blocked(ToMend(what=what), facts.task_id)
        case RateLimited() if facts.elsewhere:
            return released(f"{_refusal(outcome)}: goes on where there is room")
        case RateLimited(limit=limit):
            soonest = now + min(3 * facts.wait, _LIMIT_WAIT)
            # Whether one that passes is over as soon, its account knows.
            undated = soonest if limit.kind in PASSING else now + UNDATED
            until = limit.resets_at or undated
            resets_at = until if until <= now + LONGEST else undated
            wait = spread(max(resets_at, soonest), now, facts.jitter)
            return released(_refusal(outcome), not_before=wait)
        case ContextFull():
            if facts.progress or facts.past.full_contexts + 1 < FULL_CONTEXTS:
                return released("context full: goes on in a fresh session from its artifacts")
            why = f"context full {FULL_CONTEXTS} times in a row without progress"
            return _attempt(why, facts, now)
        case NeedsHuman() if facts.answered:
            return released("its question was answered meanwhile: the same session goes on")
        case NeedsHuman(question=question):
            return _asked(question, facts)
        case Stopped(by=by) if by == NO_ROOM:
            why = "the machine had no room for the agent's output: its session goes on"
            return released(why, not_before=now + facts.wait)
        case Stopped():
            return stopped(outcome, facts.task_id)
        case Failed(reason=reason, detail=detail) if outcome.is_account and facts.elsewhere:
            return released(f"{reason}: {detail}: goes on with another account")
        case Failed(reason=reason) if outcome.is_account or reason == "model_not_found":
            wait = spread(now + UNDATED, now, facts.jitter)
            held = "account" if outcome.is_account else "model"
            return released(f"{reason}: {outcome.said}: its {held} is held", not_before=wait)
        case Failed(reason="stale_login"):
            return released("its access token had ended: its session goes on with a new one")
        case Failed() if outcome.is_for_a_person:
            return blocked(ToMend(what=_failure(outcome)), facts.task_id)
        case Failed(reason="session_not_found") if facts.resumed:
            return released("the session that it was to carry on is gone: it begins a fresh one")
        case Failed(reason="denied", detail=detail):
            return _attempt(f"it was denied {detail or 'a tool'} {_SETTING}", facts, now)
        case Failed():
            return _attempt(_failure(outcome), facts, now)
        case Stalled(rung="degraded"):  # the next run would lack the same
            return blocked(ToMend(what=_stall(outcome)), facts.task_id)
        case Stalled():
            return _attempt(_stall(outcome), facts, now)
        case LimitExceeded(limit=limit, detail=detail, until=until) if limit in DAY_BUDGETS:
            return released(detail, not_before=until)
        case LimitExceeded(limit="task_budget", detail=detail):
            return blocked(BudgetSpent(what=detail), facts.task_id)
        case LimitExceeded(limit=limit, detail=detail):
            return _attempt(f"limit exceeded ({limit}): {detail}".rstrip(": "), facts, now)
        case Lost(why=why):
            return _attempt(f"lost: {why}".rstrip(": "), facts, now)


def stopped(outcome: Stopped, task_id: str) -> Decision:
    """What a stop leads to, whether or not the run had begun."""
    if outcome.by == SHUTDOWN:
        return released("the supervisor shut down")
    if outcome.by == LEASE_LOST:
        return released("the task was taken from this supervisor")
    if outcome.by == MESSAGE:
        return released("stopped to be told something, and goes on with it")
    return blocked(Halted(by=outcome.by), task_id)


def damaged(error: FleetError | OSError, task_id: str) -> Decision:
    """What damaged files cost: their own task, which is left to a person with the way out."""
    if isinstance(error, FleetError):
        what, way = error.message, error.hint
    else:
        what, way = f"{error.filename or 'its files'}: {error.strerror or error}", ""
    return blocked(ToMend(what=f"damaged: {what}", hint=way or "Move it away."), task_id)


def spread(until: datetime, now: datetime, jitter: float) -> datetime:
    """A moment soon after the end of a wait, later by no more than a tenth of that wait."""
    return until + min((until - now) / 10, _WIDEST_SPREAD) * jitter


def _finished(denied: tuple[str, ...], facts: Facts, now: datetime) -> Decision:
    claim = facts.claim
    if claim.blocked is not None:
        return _asked(claim.blocked, facts)
    if claim.done is None:
        why = "finished without closing the task"
        if denied:
            why += f"; it was denied {', '.join(sorted(set(denied)))} {_SETTING}"
        return _attempt(why, facts, now)
    if facts.unverifiable:
        return blocked(ToMend(what=f"cannot be verified: {facts.unverifiable}"), facts.task_id)
    verdict = facts.verdict or Verdict()
    if facts.land_tries is not None and (broken := refused_by(Finished(), facts)):
        return refuse_merge(_listed(broken), facts.land_tries, facts.task_id)
    if verdict.findings:
        if tuple(finding.rule for finding in verdict.findings) == UNCHANGED:
            return _unchanged(claim.done, verdict.findings[0].what, facts)
        return _attempt(_listed(verdict.findings), facts, now)
    if not _is_enough(verdict, facts) and facts.lands_on is None:
        # Of work that lands, the landing says so and waits for a person.
        return blocked(NeedsApproval(reasons=(unproved(facts.diffstat),)), facts.task_id)
    return _claim_holds(claim.done, verdict, facts)


def _unchanged(claim: str, what: str, facts: Facts) -> Decision:
    """A claim whose only fault is that nothing changed: the agent says once, in the same session,
    whether no change is needed, and a person decides on its answer.
    """
    last = facts.past.last
    if last is None or last.broke != UNCHANGED:
        return released(f"it claimed to be done (no_effect): {what}")
    why = f"no_effect: {what}. It says why: {claim}"
    return blocked(NeedsApproval(reasons=(why,)), facts.task_id)


def _asked(question: str, facts: Facts) -> Decision:
    """The agent asks something; fleet's own mark before the question goes."""
    return blocked(Asks(text=question.removeprefix(MARK).strip()), facts.task_id)


def _is_own_outage(outcome: RateLimited, facts: Facts) -> bool:
    return outcome.limit.kind == "outage" and facts.own_outages >= OWN_OUTAGES


def _refusal(outcome: RateLimited) -> str:
    if outcome.limit.kind == "outage":
        return f"the vendor's service fails (outage): {outcome.detail}".rstrip(": ")
    return f"rate limit ({outcome.limit.kind})"


def _cut_off_after_claim(
    outcome: Outcome, claim: str, verdict: Verdict, facts: Facts, now: datetime
) -> Decision:
    """A run that claimed to be done, and then met a limit, a full context or the process's end.

    The task is closed if the claim holds; else the run counts as what it is, and the next agent is
    told what was wrong with the claim.
    """
    if not verdict.findings and _is_enough(verdict, facts):
        return _claim_holds(claim, verdict, facts, after=named(outcome))
    decision = _by_outcome(outcome, facts, now)
    if not verdict.findings:
        return decision
    why = f"{decision.why}; what it claimed before is rejected: {_listed(verdict.findings)}"
    return structs.replace(decision, why=plain_text(why))


def _is_enough(verdict: Verdict, facts: Facts) -> bool:
    return verdict.checked or facts.require != "checked"


def _claim_holds(claim: str, verdict: Verdict, facts: Facts, *, after: str = "") -> Decision:
    """The task is closed; a task that was to write a plan is left to a person, who approves the
    plan.
    """
    if facts.require == "approval":
        return blocked(PlanWritten(), facts.task_id)
    if facts.asks and facts.lands_on is None:
        return blocked(NeedsApproval(reasons=facts.asks), facts.task_id)
    return _closed(claim, verdict, facts, after=after)


def _closed(claim: str, verdict: Verdict, facts: Facts, *, after: str = "") -> Decision:
    """The task is done; reason and log say what was shown, and what was not."""
    why = "checked" if verdict.checked else "unchecked: there is no verify command to prove it"
    reason = close_reason(claim, facts.run, facts.task_id, checked=verdict.checked)
    if after:
        why = f"{why} (claimed before it ended as {after})"
    if facts.lands_on is None:
        return Decision(settlement=Closed(reason=reason), counts=True, why=why)
    where = facts.lands_on or "a branch"
    return Decision(
        settlement=Blocked(waits=ToLand(into=facts.lands_on)),
        counts=True,
        why=f"{why}; waits to land on {where}",  # without a command: most work lands by itself
    )


def unproved(diffstat: str) -> str:
    """Why a person decides about a claim that nothing contradicts and nothing proves. Pure."""
    why = "unchecked: no verify command proves it"
    return f"{why} ({diffstat})" if diffstat else why


def refused_by(outcome: Outcome, facts: Facts) -> tuple[Finding, ...]:
    """The rules of landing that decided over a claim of work that was sent back. Pure."""
    verdict = facts.verdict
    out_of_scope = verdict is not None and bool(verdict.trespasses)
    if verdict is None or out_of_scope or facts.unverifiable or facts.claim.blocked is not None:
        return ()
    if facts.land_tries is None:
        return ()
    broken = tuple(each for each in verdict.findings if each.rule in LANDING_RULES)
    return broken if isinstance(outcome, Finished) else ()


def close_reason(claim: str, run: int, task_id: str, *, checked: bool) -> str:
    """What a task is closed with: the agent's words, and what was shown. Pure."""
    shown = "checked" if checked else "unchecked, no verify command"
    return f"{plain_text(claim)} [run {run}, {shown}: fleet task {task_id} receipt]"


def _out_of_scope(facts: Facts, verdict: Verdict) -> Decision:
    """A run that changed files out of scope, or records of fleet's, is for a person, whatever the
    outcome.
    """
    forged = [each.what for each in verdict.trespasses if each.rule == TAMPERED]
    listed = f"out of scope: {_listed(verdict.trespasses)}"
    why = f"{TAMPERED}: {'; '.join(forged)}" if forged else listed
    return blocked(OutOfScope(what=why), facts.task_id)


def _listed(findings: Sequence[Finding]) -> str:
    return "; ".join(f"{finding.rule}: {finding.what}" for finding in findings)


def _failure(outcome: Failed) -> str:
    """`its CLI ended without a word about the result: Boom`: what the reason means, and details."""
    meaning = _MEANING.get(outcome.reason, outcome.reason.replace("_", " "))
    return f"{meaning}: {outcome.detail}".rstrip(": ")


def _stall(outcome: Stalled) -> str:
    words = {
        "never_started": f"it said nothing for {outcome.silent_seconds:.0f} s after its start",
        "degraded": "it began without something that it needs",
        "silent": f"nothing moved for {outcome.silent_seconds:.0f} s",
        "needs_input": "it waits for an answer",
        "looping": "it made the same call with the same error again and again",
        "repeating": f"nothing new came for {outcome.silent_seconds:.0f} s",
    }[outcome.rung]
    return f"stalled ({outcome.rung}): {words}: {outcome.detail}".rstrip(": ")


def _attempt(why: str, facts: Facts, now: datetime) -> Decision:
    """A failed attempt: the task is tried again after a pause, or blocked at the retry limit. On a
    machine that is short of something the failure may come from that, and nothing starts there.
    """
    if not facts.started:
        return _unstarted(why, facts, now)
    if facts.short:
        return released(f"{why} (no failed attempt: {facts.short})")
    made = facts.past.attempts + 1
    if made >= facts.retry_limit:
        waits = plain_waits(OutOfAttempts(why=why, made=made, limit=facts.retry_limit))
        text = words(waits, facts.task_id)
        return Decision(settlement=Blocked(waits=waits), counts=True, why=text)
    backoff = Backoff(facts.wait, max(_LONGEST_WAIT, facts.wait))
    pause = backoff.pause(made - 1) * (1 + facts.jitter / 2)
    decision = released(why, now + pause, waits=_failed(why))
    return structs.replace(decision, counts=True, told=_told(why, made, pause, facts))


def _told(why: str, made: int, pause: timedelta, facts: Facts) -> str:
    """The failure and the next attempt on one line; what a command printed follows below."""
    head, line_end, rest = plain_text(why).partition("\n")
    next_one = f"retry {made + 1} of {facts.retry_limit} in {duration(pause.total_seconds())}"
    return f"run {facts.run} failed: {head.rstrip(':')}; {next_one}{line_end}{rest}"


def _failed(why: str) -> PutOff:
    """Why a task is put off whose attempt failed."""
    return PutOff(why=f"its last attempt failed: {why}", gate="attempt")


def _unstarted(why: str, facts: Facts, now: datetime) -> Decision:
    """A run that never started counts as no attempt; NEVER_STARTED of them in a row block."""
    if facts.past.never_started + 1 >= NEVER_STARTED:
        return blocked(ToMend(what=f"{why} ({NEVER_STARTED} times in a row)"), facts.task_id)
    if facts.past.never_started == 0:
        return released(why)  # a supervisor that was killed at the wrong moment, most likely
    pause = Backoff(_SHORTEST_WAIT, _LONGEST_WAIT).pause(facts.past.never_started)
    return released(why, not_before=now + pause)
