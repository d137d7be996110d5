"""Two trees compared: which files differ, the text of the difference, and how much was lost."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from fleet.git.git_command import Git
from fleet.git.repository import shown
from fleet.schemas import FileChange

#: How many changed files are listed, and how many bytes of their difference are kept.
MOST_FILES = 1000
MOST_DIFF = 20 << 20
_KINDS: Mapping[bytes, Literal["added", "deleted"]] = {b"A": "added", b"D": "deleted"}

#: A file of no bytes, in both of git's notations.
_EMPTY = (
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


class LostFiles(Struct, frozen=True, kw_only=True):
    """Files that are gone or were emptied."""

    #: How many files there were before.
    tracked: int
    files: int
    size: int


def count_lost_files(git: Git, before: str, after: str) -> LostFiles:
    """Compare two trees. A file that was emptied is lost; one that was renamed, even with changes,
    is not.
    """
    tracked = git.ask("ls-tree", "-r", "-z", "--name-only", before).count(b"\0")
    ask = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--find-renames=40%", "-l2000")
    parts = git.ask(*ask, "--no-ext-diff", before, after).split(b"\0")
    gone: list[bytes] = []
    at = 0
    while at < len(parts) and parts[at].startswith(b":"):
        _, _, old, new, kind = parts[at].split(b" ")
        if kind == b"D" or (kind == b"M" and new in _EMPTY and old not in _EMPTY):
            gone.append(old)
        at += 3 if kind[:1] in b"RC" else 2
    sizes = git.ask(
        "cat-file", "--batch-check=%(objectsize)", feed=b"".join(blob + b"\n" for blob in gone)
    )
    size = sum(int(line) for line in sizes.split() if line.isdigit())
    return LostFiles(tracked=tracked, files=len(gone), size=size)


def changed_names(git: Git, *between: str) -> list[bytes]:
    """The files that differ between two trees or commits; with `--merge-base` before them, from
    what they have in common on. Raises GitFailed.
    """
    names = git.ask("diff-tree", "-r", "-z", "--name-only", "--no-renames", *between)
    return [name for name in names.split(b"\0") if name]


def file_changes(git: Git, before: str, after: str) -> Iterator[FileChange]:
    """Every file that differs, with the number of added and removed lines."""
    ask = ("diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv")
    kinds: dict[bytes, Literal["added", "changed", "deleted"]] = {}
    raw = git.ask(*ask, "--raw", before, after).split(b"\0")
    for about, name in zip(raw[::2], raw[1::2], strict=False):
        kinds[name] = _KINDS.get(about[-1:], "changed")
    lines: dict[bytes, tuple[int, int]] = {}
    if len(kinds) <= MOST_FILES:
        for entry in git.ask(*ask, "--numstat", before, after).split(b"\0"):
            added, _, rest = entry.partition(b"\t")
            removed, _, name = rest.partition(b"\t")
            if added.isdigit() and removed.isdigit():  # a binary file has no lines
                lines[name] = (int(added), int(removed))
    for name, kind in kinds.items():
        added, removed = lines.get(name, (0, 0))
        yield FileChange(path=shown(name), kind=kind, added=added, removed=removed)


def write_diff(git: Git, before: str, after: str, place: Path) -> bool:
    """Write the difference to a file in one step. False: it was cut at MOST_DIFF."""
    fresh = place.with_name(f".{place.name}.{os.urandom(6).hex()}")
    ask = ("diff-tree", "-r", "-p", "--full-index", "--no-renames", "--no-ext-diff")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(fresh, "wb", opener=lambda path, _: os.open(path, flags, 0o600)) as file:
        whole = git.write(file, MOST_DIFF, *ask, "--no-textconv", "--no-color", before, after)
    fresh.replace(place)
    return whole
