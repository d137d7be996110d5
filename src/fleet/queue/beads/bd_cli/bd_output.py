"""Reads what `bd` printed: every JSON shape of all its versions, and failures as our errors.

Pure. The exit code is a hint and the text is what people see, so both are kept.
"""

import json
import re
import signal
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from fleet.errors import (
    BadInput,
    DamagedQueue,
    FleetError,
    NotFound,
    QueueBusy,
    QueueError,
    QueueUnavailable,
    Refused,
)
from fleet.processes.bounded_call import Exited

#: What bd says on its error stream beside the point.
_NOISE = re.compile(
    r"^(warning: beads\.role not configured.*|\s+(Fix|Or):\s+git config .*)\n?", re.MULTILINE
)

#: The first that matches decides. bd has no error codes, only words, and they differ by version.
_MEANINGS: tuple[tuple[re.Pattern[str], type[FleetError]], ...] = tuple(
    (re.compile(words, re.IGNORECASE), kind)
    for words, kind in (
        (
            r"no beads (database|project)|not initialized|no such file or directory",
            QueueUnavailable,
        ),
        (r"no space left|read.only file", QueueUnavailable),
        (r"corrupt|checksum", DamagedQueue),
        (r"panic:|fatal error:", QueueUnavailable),
        (
            r"connection refused|server (is )?(not running|unreachable|unavailable)",
            QueueUnavailable,
        ),
        (r"already claimed|not claimable|cannot (close|reassign)|mismatch: \S+ is", Refused),
        (r"database is locked|exclusive lock|\blocked by\b|serialization|deadlock", QueueBusy),
        (r"try restarting transaction|read.only|i/o timeout|deadline exceeded", QueueBusy),
        (r"already exists|cycle|self-dependency|already a child|circular", Refused),
        (r"no issues? found|\bnot found\b|does not exist", NotFound),
        (r"invalid|required|cannot be empty|must be|unknown (flag|command)|mismatch", BadInput),
    )
)


def payload(ended: Exited, call: str) -> Any:
    """The answer of a successful call, out of any envelope."""
    try:
        return unwrapped(_decoded(ended.out))
    except ValueError as error:
        start = ended.out[:200].decode(errors="replace").strip() or "nothing"
        raise QueueUnavailable(
            f"bd {call} answered with something that is not JSON: {error}",
            hint=f"The answer began with: {start}",
        ) from error


def unwrapped(document: Any) -> Any:
    """`{"data": …}` and `{"items": […]}` without the envelope; anything else unchanged."""
    if isinstance(document, dict):
        envelope = cast("dict[str, Any]", document)
        for key in ("data", "items"):
            if key in envelope and envelope.keys() <= {key, "schema_version", "pagination"}:
                return envelope[key]
        envelope.pop("schema_version", None)
        return envelope
    return document


def failure(ended: Exited, call: str) -> FleetError:
    """The error that a failed call stands for, in bd's own words."""
    if ended.code < 0:
        name = signal.Signals(-ended.code).name
        return QueueUnavailable(
            f"bd {call} was ended by {name}", hint=_last_lines(ended.err) or "It said nothing."
        )
    text = complaint(ended) or f"bd {call} failed with exit code {ended.code} and said nothing"
    for words, kind in _MEANINGS:
        if words.search(text):
            return kind(text, hint=f"bd {call} said so.")
    return QueueError(text, hint=f"bd {call} failed with exit code {ended.code}.")


def complaint(ended: Exited) -> str:
    """Why a call failed: the error object on either stream, else the plain text."""
    reasons = _reasons(_tolerantly(ended.out))
    if not reasons:
        last = ended.err.strip().rpartition("\n")[2]
        reasons = _reasons(_tolerantly(last.encode())) if last.startswith("{") else []
    text = "; ".join(reasons) or _last_lines(_NOISE.sub("", ended.err))
    return text.removeprefix("Error: ").strip()


def _reasons(document: Any) -> list[str]:
    """The causes that an error object names; those of single issues say more than the sum."""
    inner = unwrapped(document)
    if not isinstance(inner, dict):
        return []
    error = cast("dict[str, Any]", inner)
    failed = cast("Sequence[dict[str, Any]]", error.get("failed") or ())
    singles = [str(one["error"]) for one in failed if "error" in one]
    return singles or ([str(error["error"])] if "error" in error else [])


def _tolerantly(text: bytes) -> Any:
    try:
        return _decoded(text)
    except ValueError:
        return None


def _decoded(text: bytes) -> Any:
    """One JSON document; lines of talk above are overlooked."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        start = re.search(rb"^[\[{]", text, re.MULTILINE)
        if start is None or start.start() == 0:
            raise
        return json.loads(text[start.start() :])


def _last_lines(text: str, count: int = 5) -> str:
    return "\n".join(text.strip().splitlines()[-count:])
