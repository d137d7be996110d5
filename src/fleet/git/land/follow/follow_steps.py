"""The files of a working tree that change when the branch moves, one step a file.

A step knows how git found the file. A file that is otherwise when its turn comes was touched by
another hand: it is left as it is, and told. Each step can be repeated: after a kill in the middle
the next process goes through all of them again.
"""

import errno
import os
import shutil
import stat
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress

from msgspec import Struct

from fleet.files.safe_read import walk
from fleet.git.repository import shown
from fleet.git.tree_difference import TreeEntry

#: The kind of an entry that is a submodule; its files are not this repository's.
GITLINK = b"160000"
_TEMPORARY = ".fleet-follow-"


class FileMark(Struct, frozen=True, array_like=True):
    """A file's mode, size and times: different after every change of the file."""

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class FollowStep(Struct, frozen=True, kw_only=True):
    """What becomes of one path."""

    path: bytes
    #: The file that was there; None: there was none.
    old: FileMark | None = None
    #: There is a file to be put there.
    new: bool = False
    #: What the path is to be is a directory for a submodule.
    submodule: bool = False


def plan_steps(root: bytes, entries: Collection[TreeEntry]) -> tuple[list[FollowStep], str]:
    """The steps for these paths, those that only remove first; and what is in the way of them."""
    gone = {entry.path for entry in entries if not entry.new}
    steps: list[FollowStep] = []
    for entry in entries:
        if GITLINK in (entry.old_mode, entry.new_mode):
            if entry.old and entry.new and entry.old_mode != entry.new_mode:
                return [], f"{shown(entry.path)} is a submodule on one side only"
            is_made = not entry.old and not os.path.lexists(os.path.join(root, entry.path))  # noqa: PTH118
            steps += [FollowStep(path=entry.path, submodule=True)] if is_made else []
            continue
        if not entry.old and (found := _obstacle(root, entry.path, gone)):
            return [], f"{shown(found)} is not git's, and what landed has it"
        old = mark_at(root, entry.path) if entry.old else None
        if entry.old and old is None:
            return [], f"{shown(entry.path)} is not there"
        steps.append(FollowStep(path=entry.path, old=old, new=bool(entry.new)))
    return sorted(steps, key=lambda step: step.new or step.submodule), ""


def carry_out(root: bytes, staged: bytes, step: FollowStep) -> str:
    """Do one step; returns what a person should know if the file was left. Raises OSError."""
    target = os.path.join(root, step.path)  # noqa: PTH118
    if step.submodule:
        with suppress(FileExistsError):
            os.makedirs(target)  # noqa: PTH103
        return ""
    source = os.path.join(staged, step.path)  # noqa: PTH118
    if step.new and not os.path.lexists(source):
        return ""  # the file was put in place before
    now = mark_at(root, step.path)
    if now != step.old:
        if now is None and not step.new:
            return ""  # the file was removed before
        return f"{shown(step.path)} was changed meanwhile and is left as it is"
    if not step.new:
        os.unlink(target)  # noqa: PTH108
        _remove_empty(root, step.path)
        return ""
    os.makedirs(os.path.dirname(target), exist_ok=True)  # noqa: PTH103, PTH120
    if now is None and os.path.isdir(target):  # noqa: PTH112
        os.rmdir(target)  # noqa: PTH106 - of a file that became a directory, and is one again
    _put(source, target)
    return ""


def mark_at(root: bytes, path: bytes) -> FileMark | None:
    """The mark of a file or link; None: there is no file, or the path leads through a link."""
    place = root
    about: os.stat_result | None = None
    for part in path.split(b"/"):
        if about is not None and not stat.S_ISDIR(about.st_mode):
            return None
        place = os.path.join(place, part)  # noqa: PTH118
        try:
            about = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            return None
    if about is None or stat.S_ISDIR(about.st_mode):
        return None
    return FileMark(
        about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino
    )


def _obstacle(root: bytes, path: bytes, gone: Collection[bytes]) -> bytes:
    """What stands where a new file is to be, and is not removed by another step."""
    parts = path.split(b"/")
    for end in range(1, len(parts)):
        above = b"/".join(parts[:end])
        place = os.path.join(root, above)  # noqa: PTH118
        if not os.path.lexists(place):
            return b""
        if os.path.islink(place) or not os.path.isdir(place):  # noqa: PTH112, PTH114
            return b"" if above in gone else above
    place = os.path.join(root, path)  # noqa: PTH118
    if not os.path.lexists(place):
        return b""
    if os.path.islink(place) or not os.path.isdir(place):  # noqa: PTH112, PTH114
        return path
    return next((each for each in _files(root, path) if each not in gone), b"")


def _files(root: bytes, path: bytes) -> Iterator[bytes]:
    """What is below a directory, empty directories included."""
    top = os.fsdecode(root)
    for place, folders, names in walk(os.fsdecode(os.path.join(root, path))):  # noqa: PTH118
        inside = os.path.relpath(place, top)
        links = [name for name in folders if os.path.islink(f"{place}/{name}")]  # noqa: PTH114
        yield from (os.fsencode(os.path.normpath(f"{inside}/{name}")) for name in (*names, *links))
        if not names and not folders:
            yield os.fsencode(inside)


def _put(source: bytes, target: bytes) -> None:
    """Move a file to `target` in one step."""
    try:
        os.replace(source, target)  # noqa: PTH105
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # The same name each time: what a killed process left here is replaced.
        name = f"{_TEMPORARY}{zlib.crc32(target):08x}".encode()
        beside = os.path.join(os.path.dirname(target), name)  # noqa: PTH118, PTH120
        with suppress(FileNotFoundError):
            os.unlink(beside)  # noqa: PTH108
        shutil.copy2(source, beside, follow_symlinks=False)
        os.replace(beside, target)  # noqa: PTH105
        os.unlink(source)  # noqa: PTH108


def _remove_empty(root: bytes, path: bytes) -> None:
    """Remove the directories that held a removed file and nothing else, as git does."""
    folder = os.path.dirname(path)  # noqa: PTH120
    while folder:
        try:
            os.rmdir(os.path.join(root, folder))  # noqa: PTH106, PTH118
        except OSError:
            return
        folder = os.path.dirname(folder)  # noqa: PTH120
