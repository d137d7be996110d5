"""*Now* at every moment, for surfaces that stay open: only what changed is read again.

Files tell that something changed: the home, the queue's own files, and the directories of runs in
progress. What no file tells (a process that was killed, a moment that has come) is looked at every
few seconds.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, structs

from fleet.control import Control
from fleet.control.view.now import GroupCounts, Now, SupervisorNow, TaskRow
from fleet.control.view.queue_read import QueueRead, read_queue
from fleet.control.view.read_now import DONE_WITHIN, NowReader
from fleet.control.view.why_not_now import Conditions, conditions
from fleet.errors import FleetError
from fleet.files.inotify import DirectoryWatch
from fleet.files.safe_read import stamp_of
from fleet.home.landing_json import FOLDER as LANDINGS
from fleet.queue.beads.change_watch import Watch as BeadsWatch
from fleet.queue.sql.sqlite import FILE as QUEUE_FILE

#: Seconds between two looks at what no file tells; and between two reads of everything, whatever
#: the files say.
_LOOK_AGAIN, _READ_ALL = 2.0, 15.0
#: A read of the queue is followed by a rest of this many times its length: a slow queue is not
#: asked all the time.
_REST = 6.0


class NowChange(Struct, frozen=True, kw_only=True):
    """What changed since the value with the number `after`."""

    seq: int
    after: int
    as_of: datetime
    supervisor: SupervisorNow
    counts: GroupCounts
    #: Rows that are new or changed, whole.
    rows: tuple[TaskRow, ...] = ()
    #: Tasks that are not shown any more.
    gone: tuple[str, ...] = ()


class _Pace(Struct):
    """When what was read last, on the monotonic clock."""

    looked: float = 0.0
    read_all: float = 0.0
    rests_until: float = 0.0
    #: The home changed while the queue was given a rest.
    put_off: bool = False


class LiveNow:
    """One home, followed. For one thread; it has a `Control` of its own."""

    def __init__(self, reopen: Callable[[], Control]) -> None:
        self._reopen = reopen
        self._fleet = reopen()
        self._reader = NowReader(self._fleet)
        self._config_stamp = self._fleet.settings_stamp()
        self._watch = DirectoryWatch()
        self._watched: set[Path] = set()
        self._queue_stamp: object = None
        self._beads = BeadsWatch(self._fleet.home.path)
        self._queue = QueueRead()
        self._at: Conditions | None = None
        self._pace = _Pace()
        #: The value as it stands, and its rows by task.
        self.now: Now | None = None
        self._rows: dict[str, TaskRow] = {}

    def close(self) -> None:
        self._watch.close()
        self._fleet.close()

    def wait(self, seconds: float) -> set[Path]:
        """Sleep until a file changed, or the time is over; returns the directories that changed."""
        if self._pace.put_off:
            seconds = min(seconds, max(0.0, self._pace.rests_until - time.monotonic()))
        return self._watch.changed(min(seconds, _LOOK_AGAIN))

    def begin(self) -> Now:
        """Read everything. Numbers grow over restarts too: no client takes one for an older one."""
        seq = max(self.now.seq + 1 if self.now else 0, int(time.time() * 1000))
        self._read_everything(datetime.now(UTC))
        assert self.now is not None
        self.now = structs.replace(self.now, seq=seq)
        return self.now

    def update(self, changed: set[Path]) -> NowChange | None:
        """What changed since the last call; None: nothing did."""
        before, now = self.now, datetime.now(UTC)
        if before is None:
            self.begin()
            return None
        old = self._rows
        if self._everything_is_due(changed):
            self._read_everything(now)
        else:
            self._read_rows(changed, now)
        assert self.now is not None
        rows = tuple(
            row for row in self.now.rows if (was := old.get(row.id)) is not row and was != row
        )
        gone = tuple(task_id for task_id in old if task_id not in self._rows)
        same = (before.supervisor, before.counts) == (self.now.supervisor, self.now.counts)
        if not rows and not gone and same:
            self.now = structs.replace(self.now, seq=before.seq)
            return None
        self.now = structs.replace(self.now, seq=before.seq + 1)
        return NowChange(
            seq=self.now.seq,
            after=before.seq,
            as_of=self.now.as_of,
            supervisor=self.now.supervisor,
            counts=self.now.counts,
            rows=rows,
            gone=gone,
        )

    def _everything_is_due(self, changed: set[Path]) -> bool:
        moment = time.monotonic()
        home = self._fleet.home.path
        at_home = self._pace.put_off or home in changed or home / LANDINGS in changed
        self._pace.put_off = moment < self._pace.rests_until and at_home
        if moment < self._pace.rests_until:
            return False
        if moment - self._pace.read_all > _READ_ALL:
            self._reader.forget()  # what no file tells: a keeper that was killed
            return True
        if at_home or moment - self._pace.looked > _LOOK_AGAIN:
            self._pace.looked = moment
            return self._home_changed()
        return False

    def _home_changed(self) -> bool:
        """The queue, the settings, or what holds for all tasks differs from what was read."""
        if self._fleet.settings_stamp() != self._config_stamp:
            self._open_anew()
            return True
        if self._queue_changed():
            return True
        fresh = conditions(self._fleet, datetime.now(UTC))
        return self._at is None or fresh.as_of(self._at.at.now) != self._at

    def _queue_changed(self) -> bool:
        kind, home = self._fleet.config.queue.partition(":")[0], self._fleet.home.path
        if kind == "beads":
            return self._beads.changed()
        if kind == "embedded":
            return self._stamp_of_queue(home) != self._queue_stamp
        from datetime import timedelta

        try:
            return self._fleet.queue.wait(timedelta(0))
        except FleetError:
            return True

    def _stamp_of_queue(self, home: Path) -> object:
        return stamp_of(home / QUEUE_FILE), stamp_of(home / f"{QUEUE_FILE}-wal")

    def _open_anew(self) -> None:
        """Take the settings as they are now; a broken file leaves the old ones in force."""
        self._config_stamp = self._fleet.settings_stamp()
        try:
            fresh = self._reopen()
        except FleetError:
            return
        self._fleet.close()
        self._fleet, self._reader = fresh, NowReader(fresh)

    def _read_everything(self, now: datetime) -> None:
        began = time.monotonic()
        since = now - DONE_WITHIN
        # Stamped first: what is written meanwhile is read with the next look.
        self._queue_stamp = self._stamp_of_queue(self._fleet.home.path)
        self._queue = read_queue(self._fleet, since)
        self._at = conditions(self._fleet, now)
        rows = self._reader.rows(self._queue.tasks, self._queue, self._at)
        self._take(rows, since)
        self._watch_runs()
        self._pace.read_all = self._pace.looked = time.monotonic()
        self._pace.rests_until = self._pace.read_all + _REST * (self._pace.read_all - began)

    def _read_rows(self, changed: set[Path], now: datetime) -> None:
        """Read the tasks again whose directories changed."""
        assert self._at is not None
        names = {path.parent.parent.name for path in changed if path.parent.name == "runs"}
        names |= {path.name for path in changed if path.parent == self._fleet.home.tasks}
        dirty = [task for task in self._queue.tasks if task.id in names]
        if not dirty:
            return
        self._at = self._at.as_of(now)
        fresh = {row.id: row for row in self._reader.rows(dirty, self._queue, self._at)}
        assert self.now is not None
        self._take([fresh.get(row.id, row) for row in self._rows.values()], self.now.done_since)

    def _take(self, rows: list[TaskRow], since: datetime) -> None:
        assert self._at is not None
        self.now = self._reader.whole(rows, self._queue, self._at, since)
        self._rows = {row.id: row for row in self.now.rows}

    def _watch_runs(self) -> None:
        """Watch the home, the runs in progress, and the directories of tasks in which a record can
        change while the queue does not: a landing, a comparison.
        """
        home = self._fleet.home
        wanted = {home.path, home.path / LANDINGS} | {
            home.task(row.id) / "runs" / str(row.run.number)
            for row in self._rows.values()
            if row.run is not None
        }
        with_files = ("in_progress", "blocked")
        wanted |= {home.task(row.id) for row in self._rows.values() if row.status in with_files}
        for gone in self._watched - wanted:
            self._watch.drop(gone)
        for fresh in wanted - self._watched:
            if fresh.is_dir():
                self._watch.add(fresh)
        self._watched = {path for path in wanted if path.is_dir()}
