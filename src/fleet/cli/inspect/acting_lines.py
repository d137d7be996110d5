"""Which command lines are acts of a person, for the audit: asked for every command. Pure."""

from collections.abc import Sequence

#: Commands that always act.
_ALWAYS = frozenset(
    ("answer", "tell", "stop", "retry", "pause", "resume", "restart", "shutdown", "trust")
)
#: Words after a command of which one makes it an act.
_WITH = {
    "review": ("--reject", "--comment", "--approve"),
    "compare": ("--pick", "--discard", "--coders", "--coder", "--entries"),
    "config": ("set", "unset"),
    "account": ("add", "remove", "login", "pause", "resume"),
    "coders": ("trust",),
    "queue": ("restore", "adopt", "backup"),
    "plan": ("apply", "approve", "revise", "cancel", "write"),
    "schedule": ("add", "remove", "run"),
    "service": ("install", "remove"),
    "mcp": ("--write",),
    "notify": ("pair",),
}
#: Words with which `fleet land` only looks.
_LOOKS = frozenset(("--check", "--diff", "--json"))
#: Commands of the tracker that write.
_TRACKER = frozenset(
    ("create", "new", "q", "update", "close", "done", "reopen", "delete", "label", "comment",
     "note", "assign", "defer", "undefer", "unclaim", "priority", "import", "remember", "forget")
)  # fmt: skip


def is_act(args: Sequence[str]) -> bool:
    """A person changes something with this command line."""
    if not args or any(word in ("--help", "-h", "--dry-run") for word in args):
        return False
    command, *rest = args
    if command == "bd":
        return bool(rest) and (rest[0] in _TRACKER or rest[:2] in (["dep", "add"], ["dep", "rm"]))
    if command == "land":
        return bool(rest) and not _LOOKS & set(rest)
    if command == "task":
        return "restore" in rest
    return command in _ALWAYS or any(word in rest for word in _WITH.get(command, ()))
