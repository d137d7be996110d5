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
    out = out or sys.stdout
    err = err or sys.stderr
    stdin = stdin or sys.stdin
    name, rest = split_command(args)
    verb = find_verb(name)
    if verb is None:
        print(unknown_command(name), file=err)
        return 1
    try:
        refuse_unreadable(rest)
        line = parse((*verb.flags, *GLOBAL), rest)
    except FlagError as error:
        print(f"Error: {error}", file=err)
        return 1
    call = Call(queue, line, verb=name, env=env, settings=settings, out=out, err=err, stdin=stdin)
    if line.switch("help"):
        from fleet.queue.bd.help import help_for

        call.say(help_for(verb))
        return 0
    if line.switch("readonly") and verb.writes:
        call.warn(f"Error: operation '{name}' is not allowed in read-only mode")
        return 1
    try:
        return verb.run(call)
    except FlagError as error:
        call.warn(f"Error: {error}")
        return 1
    except Failure as failure:
        return call.fail(failure)
    except FleetError as error:
        return call.fail(Failure(error.message, hint=error.hint))


def split_command(args: Sequence[str]) -> tuple[str, list[str]]:
    """The command's name and the rest of the line; global flags may stand before the name.

    A name may be of two words, `dep add`, with flags between them.
    """
    takes_value = {f"--{f.name}" for f in GLOBAL if f.kind != "switch"} | {
        f"-{f.short}" for f in GLOBAL if f.short and f.kind != "switch"
    }
    before: list[str] = []
    left = list(args)
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


def refuse_unreadable(args: Sequence[str]) -> None:
    """Words that are not UTF-8 could be neither stored nor shown again."""
    for word in args:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise FlagError(f"not valid UTF-8: {word!a}") from None


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
