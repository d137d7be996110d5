"""Writing a file in one step: no reader, crash or full disk leaves half a file."""

import os
from contextlib import suppress
from pathlib import Path

from fleet.files.put_aside import put_aside


def write_atomically(
    path: Path, data: bytes, mode: int = 0o600, *, durable: bool = True, named: bool = True
) -> None:
    """Put `data` at `path` in one step that a power cut cannot halve.

    No link is followed, and a directory that stands in the file's place is put aside. Without
    `durable` other processes never see half a file either, but a power cut may leave the file
    empty, or as it was. Without `named` the file's name is not durable yet: the caller writes
    another file beside it, which sees to both names.
    """
    # Not the tempfile module: it would cost every command that writes a file ten milliseconds.
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
    try:
        try:
            os.fchmod(fd, mode)  # whatever the umask says
            write_all(fd, data)
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        try:
            temporary.replace(path)
        except IsADirectoryError:
            put_aside(path)
            temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    if durable and named:
        sync_directory(path.parent)


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`, of which one call may take only a part."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_directory(directory: Path) -> None:
    """Make the names in a directory as durable as the files behind them."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
