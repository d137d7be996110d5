"""Command-line flags read as bd reads them (the rules of Go's pflag): flags anywhere on the line,
`--flag value`, `--flag=value`, `-fvalue`, clustered short switches, and `--` to end them.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct

FlagKind = Literal["text", "switch", "number", "list", "array", "optional"]
Value = str | bool | int | tuple[str, ...]

#: What a switch says that is on the line and off.
OFF = ("0", "f", "F", "false", "FALSE", "False")
_INTEGER = r"[+-]?[0-9]{1,40}"


class FlagError(Exception):
    """The line cannot be read; the message is the one that bd prints."""


class UnknownFlag(FlagError):
    """A flag that the command does not declare; `flag` is the long name or the letter."""

    def __init__(self, message: str, flag: str) -> None:
        super().__init__(message)
        self.flag = flag


class Flag(Struct, frozen=True):
    """One flag. A `list` may be given more than once, each with several values by comma; an
    `array` may be given more than once, each a value as it stands. An `optional` flag has a value
    only in the form `--flag=value`.
    """

    name: str
    kind: FlagKind = "text"
    short: str = ""
    aliases: tuple[str, ...] = ()
    help: str = ""
    #: The flag changes nothing on fleet's own queues.
    ignored: bool = False


def ignored(*names: str, kind: FlagKind = "switch", why: str = "changes nothing") -> list[Flag]:
    """Flags of bd without a meaning on fleet's own queues, each `name` or `name/letter`."""
    found = [name.partition("/") for name in names]
    text = f"Accepted for compatibility: {why}"
    return [Flag(name, kind, letter, help=text, ignored=True) for name, _, letter in found]


class Parsed(Struct, frozen=True):
    """What stood on the line. A flag that was not given is not in `values`."""

    values: Mapping[str, Value]
    words: tuple[str, ...]

    def has(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str, default: str = "") -> str:
        return str(self.values.get(name, default))

    def switch(self, name: str) -> bool:
        return bool(self.values.get(name, False))

    def number(self, name: str, default: int) -> int:
        found = self.values.get(name, default)
        return found if isinstance(found, int) else default

    def list(self, name: str) -> tuple[str, ...]:
        found = self.values.get(name, ())
        return found if isinstance(found, tuple) else (str(found),)


def parse(flags: Sequence[Flag], args: Sequence[str]) -> Parsed:
    """Read one command line, after the command's own name. Raises FlagError."""
    named = {flag.name: flag for flag in flags}
    values: dict[str, Value] = {}
    words: list[str] = []
    for part in parts(flags, args):
        values |= dict.fromkeys(part.switches, True)
        if part.unknown:
            raise UnknownFlag(part.wrong, part.unknown)
        if part.wrong:
            raise FlagError(part.wrong)
        if part.flag:
            values[part.flag] = _value(named[part.flag], part.value, values.get(part.flag, ()))
        words += part.words
    return Parsed(values, tuple(words))


def _value(flag: Flag, text: str | None, had: Value) -> Value:
    """What a flag on the line means; `had` is what the same flag said further left."""
    if text is None:  # a switch, or an optional value left out
        return True
    before = had if isinstance(had, tuple) else ()
    match flag.kind:
        case "text" | "optional":
            return text
        case "list":
            return (*before, *(v.strip() for v in text.split(",") if v.strip()))
        case "array":
            return (*before, text)
        case "switch":
            return _boolean(flag, text)
        case "number":
            return _integer(flag, text)


def _shown(flag: Flag) -> str:
    return f"-{flag.short}, --{flag.name}" if flag.short else f"--{flag.name}"


def _boolean(flag: Flag, value: str) -> bool:
    if value in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if value in OFF:
        return False
    raise FlagError(
        f'invalid argument "{value}" for "{_shown(flag)}" flag:'
        f' strconv.ParseBool: parsing "{value}": invalid syntax'
    )


def _integer(flag: Flag, value: str) -> int:
    why = "invalid syntax"
    if re.fullmatch(_INTEGER, value):
        if -(2**63) <= (number := int(value)) < 2**63:
            return number
        why = "value out of range"
    raise FlagError(
        f'invalid argument "{value}" for "{_shown(flag)}" flag:'
        f' strconv.ParseInt: parsing "{value}": {why}'
    )


