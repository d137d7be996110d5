"""`fleet bd` on the embedded and PostgreSQL queues: the bd commands, answered by fleet itself.

Flags, JSON shapes, texts, channels and exit codes are those of bd 1.3, so that people, scripts
and agents that know bd need to learn nothing. `VERBS` is the table of contents.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TextIO

from fleet.errors import FleetError
from fleet.flags import FlagError, parse
from fleet.queue.bd.call import GLOBAL, Call, Failure, Verb
from fleet.queue.sql import SqlQueue
from fleet.schemas import Settings

#: Each command, and where it is answered: `module:VERB` of `fleet.queue.bd.verbs`.
VERBS: Mapping[str, str] = {
    "version": "about:VERSION",
    "help": "about:HELP",
    # Making, finding and finishing tasks.
    "create": "create:CREATE",
    "new": "create:CREATE",
    "q": "create:QUICK",
    "show": "show:SHOW",
    "view": "show:SHOW",
    "list": "listing:LIST",
    "search": "search:SEARCH",
    "ready": "ready:READY",
    "blocked": "blocked:BLOCKED",
    "update": "update:UPDATE",
    "close": "close:CLOSE",
    "done": "close:CLOSE",
    "reopen": "close:REOPEN",
    "count": "count:COUNT",
    "stats": "count:STATS",
    "status": "count:STATS",
    # Dependencies, talk, claims, transfer, set-up.
    "assign": "triage:ASSIGN",
    "children": "children:CHILDREN",
    "comment": "talk:COMMENT",
    "comments": "talk:COMMENTS",
    "comments add": "talk:COMMENTS_ADD",
    "comments list": "talk:COMMENTS_LIST",
    "context": "place:CONTEXT",
    "defer": "triage:DEFER",
    "delete": "delete:DELETE",
    "dep": "dep:DEP",
    "dep add": "dep:ADD",
    "dep cycles": "dep:CYCLES",
    "dep list": "dep:LIST",
    "dep relate": "dep:RELATE",
    "dep remove": "dep:REMOVE",
    "dep rm": "dep:REMOVE",
    "dep tree": "dep_tree:TREE",
    "dep unrelate": "dep:UNRELATE",
    "doctor": "elsewhere:DOCTOR",
    "dolt": "elsewhere:DOLT",
    "dolt commit": "elsewhere:COMMIT",
    "dolt pull": "elsewhere:PULL",
    "dolt push": "elsewhere:PUSH",
    "dolt remote": "elsewhere:REMOTES",
    "dolt show": "elsewhere:STATUS",
    "dolt status": "elsewhere:STATUS",
    "epic": "epic:EPIC",
    "epic close-eligible": "epic:CLOSE_ELIGIBLE",
    "epic status": "epic:STATUS",
    "export": "transfer:EXPORT",
    "forget": "memory:FORGET",
    "hb": "claims:HEARTBEAT",
    "heartbeat": "claims:HEARTBEAT",
    "hooks": "elsewhere:HOOKS",
    "human": "attention:HUMAN",
    "human dismiss": "attention:DISMISS",
    "human list": "attention:LIST",
    "human respond": "attention:RESPOND",
    "human stats": "attention:STATS",
    "import": "transfer:IMPORT",
    "info": "place:INFO",
    "init": "place:INIT",
    "kv": "memory:KV",
    "kv clear": "memory:KV_CLEAR",
    "kv get": "memory:KV_GET",
    "kv list": "memory:KV_LIST",
    "kv set": "memory:KV_SET",
    "label": "label:LABEL",
    "label add": "label:ADD",
    "label list": "label:LIST",
    "label list-all": "label:LIST_ALL",
    "label propagate": "label:PROPAGATE",
    "label remove": "label:REMOVE",
    "link": "dep:LINK",
    "memories": "memory:MEMORIES",
    "note": "talk:NOTE",
    "ping": "place:PING",
    "prime": "prime:PRIME",
    "priority": "triage:PRIORITY",
    "recall": "memory:RECALL",
    "reclaim": "claims:RECLAIM",
    "remember": "memory:REMEMBER",
    "setup": "elsewhere:SETUP",
    "stale": "attention:STALE",
    "sync": "elsewhere:SYNC",
    "tag": "label:TAG",
    "unclaim": "claims:UNCLAIM",
    "undefer": "triage:UNDEFER",
    "where": "place:WHERE",
}


def answer(
    args: Sequence[str],
    queue: SqlQueue,
    *,
    env: Mapping[str, str],
    settings: Settings | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
    stdin: TextIO | None = None,
) -> int:
    """Carry out one bd command line and return its exit code."""
    errors = err or sys.stderr
    for number, word in enumerate(args, start=1):
        if not _storable(word):
            print(f"Error: argument {number} is not valid UTF-8 text: {word!a}", file=errors)
            return 1
    name, rest = split_command(args)
    verb = find_verb(name)
    if verb is None:
        print(unknown_command(name), file=errors)
        return 1
    try:
        line = parse((*verb.flags, *GLOBAL), rest)
    except FlagError as error:
        print(f"Error: {error}", file=errors)
        return 1
    call = Call(
        queue,
        line,
        verb=name,
        env=env,
        settings=settings,
        out=out or sys.stdout,
        err=errors,
        stdin=stdin or sys.stdin,
    )
    return _carry_out(verb, call)


def _storable(word: str) -> bool:
    """Arguments come as bytes; those that are not UTF-8 cannot be stored or shown again."""
    try:
        return b"\0" not in word.encode()
    except UnicodeEncodeError:
        return False


def _carry_out(verb: Verb, call: Call) -> int:
    if call.line.switch("help"):
        from fleet.queue.bd.help import help_for, overview

        call.say(overview() if call.verb == "help" else help_for(verb))
        return 0
    try:
        if verb.writes:
            call.writes(call.verb)
        return verb.run(call)
    except Failure as failure:
        return call.fail(failure)
    except FleetError as error:
        return call.fail(Failure(error.message, hint=error.hint, channel=verb.channel))


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


def find_verb(name: str) -> Verb | None:
    place = VERBS.get(name)
    if place is None:
        return None
    module, _, attribute = place.partition(":")
    verb = getattr(import_module(f"fleet.queue.bd.verbs.{module}"), attribute)
    assert isinstance(verb, Verb)
    return verb


def unknown_command(name: str) -> str:
    return (
        f'Error: unknown command "{name}" for "bd"\n'
        "This fleet answers bd commands itself and does not have that one."
        " Install beads (bd) and use its queue to have them all: fleet init --queue beads\n"
        "Run 'fleet bd --help' for usage."
    )
