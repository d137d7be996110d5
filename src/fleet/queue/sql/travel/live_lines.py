"""Living runs on other hosts: how each stands, and its lines for people who watch.

With each beat a host tells how its runs stand, so that every host shows every task. Of the lines
nothing is sent while no person watches. A command that follows a task leaves a wish and renews it;
the host that runs the task sends what is new once a second for as long as the wish lasts.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from fleet.queue.sql.row_mapping import to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.runs.progress_json import Progress
from fleet.runs.questions.asked_json import AskedQuestion
from fleet.schemas import typed

#: How long a wish lasts, and how often the one who watches renews it.
WISH_LASTS, RENEW_EVERY = timedelta(seconds=15), timedelta(seconds=5)
#: Lines that were not forgotten with their run go after this long.
_KEPT = timedelta(hours=1)


class LivingRun(Struct, frozen=True, kw_only=True):
    """A run that goes on, as the run's host tells."""

    task_id: str
    run: int
    #: The id of the host, and its name.
    host: str
    host_name: str
    account: str = ""
    started_at: datetime | None = None
    progress: Progress | None = None
    #: What its agent asks a person right now, and waits for.
    asked: AskedQuestion | None = None


class LiveBytes(Struct, frozen=True, kw_only=True):
    """New bytes of a file of a living run, and where in the file they begin."""

    run: int
    start: int
    data: bytes


class LiveLines:
    """Wishes to watch, and the lines that are sent for them."""

    def __init__(self, queue: SqlQueue) -> None:
        self._queue, self._db = queue, queue.db

    def wish(self, task_id: str, *, first: bool = False) -> None:
        """Ask the host that runs a task for the run's lines, for a while. The first
        wish wakes it.
        """
        until = to_micros(self._db.now() + WISH_LASTS)
        with self._db.writing():
            if first:
                self._queue.rows("run_files.drop_wish", {"task_id": task_id})
            self._queue.rows("run_files.wish", {"task_id": task_id, "until": until})

    def wanted(self) -> set[str]:
        """The tasks that are watched now."""
        rows = self._queue.rows("run_files.wishes", {"now": to_micros(self._db.now())})
        return {str(row[0]) for row in rows}

    def send(self, task_id: str, path: str, new: LiveBytes) -> None:
        """Send new bytes; the same again changes nothing."""
        values = {"task_id": task_id, "path": path, "run": new.run, "start": new.start}
        now = to_micros(self._db.now())
        self._queue.rows("run_files.send_lines", {**values, "bytes": new.data, "now": now})

    def sent_until(self, task_id: str, path: str, run: int) -> int:
        """How far a file of a run was sent, in bytes."""
        values = {"task_id": task_id, "path": path, "run": run}
        return int(self._queue.rows("run_files.sent_until", values)[0][0])

    def read(self, task_id: str, path: str, run: int, start: int) -> list[LiveBytes]:
        """What was sent of a file from a byte of a run on."""
        values = {"task_id": task_id, "path": path, "run": run, "start": start}
        rows = self._queue.rows("run_files.live_lines", values)
        return [LiveBytes(run=int(r), start=int(s), data=bytes(data)) for r, s, data in rows]

    def forget(self, task_id: str) -> None:
        """Drop the lines of a task whose run is settled, since the run's files have them."""
        self._queue.rows("run_files.forget_lines", {"task_id": task_id})
        now = self._db.now()
        self._queue.rows("run_files.forget_old_lines", {"now": to_micros(now - _KEPT)})
        self._queue.rows("run_files.forget_wishes", {"now": to_micros(now)})


def tell_runs(queue: SqlQueue, runs: Iterable[LivingRun]) -> None:
    """Write how runs of this host stand; forgotten when their tasks are settled."""
    now = to_micros(queue.db.now())
    with queue.db.writing():
        for each in runs:
            values = {"task_id": each.task_id, "run": each.run, "now": now}
            value = msgspec.json.encode(each)
            queue.rows("run_files.tell_run", {**values, "bytes": value})


def living_runs(queue: SqlQueue, task_id: str | None = None) -> Mapping[str, LivingRun]:
    """The living runs by task: each as told by the host that holds the task."""
    rows = queue.rows("run_files.living_runs", {"task_id": task_id})
    found: dict[str, LivingRun] = {}
    for owner, value in rows:
        try:
            run = typed.decode(bytes(value), LivingRun)
        except msgspec.MsgspecError:
            continue  # of a later fleet
        if run.host == owner:
            found[run.task_id] = run
    return found
