"""The bd commands that fleet answers on its own queues, and where each is carried out."""

from collections.abc import Mapping, Sequence
from importlib import import_module

from fleet.bd.command import GLOBAL, Verb

#: Each command, and its `module:VERB` of `fleet.bd.verbs`.
VERBS: Mapping[str, str] = {
    "assign": "edits:ASSIGN",
    "blocked": "ready:BLOCKED",
    "children": "list_:CHILDREN",
    "close": "close:CLOSE",
    "comment": "comment:COMMENT",
    "comments": "comment:COMMENTS",
    "comments add": "comment:COMMENTS_ADD",
    "count": "count:COUNT",
    "create": "create:CREATE",
    "defer": "edits:DEFER",
    "delete": "close:DELETE",
    "dep add": "dep:ADD",
    "dep cycles": "dep:CYCLES",
    "dep list": "dep:LIST",
    "dep remove": "dep:REMOVE",
    "dep rm": "dep:REMOVE",
    "dep tree": "dep:TREE",
    "done": "close:CLOSE",
    "epic status": "count:EPIC_STATUS",
    "export": "import_export:EXPORT",
    "forget": "comment:FORGET",
    "help": "about:HELP",
    "human list": "list_:HUMAN_LIST",
    "import": "import_export:IMPORT",
    "label add": "edits:LABEL_ADD",
    "label list": "edits:LABEL_LIST",
    "label remove": "edits:LABEL_REMOVE",
    "list": "list_:LIST",
    "memories": "comment:MEMORIES",
    "new": "create:CREATE",
    "note": "edits:NOTE",
    "prime": "about:PRIME",
    "priority": "edits:PRIORITY",
    "q": "create:QUICK",
    "ready": "ready:READY",
    "recall": "comment:RECALL",
    "remember": "comment:REMEMBER",
    "reopen": "close:REOPEN",
    "search": "list_:SEARCH",
    "show": "show:SHOW",
    "stats": "count:STATS",
    "status": "count:STATS",
    "unclaim": "edits:UNCLAIM",
    "undefer": "edits:UNDEFER",
    "update": "update:UPDATE",
    "version": "about:VERSION",
    "view": "show:SHOW",
    "where": "about:WHERE",
}

#: Commands about bd's own storage and set-up: exit code, status, and the line that explains.
STORAGE: Mapping[str, tuple[int, str, str]] = {
    "dolt": (0, "no-remote", "Nothing to do: fleet's queue is one database, without a remote."),
    "sync": (0, "no-remote", "Nothing to sync: every change is in fleet's queue already."),
    "init": (0, "ok", "Nothing to do: fleet's queue is there already."),
    "info": (0, "ok", "Fleet's own queue answers; `bd where` says where it is."),
    "ping": (0, "ok", "The queue answers."),
    "setup": (1, "needs-beads", "setup needs beads: fleet init --queue beads"),
    "hooks": (1, "needs-beads", "hooks need beads: fleet init --queue beads"),
    "doctor": (1, "needs-beads", "bd doctor needs beads; `fleet doctor` checks fleet."),
}


def find_verb(name: str) -> Verb | None:
    module, _, attribute = VERBS.get(name, "").partition(":")
    if not module:
        return None
    verb = getattr(import_module(f"fleet.bd.verbs.{module}"), attribute)
    assert isinstance(verb, Verb)
    return verb


def split_command(args: Sequence[str]) -> tuple[str, list[str]]:
    """The command's name and the rest of the line; global flags may stand before the name.

    A name may be of two words, `dep add`, with flags between them.
    """
    takes_value = {f"--{f.name}" for f in GLOBAL if f.kind != "switch"} | {
        f"-{f.short}" for f in GLOBAL if f.short and f.kind != "switch"
    }
    before: list[str] = []
    left = list(args)
    if left and left[0] in ("-V", "--version"):
        return "version", left[1:]
    while left and left[0].startswith("-"):
        before.append(left.pop(0))
        if before[-1] in takes_value and left:
            before.append(left.pop(0))
    name = left.pop(0) if left else "help"
    place = 0
    while place < len(left) and left[place].startswith("-") and left[place] != "--":
        place += 2 if left[place] in takes_value else 1
    if place < len(left) and f"{name} {left[place]}" in VERBS:
        name = f"{name} {left.pop(place)}"
    return name, before + left
