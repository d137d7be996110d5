"""The files of a SQLite database: which ones a connection has open, how a new database is made, and
how one is copied while other processes write.

A database that this process may have open is never opened as a plain file here: closing such a file
would drop the locks of this process's connections to it.
"""

import os
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from fleet.errors import QueueUnavailable
from fleet.files.atomic_write import sync_directory


class DatabaseFiles(Struct, frozen=True):
    """The files of a database, as device and inode; None: there is none."""

    main: tuple[int, int] | None
    #: The write-ahead log. While a connection is open SQLite does not remove it.
    log: tuple[int, int] | None


def files_of(path: Path) -> DatabaseFiles:
    """The files that are at a path now."""
    return DatabaseFiles(inode_of(str(path)), inode_of(f"{path}-wal"))


def inode_of(path: str) -> tuple[int, int] | None:
    """Device and inode of the file that is at a path now; None: there is none."""
    try:
        about = os.stat(path)  # noqa: PTH116 - for each statement, where a Path costs as much again
    except (FileNotFoundError, NotADirectoryError):
        return None
    return about.st_dev, about.st_ino


def is_empty(path: Path) -> bool:
    """There is no file, or one without a byte."""
    try:
        return path.stat().st_size == 0
    except FileNotFoundError:
        return True


def make_private(path: Path) -> None:
    """Let SQLite find a file that only the owner can read; journals take over the mode."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise QueueUnavailable(
            f"the queue {path} cannot be opened: {error.strerror}",
            hint="Check the owner and mode of the file and of its directory, and the disk.",
        ) from error


@contextmanager
def reading(path: Path) -> Generator[Any]:
    """A connection that only reads a database."""
    with connected(path, apsw.SQLITE_OPEN_READONLY) as connection:
        connection.set_busy_timeout(5000)
        yield connection


@contextmanager
def connected(path: Path, flags: int = apsw.SQLITE_OPEN_READWRITE) -> Generator[Any]:
    """A connection to a database. Any: APSW's stubs leave its value type unknown."""
    with closing(apsw.Connection(str(path), flags=flags)) as connection:
        yield connection


def copy_to(target: Path, source: Any) -> None:
    """Copy the committed state behind a connection to one file, in one step and durably.

    Writers are not held up. The copy needs no log beside it.
    """
    temporary = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    make_private(temporary)
    try:
        with connected(temporary) as copy:
            with copy.backup("main", source, "main") as backup:
                backup.step()
            copy.execute("PRAGMA journal_mode=DELETE").fetchall()
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(target.parent)
