"""What the --help of the real bd lists: commands, flags and other names."""

import re
import subprocess
from collections.abc import Iterable, Iterator

from fleet.bd.only_beads import BdHelp

_SECTION = re.compile(r"^(\S.*):$")
_COMMAND = re.compile(r"^  ([a-z][\w-]*)\s{2,}\S")
_FLAG = re.compile(r"^\s+(?:-(\w), )?\s*--([\w-]+)(?: (\w+)(\[=\S*\])?)?(?:\s{2,}|$)")
_VERSION = re.compile(r"bd version (\S+)")
#: Every command has it, in words of its own.
_HELP = "help"


def read_help(bd: str, names: Iterable[str] | None = None) -> BdHelp:
    """Ask bd for the help of these commands; without names, of all, which takes a minute."""
    version = _VERSION.search(_say(bd, "version"))[1]
    everywhere = dict(_flags(_sections(_say(bd, "version", "--help"))["Global Flags"]))
    commands, aliases = {}, {}
    for name in _walk(bd) if names is None else names:
        parts = _sections(_say(bd, *name.split(), "--help"))
        own = dict(_flags(parts.get("Flags", ())))
        commands[name] = " ".join(text for flag, text in own.items() if flag not in everywhere)
        first = name.rpartition(" ")[0]
        for alias in ", ".join(parts.get("Aliases", ())).replace(" ", "").split(","):
            if alias and alias != name.rpartition(" ")[2]:
                aliases[f"{first} {alias}".strip()] = name
    return BdHelp(version, " ".join(everywhere.values()), commands, aliases)


def _say(bd: str, *args: str) -> str:
    return subprocess.run([bd, *args], capture_output=True, text=True, timeout=60).stdout


def _walk(bd: str) -> Iterator[str]:
    """Every command, and every command of a group."""
    for section, lines in _sections(_say(bd, "--help")).items():
        if section in ("Flags", "Usage"):
            continue
        for line in lines:
            if (found := _COMMAND.match(line)) and found[1] != _HELP:
                yield found[1]
                group = _sections(_say(bd, found[1], "--help")).get("Available Commands", ())
                yield from (f"{found[1]} {name[1]}" for name in map(_COMMAND.match, group) if name)


def _sections(text: str) -> dict[str, list[str]]:
    """The lines below each heading."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if heading := _SECTION.match(line):
            lines = found.setdefault(heading[1], [])
        elif line.strip():
            lines.append(line)
    return found


def _flags(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each flag by its name, as `BdHelp` writes it."""
    for line in lines:
        if (found := _FLAG.match(line)) and found[2] != _HELP:
            letter, name, kind, optional = found.groups()
            text = f"{name}/{letter}" if letter else name
            value = "optional" if optional else kind
            yield name, f"{text}={value}" if value else text
