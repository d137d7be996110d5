"""Opening files that an agent could have replaced: no link is followed, no pipe waited for."""

import os
import stat
from pathlib import Path

from fleet.errors import InvalidTask


def open_regular(path: Path) -> int | None:
    """A descriptor to read a regular file; None if there is no file. Raises InvalidTask."""
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


def read_bounded(path: Path, limit: int) -> bytes | None:
    """The content of a regular file of at most `limit` bytes; None if there is no file.

    Raises InvalidTask for a larger file, a link, a pipe or a file that cannot be read.
    """
    fd = open_regular(path)
    if fd is None:
        return None
    try:
        size = os.fstat(fd).st_size
        data = b""
        # Neither a file object nor a buffer of `limit` bytes: this is called for every record.
        while size <= limit and len(data) <= limit and (more := os.read(fd, size + 1)):
            data += more
    finally:
        os.close(fd)
    if size > limit or len(data) > limit:
        raise InvalidTask(f"{path} is larger than {limit} bytes, which no file of fleet's is")
    return data


def stamp_of(path: Path) -> tuple[int, int, int]:
    """A value that changes with a file's content, so that readers read the file again only then."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return (0, 0, 0)
    return (about.st_mtime_ns, about.st_size, about.st_ino)


def tail(path: Path, most: int) -> str:
    """The last `most` bytes of a regular file as text; empty if the file cannot be read."""
    try:
        fd = open_regular(path)
    except InvalidTask:
        return ""
    if fd is None:
        return ""
    try:
        size = os.fstat(fd).st_size
        return os.pread(fd, most, max(0, size - most)).decode(errors="replace")
    finally:
        os.close(fd)
