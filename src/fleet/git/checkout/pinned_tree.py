"""A tree with some files as an earlier snapshot has them.

The earlier files are read from a store that an agent may have written to, and git does not compare
an object with its name when it reads one. So fleet does.
"""

import hashlib
import os
import posixpath
from collections.abc import Iterable, Sequence

from msgspec import Struct

from fleet.git.git_command import Git
from fleet.git.repository import GitFailed

#: How much of the objects is read at once, in objects and in bytes.
_AT_ONCE = 100
_MOST_BYTES = 512 << 20


class PinnedTree(Struct, frozen=True, kw_only=True):
    """A tree in which pinned files are as they were."""

    id: str
    #: The files that differed.
    restored: tuple[str, ...]


class _Entry(Struct, frozen=True):
    mode: str
    name: str


def pinned_tree(git: Git, tree: str, snapshot: str, paths: Sequence[str]) -> PinnedTree | None:
    """The tree with all files at or below `paths` as the snapshot has them; None: the snapshot has
    none there.

    `git` is in fleet's own repository, on an index that is thrown away.
    """
    were = _entries(git, snapshot, paths)
    if not were:
        return None
    are = _entries(git, tree, paths)
    changed = sorted(path for path in {*were, *are} if were.get(path) != are.get(path))
    if not changed:
        return PinnedTree(id=tree, restored=())
    _check(git, {*_above(git, snapshot, were), *(entry.name for entry in were.values())})
    git.ask("read-tree", tree)
    gone = [f"0 {'0' * len(tree)}\t{path}\0" for path in changed]
    back = [f"{were[path].mode} {were[path].name}\t{path}\0" for path in changed if path in were]
    git.ask(
        "update-index", "-z", "--replace", "--index-info", feed=os.fsencode("".join((*gone, *back)))
    )
    return PinnedTree(id=git.line("write-tree"), restored=tuple(changed))


def _entries(git: Git, tree: str, paths: Sequence[str]) -> dict[str, _Entry]:
    found: dict[str, _Entry] = {}
    for line in git.ask("ls-tree", "-r", "-z", "--full-tree", tree, "--", *paths).split(b"\0"):
        about, _, path = line.partition(b"\t")
        if path:
            mode, kind, name = about.decode().split(" ")
            if kind == "blob":
                found[os.fsdecode(path)] = _Entry(mode, name)
    return found


def _above(git: Git, snapshot: str, paths: Iterable[str]) -> list[str]:
    """The snapshot's top, and every directory on the way to these files."""
    folders = {""}
    for path in paths:
        while path := posixpath.dirname(path):
            folders.add(path)
    names = b"".join(os.fsencode(f"{snapshot}^{{tree}}\n" if not each else f"{snapshot}:{each}\n")
                     for each in folders)  # fmt: skip
    listed = git.ask("cat-file", "--batch-check=%(objectname)", feed=names).decode()
    return [snapshot, *listed.split("\n")[:-1]]


def _check(git: Git, names: Iterable[str]) -> None:
    """Raise GitFailed for an object whose content does not match the object's name."""
    wanted = sorted(names)
    for at in range(0, len(wanted), _AT_ONCE):
        some = wanted[at : at + _AT_ONCE]
        feed = "".join(f"{name}\n" for name in some).encode()
        data = memoryview(git.ask("cat-file", "--batch", feed=feed, cap=_MOST_BYTES))
        start = 0
        for name in some:
            end = bytes(data[start : start + 200]).find(b"\n")
            head = bytes(data[start : start + max(end, 0)]).split(b" ")
            if len(head) != 3 or not head[2].isdigit():
                raise GitFailed(f"the object {name} of the snapshot is gone")
            size = int(head[2])
            content = data[start + end + 1 : start + end + 1 + size]
            long = len(name) > 40
            found = hashlib.new("sha256" if long else "sha1", usedforsecurity=False)
            found.update(b"%s %d\0" % (head[1], size))
            found.update(content)
            if found.hexdigest() != name:
                raise GitFailed(f"the object {name} of the snapshot was forged")
            start += end + 1 + size + 1
