"""Writing a file so that a reader, or a crash, sees the old content or the new, never a part."""

import os
from contextlib import suppress
from itertools import count
from pathlib import Path

_COUNT = count()


def write_atomically(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace `path` by `data`: a temporary file beside it, flushed to disk, then renamed."""
    name = f"{path.parent}/.{path.name}.{os.getpid()}.{next(_COUNT)}"
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, mode)
            file.write(data)
            file.flush()
            os.fsync(fd)
        os.replace(name, path)  # noqa: PTH105 - both ends are names, not paths
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)  # noqa: PTH108
        raise
    flush_directory(path.parent)


def flush_directory(path: Path) -> None:
    """Make a rename in this directory survive a power cut."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
