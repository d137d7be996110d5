"""Puts aside what stands in a record's place and is no plain file: a pipe, a directory, a link.

An agent may have put such a thing there. Nothing is deleted: the thing is renamed, and the record
is written in its place.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from fleet.files.safe_read import SAFELY

#: In the new name, in front of a random part.
ASIDE = ".aside-"
#: How opening a file to write fails where a link, a directory, or a pipe or socket has its name.
_NO_FILE = (errno.ELOOP, errno.EISDIR, errno.ENXIO)


def open_or_put_aside(path: Path | str, flags: int) -> int:
    """A descriptor of a plain file, made if there is none; what is no plain file is put aside."""
    return open_sized_or_put_aside(path, flags)[0]


def open_sized_or_put_aside(path: Path | str, flags: int) -> tuple[int, int]:
    """The same, with the size of the file."""
    for _ in range(3):  # another process may put the same thing aside at this moment
        try:
            fd = os.open(path, flags | os.O_CREAT | SAFELY, 0o600)
        except OSError as error:
            if error.errno not in _NO_FILE:
                raise
        else:
            about = os.fstat(fd)
            if stat.S_ISREG(about.st_mode):
                return fd, about.st_size
            os.close(fd)
        put_aside(path)
    raise OSError(errno.EINVAL, "is put back each time that it is moved away", str(path))


def put_aside(path: Path | str) -> None:
    """Rename what has this name and is no plain file to `NAME.aside-…`; follows no link."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.lstat(path).st_mode):
            os.rename(path, f"{path}{ASIDE}{os.urandom(4).hex()}")  # noqa: PTH104
