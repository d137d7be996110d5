"""Command-line flags read as bd reads them (the rules of Go's pflag): flags anywhere on the line,
`--flag value`, `--flag=value`, `-fvalue`, clustered short switches, and `--` to end them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct

Kind = Literal["text", "switch", "number", "list", "array"]
Value = str | bool | int | tuple[str, ...]

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")


class FlagError(Exception):
    """The line cannot be read; the message is the one that bd prints."""


class Flag(Struct, frozen=True):
    """One flag. A `list` may be given more than once, each with several values by comma; an
    `array` may be given more than once, each a value as it stands.
    """

    name: str
    kind: Kind = "text"
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
    if value in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise FlagError(
        f'invalid argument "{value}" for "{_shown(flag)}" flag:'
        f' strconv.ParseBool: parsing "{value}": invalid syntax'
    )


def _integer(flag: Flag, value: str) -> int:
    why = "invalid syntax"
    if _INTEGER.fullmatch(value):
        if -(2**63) <= (number := int(value)) < 2**63:
            return number
        why = "value out of range"
    raise FlagError(
        f'invalid argument "{value}" for "{_shown(flag)}" flag:'
        f' strconv.ParseInt: parsing "{value}": {why}'
    )


def take(
    own: Sequence[Flag], known: Sequence[Flag], args: Sequence[str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Pick some text flags out of a line, each with the values it was given in order, and leave
    the rest of the line exactly as it was.

    `known` are the flags that may stand beside them: their values are never mistaken for flags.
    """
    ours = {flag.name for flag in own}
    values: dict[str, list[str]] = {}
    rest: list[str] = []
    left = list(args)
    while left:
        word = left.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if word == "--":
            return values, [*rest, word, *left]
        if not (word.startswith("--") and name in ours):
            rest.append(word)
            if _wants_value(word, known) and left:
                rest.append(left.pop(0))
        elif equals:
            values.setdefault(name, []).append(value)
        elif left:
            values.setdefault(name, []).append(left.pop(0))
        else:
            raise FlagError(f"flag needs an argument: --{name}")
    return values, rest


def asks_for_help(known: Sequence[Flag], args: Sequence[str]) -> bool:
    """--help or -h stands on the line as a flag, not as the value of another flag."""
    left = iter(args)
    for word in left:
        if word == "--":
            return False
        if word in ("--help", "-h"):
            return True
        if _wants_value(word, known):
            next(left, None)
    return False


def _wants_value(word: str, known: Sequence[Flag]) -> bool:
    """Is this a flag whose value is the next word?"""
    if word.startswith("--"):
        name = word.removeprefix("--")
        return any(name in (flag.name, *flag.aliases) and flag.kind != "switch" for flag in known)
    if not word.startswith("-") or word == "-":
        return False
    short = {flag.short: flag for flag in known if flag.short}
    for place, letter in enumerate(word[1:], start=2):
        flag = short.get(letter)
        if flag is None or flag.kind != "switch":
            return flag is not None and place == len(word)
    return False
