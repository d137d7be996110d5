"""Command-line flags read as bd reads them (the rules of Go's pflag): flags anywhere on the line,
`--flag value`, `--flag=value`, `-fvalue`, clustered short switches, and `--` to end them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

FlagKind = Literal["text", "switch", "number", "list", "array"]
Value = str | bool | int | tuple[str, ...]

#: What a switch says that is on the line and off.
OFF = ("0", "f", "F", "false", "FALSE", "False")
_INTEGER = r"[+-]?[0-9]{1,40}"


class FlagError(Exception):
    """The line cannot be read; the message is the one that bd prints."""


class Flag(Struct, frozen=True):
    """One flag. A `list` may be given more than once, each with several values by comma; an
    `array` may be given more than once, each a value as it stands.
    """

    name: str
    kind: FlagKind = "text"
    short: str = ""
    aliases: tuple[str, ...] = ()
    help: str = ""


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
    """Read one command line, after the command's own name."""
    return _Reader(flags, args).read()


class _Reader:
    def __init__(self, flags: Sequence[Flag], args: Sequence[str]) -> None:
        self.long = {name: flag for flag in flags for name in (flag.name, *flag.aliases)}
        self.short = {flag.short: flag for flag in flags if flag.short}
        self.left = list(args)
        self.values: dict[str, Value] = {}
        self.words: list[str] = []

    def read(self) -> Parsed:
        while self.left:
            word = self.left.pop(0)
            if word == "--":
                self.words += self.left
                break
            if word.startswith("--"):
                self._long(word)
            elif word.startswith("-") and word != "-":
                self._short(word)
            else:
                self.words.append(word)
        return Parsed(self.values, tuple(self.words))

    def _long(self, word: str) -> None:
        name, equals, value = word[2:].partition("=")
        flag = self.long.get(name)
        if flag is None:
            raise FlagError(f"unknown flag: --{name}")
        if equals:
            self._set(flag, value)
        elif flag.kind == "switch":
            self.values[flag.name] = True
        else:
            self._set(flag, self._next(f"--{name}"))

    def _short(self, word: str) -> None:
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            flag = self.short.get(letter)
            if flag is None:
                raise FlagError(f"unknown shorthand flag: '{letter}' in {word}")
            if flag.kind == "switch" and not letters.startswith("="):
                self.values[flag.name] = True
                continue
            value = letters.removeprefix("=") if letters else self._next(f"'{letter}' in {word}")
            self._set(flag, value)
            return

    def _next(self, what: str) -> str:
        if not self.left:
            raise FlagError(f"flag needs an argument: {what}")
        return self.left.pop(0)

    def _set(self, flag: Flag, value: str) -> None:
        match flag.kind:
            case "text":
                self.values[flag.name] = value
            case "list":
                self._append(flag, tuple(v.strip() for v in value.split(",") if v.strip()))
            case "array":
                self._append(flag, (value,))
            case "switch":
                self.values[flag.name] = _boolean(flag, value)
            case "number":
                self.values[flag.name] = _integer(flag, value)

    def _append(self, flag: Flag, values: tuple[str, ...]) -> None:
        had = self.values.get(flag.name, ())
        assert isinstance(had, tuple)
        self.values[flag.name] = had + values


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
    """A piece of a line as typed: a flag with a value, a word, or `--` and all that follows."""

    typed: tuple[str, ...]
    #: The flag's long name; empty for words, and for flags that are not known.
    flag: str = ""
    value: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        if self.typed[0] == "--":
            return self.typed[1:]
        is_flag = self.flag or (self.typed[0].startswith("-") and self.typed != ("-",))
        return () if is_flag else self.typed


def parts(known: Sequence[Flag], args: Sequence[str]) -> list[Part]:
    """The pieces of a line in order. Flags that are not in `known` are taken to have no value."""
    found: list[Part] = []
    left = list(args)
    while left:
        word = left.pop(0)
        if word == "--":
            found.append(Part((word, *left)))
            break
        flag, value = _known(known, word)
        typed = (word,)
        if flag is not None and flag.kind != "switch" and value is None and left:
            value = left.pop(0)
            typed = (word, value)
        found.append(Part(typed, flag.name if flag else "", value))
    return found


def _known(known: Sequence[Flag], word: str) -> tuple[Flag | None, str | None]:
    """The flag that a word is, and the value in the same word; of short ones the last."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        flag = next((flag for flag in known if name in (flag.name, *flag.aliases)), None)
        return flag, value if equals else None
    letters = word[1:] if word.startswith("-") else ""
    flag = None
    while letters:
        flag = next((flag for flag in known if flag.short == letters[0]), None)
        letters = letters[1:]
        if flag is None or flag.kind != "switch":
            return flag, letters.removeprefix("=") if letters else None
    return flag, None


def take(
    own: Sequence[Flag], known: Sequence[Flag], args: Sequence[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Pick some flags with values out of a line, each with the given values in order, and leave the
    rest of the line unchanged.

    `known` are the flags that may stand beside them: their values are never mistaken for flags.
    """
    kinds = {flag.name: flag.kind for flag in own}
    given: dict[str, list[str]] = {}
    rest: list[str] = []
    for part in parts((*own, *known), args):
        if part.flag not in kinds:
            rest += part.typed
        elif part.value is None and kinds[part.flag] == "switch":
            given[part.flag] = ["true"]
        elif part.value is None:
            raise FlagError(f"flag needs an argument: --{part.flag}")
        else:
            given.setdefault(part.flag, []).append(part.value)
    return given, rest


def asks_for_help(known: Sequence[Flag], args: Sequence[str]) -> bool:
    """--help or -h stands on the line as a flag, not as the value of another flag."""
    return any(part.typed in (("--help",), ("-h",)) for part in parts(known, args))
