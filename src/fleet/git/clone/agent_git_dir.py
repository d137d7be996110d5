"""The git directory of a clone, which the agent may have written, read as plain files.

git is never started in it: its configuration, hooks, alternates and `commondir` would take part.
Object files are linked into a directory of fleet's own, where only objects count.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from fleet.errors import FleetError, InvalidTask
from fleet.files.safe_read import read_bounded, walk
from fleet.git.repository import COMMIT

_FAN_OUT = re.compile(r"[0-9a-f]{2}")
_LOOSE = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
_PACK = re.compile(r"pack-[0-9a-f]+\.(?:pack|idx)")
_HEADS, _REMOTES = "refs/heads/", "refs/remotes/"
#: How much of HEAD, of one ref and of packed-refs is read, and how many branches count.
_SMALL, _LARGE, _MOST_BRANCHES = 4 << 10, 16 << 20, 200
#: What `git stash` keeps, one line each, and how many count.
_STASH_LOG, _MOST_STASHES = "logs/refs/stash", 50
#: How many files of objects are linked. More are a sign that nothing here is as it should be.
_MOST_OBJECTS = 1_000_000
#: Signs of work that git itself has not finished.
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


class AgentHead(Struct, frozen=True, kw_only=True):
    """What a clone has checked out, by the clone's own files."""

    #: The commit that HEAD leads to; empty if that cannot be read.
    commit: str = ""
    #: All branches with their commits, by name without `refs/heads/`.
    branches: dict[str, str] = {}
    #: The commits that branches of remotes lead to: what was fetched.
    fetched: frozenset[str] = frozenset()
    #: The commits of `git stash`, the latest first.
    stashes: tuple[str, ...] = ()
    #: What is odd about the git directory, as sentences for a person.
    oddities: tuple[str, ...] = ()


def is_git_dir(place: Path) -> bool:
    """A directory with a HEAD, which git would take for a repository; no link."""
    return _is_dir(place) and os.path.lexists(place / "HEAD") and _is_dir(place / "objects")


def read_head(git_dir: Path) -> AgentHead:
    """The commit and the branches of a clone. Raises nothing: odd things are told."""
    odd: list[str] = []
    if not _is_dir(git_dir):
        return AgentHead()
    branches = dict(_refs(git_dir, _HEADS, odd))
    text = _text(git_dir / "HEAD", _SMALL, odd)
    name = text.removeprefix("ref:").strip()
    if not text.startswith("ref:"):
        commit = name if re.fullmatch(COMMIT, name) else ""
    else:
        commit = branches.get(name.removeprefix(_HEADS), "") if name.startswith(_HEADS) else ""
    stashes = tuple(_stashes(git_dir, odd))
    fetched = frozenset(commit for _, commit in _refs(git_dir, _REMOTES, odd))
    return AgentHead(
        commit=commit, branches=branches, fetched=fetched, stashes=stashes, oddities=tuple(odd)
    )


def unfinished(git_dir: Path) -> str:
    """What holds work that no commit has: a merge half done, submodules, large files of git-lfs."""
    if not _is_dir(git_dir):
        return ""
    if name := begun(git_dir):
        return f"work that git has not finished ({name})"
    if any(_plain_files(git_dir / "modules")):
        return "submodules"
    if any(_plain_files(git_dir / "lfs/objects")) or any(_plain_files(git_dir / "annex")):
        return "large files that git keeps outside of its objects"
    return ""


def begun(git_dir: Path) -> str:
    """The file in which git notes that something was begun and not finished; or nothing."""
    return next((name for name in _UNFINISHED if os.path.lexists(git_dir / name)), "")


def may_store(git_dir: Path, commit: str) -> bool:
    """Whether a clone may have the object of a commit in a file of its own: in a loose one, or in
    a pack, which is not opened here.
    """
    objects = git_dir / "objects"
    if not _is_dir(git_dir) or not _is_dir(objects):
        return False
    is_loose = os.path.lexists(objects / commit[:2] / commit[2:])
    return is_loose or any(_PACK.fullmatch(entry.name) for entry in _entries(objects / "pack"))


def link_objects(git_dir: Path, into: Path) -> int:
    """Link or copy the object files of a clone, and nothing else, into an object directory.

    Returns how many. Raises FleetError if there are too many.
    """
    objects, found = git_dir / "objects", 0
    for folder in _folders(objects) if _is_dir(git_dir) else ():
        wanted = _PACK if folder.name == "pack" else _LOOSE
        place = into / folder.name
        place.mkdir(mode=0o700, exist_ok=True)
        for entry in _entries(folder):
            if not wanted.fullmatch(entry.name):
                continue
            found += _link(entry, place / entry.name)
            if found > _MOST_OBJECTS:
                raise FleetError(f"{objects} holds more than {_MOST_OBJECTS:,} files")
    return found


def _link(entry: "os.DirEntry[str]", place: Path) -> bool:
    """False: the entry is no plain file, or is gone meanwhile."""
    try:
        if not entry.is_file(follow_symlinks=False):
            return False
        try:
            os.link(entry.path, place, follow_symlinks=False)
        except OSError:  # another file system, or links are not allowed
            _copy(entry.path, place)
    except FileNotFoundError:
        return False
    if stat.S_ISREG(place.lstat().st_mode):
        return True
    place.unlink()  # the file was replaced between the look and the link
    return False


def _copy(source: str, place: Path) -> None:
    fd = os.open(source, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file, place.open("xb") as copy:
        if stat.S_ISREG(os.fstat(fd).st_mode):
            shutil.copyfileobj(file, copy)


def _folders(objects: Path) -> Iterator[Path]:
    if _is_dir(objects):
        for entry in _entries(objects):
            plain = _FAN_OUT.fullmatch(entry.name) or entry.name == "pack"
            if plain and entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        yield from entries


def _refs(git_dir: Path, below: str, odd: list[str]) -> Iterator[tuple[str, str]]:
    """Branches from packed-refs, and then from the files of single refs, which count more. Their
    names begin `below`, which is left off.
    """
    left = _MOST_BRANCHES
    for line in _text(git_dir / "packed-refs", _LARGE, odd).splitlines():
        commit, _, name = line.partition(" ")
        if name.startswith(below) and re.fullmatch(COMMIT, commit):
            yield name.removeprefix(below), commit
    for path in _plain_files(git_dir / below):
        commit = _text(path, _SMALL, odd).strip()
        if re.fullmatch(COMMIT, commit):
            yield path.relative_to(git_dir / below).as_posix(), commit
            left -= 1
        if left <= 0:
            odd.append(f"it has more than {_MOST_BRANCHES} branches")
            return


def _stashes(git_dir: Path, odd: list[str]) -> Iterator[str]:
    """The commits in the log of `refs/stash`, from which git takes what is popped or dropped."""
    lines = _text(git_dir / _STASH_LOG, _LARGE, odd).splitlines()
    for line in reversed(lines[-_MOST_STASHES:]):
        commit = line.partition("\t")[0].split(" ")[1:2]
        if commit and re.fullmatch(COMMIT, commit[0]):
            yield commit[0]


def _plain_files(folder: Path) -> Iterator[Path]:
    """The plain files below a directory; links are not followed."""
    if not _is_dir(folder):
        return
    for place, folders, names in walk(str(folder)):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            if stat.S_ISREG(path.lstat().st_mode):
                yield path


def _text(path: Path, limit: int, odd: list[str]) -> str:
    try:
        return (read_bounded(path, limit) or b"").decode(errors="replace")
    except InvalidTask as error:
        odd.append(error.message)
        return ""


def _is_dir(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
