"""Two trees compared: which files differ, the text of the difference, and how much was lost."""

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from fleet.git.git_command import Git
from fleet.git.repository import shown
from fleet.git.unusual_files import NewBlob
from fleet.schemas import FileChange

#: How many changed files are listed, and how many bytes of their difference are kept.
MOST_FILES = 1000
MOST_DIFF = 20 << 20
#: What has git print the text of a difference, and run no program for that.
PATCH = ("diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")

#: A file of no bytes, in both of git's notations.
_EMPTY = (
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)


_GITLINK = b"160000"


class TreeEntry(Struct, frozen=True, kw_only=True):
    """One path that differs between two trees, with mode and object in each."""

    path: bytes
    old_mode: bytes
    new_mode: bytes
    #: Empty: not there.
    old: str
    new: str


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


def tree_entries(git: Git, before: str, after: str) -> list[TreeEntry]:
    """Every path that differs between two trees or commits. Raises GitFailed."""
    ask = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames")
    parts = git.ask(*ask, before, after).split(b"\0")
    found: list[TreeEntry] = []
    for about, path in zip(parts[::2], parts[1::2], strict=False):
        old_mode, new_mode, old, new, _ = about.removeprefix(b":").split(b" ")
        both = [each.decode() if each.strip(b"0") else "" for each in (old, new)]
        found.append(
            TreeEntry(path=path, old_mode=old_mode, new_mode=new_mode, old=both[0], new=both[1])
        )
    return found


def new_blobs(git: Git, before: str, after: str) -> list[NewBlob]:
    """The files of a tree that another has not, or has with another content. Raises GitFailed."""
    entries = [each for each in tree_entries(git, before, after) if each.new]
    files = [each for each in entries if each.new_mode != _GITLINK]
    feed = "".join(f"{each.new}\n" for each in files).encode()
    sizes = git.ask("cat-file", "--batch-check=%(objectsize)", feed=feed).split()
    return [
        NewBlob(path=shown(each.path), size=int(size), is_added=not each.old)
        for each, size in zip(files, sizes, strict=True)
    ]


def file_changes(git: Git, before: str, after: str) -> Iterator[FileChange]:
    """Every file that differs, with the number of added and removed lines."""
    entries = tree_entries(git, before, after)
    lines: dict[bytes, tuple[int, int]] = {}
    if len(entries) <= MOST_FILES:
        ask = ("diff-tree", "-r", "-z", "--no-renames", "--no-ext-diff", "--no-textconv")
        for entry in git.ask(*ask, "--numstat", before, after).split(b"\0"):
            added, _, rest = entry.partition(b"\t")
            removed, _, name = rest.partition(b"\t")
            if added.isdigit() and removed.isdigit():  # a binary file has no lines
                lines[name] = (int(added), int(removed))
    for each in entries:
        added, removed = lines.get(each.path, (0, 0))
        kind = "added" if not each.old else "deleted" if not each.new else "changed"
        yield FileChange(path=shown(each.path), kind=kind, added=added, removed=removed)


def write_diff(git: Git, before: str, after: str, place: Path) -> bool:
    """Write the difference to a file in one step. False: it was cut at MOST_DIFF."""
    fresh = place.with_name(f".{place.name}.{os.urandom(6).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(fresh, "wb", opener=lambda path, _: os.open(path, flags, 0o600)) as file:
        whole = git.write(file, MOST_DIFF, *PATCH, "--full-index", before, after)
    fresh.replace(place)
    return whole
