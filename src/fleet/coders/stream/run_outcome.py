"""How a run ended: one pure rule over what the stream said and how the process ended.

A success needs both a success in the stream and exit 0: either alone is wrong for some CLI.
Stopped, Stalled and NeedsHuman are decided by the supervisor.
"""

import re
from collections.abc import Mapping
from typing import cast, get_args

from fleet.coders.stream.run_totals import RunTotals
from fleet.schemas import (
    ContextFull,
    Failed,
    Finished,
    LimitExceeded,
    Lost,
    Outcome,
    RateLimited,
    Reason,
)

_REASONS = frozenset(get_args(Reason))
_NO_CODES: Mapping[int, Reason] = {}

#: Enough of the last words on stderr to tell a person what to do.
_DETAIL_CAP = 500
#: A line of a stack trace that only names a place.
_FRAME = re.compile(
    r"\s+at |\s*File \".*\", line \d+|Node\.js v\d|[\s~^]+$|Traceback \(most recent"
)
#: Below its frames Python shows lines of code, indented, and marks places in them.
_PYTHON_FRAME = re.compile(r"^[ \t]*File \".*\", line \d+", re.MULTILINE)

_AUTH = (
    r"not logged in|please (run )?/?log ?in|/login\b|invalid api key|authentication"
    r"|unauthori[sz]ed|silent auth failed|https://\S*(oauth|authorize|device)"
)
_NO_TERMINAL = (
    r"/dev/tty|not a (tty|terminal)|(open|need|requires?|without) (a )?(tty|terminal)\b"
    r"|raw mode is not supported|input must be provided|reading additional input from stdin"
    r"|inappropriate ioctl"
)
_STARTUP_CAUSES: tuple[tuple[Reason, str], ...] = (
    ("session_not_found", r"no rollout found for thread|no conversation found with session"),
    ("auth", _AUTH),
    ("untrusted", r"trusted directory|trust (this|the) (folder|files|directory|workspace)"),
    ("no_terminal", _NO_TERMINAL),
)
_STARTUP_PATTERNS: tuple[tuple[Reason, re.Pattern[str]], ...] = tuple(
    (reason, re.compile(words, re.IGNORECASE)) for reason, words in _STARTUP_CAUSES
)


def outcome(
    totals: RunTotals,
    exit_code: int | None,
    signal: int | None = None,
    *,
    prints_ending: bool = True,
    exit_reasons: Mapping[int, Reason] = _NO_CODES,
    stderr: str = "",
) -> Outcome:
    """The outcome of a run, by stream, exit code, and the signal that ended the process."""
    if exit_code is None and signal is None:
        return Lost(why="no record of how its process ended")
    if _is_success(totals, exit_code, signal, prints_ending=prints_ending):
        return Finished(text=totals.text, denied=totals.denied)
    reason = _reason(totals, exit_code, signal, exit_reasons)
    if reason == "never_started":
        reason = startup_cause(stderr) or reason
    detail = totals.error or _tail(stderr) or totals.plain[-_DETAIL_CAP:]
    match reason:
        case "rate_limit" | "overloaded" | "api_error":
            return RateLimited(limit=totals.refusal(reason), detail=detail)
        case "prompt_too_long":
            used = totals.tokens
            return ContextFull(tokens=used.context_tokens, window=used.context_window)
        case "max_turns":
            return LimitExceeded(limit="turns", detail=detail)
        case "budget":
            return LimitExceeded(limit="cost", detail=detail)
        case "denied":  # what was denied says more than a CLI's word for it
            return Failed(reason=reason, detail=", ".join(sorted(set(totals.denied))) or detail)
        case _:
            return Failed(reason=reason, detail=detail)


def _is_success(
    totals: RunTotals, exit_code: int | None, signal: int | None, *, prints_ending: bool
) -> bool:
    if exit_code != 0 or signal is not None:
        return False
    if prints_ending:
        return totals.terminal == "success"
    return totals.terminal == "success" or (totals.terminal is None and not totals.reason)


def _reason(
    totals: RunTotals,
    exit_code: int | None,
    signal: int | None,
    exit_reasons: Mapping[int, Reason],
) -> Reason:
    by_code = exit_reasons.get(exit_code) if exit_code is not None else None
    by_stream = cast("Reason", totals.reason if totals.reason in _REASONS else "")
    if totals.terminal == "error":
        return by_stream or by_code or "unknown"
    if totals.terminal is None and by_stream in ("rate_limit", "overloaded", "api_error"):
        # The CLI was refused and ended without saying so: a retry at once would be refused too.
        return by_stream
    if signal is not None or (exit_code is not None and exit_code > 128 and not by_code):
        return "killed"
    if totals.terminal == "success":
        return by_code or "exit_code"
    if not totals.events:
        return by_code or "never_started"
    return by_code or by_stream or ("denied" if totals.denied else "no_ending")


def _tail(stderr: str) -> str:
    """The last whole lines on stderr that say something; frames of a stack trace do not."""
    text = stderr.strip()
    lines = text[-_DETAIL_CAP:].splitlines()
    if len(text) > _DETAIL_CAP and len(lines) > 1:
        lines = lines[1:]  # the first one is cut in the middle
    telling = [line for line in lines if not _FRAME.match(line)]
    if _PYTHON_FRAME.search(text):
        telling = [line for line in telling if not line.startswith(" ")] or telling
    return "\n".join(telling or lines)


def startup_cause(words: str) -> Reason | None:
    """Why a CLI fails to start, from the stderr before the first event; None if that tells no
    reason. Only valid until then: no text of an agent can be among the words.
    """
    for reason, pattern in _STARTUP_PATTERNS:
        if pattern.search(words):
            return reason
    return None
