"""One bd command line, from words to exit code: read, carry out, print."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from msgspec import UNSET

from fleet.bd.command import GLOBAL, Call, Reply, TasksNow, Verb, encoded
from fleet.bd.only_beads import parse_line, unknown_command
from fleet.bd.pflag import FlagError, Parsed, parts
from fleet.errors import FleetError
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Settings
from fleet.schemas.shown_text import harmless, harmless_json

#: Each command, and its `module:VERB` of `fleet.bd.verbs`.
VERBS: Mapping[str, str] = {
    "assign": "edits:ASSIGN",
    "blocked": "ready:BLOCKED",
    "children": "list_:CHILDREN",
    "close": "close:CLOSE",
    "comment": "comment:COMMENT",
    "comments": "comment:COMMENTS",
    "comments add": "comment:COMMENTS_ADD",
    "comments list": "comment:COMMENTS",
    "config get": "kv:CONFIG_GET",
    "config list": "kv:CONFIG_LIST",
    "config set": "kv:CONFIG_SET",
    "config unset": "kv:CONFIG_UNSET",
    "count": "list_:COUNT",
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
    "duplicate": "close:DUPLICATE",
    "epic status": "list_:EPIC_STATUS",
    "export": "import_export:EXPORT",
    "forget": "comment:FORGET",
    "hb": "edits:HEARTBEAT",
    "heartbeat": "edits:HEARTBEAT",
    "help": "about:HELP",
    "human list": "list_:HUMAN_LIST",
    "import": "import_export:IMPORT",
    "kv clear": "kv:KV_CLEAR",
    "kv get": "kv:KV_GET",
    "kv list": "kv:KV_LIST",
    "kv set": "kv:KV_SET",
    "label add": "edits:LABEL_ADD",
    "label list": "edits:LABEL_LIST",
    "label remove": "edits:LABEL_REMOVE",
    "list": "list_:LIST",
    "memories": "comment:MEMORIES",
    "new": "create:CREATE",
    "note": "edits:NOTE",
    "ping": "about:PING",
    "prime": "about:PRIME",
    "priority": "edits:PRIORITY",
    "q": "create:QUICK",
    "ready": "ready:READY",
    "recall": "comment:RECALL",
    "remember": "comment:REMEMBER",
    "reopen": "edits:REOPEN",
    "search": "list_:SEARCH",
    "show": "show:SHOW",
    "stale": "list_:STALE",
    "stats": "list_:STATS",
    "status": "list_:STATS",
    "supersede": "close:SUPERSEDE",
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
    if args and args[0] in ("-V", "--version"):
        return "version", list(args[1:])
    pieces = parts(GLOBAL, args)
    place = next((n for n, piece in enumerate(pieces) if piece.words), None)
    if place is None:
        return "help", list(args)
    name, *more = pieces[place].words
    before = [word for piece in pieces[:place] for word in piece.typed]
    behind = pieces[place + 1 :]
    second = next((n for n, piece in enumerate(behind) if piece.words), None)
    if second is not None and f"{name} {behind[second].typed[0]}" in VERBS:
        name = f"{name} {behind.pop(second).typed[0]}"
    ended = ["--", *more] if pieces[place].typed[0] == "--" else []
    return name, [*before, *ended, *(word for piece in behind for word in piece.typed)]


def answer(
    args: Sequence[str],
    queue: SqlQueue,
    *,
    env: Mapping[str, str],
    settings: Settings | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
    stdin: TextIO | None = None,
    read_file: Callable[[str], bytes] | None = None,
    cwd: Path | None = None,
    stands: TasksNow | None = None,
) -> int:
    """Carry out one bd command line, print the reply, and return the exit code."""
    name, rest = split_command(args)
    if name in STORAGE:
        return _storage_reply(name, rest, out or sys.stdout, env)
    if name not in VERBS and any(verb.startswith(f"{name} ") for verb in VERBS):
        from fleet.bd.help import group_help

        print(group_help(name), file=out or sys.stdout)
        return 0
    try:
        call = read_line(
            args, queue, env=env, settings=settings,
            out=out, err=err, stdin=stdin, read_file=read_file, cwd=cwd, stands=stands,
        )  # fmt: skip
    except FlagError as error:
        print(harmless(f"Error: {error}"), file=err or sys.stderr)
        return 1
    return show(call, carry_out(call))


def read_line(
    args: Sequence[str],
    queue: SqlQueue,
    *,
    env: Mapping[str, str],
    settings: Settings | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
    stdin: TextIO | None = None,
    read_file: Callable[[str], bytes] | None = None,
    cwd: Path | None = None,
    stands: TasksNow | None = None,
) -> Call:
    """The line as a call of a verb. Raises FlagError where bd would not accept the line."""
    for number, word in enumerate(args, start=1):
        if not _storable(word):
            raise FlagError(f"argument {number} is not valid UTF-8 text: {word!a}")
    name, rest = split_command(args)
    verb = find_verb(name)
    if verb is None:
        raise FlagError(unknown_command(name))
    line = parse_line(name, (*verb.flags, *GLOBAL), rest)
    return call_of(
        name, verb, line, queue, env=env, settings=settings,
        out=out, err=err, stdin=stdin, read_file=read_file, cwd=cwd, stands=stands,
    )  # fmt: skip


def call_of(
    name: str,
    verb: Verb,
    line: Parsed,
    queue: SqlQueue,
    *,
    env: Mapping[str, str],
    settings: Settings | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
    stdin: TextIO | None = None,
    read_file: Callable[[str], bytes] | None = None,
    cwd: Path | None = None,
    stands: TasksNow | None = None,
) -> Call:
    """The call of a verb with a line that was read before."""
    return Call(
        verb=verb,
        name=name,
        line=line,
        queue=queue,
        env=env,
        settings=settings,
        out=out or sys.stdout,
        err=err or sys.stderr,
        stdin=stdin or sys.stdin,
        read_file=read_file or _from_disk,
        cwd=cwd,
        stands=stands,
    )


def _from_disk(name: str) -> bytes:
    return Path(name).read_bytes()


def _storable(word: str) -> bool:
    """Whether an argument is UTF-8: other bytes cannot be stored or shown again."""
    try:
        return b"\0" not in word.encode()
    except UnicodeEncodeError:
        return False


def carry_out(call: Call) -> Reply:
    """The verb's reply. An error is a reply, too: its text is on standard error already."""
    if call.line.switch("help"):
        from fleet.bd.help import help_for, overview

        return Reply(text=overview() if call.name == "help" else help_for(call.verb))
    try:
        call.check()
        return call.verb.run(call)
    except FleetError as error:
        hint = {"hint": error.hint} if error.hint else {}
        if not call.json:
            call.warn(f"Error: {error.message}")
            if hint:
                call.warn(f"Hint: {error.hint}")
        return Reply(code=1, value={"error": error.message, **hint})


def show(call: Call, reply: Reply) -> int:
    """Print a reply in the form that the line asks for, and return the exit code."""
    text = reply.text
    if call.json and reply.value is not UNSET:
        text = encoded(reply.value, envelope=call.envelope, beside=reply.beside)
        text = harmless_json(text) if call.out.isatty() else text
    else:
        text = harmless(text)
    if text:
        print(text, file=call.out)
    return reply.code


def _storage_reply(name: str, rest: Sequence[str], out: TextIO, env: Mapping[str, str]) -> int:
    """The line of `STORAGE`, whatever flags stand on the command line."""
    code, status, text = STORAGE[name]
    body: dict[str, Any] = {"status": status, "message": text}
    as_json = "--json" in rest
    print(encoded(body, envelope=env.get("BD_JSON_ENVELOPE") == "1") if as_json else text, file=out)
    return code
