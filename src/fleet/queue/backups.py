"""Copies of the SQLite files in a home, in `$FLEET_HOME/backups`: one a day, and one each time that
a queue was lost or replaced. Each is one whole file that only its owner can read.
"""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import apsw
from msgspec import Struct

from fleet.errors import QueueError, QueueUnavailable, WrongQueue
from fleet.queue.identity import EMBEDDED, LEDGER
from fleet.queue.sqlite_files import copy_to, reading

FOLDER = "backups"
#: The file of each queue that lies in the home.
FILES = {EMBEDDED: "queue.db", LEDGER: "ledger.db"}

#: Why a copy was made: daily; a person asked; the queue's file vanished under a supervisor.
CopyReason = Literal["daily", "asked", "rescued"]
#: How many copies of each kind are kept.
KEEP: dict[str, int] = {"daily": 7, "asked": 7, "rescued": 3}
EVERY = timedelta(days=1)
#: A larger queue, or one without this much free disk beside its copy, is not copied unasked.
LARGEST = 2 << 30
FLOOR = 200 << 20

_NAME = re.compile(r"(queue|ledger)-(\d{8}T\d{6}Z)-(daily|asked|rescued)\.db")


class Backup(Struct, frozen=True, kw_only=True):
    """One copy of a queue."""

    path: Path
    at: datetime
    reason: str
    size: int


def backups(home: Path, name: str) -> list[Backup]:
    """The copies of a queue, newest first."""
    return sorted(_found(home, name), key=lambda each: each.at, reverse=True)


def _found(home: Path, name: str) -> Iterator[Backup]:
    try:
        entries = list(os.scandir(home / FOLDER))
    except OSError:
        return
    for entry in entries:
        match = _NAME.fullmatch(entry.name)
        if match and f"{match[1]}.db" == FILES[name] and entry.is_file(follow_symlinks=False):
            at = datetime.strptime(match[2], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
            size = entry.stat(follow_symlinks=False).st_size
            yield Backup(path=Path(entry.path), at=at, reason=match[3], size=size)


def is_due(home: Path, name: str, now: datetime) -> bool:
    """There is a queue, and no whole copy of the last day."""
    if not (home / FILES[name]).exists():
        return False
    return not any(now - each.at < EVERY for each in backups(home, name))


def back_up(home: Path, name: str, now: datetime, reason: CopyReason) -> Backup:
    """Copy a queue while other processes write. Raises QueueError, also where the disk has no room;
    the older copies stay then.
    """
    path = home / FILES[name]
    if not path.exists():
        raise WrongQueue(f"there is no {path} to copy", hint="See: fleet queue status")
    _check_room(home, path.stat().st_size)
    try:
        with reading(path) as source:
            return keep_copy(home, name, source, now, reason)
    except apsw.Error as error:
        raise QueueUnavailable(f"{path} cannot be copied: {error}") from error


def keep_copy(home: Path, name: str, source: Any, now: datetime, reason: CopyReason) -> Backup:
    """Copy what a connection sees, and let the oldest copies of the same kind go."""
    folder = home / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    stem = FILES[name].removesuffix(".db")
    target = folder / f"{stem}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{reason}.db"
    copy_to(target, source)
    if damage := damage_of(target):
        target.unlink()
        raise QueueUnavailable(
            f"{home / FILES[name]} is damaged, so it was not copied: {damage}",
            hint="Look at the copies from before: fleet queue status",
        )
    same = [each for each in backups(home, name) if each.reason == reason]
    for old in same[KEEP[reason] :]:
        old.path.unlink(missing_ok=True)
    return Backup(path=target, at=now, reason=reason, size=target.stat().st_size)


def damage_of(path: Path) -> str:
    """What SQLite's quick check says of a file that no process writes to; empty if all is well."""
    try:
        with reading(path) as connection:
            said = str(connection.execute("PRAGMA quick_check(1)").get)
    except apsw.Error as error:
        return str(error)
    return "" if said == "ok" else said


def identity_of(path: Path) -> str:
    """The id that a copy bears; empty for a copy from before queues had ids."""
    try:
        with reading(path) as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'identity'").get
    except apsw.Error as error:
        raise QueueUnavailable(f"{path} holds no queue: {error}") from error
    return str(row or "")


def _check_room(home: Path, size: int) -> None:
    about = os.statvfs(home)
    free = about.f_bavail * about.f_frsize
    if size > LARGEST or free < size + FLOOR:
        raise QueueError(
            f"the queue of {size >> 20} MB is not copied: {free >> 20} MB of disk are free",
            hint="Free some space, or copy it to another disk: sqlite3 queue.db '.backup FILE'",
        )
