"""The ids of a task's trace and spans. Pure.

Ids follow from what the records say: they are known before a run begins, are the same after any
kill, and a span that is sent twice is one span.
"""

from datetime import datetime
from hashlib import sha256

from fleet.runs.run_id import RunId


def trace_id(run: RunId, created: datetime) -> str:
    """The trace of a run's task, in 32 hexadecimal digits. An id may be given to a new task once
    its old one was deleted: the moment of its creation tells them apart.
    """
    return _digest("trace", run.owner, run.task, str(int(created.timestamp())))[:32]


def task_span(trace: str) -> str:
    return _digest("task", trace)[:16]


def run_span(run: RunId) -> str:
    """The span of a run, in 16 hexadecimal digits."""
    return _digest("run", str(run))[:16]


def part_span(run: RunId, part: str) -> str:
    """The span of a part of a run: `workspace`, `agent`, `verify 1`."""
    return _digest("part", str(run), part)[:16]


def traceparent(run: RunId, created: datetime) -> str:
    """What an agent is given, so that the agent's own spans stand below the run's `agent` (W3C)."""
    return f"00-{trace_id(run, created)}-{part_span(run, 'agent')}-01"


def _digest(*words: str) -> str:
    return sha256("\0".join(words).encode(errors="surrogateescape")).hexdigest()