class Part(Struct, frozen=True):
    """A piece of a line as typed: flags with a value, a word, or `--` and all that follows."""

    typed: tuple[str, ...]
    #: The flag's long name, of several short ones the last; empty: a word, or not a known flag.
    flag: str = ""
    value: str | None = None
    #: The short switches in front of that flag, in the same word.
    switches: tuple[str, ...] = ()
    #: Why bd would refuse the piece; empty: bd would not.
    wrong: str = ""
    #: The flag's name or letter, if the command does not declare the flag.
    unknown: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        if self.typed[0] == "--":
            return self.typed[1:]
        is_flag = self.typed[0].startswith("-") and self.typed != ("-",)
        return () if is_flag else self.typed

    @property
    def flags(self) -> tuple[tuple[str, str | None], ...]:
        """Every known flag of the piece with its value."""
        last = ((self.flag, self.value),) if self.flag else ()
        return (*((name, None) for name in self.switches), *last)


def parts(known: Sequence[Flag], args: Sequence[str]) -> list[Part]:
    """The pieces of a line in order. Flags that are not in `known` are taken to have no value."""
    found: list[Part] = []
    left = list(args)
    while left:
        word = left.pop(0)
        if word == "--":
            found.append(Part((word, *left)))
            break
        is_flag = word.startswith("-") and word != "-"
        found.append(_flag(known, word, left) if is_flag else Part((word,)))
    return found


def _flag(known: Sequence[Flag], word: str, left: list[str]) -> Part:
    """The piece that begins with this flag; a value of its own is taken from the words left."""
    switches: list[str] = []
    if word.startswith("--"):
        name, equals, rest = word[2:].partition("=")
        flag = next((flag for flag in known if name in (flag.name, *flag.aliases)), None)
        where, unknown = f"--{name}", f"unknown flag: --{name}"
    else:
        place = 1
        while (flag := _short(known, word[place])) and flag.kind == "switch":
            if word[place + 1 : place + 2] in ("", "="):
                break
            switches.append(flag.name)
            place += 1
        equals = rest = word[place + 1 :]
        rest = rest.removeprefix("=")
        name, where = word[place], f"'{word[place]}' in {word}"
        unknown = f"unknown shorthand flag: {where}"
    front = tuple(switches)
    inside = rest if equals else None
    if flag is None:
        return Part((word,), "", inside, front, unknown, name)
    if equals or flag.kind in ("switch", "optional"):
        return Part((word,), flag.name, inside, front)
    if not left:
        return Part((word,), flag.name, None, front, f"flag needs an argument: {where}")
    value = left.pop(0)
    return Part((word, value), flag.name, value, front)


def _short(known: Sequence[Flag], letter: str) -> Flag | None:
    return next((flag for flag in known if flag.short == letter), None)


def canonical(line: Parsed, without: Collection[str] = ()) -> list[str]:
    """The line in the one form that can be read in one way only: each flag in a word with its
    value, then the words behind `--`.
    """
    flags = [
        word
        for name, value in line.values.items()
        if name not in without
        for word in _typed(name, value)
    ]
    return [*flags, "--", *line.words]


def _typed(name: str, value: Value) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--{name}=false"]
    return [f"--{name}={each}" for each in (value if isinstance(value, tuple) else (value,))]


def take(
    own: Sequence[Flag], known: Sequence[Flag], args: Sequence[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Pick some flags with values out of a line, each with the given values in order, and leave the
    rest of the line unchanged.

    `known` are the flags that may stand beside them: their values are never mistaken for flags.
    """
    names = {flag.name for flag in own}
    given: dict[str, list[str]] = {}
    rest: list[str] = []
    for part in parts((*own, *known), args):
        if part.flag not in names:
            rest += part.typed
        elif part.wrong:
            raise FlagError(part.wrong)
        elif part.value is None:
            given[part.flag] = ["true"]
        else:
            given.setdefault(part.flag, []).append(part.value)
    return given, rest


def asks_for_help(known: Sequence[Flag], args: Sequence[str]) -> bool:
    """--help or -h stands on the line as a flag, not as the value of another flag."""
    return any(part.typed in (("--help",), ("-h",)) for part in parts(known, args))
