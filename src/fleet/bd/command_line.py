"""One bd command line, from its words to its exit code: read, carry out, print."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from msgspec import UNSET

from fleet.bd.command import GLOBAL, Call, Failure, Reply, encoded
from fleet.bd.command_table import STORAGE, VERBS, find_verb, split_command
from fleet.bd.pflag import FlagError, parse
from fleet.errors import FleetError
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Settings


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
    """Carry out one bd command line, print the reply, and return the exit code."""
    name, rest = split_command(args)
    if name in STORAGE:
        return _storage_reply(name, rest, out or sys.stdout, env)
    if name not in VERBS and any(verb.startswith(f"{name} ") for verb in VERBS):
        from fleet.bd.help import group_help

        print(group_help(name), file=out or sys.stdout)
        return 0
    try:
        call = read_line(args, queue, env=env, settings=settings, out=out, err=err, stdin=stdin)
    except FlagError as error:
        print(f"Error: {error}", file=err or sys.stderr)
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
) -> Call:
    """The line as a call of its verb. Raises FlagError where bd would not accept the line."""
    for number, word in enumerate(args, start=1):
        if not _storable(word):
            raise FlagError(f"argument {number} is not valid UTF-8 text: {word!a}")
    name, rest = split_command(args)
    verb = find_verb(name)
    if verb is None:
        raise FlagError(unknown_command(name))
    return Call(
        verb=verb,
        name=name,
        line=parse((*verb.flags, *GLOBAL), rest),
        queue=queue,
        env=env,
        settings=settings,
        out=out or sys.stdout,
        err=err or sys.stderr,
        stdin=stdin or sys.stdin,
    )


def _storable(word: str) -> bool:
    """Arguments come as bytes; those that are not UTF-8 cannot be stored or shown again."""
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
    except Failure as failure:
        return _failed(call, failure.message, failure.hint, failure.code)
    except FleetError as error:
        return _failed(call, error.message, error.hint, 1)


def _failed(call: Call, message: str, hint: str, code: int) -> Reply:
    if not call.json:
        call.warn(f"Error: {message}")
        if hint:
            call.warn(f"Hint: {hint}")
    return Reply(code=code, value={"error": message, **({"hint": hint} if hint else {})})


def show(call: Call, reply: Reply) -> int:
    """Print a reply in the form that the line asks for, and return the exit code."""
    text = reply.text
    if call.json and reply.value is not UNSET:
        text = encoded(reply.value, envelope=call.envelope, beside=reply.beside)
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


def unknown_command(name: str) -> str:
    return (
        f'unknown command "{name}" for "bd"\n'
        "The commands of fleet's own queues: fleet bd --help\n"
        "To have all commands of bd, install beads: fleet init --queue beads"
    )
