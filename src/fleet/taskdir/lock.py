"""The task's lock: held from before a run's keeper is born until the last of its tree is gone."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path) -> Generator[int | None]:
    """The lock file's descriptor while we hold it; None if another does.

    Whoever inherits the descriptor shares the lock, and keeps it after we let go.
    """
    fd = _open_and_lock(path)
    try:
        yield fd
    finally:
        if fd is not None:
            os.close(fd)


def _open_and_lock(path: Path) -> int | None:
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        if _is_at(path, fd):
            return fd
        os.close(fd)  # it was deleted and made anew: a lock on the old file guards nothing


def _is_at(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False


def write_holder(fd: int, run: str) -> None:
    """Name the run that the lock is held for. Only by its holder."""
    os.ftruncate(fd, 0)
    os.pwrite(fd, run.encode(), 0)
