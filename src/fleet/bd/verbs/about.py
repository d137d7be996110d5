"""`bd version`, `where`, `help` and `prime`: what answers here, and what an agent has to know."""

import time
from itertools import accumulate
from pathlib import Path

import msgspec

from fleet import __version__
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.pflag import Flag, ignored
from fleet.queue.sql.tracker import comments

#: The bd whose flags and JSON shapes fleet follows.
BD_VERSION = "1.3.0"

_HERE = Path(__file__).parent
_BRIEF = "Tasks are kept with bd: `bd ready`, `bd show <id>`, `bd close <id>`, `bd prime --full`.\n"


def _version(_: Call) -> Reply:
    return Reply(
        value={"version": BD_VERSION, "build": f"fleet {__version__}"},
        text=f"bd version {BD_VERSION} (answered by fleet {__version__})",
    )


def _where(call: Call) -> Reply:
    address, prefix = call.queue.db.address, call.queue.prefix
    return Reply(
        value={"path": address, "database_path": address, "prefix": prefix},
        text=f"{address}\nprefix: {prefix}",
    )


def _ping(call: Call) -> Reply:
    start = time.monotonic()
    call.queue.counts()
    took = round((time.monotonic() - start) * 1000)
    times = {"resolve_ms": 0, "store_ms": 0, "query_ms": took, "total_ms": took}
    return Reply(value={"status": "ok", **times}, text=f"The queue answers: {took} ms")


def _help(call: Call) -> Reply:
    from fleet.bd.help import help_text

    return Reply(text=help_text(call.words))


def _prime(call: Call) -> Reply:
    text = _text(call)
    if call.line.switch("hook-json"):
        hook = {"hookEventName": "SessionStart", "additionalContext": text}
        text = msgspec.json.encode({"hookSpecificOutput": hook}).decode()
    return Reply(text=text.rstrip("\n"))


def _text(call: Call) -> str:
    line = call.line
    if line.switch("memories-only"):
        return _memories(call)
    if line.switch("mcp") and not line.switch("full"):
        text = _BRIEF
    else:
        text = (_HERE / "prime.md").read_text(encoding="utf-8")
    if line.switch("full"):
        text += (_HERE / "prime_full.md").read_text(encoding="utf-8")
    if line.switch("no-memories") or line.switch("export"):
        return text
    kept = _memories(call)
    return f"{text}\n{kept}" if kept else text


def _memories(call: Call) -> str:
    memories = comments.memories(call.queue)
    if not memories:
        return ""
    parts = [f"### {key}\n{value}\n" for key, value in memories.items()]
    shown = parts[: call.line.number("max-memories", 0) or None]
    room = call.line.number("max-memory-chars", 0)
    sizes = accumulate(len(part.encode()) for part in shown)
    shown = [part for part, size in zip(shown, sizes, strict=True) if not 0 < room < size]
    left = len(parts) - len(shown)
    more = [f"{left} more: bd memories\n"] if left else []
    return "\n".join([f"## Memories ({len(parts)})\n", *shown, *more])


VERSION = Verb(run=_version, usage="bd version", about="Print version information")
WHERE = Verb(run=_where, usage="bd where", about="Show where the queue is")
PING = Verb(run=_ping, usage="bd ping", about="Check that the queue answers")
HELP = Verb(run=_help, usage="bd help [command]", about="Help about any command")
PRIME = Verb(
    run=_prime,
    usage="bd prime [flags]",
    about="Output workflow context for an agent",
    flags=(
        Flag("full", "switch", help="All commands, not only the usual ones"),
        Flag("mcp", "switch", help="Only a reminder"),
        *ignored("stealth", why="no git operations anyway"),
        Flag("export", "switch", help="The text without memories"),
        Flag("memories-only", "switch", help="Only the memories"),
        Flag("no-memories", "switch", help="Without the memories"),
        Flag("max-memories", "number", help="The most memories to print (0: all)"),
        Flag("max-memory-chars", "number", help="The most bytes of memories to print (0: all)"),
        Flag("hook-json", "switch", help="Wrapped for a SessionStart hook"),
    ),
)
