"""The commands and flags of bd that fleet's own queues do not have, named in the refusal.

`bd_help.json` holds what bd's own --help lists; `python -m tests.real.record` writes it.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct

from fleet.bd.pflag import Flag, FlagError, Parsed, UnknownFlag, parse
from fleet.schemas import typed

FILE = Path(__file__).with_name("bd_help.json")
_THE_WAY = "beads has it: fleet init --queue beads"


class BdHelp(Struct, frozen=True):
    """What bd's --help lists. A flag is written `name`, `name/letter`, or either with `=kind`."""

    version: str
    #: The flags that every command takes.
    everywhere: str
    #: The other flags of each command, separated by spaces.
    commands: Mapping[str, str]
    #: Other names of commands.
    aliases: Mapping[str, str]

    def command(self, name: str) -> str:
        """The command that a name or an alias means."""
        return self.aliases.get(name, name)

    def flags(self, name: str) -> Mapping[str, tuple[str, str]]:
        """The letter and the kind of value of each flag of a command, by the flag's name."""
        found: dict[str, tuple[str, str]] = {}
        texts = (self.everywhere, self.commands.get(self.command(name), ""))
        for written in " ".join(texts).split():
            left, _, kind = written.partition("=")
            flag, _, letter = left.partition("/")
            found[flag] = letter, kind
        return found


@cache
def bd_help() -> BdHelp:
    """The recorded help. Read only for a line that fleet would refuse."""
    return typed.decode(FILE.read_bytes(), BdHelp)


def parse_line(name: str, flags: Sequence[Flag], args: Sequence[str]) -> Parsed:
    """Read the line of a command. Raises FlagError; for a flag that only beads has, it says so."""
    try:
        return parse(flags, args)
    except UnknownFlag as error:
        for flag, (letter, _) in bd_help().flags(name).items():
            if error.flag in (flag, letter):
                message = f"`bd {name} --{flag}` does not exist on fleet's own queues\n{_THE_WAY}"
                raise FlagError(message) from None
        raise


def unknown_command(name: str) -> str:
    """Why fleet has no command of this name: only beads has it, or nothing does."""
    known = bd_help()
    if known.command(name) in known.commands:
        return f"`bd {name}` does not exist on fleet's own queues\n{_THE_WAY}"
    return (
        f'unknown command "{name}" for "bd"\nThe commands of fleet\'s own queues: fleet bd --help'
    )
