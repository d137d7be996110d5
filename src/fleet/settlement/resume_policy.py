"""What a run begins with: the session of the last run or a fresh one, and what the prompt says
about the last run. Pure.
"""

from fleet.coders.base import Coder
from fleet.evidence.claim_rules import MISPLACED, UNCHANGED
from fleet.runs.outcome_history import Ending
from fleet.schemas import (
    Failed,
    Finished,
    LimitExceeded,
    Lost,
    NeedsHuman,
    Outcome,
    RateLimited,
    Stalled,
    Stopped,
)
from fleet.schemas.decision import MESSAGE, NO_ROOM, SHUTDOWN
from fleet.schemas.outcome import CUT_OFF
from fleet.schemas.policy import BUDGETS, DAY_BUDGETS

#: Failures that the session did not cause, so that it can be resumed.
_RESUMABLE = CUT_OFF | {"no_ending", "exit_code"}
#: Stalls after which the session can be resumed.
_WAITED = frozenset({"silent", "needs_input"})

_ADVICE = {
    "limit": "What it did up to then is still there: go on from that in smaller steps, and do not"
    " do the same again.",
    "needs_input": "No person can answer while you run: write the question down as the rules say.",
    "looping": "Find another way: the same call will fail again.",
    "repeating": "Do not repeat what brings nothing new: wait in one call, or find another way.",
    "silent": "Give commands that may take long a time limit of their own.",
}
_REFUSED = (
    "Refused for want of permission to the runs so far. The same calls will be refused again: find"
    " another way, or ask a person. What was refused was not run, so do not say that it was:"
)
_REVIEWED = (
    "The last run ended by itself. A person has reviewed its work since, and says below what is to"
    " be changed."
)
_UNCHANGED = (
    "Make the change. If none is needed, close the task again and say why in the reason: a person"
    " decides on that."
)
#: Characters of a refused call that an agent is told.
_LONGEST_CALL = 500


def session_to_carry_on(
    last: Ending | None, coder: Coder, *, goes_on: bool = False, answered: bool = False
) -> str | None:
    """The session that the next run goes on with: that of a run that was cut off.

    Once only, unless a limit, the end of its access token or fleet cut it off, which says nothing
    against its memory.
    `goes_on`: the session that did the work goes on with it, since a person says what is to be
    changed, or the work could not land. So it does if all that was wrong is where its work is, or
    that there is none.
    `answered`: a person has answered what it asked.
    """
    if last is None or not coder.can_resume or last.coder != coder.name:
        return None
    if answered and isinstance(last.outcome, NeedsHuman):
        return last.session_id or None
    misplaced = bool(last.broke) and MISPLACED.issuperset(last.broke)
    knows = goes_on or misplaced or last.broke == UNCHANGED
    if knows and isinstance(last.outcome, Finished) and last.tool_calls:
        return last.session_id or None
    if last.resumed and not _is_from_outside(last.outcome):
        return None
    return last.session_id or None if was_cut_off(last.outcome, last.tool_calls) else None


def _is_from_outside(outcome: Outcome) -> bool:
    """A limit of the account ended the run, or a stop that was no judgement on it."""
    match outcome:
        case Stopped(by=by):
            return by in (SHUTDOWN, NO_ROOM, MESSAGE)
        case LimitExceeded(limit=limit):
            return limit in DAY_BUDGETS
        case Failed(reason=reason):
            return reason == "stale_login"
        case _:
            return isinstance(outcome, RateLimited)


def was_cut_off(outcome: Outcome, tool_calls: int) -> bool:
    """The run ended in the middle of work that the session can go on with.

    Not one that made things up, was refused, or is full: there the same memory would lead to the
    same end.
    """
    match outcome:
        case Stopped(by=by) if by == MESSAGE:
            return True
        case _ if tool_calls == 0:
            return False  # the session has nothing to remember
        case Stalled(rung=rung):
            return rung in _WAITED
        case LimitExceeded(limit=limit):
            return limit == "time" or limit in BUDGETS
        case Failed(reason=reason):
            return reason in _RESUMABLE
        case Stopped(by=by):
            return by in (SHUTDOWN, NO_ROOM)
        case RateLimited() | Lost():
            return True
        case _:
            return False


def last_ending_words(
    last: Ending | None, answer: str = "", *, reviewed: bool = False, sent_back: bool = False
) -> str:
    """How the last run ended, for the prompt of the next; `answer`: to a question of that run.
    `reviewed`: a person has said since what is to be changed. `sent_back`: its work could not land,
    of which the agent is told more than this.
    """
    if last is None:
        return ""
    if sent_back and isinstance(last.outcome, Finished):
        return _with_refusals(_REVIEWED if reviewed else "", last)
    if reviewed and isinstance(last.outcome, Finished):
        return _with_refusals(_REVIEWED, last)
    if isinstance(last.outcome, NeedsHuman) and answer:
        asked = last.outcome.question.removeprefix("QUESTION:").strip()
        return _with_refusals(f"It asked: {asked}\n\nIt was answered: {answer}", last)
    match last.outcome:
        case Finished() if last.broke == UNCHANGED:
            advice = _UNCHANGED
        case LimitExceeded(limit=limit) if limit not in DAY_BUDGETS:
            advice = _ADVICE["limit"]
        case Stalled(rung=rung):
            advice = _ADVICE.get(rung, "")
        case _:
            advice = ""
    return _with_refusals(f"{last.why.rstrip('.')}. {advice}" if advice else last.why, last)


def _with_refusals(words: str, last: Ending) -> str:
    """The words, and the calls that no run of the task may make."""
    if not last.denied:
        return words
    calls = "\n".join(f"- {call.splitlines()[0][:_LONGEST_CALL]}" for call in last.denied if call)
    return f"{words}\n\n{_REFUSED}\n{calls}\n"
