"""Lock files: `locked` tries a lock that can be handed down to a child, `exclusive` and `shared`
wait for one.

A task's run lock is handed down: it is held from before a run's keeper starts until the last
process of its tree has ended. What stands in a lock's place and is no file is put aside: processes
of a run that still hold the lock that was moved away are found by their mark.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from fleet.files.put_aside import open_or_put_aside


class Lock:
    """A lock that this process holds. A child that inherits the descriptor holds the same lock."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._handed_down = False

    def hand_down(self) -> None:
        """Leave the lock to the child process that was started with the descriptor."""
        self._handed_down = True

    def write_holder(self, run: str) -> None:
        """Name the run that the lock is held for."""
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, run.encode(), 0)

    def let_go(self) -> None:
        if not self._handed_down:
            # Closing is not enough: a process that another thread is just starting has a copy
            # of the descriptor until its program runs.
            fcntl.flock(self.fd, fcntl.LOCK_UN)
        os.close(self.fd)


@contextmanager
def locked(path: Path) -> Generator[Lock | None]:
    """The lock at this path, held while inside; None if another process holds the lock."""
    lock = _try_lock(path)
    try:
        yield lock
    finally:
        if lock is not None:
            lock.let_go()


@contextmanager
def run_locked(task_dir: Path) -> Generator[Lock | None]:
    """The lock of a task's runs, as `locked` holds one.

    A link in the place of the task's directory is not followed: the lock is out of reach, as one
    that was moved away.
    """
    if task_dir.is_symlink():
        import tempfile  # which most commands do without

        with tempfile.TemporaryFile() as file:
            lock = Lock(os.dup(file.fileno()))
        try:
            yield lock
        finally:
            lock.let_go()
    else:
        with locked(task_dir / "run.lock") as lock:
            yield lock


@contextmanager
def exclusive(path: Path) -> Generator[None]:
    """Hold the lock at this path while inside; waits until other processes let go.

    The lock file is never deleted, so that all processes lock the same file.
    """
    with _waited_for(path, fcntl.LOCK_EX):
        yield


@contextmanager
def shared(path: Path) -> Generator[None]:
    """Hold the lock at this path beside others that share it; waits while one holds it alone."""
    with _waited_for(path, fcntl.LOCK_SH):
        yield


@contextmanager
def _waited_for(path: Path, kind: int) -> Generator[None]:
    fd = open_or_put_aside(path, os.O_RDWR)
    try:
        fcntl.flock(fd, kind)
        yield
    finally:
        fcntl.flock(fd, fcntl.LOCK_UN)  # a process that is just starting has a copy
        os.close(fd)


def _try_lock(path: Path) -> Lock | None:
    while True:
        fd = open_or_put_aside(path, os.O_RDWR)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        if _is_at(path, fd):
            return Lock(fd)
        os.close(fd)  # the file was deleted and made anew: a lock on the old one guards nothing


def _is_at(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False
