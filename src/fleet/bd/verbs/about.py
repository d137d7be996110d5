"""`bd version`, `where`, `help` and `prime`: what answers here, and what an agent has to know."""

from pathlib import Path

import msgspec

from fleet import __version__
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.pflag import Flag
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
    parts = [f"## Memories ({len(memories)})", ""]
    for key, value in memories.items():
        parts += [f"### {key}", value, ""]
    return "\n".join(parts)


VERSION = Verb(run=_version, usage="bd version", about="Print version information")
WHERE = Verb(run=_where, usage="bd where", about="Show where the queue is")
HELP = Verb(run=_help, usage="bd help [command]", about="Help about any command")
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
    ),
)
