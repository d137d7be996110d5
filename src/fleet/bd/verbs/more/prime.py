"""bd prime: what an agent has to know of the commands here, short, since every run pays for it."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from fleet.bd.command import Call, Verb
from fleet.bd.pflag import Flag
from fleet.queue.sql.tracker import comments

_HERE = Path(__file__).parent
_BRIEF = "Tasks are kept with bd: `bd ready`, `bd show <id>`, `bd close <id>`, `bd prime --full`.\n"


def _prime(call: Call) -> int:
    text = prime_text(call)
    if call.line.switch("hook-json"):
        hook = {"hookEventName": "SessionStart", "additionalContext": text}
        call.say(msgspec.json.encode({"hookSpecificOutput": hook}).decode())
    else:
        call.say(text.rstrip("\n"))
    return 0


def prime_text(call: Call) -> str:
    line = call.line
    if line.switch("memories-only"):
        return _memories(call)
    full = line.switch("full")
    if line.switch("mcp") and not full:
        text = _BRIEF
    else:
        text = (_HERE / "prime.md").read_text(encoding="utf-8")
    if full:
        text += (_HERE / "prime_full.md").read_text(encoding="utf-8")
    if line.switch("no-memories") or line.switch("export"):
        return text
    kept = _memories(call)
    return f"{text}\n{kept}" if kept else text


def _memories(call: Call) -> str:
    """What was remembered, up to the caps; the first always stands."""
    memories = comments.memories(call.queue)
    shown = _capped(
        memories, call.line.number("max-memories", 0), call.line.number("max-memory-chars", 0)
    )
    if not shown:
        return ""
    parts = [f"## Memories ({len(memories)})", ""]
    if len(shown) < len(memories):
        left = len(memories) - len(shown)
        parts += [f"{left} more are not shown here; `bd memories` lists all.", ""]
    for key, value in shown.items():
        parts += [f"### {key}", value, ""]
    return "\n".join(parts)


def _capped(memories: Mapping[str, str], most: int, chars: int) -> dict[str, str]:
    shown: dict[str, str] = {}
    size = 0
    for key, value in memories.items():
        size += len(f"### {key}\n{value}\n".encode())
        if shown and ((most and len(shown) >= most) or (chars and size > chars)):
            break
        shown[key] = value
    return shown


PRIME = Verb(
    run=_prime,
    usage="bd prime [flags]",
    about="Output workflow context for an agent",
    flags=(
        Flag("full", "switch", help="All commands, not only the usual ones"),
        Flag("mcp", "switch", help="Only a reminder"),
        Flag("stealth", "switch", help="Accepted for compatibility: no git operations anyway"),
        Flag("export", "switch", help="The text without memories"),
        Flag("memories-only", "switch", help="Only the memories"),
        Flag("no-memories", "switch", help="Without the memories"),
        Flag("hook-json", "switch", help="Wrapped for a SessionStart hook"),
        Flag("max-memories", "number", help="At most this many memories (0: all)"),
        Flag("max-memory-chars", "number", help="At most this many bytes of memories (0: all)"),
    ),
)
