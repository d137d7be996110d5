"""Moves refs of a project in one transaction, and knows whether an earlier one is still under way.

A process that is killed may leave its git behind, which moves the refs a moment later. So git reads
what to do from a file that is locked as long as any process has it open (`fleet-land.moves` in the
common git directory): a process that decides by where the refs stand waits for that lock first.
"""

import fcntl
import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import IO

from fleet.git.git_command import GitFailed
from fleet.git.land.land_repository import LandRepository

_FILE = "fleet-land.moves"
_PAUSE = 0.02
#: Seconds that another process is waited for.
_PATIENCE = 30.0


def move_refs(land: LandRepository, moves: Sequence[str], why: str) -> None:
    """Carry out lines as `git update-ref -z --stdin` reads them, all or none. Raises GitFailed."""
    with _moves_file(land) as file:
        file.truncate(0)
        file.write(os.fsencode("".join(moves)))
        file.flush()
        file.seek(0)
        land.refs.ask("update-ref", "--no-deref", "-m", why, "-z", "--stdin", feed=file)


def wait_for_moves(land: LandRepository) -> None:
    """Return when no git of a killed process moves refs any more. Raises GitFailed."""
    if os.path.lexists(f"{land.repo.common_dir}/{_FILE}"):
        with _moves_file(land):
            pass


@contextmanager
def _moves_file(land: LandRepository) -> Generator[IO[bytes]]:
    path = f"{land.repo.common_dir}/{_FILE}"
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, 0o600)
    except OSError as error:
        raise GitFailed(f"{path} cannot be opened: {error.strerror or error}") from error
    with os.fdopen(fd, "r+b") as file:
        until = min(land.until, time.monotonic() + _PATIENCE)
        while not _is_locked(fd):
            if time.monotonic() >= until:
                raise GitFailed(f"another process holds {path}")
            time.sleep(_PAUSE)
        yield file


def _is_locked(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
