"""`fleet bd --help` and `fleet bd <command> --help`."""

from collections.abc import Sequence
from textwrap import wrap

from fleet.bd.command import GLOBAL, Verb
from fleet.bd.command_line import STORAGE, VERBS, find_verb, split_command
from fleet.bd.pflag import Flag

#: A width that no line has: nothing is broken.
ENDLESS = 10_000
#: The least room for the text of a flag, on however narrow a terminal.
_LEAST_ROOM = 20
_VALUE = {
    "switch": "",
    "number": " int",
    "list": " strings",
    "array": " stringArray",
    "text": " string",
    "optional": "[=string]",
}


def help_text(args: Sequence[str], width: int = ENDLESS) -> str:
    """Help for the command on this line, or the overview, in lines of this width."""
    verb = find_verb(asked_about(args))
    return help_for(verb, width) if verb else overview(width)


def asked_about(args: Sequence[str]) -> str:
    """The command whose help a line asks for; empty: all of them."""
    words = [word for word in args if word not in ("--help", "-h")]
    name, rest = split_command(words)
    if name == "help":
        name, _ = split_command(rest) if rest else ("", ())
    return "" if name == "help" else name


def overview(width: int = ENDLESS) -> str:
    """All commands, a line each."""
    rows = _rows([(f"  {name}", _about(name)) for name in sorted(VERBS)], width)
    parts = ["fleet's own task tracker, with the commands of bd.", "", "Commands:", *rows]
    parts += ["", "Nothing to do here, or only with beads:", f"  {', '.join(STORAGE)}"]
    return "\n".join([*parts, "", "Global Flags:", *table(GLOBAL, width)])


def group_help(name: str) -> str:
    """The commands whose first word this is."""
    names = [verb for verb in sorted(VERBS) if verb.startswith(f"{name} ")]
    return "\n".join(["Usage:", *(f"  bd {verb}: {_about(verb)}" for verb in names)])


def _about(name: str) -> str:
    verb = find_verb(name)
    return verb.about if verb else ""


def help_for(verb: Verb, width: int = ENDLESS) -> str:
    parts = [verb.about, "", "Usage:", f"  {verb.usage}"]
    if verb.flags:
        parts += ["", "Flags:", *table(verb.flags, width)]
    return "\n".join([*parts, "", "Global Flags:", *table(GLOBAL, width)])


def table(flags: Sequence[Flag], width: int = ENDLESS) -> list[str]:
    """Flags, a line each; what a line of this width has no room for goes below."""
    return _rows([(_left(flag), flag.help) for flag in flags], width)


def _rows(rows: Sequence[tuple[str, str]], width: int) -> list[str]:
    column = max(len(left) for left, _ in rows) + 3
    room = max(_LEAST_ROOM, width - column)
    found: list[str] = []
    for left, right in rows:
        first, *more = wrap(right, room, break_long_words=False, break_on_hyphens=False) or [""]
        found.append(f"{left:<{column}}{first}".rstrip())
        found += [f"{'':{column}}{line}" for line in more]
    return found


def _left(flag: Flag) -> str:
    short = f"-{flag.short}, " if flag.short else "    "
    return f"  {short}--{flag.name}{_VALUE[flag.kind]}"
