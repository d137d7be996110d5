"""What each host tells of living runs with each beat, so that every host shows every task."""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec
from msgspec import Struct

from fleet.queue.sql.row_mapping import to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.runs.progress_json import Progress
from fleet.runs.questions.asked_json import AskedQuestion

_FILE = "run_files.sql"


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


def tell_runs(queue: SqlQueue, runs: Iterable[LivingRun]) -> None:
    """Write how runs of this host stand; forgotten when their tasks are settled."""
    now = to_micros(queue.db.now())
    with queue.db.writing():
        for each in runs:
            values = {"task_id": each.task_id, "run": each.run, "now": now}
            value = msgspec.json.encode(each)
            queue.db.rows(queue.more(_FILE)["tell_run"], {**values, "bytes": value})


def living_runs(queue: SqlQueue, task_id: str | None = None) -> Mapping[str, LivingRun]:
    """The living runs by task: each as told by the host that holds the task."""
    rows = queue.db.rows(queue.more(_FILE)["living_runs"], {"task_id": task_id})
    found: dict[str, LivingRun] = {}
    for owner, value in rows:
        try:
            run = msgspec.json.decode(bytes(value), type=LivingRun)
        except msgspec.MsgspecError:
            continue  # of a later fleet
        if run.host == owner:
            found[run.task_id] = run
    return found
