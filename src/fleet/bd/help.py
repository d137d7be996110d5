"""`fleet bd --help` and `fleet bd <command> --help`."""

from collections.abc import Sequence

from fleet.bd.command import GLOBAL, Verb
from fleet.bd.command_line import STORAGE, VERBS, find_verb, split_command
from fleet.bd.pflag import Flag

_VALUE = {
    "switch": "",
    "number": " int",
    "list": " strings",
    "array": " stringArray",
    "text": " string",
}


def help_text(args: Sequence[str]) -> str:
    """Help for the command on this line, or the overview."""
    verb = find_verb(asked_about(args))
    return help_for(verb) if verb else overview()


def asked_about(args: Sequence[str]) -> str:
    """The command whose help a line asks for; empty: all of them."""
    words = [word for word in args if word not in ("--help", "-h")]
    name, rest = split_command(words)
    if name == "help":
        name, _ = split_command(rest) if rest else ("", ())
    return "" if name == "help" else name


def overview() -> str:
    """All commands, a line each."""
    width = max(map(len, VERBS)) + 3
    rows = [f"  {name:<{width}}{_about(name)}".rstrip() for name in sorted(VERBS)]
    parts = ["fleet's own task tracker, with the commands of bd.", "", "Commands:", *rows]
    parts += ["", f"Nothing to do here, or only with beads: {', '.join(STORAGE)}"]
    return "\n".join([*parts, "", "Global Flags:", *table(GLOBAL)])


def group_help(name: str) -> str:
    """The commands whose first word this is."""
    names = [verb for verb in sorted(VERBS) if verb.startswith(f"{name} ")]
    return "\n".join(["Usage:", *(f"  bd {verb}: {_about(verb)}" for verb in names)])


def _about(name: str) -> str:
    verb = find_verb(name)
    return verb.about if verb else ""


def help_for(verb: Verb) -> str:
    parts = [verb.about, "", "Usage:", f"  {verb.usage}"]
    if verb.flags:
        parts += ["", "Flags:", *table(verb.flags)]
    return "\n".join([*parts, "", "Global Flags:", *table(GLOBAL)])


def table(flags: Sequence[Flag]) -> list[str]:
    """Flags, a line each."""
    rows = [(_left(flag), flag.help) for flag in flags]
    width = max(len(left) for left, _ in rows) + 3
    return [f"{left:<{width}}{right}".rstrip() for left, right in rows]


def _left(flag: Flag) -> str:
    short = f"-{flag.short}, " if flag.short else "    "
    return f"  {short}--{flag.name}{_VALUE[flag.kind]}"
