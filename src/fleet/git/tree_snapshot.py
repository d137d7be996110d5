"""A working tree as a git tree, with changes that are not committed and new files.

Neither the user's files nor the user's index are changed: git works on a copy of the index, and
reads and stores only what differs from it. That takes about as long as `git status`.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct, field

from fleet.git.git_command import Git
from fleet.git.own.left_out import is_secret, mark_of, quick_mark
from fleet.git.repository import Repository
from fleet.git.user_settings import ignore_rules

#: Larger new files are not stored.
LARGEST = 50 << 20
#: With more new files, or more bytes of them in all, no new file is stored.
MOST_FILES = 20_000
MOST_BYTES = 512 << 20
#: How the folders of copied indexes begin, in the directory for temporary files.
_COPIES = "fleet-index-"
#: Beside a kept index: the ignore rules of that moment, with this suffix.
RULES = ".exclude"


class TreeSnapshot(Struct, frozen=True, kw_only=True):
    """A working tree that was stored."""

    id: str
    #: Files that are not stored, each with a mark that changes with the file.
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    #: Files of `left_out` that are too large, or cannot be read.
    large: tuple[str, ...] = ()
    #: There are too many new files, so none of them is stored.
    no_new: bool = False


@contextmanager
def copied_index(repo: Repository, source: Path | None = None) -> Generator[Path]:
    """A copy of the repository's index, or of `source`, removed at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix=_COPIES))
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


def drop_left_copies(before: float) -> None:
    """Remove copies of indexes that a killed process left, if they are older than a time."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_COPIES}*"):
        with suppress(OSError):
            facts = folder.lstat()
            is_ours = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid()
            if is_ours and facts.st_mtime < before:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def opened(
    own: Repository, repo: Repository, until: float, kept: Path | None = None
) -> Generator[tuple[Git, Path]]:
    """Git in fleet's own repository, over a copy of an index and with the project's ignore rules.

    The index is `kept` with the rules beside it, or else the project's of this moment. Yields the
    copy too.
    """
    with copied_index(repo, kept) as index:
        rules = index.with_name("exclude")
        old = kept.with_name(f"{kept.name}{RULES}") if kept is not None else None
        if old is not None and old.exists():
            shutil.copyfile(old, rules)
        else:
            rules.write_bytes(ignore_rules(repo))
        share_index(own, repo)
        yield Git(own, until, str(index), ignore=str(rules)), index


def keep_index(index: Path, place: Path) -> None:
    """Copy an index to `place` in one step, with the time, and the ignore rules beside it."""
    rules = index.with_name("exclude")
    pairs = [(index, place)] if index.exists() else []
    if rules.exists():
        pairs.insert(0, (rules, place.with_name(f"{place.name}{RULES}")))
    for source, target in pairs:
        fresh = target.with_name(f".{target.name}")
        fresh.unlink(missing_ok=True)
        shutil.copy2(source, fresh)
        fresh.replace(target)


def share_index(own: Repository, repo: Repository) -> None:
    """Bring the shared part of a split index to where git looks for it."""
    for part in Path(repo.git_dir).glob("sharedindex.*"):
        place = Path(own.git_dir) / part.name
        if part.is_file() and not part.is_symlink() and not place.exists():
            shutil.copy2(part, place)


def uncommitted(git: Git, head: str) -> set[bytes]:
    """The files that differ from a commit, in the index or in the tree, and new ones."""
    ask = ("ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
    staged = ("diff-index", "--cached", "--name-only", "-z", "--ignore-submodules=all", head)
    listed = git.ask(*ask) + git.ask(*staged)
    return {name for name in listed.split(b"\0") if name}


def take_snapshot(
    git: Git,
    *,
    without: Iterable[str] = (),
    shared: Sequence[str] = (),
    head: str = "",
    known: Mapping[str, str] = {},
    committed: str = "",
) -> TreeSnapshot:
    """Store the working tree at this moment. `git` works on a separate index, which is up to date
    afterwards. What is below a directory in `without` is not looked at; new files in `known`, which
    an earlier snapshot left out with these marks, are left out. Files of the commit `committed` are
    stored whatever rule ignores them. At and below the paths in `shared` nothing counts but what
    the commit `head` holds.
    """
    root = git.repo.root
    _untrack(git, shared, head)
    changed, new = _differing(git)
    below = tuple(f"{name}/" for name in shared)
    new = [name for name in new if name not in shared and not name.startswith(below)]
    new += sorted(_committed(git, committed) - set(new)) if committed else []
    folders = tuple(f"{name.rstrip('/')}/" for name in without)
    new = [name for name in new if name not in known and not name.startswith(folders)]
    secret = {name for name in new if is_secret(name)}
    large = [name for name in changed if _trouble_with(f"{root}/{name}", tracked=True)]
    changed = [name for name in changed if name not in set(large)]
    sizes = {name: _size(f"{root}/{name}") for name in new}
    large += [name for name in new if _trouble_with(f"{root}/{name}", tracked=False)]
    left_out = {name: mark_of(f"{root}/{name}") for name in (*sorted(secret), *large)}
    new = [name for name in new if name not in left_out]
    no_new = len(new) > MOST_FILES or sum(sizes[name] for name in new) > MOST_BYTES
    if no_new:
        left_out |= {name: quick_mark(f"{root}/{name}") for name in new}
        new = []
    names = changed + new
    beyond = {name for name in changed if is_below_link(root, name)}
    # Git refuses to read files below a link that replaced a directory.
    _update(git, "--force-remove", [name for name in changed if name in beyond])
    _update(git, "--remove", [name for name in names if name not in beyond])
    tree = git.line("write-tree")
    return TreeSnapshot(id=tree, left_out=left_out, large=tuple(large), no_new=no_new)


def _update(git: Git, how: str, names: list[str]) -> None:
    if names:
        feed = b"".join(os.fsencode(name) + b"\0" for name in names)
        git.ask("update-index", "-z", "--add", "--replace", how, "--stdin", feed=feed)


def _untrack(git: Git, paths: Sequence[str], head: str) -> None:
    """Take out of the index what it has at and below these paths, and the commit has not."""
    if paths:
        held = git.ask("ls-tree", "-r", "-z", "--name-only", head, "--", *paths) if head else b""
        tracked = git.ask("ls-files", "-z", "--", *paths).split(b"\0")
        gone = {name for name in tracked if name}.difference(held.split(b"\0"))
        _update(git, "--force-remove", [os.fsdecode(name) for name in sorted(gone)])


def is_below_link(root: str, name: str) -> bool:
    """A directory on the way to a file of a tree is a link."""
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


def _committed(git: Git, commit: str) -> set[str]:
    """Files of a commit that the tree has and the index has not."""
    ask = ("diff-index", "--cached", "--name-only", "-z", "--no-renames", "--diff-filter=D")
    listed = git.ask(*ask, "--ignore-submodules=all", commit).split(b"\0")
    names = {os.fsdecode(name) for name in listed if name}
    return {name for name in names if os.path.lexists(f"{git.repo.root}/{name}")}


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
