"""Append-only files: whole lines at the end, or nothing."""

import errno
import os
import stat
from pathlib import Path

from fleet.files.put_aside import open_sized_or_put_aside


def append(
    path: Path | str,
    data: bytes | bytearray,
    *,
    limit: int | None = None,
    durable: bool = False,
) -> bool:
    """Add `data` at the end of a file. False: the file has reached `limit` bytes and stays as is.

    What stands in the file's place and is no file is put aside. Raises OSError; of data that a
    full disk took only in part, nothing stays in the file.
    """
    fd, size = open_sized_or_put_aside(path, os.O_WRONLY | os.O_APPEND)
    try:
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


def append_in(
    folder: Path | str, name: str, data: bytes | bytearray, *, limit: int | None = None
) -> bool:
    """Append to a file in a directory that an agent could have replaced by a link elsewhere."""
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    return append(f"{folder}/{name}", data, limit=limit)
