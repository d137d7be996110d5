"""What a shell offers after `fleet bd` when Tab is pressed: commands and their flags."""

import re
from collections.abc import Iterator, Sequence

from fleet.bd.command import GLOBAL
from fleet.bd.command_line import VERBS, find_verb, split_command
from fleet.bd.fleet_flags import OWN
from fleet.bd.pflag import Flag

#: Commands that take flags of fleet's own.
_WITH_OWN = ("create", "new", "q", "update")
#: How the usage of a command names ids of tasks: `<id>`, `[id...]`, `<issue-id>`.
_ID = r"[<\[][\w-]*id\b"


def offered(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The commands that may come next, each with a line of help; `words` stand before."""
    name = _name(words)
    if find_verb(name) is not None and not _seconds(name):
        return
    for first in _seconds(name) if name else sorted({verb.split()[0] for verb in VERBS}):
        verb = find_verb(f"{name} {first}".strip())
        yield first, verb.about if verb else ""


def offered_flags(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The flags of the command on the line, each with a line of help."""
    yield from ((f"--{flag.name}", flag.help) for flag in _flags(_name(words)))


def flag_before(words: Sequence[str]) -> str:
    """The flag whose value comes next, by long name; empty if none waits for a value."""
    if not words or not words[-1].startswith("-"):
        return ""
    for flag in _flags(_name(words)):
        is_it = words[-1] == f"--{flag.name}" or (flag.short and words[-1] == f"-{flag.short}")
        if is_it and flag.kind != "switch":
            return flag.name
    return ""


def takes_ids(words: Sequence[str]) -> bool:
    """Whether the words of the command on the line are ids of tasks."""
    verb = find_verb(_name(words))
    return verb is not None and re.search(_ID, verb.usage) is not None


def _name(words: Sequence[str]) -> str:
    """The command on the line so far, of one word or two; empty: there is none yet."""
    name = split_command(words)[0]
    return "" if name == "help" and name not in words else name


def _seconds(name: str) -> list[str]:
    """The second words of the commands that begin so."""
    return sorted(verb.split()[1] for verb in VERBS if verb.startswith(f"{name} ") and name)


def _flags(name: str) -> list[Flag]:
    verb = find_verb(name)
    own = OWN if name in _WITH_OWN else ()
    shown = {flag.name: flag for flag in (*GLOBAL, *(verb.flags if verb else ()), *own)}
    return [shown[each] for each in sorted(shown)]
