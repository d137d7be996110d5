"""A fresh checkout of a tree: a directory with nothing but what git stored.

No ignored file, no byte code and no local configuration of an agent's is in it. Its `.git` is made
by fleet, so that commands which ask git find the same commit and branch as in the project; what is
written there stays there.
"""

import os
import shutil
import threading
from contextlib import suppress
from pathlib import Path

from fleet.files.safe_read import walk
from fleet.git.git_command import Git
from fleet.git.own.fresh_git_dir import write_alternates, write_git_dir
from fleet.git.repository import Repository
from fleet.schemas import Base

#: Beside a checkout that is complete: an empty file with this suffix.
_MADE = ".made"
#: Beside one that may be kept: how git left its files, and git's index of them.
FILES, INDEX = ".files", ".index"
#: What lies deeper in a tree that is removed is moved up first, where Python refuses to go on.
_DEEP = 300
_CONFIG = "[core]\n\tlogAllRefUpdates = true\n"
_BRANCH = "refs/heads/main"
#: Where there are many files, one process of git for each core writes them.
ALL_CORES = {"checkout.workers": "0"}
#: One thread of this process removes files at a time.
_EMPTYING = threading.Lock()


def beside(place: Path, suffix: str) -> Path:
    """A file that belongs to a checkout."""
    return place.with_name(f"{place.name}{suffix}")


def is_made(place: Path) -> bool:
    """The checkout is there, and complete."""
    return beside(place, _MADE).exists() and place.is_dir()


def mark_made(place: Path) -> None:
    """The checkout is complete. Raises OSError."""
    beside(place, _MADE).touch(mode=0o600)


def make_checkout(git: Git, tree: str, place: Path, now: Base) -> None:
    """Write a tree of fleet's own repository to a directory that does not exist.

    `git` is in that repository; `now` says which commit and branch are checked out in the project.
    """
    remove_checkout(place)
    make_git_dir(git, tree, place, now)
    there = Repository(root=str(place), git_dir=git.repo.git_dir, common_dir=git.repo.common_dir)
    own = git.at(there, str(place / ".git" / "index")).with_settings(ALL_CORES)
    own.ask("read-tree", tree)
    own.ask("checkout-index", "--all", "--force", "--quiet", "--index")
    mark_made(place)


def make_git_dir(git: Git, tree: str, place: Path, now: Base) -> None:
    """Make the `.git` of a checkout, without an index."""
    inside = place / ".git"
    write_git_dir(inside, sha256=len(tree) > 40, config=_CONFIG)
    write_alternates(inside, [f"{git.repo.git_dir}/objects"])
    detached = now.head and not now.branch
    head = now.head if detached else f"ref: {now.branch or _BRANCH}"
    (inside / "HEAD").write_bytes(os.fsencode(f"{head}\n"))
    if now.head and now.branch:
        (inside / "packed-refs").write_bytes(os.fsencode(f"{now.head} {now.branch}\n"))


def remove_checkout(place: Path) -> None:
    """Remove a checkout with all that was written there."""
    for suffix in (_MADE, FILES, INDEX):
        beside(place, suffix).unlink(missing_ok=True)
    if os.path.lexists(place):
        remove_tree(place)


def throw_away(place: Path, bin_: Path) -> None:
    """Have a directory with a checkout be gone at once, and the files a little later: they are
    removed beside the caller's work, and before the process ends. Raises OSError.

    What a killed process left in the bin goes with the next call.
    """
    bin_.mkdir(mode=0o700, exist_ok=True)
    place.rename(bin_ / f"{place.name}-{os.urandom(4).hex()}")
    threading.Thread(target=_empty, args=(bin_,), name="checkouts").start()


def _empty(bin_: Path) -> None:
    with _EMPTYING, suppress(OSError):  # another process may be at it
        for each in os.listdir(bin_):  # noqa: PTH208
            remove_tree(bin_ / each)


def remove_tree(place: Path) -> None:
    """Remove a directory with all files, as far as that goes; no link inside is followed."""
    while True:
        try:
            shutil.rmtree(place, onerror=_make_writable)
        except RecursionError:
            if not _made_shallow(place):
                return
        else:
            return


def _made_shallow(place: Path) -> bool:
    """Move what lies deep in a tree up to the top, for `rmtree`, which calls itself for each
    directory. False: nothing could be moved.
    """
    top, moved = str(place).count("/"), False
    for folder, folders, _ in walk(str(place)):
        if folder.count("/") - top == _DEEP:
            folders.clear()
            with suppress(OSError):
                os.rename(folder, f"{place}/{os.urandom(8).hex()}")  # noqa: PTH104
                moved = True
    return moved


def _make_writable(_remove: object, path: str, _why: object) -> None:
    """A program may have left directories that cannot be written (Go's modules)."""
    with suppress(OSError):
        os.chmod(os.path.dirname(path), 0o700)  # noqa: PTH101, PTH120
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114
            os.chmod(path, 0o700)  # noqa: PTH101
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)  # noqa: PTH108
