"""Append-only files: whole lines at the end, or nothing."""

import errno
import os
from pathlib import Path

#: No link is followed, and a pipe that an agent put in the file's place is not waited for.
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def append(
    path: Path | str, data: bytes, *, limit: int | None = None, durable: bool = False
) -> bool:
    """Add `data` at the end of a file. False: the file has reached `limit` bytes and stays as is.

    Raises OSError; of data that a full disk took only in part, nothing stays in the file.
    """
    fd = os.open(path, _FLAGS, 0o600)
    try:
        size = os.fstat(fd).st_size
        if limit is not None and size >= limit:
            return False
        taken = os.write(fd, data)
        if taken != len(data):
            if os.fstat(fd).st_size == size + taken:  # no other process has added a line since
                os.ftruncate(fd, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
    return True
