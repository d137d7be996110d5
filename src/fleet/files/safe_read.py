"""Opening files that an agent could have replaced: no link is followed, no pipe waited for."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from fleet.errors import InvalidTask

#: No link is followed, and a pipe is not waited for.
SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_WAY_OUT = "Move it away to go on."


def is_regular(fd: int) -> bool:
    """The descriptor is of a plain file, and not of a pipe, a device or a directory."""
    return stat.S_ISREG(os.fstat(fd).st_mode)


def open_regular(path: Path | str) -> int | None:
    """A descriptor to read a regular file; None if there is no file. Raises InvalidTask."""
    found = open_sized(path)
    return None if found is None else found[0]


def open_sized(path: Path | str) -> tuple[int, int] | None:
    """The same, with the size of the file."""
    try:
        fd = os.open(path, os.O_RDONLY | SAFELY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidTask(f"{path} cannot be read: {error.strerror}", hint=_WAY_OUT) from error
    about = os.fstat(fd)
    if not stat.S_ISREG(about.st_mode):
        os.close(fd)
        raise InvalidTask(f"{path} is not a plain file", hint=_WAY_OUT)
    return fd, about.st_size


def read_bounded(path: Path | str, limit: int) -> bytes | None:
    """The content of a regular file of at most `limit` bytes; None if there is no file.

    Raises InvalidTask for a larger file, a link, a pipe or a file that cannot be read.
    """
    found = open_sized(path)
    if found is None:
        return None
    fd, size = found
    try:
        data = b""
        # Neither a file object nor a buffer of `limit` bytes: this is called for every record.
        while size <= limit and len(data) <= limit:
            data += (more := os.read(fd, size + 1))
            if len(more) <= size:  # less than was asked for: the file ends here
                break
    except OSError as error:
        raise InvalidTask(f"{path} cannot be read: {error.strerror}", hint=_WAY_OUT) from error
    finally:
        os.close(fd)
    if size > limit or len(data) > limit:
        why = f"{path} is larger than {limit} bytes, which no file of fleet's is"
        raise InvalidTask(why, hint=_WAY_OUT)
    return data


def check_directory(path: Path | str) -> bool:
    """Whether there is a directory of this name. Raises InvalidTask for a link or anything else."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise InvalidTask(f"{path} cannot be read: {error.strerror}", hint=_WAY_OUT) from error
    if not stat.S_ISDIR(mode):
        what = "a link" if stat.S_ISLNK(mode) else "not a directory"
        raise InvalidTask(f"{path} is {what}", hint=_WAY_OUT)
    return True


def walk(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`, for a tree that an agent made: before Python 3.12 that one ends in a
    RecursionError a thousand directories deep. What cannot be listed is left out.
    """
    left = [top]
    while left:
        place = left.pop()
        folders: list[str] = []
        names: list[str] = []
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    (folders if _is_folder(entry) else names).append(entry.name)
        except OSError:
            continue
        yield place, folders, names
        below = [f"{place}/{name}" for name in reversed(folders)]
        left += [each for each in below if not os.path.islink(each)]  # noqa: PTH114


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def stamp_of(path: Path | str) -> tuple[int, int, int]:
    """A value that changes with a file's content, so that readers read the file again only then."""
    try:
        about = os.stat(path)  # noqa: PTH116 - each task asks for some
    except OSError:  # there is none, or it is a link in a circle
        return (0, 0, 0)
    return (about.st_mtime_ns, about.st_size, about.st_ino)


def tail(path: Path, most: int) -> str:
    """The last `most` bytes of a regular file as text; empty if the file cannot be read."""
    try:
        found = open_sized(path)
    except InvalidTask:
        return ""
    if found is None:
        return ""
    fd, size = found
    try:
        return os.pread(fd, most, max(0, size - most)).decode(errors="replace")
    except OSError:
        return ""
    finally:
        os.close(fd)
