"""`fleet bd` on the embedded and PostgreSQL queues: the bd commands, answered by fleet itself.

Flags, JSON shapes, texts, channels and exit codes are those of bd 1.3, so that people, scripts
and agents that know bd need to learn nothing. `VERBS` is the table of contents.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TextIO

from fleet.bd.command import GLOBAL, Call, Failure, Verb
from fleet.bd.pflag import FlagError, parse
from fleet.errors import FleetError
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Settings

#: Each command, and where it is answered: `module:VERB` of `fleet.bd.verbs`.
VERBS: Mapping[str, str] = {
    "version": "more.version_help:VERSION",
    "help": "more.version_help:HELP",
    # Making, finding and finishing tasks.
    "create": "create:CREATE",
    "new": "create:CREATE",
    "q": "create:QUICK",
    "show": "show:SHOW",
    "view": "show:SHOW",
    "list": "list_:LIST",
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
    "assign": "more.assign_defer:ASSIGN",
    "children": "children:CHILDREN",
    "comment": "comment:COMMENT",
    "comments": "comment:COMMENTS",
    "comments add": "comment:COMMENTS_ADD",
    "comments list": "comment:COMMENTS_LIST",
    "context": "more.info:CONTEXT",
    "defer": "more.assign_defer:DEFER",
    "delete": "more.delete:DELETE",
    "dep": "dep:DEP",
    "dep add": "dep:ADD",
    "dep cycles": "dep:CYCLES",
    "dep list": "dep:LIST",
    "dep relate": "dep:RELATE",
    "dep remove": "dep:REMOVE",
    "dep rm": "dep:REMOVE",
    "dep tree": "dep.tree:TREE",
    "dep unrelate": "dep:UNRELATE",
    "doctor": "more.unsupported:DOCTOR",
    "dolt": "more.unsupported:DOLT",
    "dolt commit": "more.unsupported:COMMIT",
    "dolt pull": "more.unsupported:PULL",
    "dolt push": "more.unsupported:PUSH",
    "dolt remote": "more.unsupported:REMOTES",
    "dolt show": "more.unsupported:STATUS",
    "dolt status": "more.unsupported:STATUS",
    "epic": "more.epic:EPIC",
    "epic close-eligible": "more.epic:CLOSE_ELIGIBLE",
    "epic status": "more.epic:STATUS",
    "export": "more.import_export:EXPORT",
    "forget": "more.memory:FORGET",
    "hb": "more.claim_lease:HEARTBEAT",
    "heartbeat": "more.claim_lease:HEARTBEAT",
    "hooks": "more.unsupported:HOOKS",
    "human": "more.stale_human:HUMAN",
    "human dismiss": "more.stale_human:DISMISS",
    "human list": "more.stale_human:LIST",
    "human respond": "more.stale_human:RESPOND",
    "human stats": "more.stale_human:STATS",
    "import": "more.import_export:IMPORT",
    "info": "more.info:INFO",
    "init": "more.info:INIT",
    "kv": "more.memory:KV",
    "kv clear": "more.memory:KV_CLEAR",
    "kv get": "more.memory:KV_GET",
    "kv list": "more.memory:KV_LIST",
    "kv set": "more.memory:KV_SET",
    "label": "more.label:LABEL",
    "label add": "more.label:ADD",
    "label list": "more.label:LIST",
    "label list-all": "more.label:LIST_ALL",
    "label propagate": "more.label:PROPAGATE",
    "label remove": "more.label:REMOVE",
    "link": "dep:LINK",
    "memories": "more.memory:MEMORIES",
    "note": "comment:NOTE",
    "ping": "more.info:PING",
    "prime": "more.prime:PRIME",
    "priority": "more.assign_defer:PRIORITY",
    "recall": "more.memory:RECALL",
    "reclaim": "more.claim_lease:RECLAIM",
    "remember": "more.memory:REMEMBER",
    "setup": "more.unsupported:SETUP",
    "stale": "more.stale_human:STALE",
    "sync": "more.unsupported:SYNC",
    "tag": "more.label:TAG",
    "unclaim": "more.claim_lease:UNCLAIM",
    "undefer": "more.assign_defer:UNDEFER",
    "where": "more.info:WHERE",
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
        from fleet.bd.help import help_for, overview

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
    verb = getattr(import_module(f"fleet.bd.verbs.{module}"), attribute)
    assert isinstance(verb, Verb)
    return verb


def unknown_command(name: str) -> str:
    return (
        f'Error: unknown command "{name}" for "bd"\n'
        "This fleet answers bd commands itself and does not have that one."
        " Install beads (bd) and use its queue to have them all: fleet init --queue beads\n"
        "Run 'fleet bd --help' for usage."
    )
