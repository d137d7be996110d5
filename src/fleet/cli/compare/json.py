"""What `fleet compare --json` prints."""

from collections.abc import Sequence
from typing import Any

import msgspec

from fleet.cli.json_output import pretty
from fleet.control.compare.results import Summary, summaries
from fleet.schemas.comparison import Comparison, Entry


def comparison_json(comparison: Comparison, found: Sequence[Entry]) -> str:
    shape: dict[str, Any] = msgspec.to_builtins(comparison, builtin_types=())
    shape["entries"] = [_entry(entry) for entry in found]
    shape["summary"] = [_summary(row) for row in summaries(found)]
    return pretty(shape)


def _entry(entry: Entry) -> dict[str, Any]:
    """What each came to beside what it is; a cost that is not known is null, never 0."""
    shape: dict[str, Any] = {
        "task_id": entry.task_id,
        "coder": entry.coder,
        "model": entry.model,
        "turn": entry.turn,
    }
    result = entry.result
    if result is None:
        return shape
    return {
        **shape,
        "standing": result.standing,
        "verified": result.standing == "verified",
        "over": result.is_over,
        "why": result.why,
        "attempts": result.attempts,
        "seconds": result.seconds,
        "tokens": result.tokens,
        "usage": msgspec.to_builtins(result.usage),
        "cost_usd": result.cost,
        "known_cost_usd": result.cost_usd,
        "estimated_usd": result.estimated_usd,
        "unpriced_runs": result.unpriced,
        "size": msgspec.to_builtins(result.size),
    }


def _summary(row: Summary) -> dict[str, Any]:
    return {**msgspec.to_builtins(row), "verified_rate": row.verified_rate}
