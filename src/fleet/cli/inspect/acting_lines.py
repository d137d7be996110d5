"""Which command lines are acts of a person, for the audit: asked for every command. Pure."""

from collections.abc import Sequence

#: Commands that always act.
_ALWAYS = frozenset(
    ("init", "answer", "tell", "stop", "retry", "pause", "resume", "restart", "shutdown")
)
#: Words after a command of which one makes it an act.
_WITH = {
    "run": ("--detach", "-d"),
    "review": ("--reject", "--comment", "--approve"),
    "compare": ("--with", "--pick", "--discard"),
    "config": ("set",),
    "account": ("add", "remove", "login", "pause", "resume"),
    "coders": ("trust",),
    "queue": ("restore", "accept", "backup"),
    "plan": ("apply", "approve", "revise", "cancel", "write"),
    "schedule": ("add", "remove", "run"),
    "service": ("install", "remove"),
    "host": ("add", "drain", "resume", "lost", "remove"),
    "web": ("pair", "revoke"),
    "mcp": ("--write",),
    "notify": ("pair",),
}
#: Commands that act if they name something, and the words with which they only look all the same.
_NAMING = {"land": frozenset(("--check", "--diff")), "trust": frozenset[str]()}
#: Commands of the tracker that only look; any other one writes, those of a real bd too.
_LOOKS = frozenset(
    ("blocked", "children", "comments", "count", "dep cycles", "dep list", "dep tree",
     "epic status", "export", "help", "human list", "info", "label list", "list", "memories",
     "ping", "prime", "ready", "recall", "search", "show", "stats", "status", "version", "view",
     "where")
)  # fmt: skip
#: Flags of the tracker that take no value, often typed in front of another flag.
_SWITCHES = frozenset(
    ("--json", "--quiet", "-q", "--verbose", "-v", "--silent", "--force", "--help")
)
_GROUPS = frozenset(name.partition(" ")[0] for name in _LOOKS if " " in name)


def is_act(args: Sequence[str]) -> bool:
    """A person changes something with this command line."""
    if not args or _only_looks(args):
        return False
    command, *rest = args
    if command == "bd":
        return _writes(rest)
    if command in _NAMING:
        return bool(set(rest) - {"--json"}) and not _NAMING[command] & set(rest)
    return command in _ALWAYS or any(word in rest for word in _WITH.get(command, ()))


def _only_looks(args: Sequence[str]) -> bool:
    """Help is asked for, or what would be done.

    Behind `--` no word is a flag. Behind a flag of the tracker it may be that flag's value, as in
    `-d --help`: better a line too many than an act unrecorded.
    """
    flags = args[: args.index("--")] if "--" in args else args
    for before, word in zip(("", *flags), flags, strict=False):
        value = args[0] == "bd" and before.startswith("-") and before not in _SWITCHES
        if word in ("--help", "-h", "--dry-run") and not value:
            return True
    return False


def _writes(args: Sequence[str]) -> bool:
    """Whether a line of the tracker changes something."""
    words = [word for word in args if not word.startswith("-")]
    if not words:
        return False
    if words[:2] == ["comments", "add"] or (words[0] == "ready" and "--claim" in args):
        return True
    return " ".join(words[: 2 if words[0] in _GROUPS else 1]) not in _LOOKS
