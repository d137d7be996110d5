"""Files that a line names, found where the person typed the line: the real bd runs in the home.

Pure but for links in a path, which are followed: bd refuses a path with `..` in it.
"""

from collections.abc import Sequence
from pathlib import Path

from fleet.bd.command import GLOBAL
from fleet.bd.command_line import find_verb, split_command
from fleet.bd.pflag import Part, parts

#: Flags whose value is the name of a file, of whichever command.
_FILES = frozenset(
    ("body-file", "design-file", "file", "graph", "input", "output", "reason-file")
)  # fmt: skip


def located(args: Sequence[str], base: Path) -> list[str]:
    """A whole bd line with relative files made absolute; all else unchanged."""
    name, _ = split_command(args)
    verb = find_verb(name)
    if verb is None:
        return list(args)
    pieces = parts((*verb.flags, *GLOBAL), args)
    if any(piece.flag == "directory" for piece in pieces):
        return list(args)  # the person says where bd shall run
    line: list[str] = []
    names_seen = False
    for piece in pieces:
        if name == "import" and names_seen and piece.words:
            line += [word if word == "--" else _absolute(word, base) for word in piece.typed]
        else:
            line += located_flag(piece, base)
        names_seen = names_seen or bool(piece.words)
    return line


def located_flag(piece: Part, base: Path) -> Sequence[str]:
    """A flag that names a relative file, with the whole path; any other piece as typed."""
    if piece.flag in _FILES and piece.value:
        switches = [f"--{name}" for name in piece.switches]
        return [*switches, f"--{piece.flag}={_absolute(piece.value, base)}"]
    if piece.flag == "metadata" and piece.value and piece.value.startswith("@"):
        return [f"--metadata=@{_absolute(piece.value[1:], base)}"]
    return piece.typed


def _absolute(name: str, base: Path) -> str:
    if name in ("", "-") or Path(name).is_absolute():
        return name
    path = base / name
    return str(path.parent.resolve() / path.name)
