"""Opening files that an agent could have replaced: no link is followed, no pipe waited for."""

import os
import stat
from pathlib import Path

from fleet.errors import InvalidTask


def open_plain(path: Path) -> int | None:
    """A descriptor to read a plain file; None if there is no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidTask(f"{path} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise InvalidTask(f"{path} is not a plain file")
    return fd


def read_plain(path: Path, limit: int) -> bytes | None:
    """All of a plain file that is no larger than `limit`; None if there is no file."""
    fd = open_plain(path)
    if fd is None:
        return None
    try:
        size = os.fstat(fd).st_size
        data = b""
        # Not a file object, and not a buffer of `limit`: every run pays for each of its records.
        while size <= limit and len(data) <= limit and (more := os.read(fd, size + 1)):
            data += more
    finally:
        os.close(fd)
    if size > limit or len(data) > limit:
        raise InvalidTask(f"{path} is larger than any file of ours, which end at {limit} bytes")
    return data


def stamp_of(path: Path) -> tuple[int, int, int]:
    """What changes with a file's content, so that it is read again only then."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return (0, 0, 0)
    return (about.st_mtime_ns, about.st_size, about.st_ino)


def tail(path: Path, most: int) -> str:
    """The end of a plain file as text; empty if there is nothing that could be read."""
    try:
        fd = open_plain(path)
    except InvalidTask:
        return ""
    if fd is None:
        return ""
    try:
        size = os.fstat(fd).st_size
        return os.pread(fd, most, max(0, size - most)).decode(errors="replace")
    finally:
        os.close(fd)
