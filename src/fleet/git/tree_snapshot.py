"""A working tree as a git tree, with changes that are not committed and new files.

Neither the user's files nor the user's index are changed: git works on a copy of the index, and
reads and stores only what differs from it. That takes about as long as `git status`.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from fleet.git.git_command import Git
from fleet.git.repository import Repository

#: Larger new files are left out: the repository would store them a second time.
LARGEST = 50 << 20
#: With more new files, or more bytes of them in all, all new files are left out.
MOST_FILES = 20_000
MOST_BYTES = 512 << 20


class TreeSnapshot(Struct, frozen=True, kw_only=True):
    """A working tree that was stored."""

    id: str
    #: New files that are too large, or cannot be read.
    left_out: tuple[str, ...] = ()
    #: There are too many new files, so none of them is in the tree.
    no_new: bool = False


@contextmanager
def copied_index(repo: Repository, source: Path | None = None) -> Generator[Path]:
    """A copy of the repository's index, or of `source`, removed at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="fleet-index-"))
    try:
        copy = folder / "index"
        # With its time, by which git knows which files to read again. A repository without a
        # commit has no index yet.
        original = source or Path(repo.git_dir) / "index"
        if original.exists():
            shutil.copy2(original, copy)
        yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def take_snapshot(git: Git, *, without: Iterable[str] = (), no_new: bool = False) -> TreeSnapshot:
    """Store the working tree as it is now. `git` works on an index of its own, which is up to date
    afterwards. New files in `without`, or below a directory in it, are left out.
    """
    root = git.repo.root
    changed, new = _differing(git)
    skipped = tuple(without)
    folders = tuple(f"{name.rstrip('/')}/" for name in skipped)
    exact = frozenset(name.rstrip("/") for name in skipped)
    new = [name for name in new if name not in exact and not name.startswith(folders)]
    left_out = [name for name in changed if _trouble_with(f"{root}/{name}", tracked=True)]
    changed = [name for name in changed if name not in set(left_out)]
    if not no_new:
        sizes = {name: _size(f"{root}/{name}") for name in new}
        large = {name for name in new if _trouble_with(f"{root}/{name}", tracked=False)}
        left_out += sorted(large)
        new = [name for name in new if name not in large]
        no_new = len(new) > MOST_FILES or sum(sizes[name] for name in new) > MOST_BYTES
    names = changed if no_new else changed + new
    beyond = {name for name in changed if _beyond_link(root, name)}
    # Git refuses to read files below a link that replaced a directory.
    _update(git, "--force-remove", [name for name in changed if name in beyond])
    _update(git, "--remove", [name for name in names if name not in beyond])
    return TreeSnapshot(id=git.line("write-tree"), left_out=tuple(left_out), no_new=no_new)


def _update(git: Git, how: str, names: list[str]) -> None:
    if names:
        feed = b"".join(os.fsencode(name) + b"\0" for name in names)
        git.ask("update-index", "-z", "--add", "--replace", how, "--stdin", feed=feed)


def _beyond_link(root: str, name: str) -> bool:
    folder = os.path.dirname(name)  # noqa: PTH120
    while folder:
        if os.path.islink(f"{root}/{folder}"):  # noqa: PTH114
            return True
        folder = os.path.dirname(folder)  # noqa: PTH120
    return False


def _differing(git: Git) -> tuple[list[str], list[str]]:
    """Files that differ from the index, and new files. A repository inside of this one, which git
    lists as its directory, is left out.
    """
    ask = ("ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard")
    changed: dict[str, None] = {}
    new: list[str] = []
    for entry in git.ask(*ask).split(b"\0"):
        tag, name = entry[:2], os.fsdecode(entry[2:])
        if not name or name.endswith("/"):
            continue
        if tag == b"? ":
            new.append(name)
        else:
            changed[name] = None
    return list(changed), new


def _trouble_with(path: str, *, tracked: bool) -> bool:
    """Whether a file is too large or unreadable. A file that is gone is not."""
    try:
        about = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(about.st_mode):
        return False
    return (not tracked and about.st_size > LARGEST) or not os.access(path, os.R_OK)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0
