"""Puts a copy of a SQLite queue in the place of the queue, fenced against runs that began since.

A copy does not know the leases that were taken after it was made. The run directories do: where the
latest run of a task has a higher fence than the copy, the copy takes over that lease. So the next
supervisor adopts the run, or settles it by its ending, and no second agent begins the same task.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from fleet.files.atomic_write import sync_directory
from fleet.queue.backups import FILES, FOLDER
from fleet.queue.identity import EMBEDDED, KEY
from fleet.queue.sql import named_sql
from fleet.queue.sql.row_mapping import to_micros
from fleet.queue.sqlite_files import connected, copy_to, reading

#: How long a lease that is taken over lasts: long enough to start a supervisor.
LEASE = timedelta(minutes=10)


class RunSeen(Struct, frozen=True, kw_only=True):
    """The latest run of a task, by the run's directory."""

    task_id: str
    fence: int
    #: How it ended is decided and written down.
    settled: bool


class Restored(Struct, frozen=True, kw_only=True):
    """What became of a restore."""

    #: Tasks in the restored queue.
    tasks: int
    #: Tasks whose lease was taken over from their run's directory.
    leased: tuple[str, ...]
    #: Tasks that have a directory and are not in the copy: they were made after it.
    missing: tuple[str, ...]
    #: Where the files are that were replaced; None if there were none.
    aside: Path | None


def restore_file(
    home: Path,
    name: str,
    copy: Path,
    *,
    identity: str,
    owner: str,
    runs: Sequence[RunSeen],
    now: datetime,
) -> Restored:
    """Put a copy in the place of a queue; what stood there is kept aside."""
    target = home / FILES[name]
    fresh = home / f".{FILES[name]}.restoring"
    fresh.unlink(missing_ok=True)
    with reading(copy) as source:
        copy_to(fresh, source)
    try:
        fenced = fence(fresh, name, identity, owner, runs, now)
        aside = _set_aside(home, target, now)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    sync_directory(home)
    return Restored(tasks=fenced[0], leased=fenced[1], missing=fenced[2], aside=aside)


def fence(
    path: Path, name: str, identity: str, owner: str, runs: Sequence[RunSeen], now: datetime
) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """Bring a copy's leases up to the runs that there are.

    Returns how many tasks the copy holds, which were leased, and which are missing.
    """
    sql = named_sql.load("restore.sql")
    kind = "task" if name == EMBEDDED else "entry"
    leased: list[str] = []
    missing: list[str] = []
    with connected(path) as db, db:
        db.execute(sql["set_identity"], {"key": KEY, "value": identity})
        for run in runs:
            known = db.execute(sql[f"fence_of_{kind}"], {"id": run.task_id}).fetchall()
            if not known and name == EMBEDDED:
                missing.append(run.task_id)
            elif (known[0][0] if known else -1) < run.fence:
                lease = name == EMBEDDED or not run.settled
                until = to_micros(now + LEASE) if lease else None
                values = {"id": run.task_id, "fence": run.fence, "now": to_micros(now)}
                who = owner if lease else None
                db.execute(sql[f"lease_{kind}"], {**values, "owner": who, "until": until})
                leased += [run.task_id] if lease else []
        count = int(db.execute(sql[f"count_{kind}"]).get)
        return count, tuple(leased), tuple(missing)


def _set_aside(home: Path, target: Path, now: datetime) -> Path | None:
    """Move the files of the queue that is replaced to a directory of their own."""
    files = [target, *(target.with_name(target.name + end) for end in ("-wal", "-shm", "-journal"))]
    if not any(file.exists() for file in files):
        return None
    stem = target.name.removesuffix(".db")
    aside = home / FOLDER / f"{stem}-{now:%Y%m%dT%H%M%SZ}-{os.urandom(2).hex()}-replaced"
    aside.mkdir(mode=0o700, parents=True)
    for file in files:
        with suppress(FileNotFoundError):
            file.rename(aside / file.name)
    return aside
